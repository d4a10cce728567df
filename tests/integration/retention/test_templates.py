"""A deleted template: what was written in it is nowhere any more, and its trail says that it went."""

from pathlib import Path

import pytest

from apps.accounts.models import User
from apps.audit import log
from apps.audit.exporting.exports import begin_export
from apps.audit.exporting.selected import Scope
from apps.audit.searching import keep_words
from apps.runs.models import Run
from apps.runs.retention.erasing import erase_run
from apps.runs.retention.holds import OnHold, lift_hold, place_hold
from apps.runs.templates import change_template, delete_template, keep_template
from apps.workflows.models import SavedWorkflow
from tests.factories import NOON
from tests.integration.retention.planted import LATER, WORD, planted_run, where_is
from tests.unit.audit.exported import unpack, verify


def kept(run: Run, *, by: User) -> SavedWorkflow:
    """A template of the run, as its page proposes it, changed once since."""
    assert run.workflow is not None
    made = keep_template(name=run.title, task=run.task, workflow=run.workflow, source=run, by=by, now=NOON)
    texts = {"name": f"{WORD} again", "task": f"Compare {WORD} with {{what}}.", "description": f"Of {WORD}"}
    changed = change_template(template=made, seen=made.version, **texts, by=by, now=NOON)
    while keep_words():
        continue
    return changed


@pytest.fixture
def run(admin: User) -> Run:
    return planted_run(admin)


def test_with_the_run_it_was_made_from_and_the_template_every_word_is_gone(admin: User, run: Run) -> None:
    template = kept(run, by=admin)
    erase_run(run=run, reason="Asked for", by=admin, now=LATER)
    assert {"workflows_savedworkflow.task", "audit_payload.text", "audit_eventwords.words"} <= where_is(WORD)

    delete_template(template=template, by=admin, now=LATER)

    assert where_is(WORD) == set()


def test_its_trail_still_says_who_did_what_and_that_its_texts_went(admin: User, run: Run) -> None:
    template = kept(run, by=admin)

    delete_template(template=template, by=admin, now=LATER)

    told = log.read(template.trail)
    assert [event.verb for event in told] == [
        "template.kept",
        "template.changed",
        "template.deleted",
        "template.erased",
    ]
    assert told[1].texts["before:task"] is None, "an erased text is none"
    assert told[-1].data == {"template": template.pk, "texts": 7}
    assert (told[-1].actor.label, told[-1].at) == (admin.label, LATER)
    assert log.verify(template.trail).first_break is None


def test_an_export_of_its_project_is_verified_as_before(admin: User, run: Run, tmp_path: Path) -> None:
    template = kept(run, by=admin)
    delete_template(template=template, by=admin, now=LATER)
    scope = Scope("all", [template.project.slug], "the project")

    made = begin_export(scope=scope, with_texts=True, by=admin.actor, now=LATER)
    status, said = verify(unpack(b"".join(made.pieces()), tmp_path))

    assert (status, "7 erased" in said) == (0, True), said


def test_under_a_hold_on_its_project_it_is_not_deleted(admin: User, run: Run) -> None:
    template = kept(run, by=admin)
    hold = place_hold(project=template.project, reason="Case 4711", by=admin, now=NOON)

    with pytest.raises(OnHold):
        delete_template(template=template, by=admin, now=LATER)
    assert log.read(template.trail)[0].texts["task"] == run.task
    lift_hold(hold=hold, reason="Settled", by=admin, now=LATER)
    delete_template(template=template, by=admin, now=LATER)

    assert not SavedWorkflow.objects.exists()


def test_the_run_and_another_template_keep_their_words(admin: User, run: Run) -> None:
    template = kept(run, by=admin)
    assert run.workflow is not None
    other = keep_template(name=f"Other {WORD}", task=WORD, workflow=run.workflow, by=admin, now=NOON)

    delete_template(template=template, by=admin, now=LATER)

    assert log.read(other.trail)[0].texts["name"] == f"Other {WORD}"
    assert log.read(run.trail)[0].texts["task"] == run.task
