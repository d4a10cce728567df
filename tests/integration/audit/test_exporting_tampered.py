"""What an outsider finds in an export of trails that the database's owner tampered with; no trigger is switched off."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import transaction

from apps.audit import chain
from apps.audit.log import Entry
from apps.audit.models import Payload
from tests.integration.audit import test_tampering as tampered
from tests.integration.audit.exports import anchors_kept_outside, export, exported, unpacked
from tests.integration.audit.tampering import Log, Owner
from tests.integration.audit.test_tampering import kept, owner
from tests.integration.audit.trails import Forgery, forgery, write
from tests.unit.audit.exported import verify

__all__ = ["kept", "owner"]

pytestmark = pytest.mark.django_db
X = Entry("x")


@pytest.fixture
def forged(tmp_path: Path) -> Forgery:
    """A trail as it was, beside anchors of it that were kept outside; its rows wait to be planted."""
    made = forgery(
        Entry("run.submitted", {"steps": 3}, {"task": "Compare A and B."}),
        Entry("run.approved"),
        Entry("run.succeeded", {"cost_usd": "0.10"}, {"answer": "B."}),
    )
    _anchored(made, tmp_path / "kept.jsonl")
    return made


class _TakenBack(Exception):
    pass


def _anchored(made: Forgery, file: Path) -> None:
    """Anchors of the trail as it was before anybody touched it, from a transaction that is rolled back."""
    try:
        with transaction.atomic():
            made.plant()
            anchors_kept_outside(file)
            raise _TakenBack
    except _TakenBack:
        for row in (made.trail, *made.events):
            row.pk = None


def _changed_line(forged: Forgery) -> None:
    forged.events[1].line = forged.events[1].line.replace("approved", "rejected")


def _deleted(forged: Forgery) -> None:
    del forged.events[1]


def _swapped(forged: Forgery) -> None:
    next(payload for payload in forged.payloads if payload.text == "B.").text = "A."


def _sealed_anew_at_the_end(forged: Forgery) -> None:
    event = forged.events[2]
    event.line = event.line.replace("0.10", "0.01")
    event.hash = chain.seal(forged.events[1].hash, event.line)


def _cut_off(forged: Forgery) -> None:
    del forged.events[2]
    forged.trail.head_seq, forged.trail.head_hash = 2, forged.events[1].hash


def _made_anew(forged: Forgery) -> None:
    forged.events[0].line = forged.events[0].line.replace('"steps":3', '"steps":2')
    before = chain.GENESIS
    for event in forged.events:
        event.hash = before = chain.seal(before, event.line)
    forged.trail.head_hash = before


TAMPERINGS: list[tuple[Callable[[Forgery], None], str]] = [
    (_changed_line, "event 2 is not what was sealed: its text or its hash was changed"),
    (_deleted, "event 2 is missing: event 3 follows event 1"),
    (_swapped, "the text “answer” of event 3 is not the one that was sealed"),
    (_sealed_anew_at_the_end, "event 3 is not the one that anchor 1, which was kept outside, names"),
    (_cut_off, "the end is cut off: event 2 is the last of 3"),
    (_made_anew, "event 3 is not the one that anchor 1, which was kept outside, names: the trail was made anew"),
]


@pytest.mark.parametrize(("tamper", "said"), TAMPERINGS)
def test_what_a_databases_owner_did_is_named_by_an_outsider(
    forged: Forgery, tmp_path: Path, tamper: Callable[[Forgery], None], said: str
) -> None:
    write("run:sound", X)  # so that there is an anchor at the place of the one that was kept
    tamper(forged)
    forged.plant()
    folder = unpacked(export(), tmp_path)

    status, words = verify(folder, "--anchors", "kept.jsonl")

    assert status == 1
    assert f"BROKEN: trail run:forged: {said}" in words


def test_a_trail_that_was_deleted_whole_is_named_by_an_outsider(forged: Forgery, tmp_path: Path) -> None:
    write("run:sound", X)
    folder = unpacked(export(), tmp_path)

    status, words = verify(folder, "--anchors", "kept.jsonl")

    assert status == 1
    assert "BROKEN: trail run:forged is gone: anchor 1, which was kept outside, names its event 3" in words


def test_a_last_event_that_was_sealed_anew_is_not_what_the_head_names(forged: Forgery, tmp_path: Path) -> None:
    _sealed_anew_at_the_end(forged)
    forged.plant()

    status, words = exported(tmp_path)

    assert status == 1
    assert "trail run:forged: event 3 is not the one that" in words


@pytest.mark.parametrize("line", ["no json", "[]", '{"texts": 3}'])
def test_a_trail_whose_lines_are_no_events_is_exported_all_the_same(forged: Forgery, tmp_path: Path, line: str) -> None:
    forged.events[2].line, forged.events[2].hash = line, chain.seal(forged.events[1].hash, line)
    forged.events[2].__dict__.pop("content", None)
    forged.trail.head_hash = forged.events[2].hash
    forged.plant()

    status, words = exported(tmp_path)

    assert status == 1
    assert "trail run:forged: event 3 is sealed, but its line is no event of this place" in words


def test_a_text_that_was_deleted_is_named(forged: Forgery, tmp_path: Path) -> None:
    forged.payloads.clear()
    forged.plant()

    assert "the text “task” of event 1 is gone, and was not erased" in exported(tmp_path)[1]
    assert not Payload.objects.exists()


# --- by the owner of the tables ------------------------------------------------------------------------------------

BY_THE_OWNER: list[tuple[Callable[[Log], None], str]] = [
    (tampered.change_a_row, "trail run:a: event 2 is not what was sealed: its text or its hash was changed"),
    (tampered.delete_a_row, "trail run:a: event 2 is missing: event 3 follows event 1"),
    (tampered.swap_a_text, "trail run:a: the text “answer” of event 3 is not the one that was sealed"),
    (tampered.take_a_text_away, "trail run:a: the text “answer” of event 3 is gone, and was not erased"),
    (tampered.pass_a_text_off_as_erased, "trail run:a: the text “answer” of event 3 was erased, and no event says so"),
    (tampered.cut_the_end_off, "trail run:a: the end is cut off: event 2 is the last of 3"),
    (tampered.compute_the_chain_anew, "trail run:a: event 2 is not the one that anchor 1 names"),
    (tampered.take_the_trail_away, "trail run:a is gone: anchor 2 names its event 3"),
    (tampered.compute_the_anchors_anew_too, "anchor 1 is not signed by a key of the studio"),
]
ONLY_OUTSIDE: list[tuple[Callable[[Log], None], str]] = [
    (tampered.compute_all_anew_with_the_key, "trail run:a: event 2 is not the one that anchor 1, which was kept"),
    (tampered.compute_all_anew_and_drop_every_anchor, "trail run:a: event 2 is not the one that anchor 1, which"),
    (tampered.cut_off_as_if_it_never_was, "trail run:a: the end is cut off: event 2 is the last of 3"),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("tamper", "words"), BY_THE_OWNER, ids=[each[0].__name__ for each in BY_THE_OWNER])
def test_an_export_tells_what_the_owner_of_the_tables_did(
    owner: Owner, kept: Path, tmp_path: Path, tamper: Callable[[Log], None], words: str
) -> None:
    owner.rewrite(tamper)

    status, said = exported(tmp_path / "unpacked")

    assert status == 1
    assert f"BROKEN: {words}" in said


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("tamper", "words"), ONLY_OUTSIDE, ids=[each[0].__name__ for each in ONLY_OUTSIDE])
def test_what_nothing_inside_tells_an_anchor_that_was_kept_outside_does(
    owner: Owner, kept: Path, tmp_path: Path, tamper: Callable[[Log], None], words: str
) -> None:
    owner.rewrite(tamper)
    folder = unpacked(export(), tmp_path / "unpacked")

    assert verify(folder)[0] == 0
    status, said = verify(folder, "--anchors", str(kept))

    assert status == 1
    assert f"BROKEN: {words}" in said
