"""Exporting trails from the database: what is in it, that it holds, and that it says what does not."""

import tracemalloc
from pathlib import Path

import pytest
from django.db import transaction

from apps.audit import chain, log
from apps.audit.exporting import holding, selected
from apps.audit.exporting.exports import NothingToExport
from apps.audit.exporting.selected import Scope, Slice, sliced
from apps.audit.log import Entry
from apps.audit.models import Event, Trail
from apps.audit.signing import NoSigningKey, public_key_id
from tests.integration.audit.exports import (
    anchors_kept_outside,
    export,
    exported,
    later,
    listed,
    unpacked,
    write_at,
)
from tests.integration.audit.trails import ADA, write
from tests.unit.audit.exported import rows, verify

pytestmark = pytest.mark.django_db
X = Entry("x", {"cost": "0.10", "big": 10**22}, {"answer": "B\u2028 it is.\n", "reason": "☃"})


# --- what is in it -------------------------------------------------------------------------------------------------


def test_everything_of_a_project_holds_and_all_of_it_is_anchored(tmp_path: Path) -> None:
    write("run:a", X, X, Entry("y"))
    write("run:b", X)

    status, said = exported(tmp_path)

    assert status == 0, said
    assert "2 trails, 4 events, 6 texts, 0 erased" in said
    assert "1 anchors, which cover 4 of the events" in said
    assert f"key {public_key_id()}" in said


def test_events_are_exported_exactly_as_they_were_hashed(tmp_path: Path) -> None:
    write("run:a", X, X)

    folder = unpacked(export(), tmp_path)

    kept = list(Event.objects.filter(trail__name="run:a").order_by("seq").values_list("seq", "hash", "line"))
    assert listed(folder, "events.jsonl", "seq", "hash", "line") == kept


def test_texts_come_with_their_salts_in_the_order_of_their_events(tmp_path: Path) -> None:
    write("run:a", X, Entry("y", texts={"task": "Compare."}))

    folder = unpacked(export(), tmp_path)

    assert listed(folder, "payloads.jsonl", "seq", "name", "text") == [
        (1, "answer", "B\u2028 it is.\n"),
        (1, "reason", "☃"),
        (2, "task", "Compare."),
    ]
    for digest, salt, text in listed(folder, "payloads.jsonl", "digest", "salt", "text"):
        assert chain.digest(salt, text) == digest


def test_without_texts_nothing_that_anybody_wrote_is_in_it(tmp_path: Path) -> None:
    write("run:a", Entry("y", texts={"task": "a planted word"}))

    status, _ = exported(tmp_path, with_texts=False)

    assert status == 0
    assert not (tmp_path / "payloads.jsonl").exists()
    assert all(b"planted" not in path.read_bytes() for path in tmp_path.iterdir())


def test_an_erased_text_is_marked_and_is_no_break(tmp_path: Path) -> None:
    write("run:a", X)
    with transaction.atomic():
        log.erase("run:a", at=later(5))
        write_at("run:a", 5, Entry("run.erased", texts={"reason": "They asked for it."}))

    status, said = exported(tmp_path)

    assert status == 0, said
    assert "1 texts, 2 erased" in said
    erased = [row.get("erased_at") for row in rows(tmp_path, "payloads.jsonl")]
    assert erased == [later(5).isoformat(timespec="microseconds")] * 2 + [None]


def test_projects_are_exported_apart(tmp_path: Path) -> None:
    write_at("run:a", 0, X)
    write_at("run:b", 0, Entry("z", texts={"task": "a planted word"}), project="other")
    write_at("pool", 0, X, project="")

    status, _ = exported(tmp_path)

    assert status == 0
    assert listed(tmp_path, "trails.jsonl", "trail") == ["run:a"]
    for path in tmp_path.iterdir():
        assert b"planted" not in path.read_bytes()
        assert b"run:b" not in path.read_bytes()


def test_of_several_projects_each_is_in_it(tmp_path: Path) -> None:
    write_at("run:a", 0, X)
    write_at("run:b", 0, X, project="other")
    write_at("pool", 0, X, project="")

    status, said = exported(tmp_path, Scope("all", ["default", ""], "both"))

    assert status == 0, said
    assert listed(tmp_path, "trails.jsonl", "trail") == ["run:a", "pool"]


def test_trails_that_are_asked_for_by_name_are_whole(tmp_path: Path) -> None:
    write("run:a", X, X)
    write("run:b", X)

    status, _ = exported(tmp_path, Scope("run", ["default"], "run b", trails=["run:b"]))

    assert status == 0
    assert listed(tmp_path, "trails.jsonl", "trail", "first", "last") == [("run:b", 1, 1)]


def test_a_time_takes_what_happened_in_it_and_verifies_from_the_middle_of_a_chain(tmp_path: Path) -> None:
    for minute in range(6):
        write_at("run:a", minute, X)
        anchors_kept_outside(tmp_path / "kept.jsonl")
    write_at("run:before", 0, X)
    write_at("run:after", 5, X)
    scope = Scope("time", ["default"], "an hour", since=later(2), until=later(4))

    status, said = exported(tmp_path, scope)

    assert status == 0, said
    assert listed(tmp_path, "trails.jsonl", "trail", "first", "last") == [("run:a", 3, 4)]
    assert listed(tmp_path, "trails.jsonl", "after") == [Event.objects.get(trail__name="run:a", seq=2).hash]
    assert "cover 2 of the events" in said
    assert listed(tmp_path, "anchors.jsonl", "seq") == [2, 3, 4], "those that name an event in it or the one before"
    assert verify(tmp_path, "--anchors", "kept.jsonl")[0] == 0, "anchors of later events are no objection"


