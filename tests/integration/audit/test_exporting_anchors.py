"""Which anchors an export takes along: those whose lines name what is in it, whatever is kept beside the lines."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from apps.audit.anchors import seal_anchor
from apps.audit.exporting.selected import Scope, Selection
from apps.audit.log import Entry
from tests.integration.audit import test_tampering as tampered
from tests.integration.audit.exports import EVERYTHING, NOON, exported, later, listed, write_at
from tests.integration.audit.tampering import Log, Owner, events_of, trail_of
from tests.integration.audit.test_tampering import kept, owner

__all__ = ["kept", "owner"]

pytestmark = pytest.mark.django_db(transaction=True)
X = Entry("x")

RUN = Scope("run", ["default"], "run a", trails=["run:a"])
TIME = Scope("time", ["default"], "an hour", since=NOON - timedelta(hours=1), until=NOON + timedelta(hours=1))


def take_the_heads_away(log: Log) -> None:
    tampered.compute_the_chain_anew(log)
    log["anchoredhead"] = []


def change_an_anchor_s_line(log: Log) -> None:
    """So that it no longer names the trail; what is kept beside it does."""
    tampered.compute_the_chain_anew(log)
    event = events_of(log, "anchors")[0]
    event["line"] = event["line"].replace("run:a", "run:x")


TAKEN: list[tuple[Callable[[Log], None], str]] = [
    (take_the_heads_away, "trail run:a: event 2 is not the one that anchor 1 names"),
    (tampered.take_its_anchors_away, "anchor 1 is not signed by a key of the studio"),
    (change_an_anchor_s_line, "anchor 1 is not what was sealed"),
]


@pytest.mark.parametrize("scope", [RUN, TIME, EVERYTHING], ids=lambda scope: scope.kind)
@pytest.mark.parametrize(("tamper", "words"), TAKEN, ids=[each[0].__name__ for each in TAKEN])
def test_anchors_that_were_taken_away_beside_their_lines_still_go_along(
    owner: Owner, kept: Path, tmp_path: Path, scope: Scope, tamper: Callable[[Log], None], words: str
) -> None:
    owner.rewrite(tamper)

    status, said = exported(tmp_path / "unpacked", scope)

    assert status == 1
    assert f"BROKEN: {words}" in said


def test_of_a_project_signatures_whose_lines_were_taken_away_go_along(owner: Owner, kept: Path, tmp_path: Path) -> None:
    owner.rewrite(tampered.take_the_trail_of_anchors_away)

    assert "BROKEN: anchor 1 is not what was sealed" in exported(tmp_path)[1]


def test_a_trail_that_was_given_to_another_project_is_in_the_export_of_a_time(
    owner: Owner, kept: Path, tmp_path: Path
) -> None:
    owner.rewrite(tampered.give_the_trail_to_another_project)

    status, said = exported(tmp_path, TIME)

    assert status == 0, said
    assert "run:a" in listed(tmp_path, "trails.jsonl", "trail")


def test_a_trail_below_all_others_is_exported(owner: Owner, kept: Path, tmp_path: Path) -> None:
    owner.rewrite(tampered.hide_the_trail_below_all_others)

    assert f"BROKEN: trail run:a: {tampered.CHANGED}" in exported(tmp_path)[1]


def test_an_export_of_one_run_takes_only_the_anchors_that_name_it() -> None:
    for trail in ("run:a", 'run:"b', "run:ab", "run:a"):
        write_at(trail, 0, X)
        seal_anchor(now=NOON)

    def anchors(scope: Scope) -> list[int]:
        return [anchor.seq for anchor in Selection(scope).anchors()]

    assert anchors(RUN) == [1, 4]
    assert anchors(Scope("run", ["default"], "run b", trails=['run:"b'])) == [2]
    assert anchors(EVERYTHING) == [1, 2, 3, 4]
    assert anchors(Scope("all", ["other"], "other")) == []


def test_an_export_of_a_time_takes_only_the_anchors_that_name_an_event_of_it() -> None:
    for minutes in (-120, 0, 120):
        for trail in ("run:a", "run:b"):
            write_at(trail, minutes, X)
            seal_anchor(now=later(minutes))
    write_at("run:c", 0, X)
    seal_anchor(now=later(240))  # late: there was no key for it

    # The first two name the events that those of the hour follow.
    assert [anchor.seq for anchor in Selection(TIME).anchors()] == [1, 2, 3, 4, 7]


def test_a_planted_event_before_the_first_does_not_make_an_export_endless(owner: Owner, kept: Path) -> None:
    owner.rewrite(tampered.plant_an_event_before_the_first)

    assert Selection(TIME).length == len(list(Selection(TIME).events()))


def test_lines_are_exported_of_trails_in_the_order_of_their_ids(owner: Owner, kept: Path, tmp_path: Path) -> None:
    def turn_round(log: Log) -> None:
        for name, id_ in (("run:a", 900), ("run:b", 800)):
            trail = trail_of(log, name)
            for row in [*log["event"], *log["payload"]]:
                row["trail_id"] = id_ if row["trail_id"] == trail["id"] else row["trail_id"]
            trail["id"] = id_

    owner.rewrite(turn_round)

    status, said = exported(tmp_path, TIME)

    assert status == 0, said
    assert listed(tmp_path, "trails.jsonl", "trail") == ["run:b", "run:a"]


UNREADABLE: list[tuple[Callable[[Log], None], str]] = [
    (tampered.nest_a_line_too_deeply, tampered.CHANGED),
    (tampered.erase_a_text_at("infinity"), "the text “answer” of event 3 was erased, and no event says so"),
    (tampered.erase_a_text_at("20000-01-01"), "the text “answer” of event 3 was erased, and no event says so"),
]


@pytest.mark.parametrize(("tamper", "words"), UNREADABLE, ids=[each[0].__name__ for each in UNREADABLE])
def test_a_row_that_cannot_be_read_is_exported_and_named(
    owner: Owner, kept: Path, tmp_path: Path, tamper: Callable[[Log], None], words: str
) -> None:
    owner.rewrite(tamper)

    status, said = exported(tmp_path)

    assert status == 1
    assert f"BROKEN: trail run:a: {words}" in said
