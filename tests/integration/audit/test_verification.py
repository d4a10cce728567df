"""What `verify` finds in trails that somebody forged. Their rows are inserted: nothing here switches a trigger off."""

from datetime import timedelta

import pytest
from django.db import transaction

from apps.audit import rows
from apps.audit.anchors import seal_anchor
from apps.audit.chain import seal
from apps.audit.log import Entry, append, erase, verify
from apps.audit.models import Trail
from apps.audit.verification import TrailBreak, verify_trails
from tests.integration.audit.trails import ADA, NOON, Forgery, forgery, write

pytestmark = pytest.mark.django_db


@pytest.fixture
def forged() -> Forgery:
    return forgery(
        Entry("run.submitted", {"steps": 3}, {"task": "Compare A and B."}),
        Entry("run.approved"),
        Entry("run.succeeded", {"cost_usd": "0.10"}, {"answer": "B."}),
    )


def reason(trail: str) -> tuple[int, str]:
    found = verify(trail).first_break
    assert found is not None
    return found.seq, found.reason


def test_rows_planted_unchanged_hold(forged: Forgery) -> None:
    trail = forged.plant()

    verified = verify(trail)

    assert (verified.events, verified.head, verified.first_break) == (3, forged.trail.head_hash, None)


def test_a_long_trail_is_verified_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "PAGE", 4)
    forged = forgery(*[Entry("x", texts={"t": str(number)}) for number in range(10)])
    forged.payloads[:] = [payload for payload in forged.payloads if payload.digest != forged.events[8].texts["t"]]

    assert write("run:a", *[Entry("x")] * 8)
    assert verify("run:a").first_break is None
    assert reason(forged.plant()) == (9, "the text “t” of event 9 is gone, and was not erased")