def test_what_stands_between_two_events_of_the_time_is_in_it_too(tmp_path: Path) -> None:
    for minute in (1, 9, 2):
        write_at("run:a", minute, X)

    status, _ = exported(tmp_path, Scope("time", ["default"], "it", since=later(1), until=later(3)))

    assert status == 0
    assert listed(tmp_path, "trails.jsonl", "first", "last") == [(1, 3)]


def test_trails_and_texts_are_read_page_by_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "AT_ONCE", 3)
    for name in ("TRAILS_AT_ONCE", "EVENTS_AT_ONCE", "TEXTS_AT_ONCE"):
        monkeypatch.setattr(selected, name, 3)
    for number in range(8):
        write(f"run:{number}", *[X] * (number + 1))
        anchors_kept_outside(tmp_path / "kept.jsonl")

    status, said = exported(tmp_path)

    assert status == 0, said
    assert "8 trails, 36 events, 72 texts" in said
    assert "8 anchors, which cover 36 of the events" in said


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_slices_take_every_event_once_and_in_order(size: int) -> None:
    parts = [Slice(7, 1, 1), Slice(8, 3, 9), Slice(9, 1, 4)]

    groups = list(sliced(iter(parts), size))

    taken = [(part.trail, seq) for group in groups for part in group for seq in range(part.first, part.last + 1)]
    assert taken == [(part.trail, seq) for part in parts for seq in range(part.first, part.last + 1)]
    assert all(sum(part.last - part.first + 1 for part in group) == size for group in groups[:-1])


def test_what_is_written_meanwhile_is_not_in_it(tmp_path: Path) -> None:
    write("run:a", X)
    made = export()
    write("run:a", X)
    write("run:b", X)

    folder = unpacked(made, tmp_path)

    assert verify(folder)[0] == 0
    assert listed(folder, "trails.jsonl", "trail", "last") == [("run:a", 1)]


def test_memory_does_not_grow_with_the_export() -> None:
    text = {"answer": "word " * 2_000}
    write("run:small", *[Entry("x", texts=text)] * 40)
    small = _peak(Scope("run", ["default"], "small", trails=["run:small"]))
    write("run:large", *[Entry("x", texts=text)] * 1_200)

    large = _peak(Scope("run", ["default"], "large", trails=["run:large"]))

    assert large < 2 * small + 2_000_000, f"{small} bytes for 40 events, {large} for 1,200 of 12 MB"


def _peak(scope: Scope) -> int:
    made = export(scope)
    tracemalloc.start()
    for _ in made.pieces():
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


# --- what the log says of it ---------------------------------------------------------------------------------------


def test_an_export_is_an_event_before_its_first_byte() -> None:
    write("run:a", X, X)

    made = export()

    [event] = log.read("exports:default")
    assert event.verb == "trail.exported"
    assert event.actor == ADA
    assert event.data == {
        "kind": "all",
        "export": made.about.export,
        "trails": 1,
        "events": 2,
        "texts": True,
    }


def test_an_export_of_a_run_is_told_in_its_trail_and_of_two_projects_in_both() -> None:
    write("run:a", X)
    write_at("run:b", 0, X, project="other")

    export(Scope("run", ["default"], "run a", trails=["run:a"]))
    export(Scope("all", ["other", "default"], "both"))

    assert [event.verb for event in log.read("run:a")] == ["x", "trail.exported"]
    assert {trail: log.read(trail)[0].data["events"] for trail in ("exports:default", "exports:other")} == {
        "exports:default": 3,
        "exports:other": 3,
    }


def test_an_export_is_in_the_next_one(tmp_path: Path) -> None:
    write("run:a", X)
    export()

    status, _ = exported(tmp_path)

    assert status == 0
    assert listed(tmp_path, "trails.jsonl", "trail") == ["run:a", "exports:default"]


def test_where_there_is_nothing_it_is_refused_and_not_told() -> None:
    with pytest.raises(NothingToExport) as refused:
        export()

    assert refused.value.message == "There is nothing to export: project default has no event."
    assert not Trail.objects.filter(name="exports:default").exists()


def test_without_a_key_to_sign_with_nothing_leaves(settings) -> None:
    write("run:a", X)
    settings.READ_SIGNING_KEYS = list

    with pytest.raises(NoSigningKey):
        export()


def test_after_a_change_of_keys_older_anchors_still_hold(settings, tmp_path: Path) -> None:
    old, new = "11" * 32, "22" * 32
    settings.READ_SIGNING_KEYS = lambda: [old]
    write("run:a", X)
    anchors_kept_outside(tmp_path / "kept.jsonl")
    settings.READ_SIGNING_KEYS = lambda: [new, old]
    write("run:a", X)

    status, said = exported(tmp_path)

    assert status == 0, said
    assert len({*listed(tmp_path, "anchors.jsonl", "key")}) == 2
    assert f"key {public_key_id()}" in said
