"""What a person may export by their role, what a run takes with it, and the command."""

from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.models import Membership, User
from apps.accounts.permits import NotAllowed
from apps.audit import log
from apps.core.errors import Invalid
from apps.runs.exporting import STUDIO, NotTheStudios, export_projects, export_run
from apps.runs.models import Run
from apps.runs.retention.erasing import erase_run
from tests.factories import NOON, Driving, chain, make_person, make_project, make_run
from tests.integration.audit.exports import listed, unpacked
from tests.unit.audit.exported import rows, unpack, verify

pytestmark = pytest.mark.django_db
LATER = NOON + timedelta(hours=1)


@pytest.fixture
def analyst() -> User:
    return make_person("ada")


@pytest.fixture
def auditor() -> User:
    return _auditor("grace")


def _auditor(name: str, project: str = "default") -> User:
    person = make_person(name, project=make_project(project))
    Membership.objects.filter(user=person).update(role=Membership.Role.AUDITOR)
    return User.objects.get(pk=person.pk)


@pytest.fixture
def run(analyst: User) -> Run:
    """A run that has ended, whose second step was given to a conductor and became a run of its own."""
    driving = Driving(make_run(by=analyst))
    driving.plan(chain("Compute the growth", "Answer the task"))
    attempt = driving.start("s1")
    inner = make_run(by=analyst, task="The inner task")
    Run.objects.filter(pk=inner.pk).update(nested_in=attempt, status=Run.Status.SUCCEEDED, finished_at=NOON)
    driving.answer("s1", attempt, "South: 53 %")
    driving.finish("s2", "South.")
    return driving.succeed("South.", step="s2")


def test_a_run_takes_the_runs_nested_in_it_along(run: Run, auditor: User, tmp_path: Path) -> None:
    inner = Run.objects.get(nested_in__run=run)
    make_run(by=run.owner, task="Another one")

    folder = unpacked(export_run(run=run, by=auditor, now=LATER), tmp_path)

    status, said = verify(folder)
    assert status == 0, said
    assert set(listed(folder, "trails.jsonl", "trail")) == {run.trail, inner.trail}
    assert {"South: 53 %", "The inner task"} < set(listed(folder, "payloads.jsonl", "text"))
    assert log.read(run.trail)[-1].verb == "trail.exported"


def test_an_erased_run_is_exported_without_its_texts_and_holds(
    run: Run, auditor: User, redis_url: str, tmp_path: Path
) -> None:
    Membership.objects.filter(user=auditor).update(role=Membership.Role.ADMIN)
    erase_run(run=run, reason="They asked for it.", by=User.objects.get(pk=auditor.pk), now=LATER)

    made = export_projects(projects=["default"], by=User.objects.get(pk=auditor.pk), now=LATER + timedelta(minutes=1))
    folder = unpacked(made, tmp_path)

    status, said = verify(folder)
    assert status == 0, said
    assert all(b"South" not in path.read_bytes() for path in folder.iterdir())
    assert "They asked for it." in [row.get("text") for row in rows(folder, "payloads.jsonl")]


def test_whoever_audits_nothing_exports_nothing(run: Run, analyst: User) -> None:
    other = _auditor("mallory", "others")

    for by in (analyst, other):
        with pytest.raises(NotAllowed):
            export_run(run=run, by=by, now=LATER)
        with pytest.raises(NotAllowed):
            export_projects(projects=["default"], by=by, now=LATER)
    assert "trail.exported" not in [event.verb for event in log.read(run.trail)]


def test_the_studios_own_trails_are_for_its_admins(run: Run, auditor: User, tmp_path: Path) -> None:
    with pytest.raises(NotTheStudios):
        export_projects(projects=[STUDIO], by=auditor, now=LATER)
    with pytest.raises(NotTheStudios):
        export_projects(projects=["no-such-project"], by=auditor, now=LATER)
    User.objects.filter(pk=auditor.pk).update(is_superuser=True)
    auditor.refresh_from_db()

    made = export_projects(projects=["default", STUDIO], by=auditor, now=LATER)

    trails = listed(unpacked(made, tmp_path), "trails.jsonl", "trail")
    assert "pool" in trails
    assert run.trail in trails
    assert "anchors" not in trails, "they name trails of every project"


def test_a_time_that_ends_before_it_begins_is_refused(run: Run, auditor: User) -> None:
    with pytest.raises(Invalid) as refused:
        export_projects(projects=["default"], by=auditor, now=LATER, since=LATER, until=NOON)

    assert refused.value.field == "until"


# --- the command ---------------------------------------------------------------------------------------------------


def test_the_command_writes_a_zip_that_verifies(run: Run, tmp_path: Path) -> None:
    said = StringIO()

    call_command("export_trails", run=run.code, output=str(tmp_path / "run.zip"), stdout=said)

    folder = unpack((tmp_path / "run.zip").read_bytes(), tmp_path / "unpacked")
    assert verify(folder)[0] == 0
    assert said.getvalue().startswith(f"{tmp_path / 'run.zip'}: 2 trails, ")
    assert log.read(run.trail)[-1].actor.id == "export_trails"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.zip", "unpacked"]


@pytest.mark.parametrize(
    ("arguments", "has_studio", "has_run"),
    [({"all": True}, True, True), ({"studio": True}, True, False), ({"project": ["default"]}, False, True)],
)
def test_the_command_exports_what_it_is_told(
    run: Run, tmp_path: Path, arguments: dict, has_studio: bool, has_run: bool
) -> None:
    call_command("export_trails", **arguments, without_texts=True, output=str(tmp_path / "it.zip"), stdout=StringIO())

    folder = unpack((tmp_path / "it.zip").read_bytes(), tmp_path / "unpacked")
    trails = listed(folder, "trails.jsonl", "trail")
    assert verify(folder)[0] == 0
    assert ("pool" in trails, run.trail in trails) == (has_studio, has_run)
    assert not (folder / "payloads.jsonl").exists()


def test_the_command_takes_a_time(run: Run, tmp_path: Path) -> None:
    given = {"project": ["default"], "output": str(tmp_path / "it.zip"), "stdout": StringIO()}

    call_command("export_trails", **given, since="2026-03-02", until="2026-03-03")

    folder = unpack((tmp_path / "it.zip").read_bytes(), tmp_path / "unpacked")
    assert len(listed(folder, "trails.jsonl", "trail")) == 2
    with pytest.raises(CommandError, match="There is nothing to export"):
        call_command("export_trails", **given, until="2026-03-02T11:00")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"run": "nothere"}, "There is no run nothere."),
        ({"run": "RUN", "since": "2026-03-02"}, "A run is exported whole"),
        ({"project": ["default"], "since": "yesterday"}, "--since yesterday: give a time as"),
        ({"project": ["default"], "since": "2026-02-31"}, "--since 2026-02-31: give a time as"),
        ({"project": ["nothere"]}, "There is nothing to export: project nothere has no event."),
        ({"project": ["default"], "output": "/nowhere/at/all.zip"}, "cannot be written"),
    ],
)
def test_the_command_says_what_is_wrong(run: Run, arguments: dict, words: str) -> None:
    given = {name: run.code if value == "RUN" else value for name, value in arguments.items()}

    with pytest.raises(CommandError, match=words):
        call_command("export_trails", **given, stdout=StringIO())
