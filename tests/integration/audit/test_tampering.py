"""What the owner of the database changed is found and named: by a check, as pages show it, and by the command."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.utils import timezone

from apps.audit import checks
from apps.audit.anchors import anchors_of, seal_anchor
from apps.audit.checks import latest_check
from apps.audit.log import Entry, append
from apps.audit.models import Check
from studio.embedded.postgres import OWNER, Postgres
from tests.integration.audit.tampering import (
    Log,
    Owner,
    anchor_anew,
    events_of,
    say_otherwise,
    seal_anew,
    trail_of,
    without,
)
from tests.integration.audit.trails import ADA, NOON, write

pytestmark = pytest.mark.django_db(transaction=True)

TRAIL = "run:a"


@pytest.fixture
def owner(postgres: Postgres) -> Owner:
    return Owner(postgres.url(OWNER))


@pytest.fixture
def kept(transactional_db: None, tmp_path: Path) -> Path:
    """Two trails, anchored twice; the anchors were kept elsewhere."""
    write(TRAIL, Entry("run.submitted", texts={"task": "Compare A and B."}), Entry("run.approved"))
    write("run:b", Entry("run.submitted"))
    seal_anchor(now=NOON)
    write(TRAIL, Entry("run.succeeded", {"cost_usd": "0.10"}, {"answer": "B."}))
    seal_anchor(now=NOON)
    path = tmp_path / "anchors.jsonl"
    path.write_text("".join(anchor.written() + "\n" for anchor in anchors_of()))
    return path


# --- what is done --------------------------------------------------------------------------------------------------


def change_a_row(log: Log) -> None:
    events_of(log, TRAIL)[1]["line"] = events_of(log, TRAIL)[1]["line"].replace("approved", "rejected")


def delete_a_row(log: Log) -> None:
    without(log, "event", [events_of(log, TRAIL)[1]])


def swap_a_text(log: Log) -> None:
    next(row for row in log["payload"] if row["text"] == "B.")["text"] = "A."


def take_a_text_away(log: Log) -> None:
    without(log, "payload", [row for row in log["payload"] if row["text"] == "B."])


def pass_a_text_off_as_erased(log: Log) -> None:
    next(row for row in log["payload"] if row["text"] == "B.").update(text=None, salt=None, erased_at=NOON)


def cut_the_end_off(log: Log) -> None:
    """With the head set back, so that the chain by itself is sound."""
    without(log, "event", events_of(log, TRAIL)[2:])
    seal_anew(log, TRAIL)


def compute_the_chain_anew(log: Log) -> None:
    say_otherwise(events_of(log, TRAIL)[1], verb="run.rejected")
    seal_anew(log, TRAIL)


def take_the_trail_away(log: Log) -> None:
    trail = trail_of(log, TRAIL)
    log["event"] = [row for row in log["event"] if row["trail_id"] != trail["id"]]
    log["payload"] = [row for row in log["payload"] if row["trail_id"] != trail["id"]]
    without(log, "trail", [trail])


def compute_the_anchors_anew_too(log: Log) -> None:
    compute_the_chain_anew(log)
    anchor_anew(log, sign=False)


def forget_an_anchor(log: Log) -> None:
    """Of the chain that is computed anew, the first anchor no longer stands beside its event."""
    compute_the_chain_anew(log)
    log["anchoredhead"] = [row for row in log["anchoredhead"] if row["trail"] != TRAIL]


def take_its_anchors_away(log: Log) -> None:
    """With their signatures: the trail of anchors still names what was sealed."""
    compute_the_chain_anew(log)
    log["anchor"], log["anchoredhead"] = [], []


def take_an_anchor_s_signature_away(log: Log) -> None:
    without(log, "anchoredhead", [row for row in log["anchoredhead"] if row["anchor_id"] == 2])
    without(log, "anchor", [row for row in log["anchor"] if row["seq"] == 2])


def name_another_project_beside_an_anchor(log: Log) -> None:
    """So that what it names of this one is not missed here."""
    take_the_trail_away(log)
    for row in log["anchor"]:
        row["project"] = "other"


def take_the_trail_of_anchors_away(log: Log) -> None:
    without(log, "event", events_of(log, "anchors"))
    without(log, "trail", [trail_of(log, "anchors")])
    log["anchoredhead"] = []


def give_the_trail_to_another_project(log: Log) -> None:
    trail_of(log, TRAIL)["project"] = "other"


def hide_the_trail_below_all_others(log: Log) -> None:
    """Under an id that no sequence gives."""
    change_a_row(log)
    events, trail = events_of(log, TRAIL), trail_of(log, TRAIL)
    for row in [*events, *(row for row in log["payload"] if row["trail_id"] == trail["id"])]:
        row["trail_id"] = -(2**63)
    trail["id"] = -(2**63)


def plant_an_event_before_the_first(log: Log) -> None:
    first = events_of(log, TRAIL)[0]
    log["event"].append(first | {"id": 2**40, "seq": -(2**63)})


def nest_a_line_too_deeply(log: Log) -> None:
    events_of(log, TRAIL)[1]["line"] = '{"data":' + "[" * 1500 + "]" * 1500 + "}"


def erase_a_text_at(moment: str) -> Callable[[Log], None]:
    def erase(log: Log) -> None:
        next(row for row in log["payload"] if row["text"] == "B.").update(text=None, salt=None, erased_at=moment)

    erase.__name__ = f"erase_a_text_at_{moment}"
    return erase


def put_an_event_at_the_end_of_time(log: Log) -> None:
    events_of(log, TRAIL)[1].update(at="infinity", verb="run.erased")


def put_an_anchor_at_the_end_of_time(log: Log) -> None:
    log["anchor"][1]["at"] = "infinity"


NO_SIGNATURE = "anchor {} bears no signature: it was taken away"
CHANGED = "event 2 is not what was sealed: its text or its hash was changed"
FOUND: list[tuple[Callable[[Log], None], str, int, str]] = [
    (change_a_row, TRAIL, 2, CHANGED),
    (delete_a_row, TRAIL, 2, "event 2 is missing: event 3 follows event 1"),
    (swap_a_text, TRAIL, 3, "the text “answer” of event 3 is not the one that was sealed"),
    (take_a_text_away, TRAIL, 3, "the text “answer” of event 3 is gone, and was not erased"),
    (pass_a_text_off_as_erased, TRAIL, 3, "the text “answer” of event 3 was erased, and no event says so"),
    (cut_the_end_off, TRAIL, 3, "the end is cut off: event 2 is the last, and anchor 2 names event 3"),
    (
        compute_the_chain_anew,
        TRAIL,
        2,
        "event 2 is not the one that anchor 1 names: it, or one before it, was sealed anew",
    ),
    (take_the_trail_away, TRAIL, 1, "the trail is gone: anchor 2 names event 3 of it"),
    (compute_the_anchors_anew_too, TRAIL, 2, "anchor 1, which names event 2, does not bear the studio's signature"),
    (forget_an_anchor, "anchors", 1, "anchor 1 names other heads in its line than are kept beside it"),
    (take_its_anchors_away, "anchors", 1, NO_SIGNATURE.format(1)),
    (take_an_anchor_s_signature_away, "anchors", 2, NO_SIGNATURE.format(2)),
    (
        name_another_project_beside_an_anchor,
        "anchors",
        1,
        "anchor 1 names another project in its line than is kept beside it",
    ),
    (
        take_the_trail_of_anchors_away,
        "anchors",
        1,
        "the trail is gone, and the signature of anchor 2 is still there",
    ),
    (hide_the_trail_below_all_others, TRAIL, 2, CHANGED),
    (plant_an_event_before_the_first, TRAIL, 1, f"event 1 is missing: event {-(2**63)} follows event 0"),
    (nest_a_line_too_deeply, TRAIL, 2, CHANGED),
    (erase_a_text_at("infinity"), TRAIL, 3, "the text “answer” of event 3 was erased, and no event says so"),
    (erase_a_text_at("20000-01-01"), TRAIL, 3, "the text “answer” of event 3 was erased, and no event says so"),
    (put_an_event_at_the_end_of_time, TRAIL, 2, "the time beside event 2 is not the one in its line"),
    (
        put_an_anchor_at_the_end_of_time,
        "anchors",
        2,
        "anchor 2 names another time in its line than is kept beside it",
    ),
    (give_the_trail_to_another_project, TRAIL, 1, "the trail is kept as another project's than anchor 2 names"),
]


@pytest.mark.parametrize(("tamper", "trail", "seq", "reason"), FOUND, ids=[each[0].__name__ for each in FOUND])
def test_it_is_found_and_named_however_much_is_looked_at(
    owner: Owner, kept: Path, tamper: Callable[[Log], None], trail: str, seq: int, reason: str
) -> None:
    owner.rewrite(tamper)
    named = {"trail": trail, "seq": seq, "reason": reason}

    check = checked()
    of_project = latest_check("default")
    told = {scope: asked_of_the_command(*scope) for scope in ((), ("--project", "default"), ("--trail", TRAIL))}

    assert check.status == Check.Status.BROKEN
    assert named in check.breaks
    assert of_project is not None
    assert named in of_project.breaks
    for scope, said in told.items():
        assert named in said["breaks"], scope
        assert (said["holds"], said["exit"]) == (False, 1)
        assert len(said["breaks"]) == len({json.dumps(each) for each in said["breaks"]}) == said["broken"]
    assert checked("default").breaks == of_project.breaks


def test_the_command_ends_in_the_first_break(owner: Owner, kept: Path) -> None:
    owner.rewrite(change_a_row)

    told = asked_of_the_command()

    assert told["words"] == f"{TRAIL} does not hold from event 2 on: {CHANGED}."


def test_another_project_is_told_of_what_is_wrong_with_anchors(owner: Owner, kept: Path) -> None:
    with transaction.atomic():
        append("run:theirs", [Entry("x")], by=ADA, at=NOON, subject="run:theirs", project="theirs")
    owner.rewrite(take_an_anchor_s_signature_away)

    whole, theirs = checked(), latest_check("theirs")

    assert theirs is not None
    assert theirs.breaks == [{"trail": "anchors", "seq": 2, "reason": NO_SIGNATURE.format(2)}]
    assert whole.broken == 1
    assert checked("theirs").breaks == theirs.breaks


def test_what_nobody_changed_holds(owner: Owner, kept: Path) -> None:
    owner.rewrite(lambda log: None)  # the same rows, written anew

    check = checked()
    told = asked_of_the_command("--anchors", str(kept))

    assert (check.status, check.broken, check.breaks) == (Check.Status.HOLDS, 0, [])
    assert (check.trails, check.events) == (4, 7)  # two runs', the anchors', and the check's own beginning
    assert (told["holds"], told["breaks"], told["exit"]) == (True, [], 0)
    assert told["signatures_checked"] is True


# --- what only anchors that were kept elsewhere tell ---------------------------------------------------------------


def compute_all_anew_with_the_key(log: Log) -> None:
    compute_the_chain_anew(log)
    anchor_anew(log, sign=True)


def compute_all_anew_and_drop_every_anchor(log: Log) -> None:
    compute_the_chain_anew(log)
    without(log, "event", events_of(log, "anchors"))
    without(log, "trail", [trail_of(log, "anchors")])
    log["anchor"], log["anchoredhead"] = [], []


def cut_off_as_if_it_never_was(log: Log) -> None:
    cut_the_end_off(log)
    without(log, "event", events_of(log, "anchors")[1:])
    seal_anew(log, "anchors")
    log["anchor"] = [row for row in log["anchor"] if row["seq"] == 1]
    log["anchoredhead"] = [row for row in log["anchoredhead"] if row["anchor_id"] == 1]


OUTSIDE: list[tuple[Callable[[Log], None], str, int, str]] = [
    (
        compute_all_anew_with_the_key,
        TRAIL,
        2,
        "event 2 is not the one that anchor 1 of anchors.jsonl names: it, or one before it, was sealed anew",
    ),
    (
        compute_all_anew_and_drop_every_anchor,
        TRAIL,
        2,
        "event 2 is not the one that anchor 1 of anchors.jsonl names: it, or one before it, was sealed anew",
    ),
    (
        cut_off_as_if_it_never_was,
        TRAIL,
        3,
        "the end is cut off: event 2 is the last, and anchor 2 of anchors.jsonl names event 3",
    ),
]


@pytest.mark.parametrize(("tamper", "trail", "seq", "reason"), OUTSIDE, ids=[each[0].__name__ for each in OUTSIDE])
def test_what_the_database_cannot_tell_an_anchor_that_was_kept_elsewhere_does(
    owner: Owner, kept: Path, tamper: Callable[[Log], None], trail: str, seq: int, reason: str
) -> None:
    owner.rewrite(tamper)

    assert asked_of_the_command()["holds"] is True
    told = asked_of_the_command("--anchors", str(kept))

    assert told["breaks"][0] == {"trail": trail, "seq": seq, "reason": reason}
    assert "anchors" in {each["trail"] for each in told["breaks"]}


@pytest.mark.parametrize("at", ["line", "signature", "hash", "prev", "key", "seq"])
def test_a_changed_file_of_anchors_is_found_and_its_line_named(kept: Path, at: str) -> None:
    first, second = kept.read_text().splitlines()
    anchor = json.loads(second)
    changed = anchor[at]
    anchor[at] = changed + 1 if isinstance(changed, int) else ("1" if changed[0] != "1" else "2") + changed[1:]
    kept.write_text(f"{first}\n{json.dumps(anchor)}\n")

    told = asked_of_the_command("--anchors", str(kept))

    assert told["holds"] is False
    assert (told["breaks"][0]["trail"], told["breaks"][0]["seq"]) == ("anchors.jsonl", 2)


# --- asking --------------------------------------------------------------------------------------------------------


def checked(project: str | None = None) -> Check:
    check = checks.start_check(project=project, by=ADA, now=timezone.now())
    found = checks.carry_out(check.pk, now=timezone.now)
    assert found is not None
    return found


def asked_of_the_command(*options: str) -> dict[str, Any]:
    """What it prints as JSON, and its exit status with the words it ends in."""
    told, exit_status, words = StringIO(), 0, ""
    try:
        call_command("verify_trails", "--json", *options, stdout=told)
    except CommandError as error:
        exit_status, words = error.returncode, str(error)
    return {**json.loads(told.getvalue()), "exit": exit_status, "words": words}