@pytest.mark.parametrize("length", [3, 4, 5, 8, 9])
def test_anchors_are_held_against_pages_wherever_a_page_ends(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr(rows, "PAGE", 4)
    for trail in ("run:a", "run:b"):
        write(trail, *[Entry("x")] * (length - 2))
    seal_anchor(now=NOON)
    for trail in ("run:a", "run:b"):
        write(trail, *[Entry("x")] * 2)
    seal_anchor(now=NOON)

    found = verify_trails(rows.Scope())

    assert (found.whole.breaks, found.whole.trails, found.whole.events) == ([], 3, 2 * length + 2)
    assert verify("run:a").events == length


@pytest.mark.parametrize("place", [1, 2, 3])
def test_events_at_the_last_place_of_all_end_their_trail(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    monkeypatch.setattr(rows, "PAGE", place)
    forged = forgery(*[Entry("x")] * place)
    forged.events[-1].seq = rows.LAST
    forged.plant()
    write("run:z", Entry("x"))

    found = verify_trails(rows.Scope()).whole

    assert [(each.trail, each.seq) for each in found.breaks] == [("run:forged", place)]
    assert found.trails == 2


def test_the_anchors_of_a_long_trail_are_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "PAGE", 4)
    for _ in range(11):
        write("run:a", Entry("x"))
        seal_anchor(now=NOON)

    assert verify("run:a").first_break is None
    assert verify("anchors").events == 11


def test_only_the_trails_in_scope_are_verified() -> None:
    write("run:a", Entry("x"))
    broken = forgery(Entry("x"), Entry("x"))
    del broken.events[0]
    broken.plant()
    Trail.objects.create(name="run:theirs", project="theirs")

    assert verify_trails(rows.Scope(project="theirs")).whole.broken == 0
    assert verify_trails(rows.Scope(trail="run:a")).whole.trails == 1
    assert verify_trails(rows.Scope()).whole.breaks == [
        TrailBreak("run:forged", 1, "event 1 is missing: event 2 follows event 0")
    ]


def test_a_changed_line_is_found(forged: Forgery) -> None:
    forged.events[1].line = forged.events[1].line.replace("approved", "rejected")

    assert reason(forged.plant()) == (2, "event 2 is not what was sealed: its text or its hash was changed")


def test_a_line_sealed_anew_breaks_what_follows(forged: Forgery) -> None:
    event = forged.events[1]
    event.line = event.line.replace("approved", "rejected")
    event.verb = "run.rejected"
    event.hash = seal(forged.events[0].hash, event.line)

    assert reason(forged.plant()) == (3, "event 3 is not what was sealed: its text or its hash was changed")


def test_a_last_event_sealed_anew_is_not_what_the_head_names(forged: Forgery) -> None:
    event = forged.events[2]
    event.line = event.line.replace("0.10", "0.01")
    event.hash = seal(forged.events[1].hash, event.line)

    assert reason(forged.plant()) == (3, "event 3 is not the one the trail's head was sealed with")


def test_a_deleted_event_is_found(forged: Forgery) -> None:
    del forged.events[1]

    assert reason(forged.plant()) == (2, "event 2 is missing: event 3 follows event 1")


def test_a_cut_off_end_is_found(forged: Forgery) -> None:
    del forged.events[1:]

    assert reason(forged.plant()) == (2, "the end is cut off: event 1 is the last of 3")


def test_an_emptied_trail_is_found(forged: Forgery) -> None:
    forged.events.clear()

    assert reason(forged.plant()) == (1, "the end is cut off: event 0 is the last of 3")


def test_an_event_behind_the_end_is_found(forged: Forgery) -> None:
    forged.trail.head_seq, forged.trail.head_hash = 2, forged.events[1].hash

    assert reason(forged.plant()) == (3, "event 3 comes after the end, which is event 2")


def test_a_swapped_text_is_found(forged: Forgery) -> None:
    answer = next(payload for payload in forged.payloads if payload.text == "B.")
    answer.text = "A."

    assert reason(forged.plant()) == (3, "the text “answer” of event 3 is not the one that was sealed")


def test_a_text_that_is_gone_without_an_erasure_is_found(forged: Forgery) -> None:
    forged.payloads.clear()

    assert reason(forged.plant()) == (1, "the text “task” of event 1 is gone, and was not erased")


def test_a_text_that_was_erased_without_a_word_is_found(forged: Forgery) -> None:
    task = next(payload for payload in forged.payloads if payload.text == "Compare A and B.")
    task.text, task.salt, task.erased_at = None, None, NOON

    assert reason(forged.plant()) == (1, "the text “task” of event 1 was erased, and no event says so")


def test_an_erasure_that_is_told_elsewhere_does_not_excuse_another(forged: Forgery) -> None:
    write("run:other", Entry("run.erased"))
    [task, *_] = forged.payloads
    task.text, task.salt, task.erased_at = None, None, NOON

    assert "was erased, and no event says so" in reason(forged.plant())[1]


def test_what_is_erased_of_a_trail_about_many_is_told_in_that_of_its_subject() -> None:
    with transaction.atomic():
        told = Entry("spend.settled", texts={"why": "dear"})
        append("spending", [told], by=ADA, at=NOON, subject="run:a", project="default")
        assert erase("spending", at=NOON, subject="run:a") == 1
    assert "no event says so" in reason("spending")[1]

    write("run:a", Entry("run.erased"))

    assert verify("spending").first_break is None


@pytest.mark.parametrize("column", ["verb", "subject", "project", "actor_label"])
def test_a_column_that_tells_something_else_is_found(forged: Forgery, column: str) -> None:
    setattr(forged.events[1], column, "other")

    assert reason(forged.plant()) == (
        2,
        f"the {column.removesuffix('_label')} beside event 2 is not the one in its line",
    )


def test_a_time_beside_an_event_that_is_not_its_own_is_found(forged: Forgery) -> None:
    forged.events[1].at += timedelta(microseconds=1)

    assert reason(forged.plant()) == (2, "the time beside event 2 is not the one in its line")


def test_a_sound_trail_under_another_name_is_found(forged: Forgery) -> None:
    forged.trail.name = "run:other"

    assert reason(forged.plant()) == (1, "the trail beside event 1 is not the one in its line")


@pytest.mark.parametrize("line", ["no json", "[]", "{}", '{"texts": 3}'])
def test_a_sealed_line_that_is_no_event_is_found(forged: Forgery, line: str) -> None:
    event = forged.events[2]
    event.line, event.hash = line, seal(forged.events[1].hash, line)
    event.__dict__.pop("content", None)
    forged.trail.head_hash = event.hash

    assert reason(forged.plant()) == (3, "event 3 is sealed, but its line is no event")


def test_a_trail_that_is_not_there_is_said_to_be_none() -> None:
    assert reason("run:none") == (1, "there is no trail run:none")


def test_a_trail_nobody_wrote_to_yet_holds() -> None:
    Trail.objects.create(name="run:new")

    assert verify("run:new").first_break is None
