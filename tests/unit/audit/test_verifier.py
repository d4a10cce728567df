"""What an outsider's Python says of an export, sound and tampered with: it has the zip and nothing of the studio."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from apps.audit import chain
from apps.audit.chain import GENESIS
from apps.audit.exporting.verify import Export
from tests.unit.audit.exported import KEY, NOON, Kept, fingerprint_of, pem, rows, sealed, small, unpack, verify

FILES = [
    "README.txt",
    "verify.py",
    "public_key.pem",
    "trails.jsonl",
    "events.jsonl",
    "payloads.jsonl",
    "anchors.jsonl",
    "manifest.json",
    "signature.txt",
]
ANOTHER = Ed25519PrivateKey.from_private_bytes(b"x" * 32)


@pytest.fixture
def kept() -> Kept:
    return small()


def problems(kept: Kept, folder: Path, *, outside: str = "", **given) -> list[str]:
    """What is wrong, where the studio itself signed what it was tampered with: only the chains can tell."""
    unpack(kept.zip(**given), folder)
    (folder / "kept.jsonl").write_text(outside)
    export = Export(folder, kept=folder / "kept.jsonl")
    export.check()
    return export.problems


def made_anew(kept: Kept, at: int) -> None:
    """Change an event, and seal it and all that follows it in its trail again, as a database's owner could."""
    line = kept.lines[at]
    changed = line.line.replace('"data":{}', '"data":{"approved":true}')
    before = kept.lines[at - 1].hash if line.seq > 1 else GENESIS
    for place in range(at, len(kept.lines)):
        if kept.lines[place].trail != line.trail:
            break
        text = changed if place == at else kept.lines[place].line
        kept.lines[place] = replace(kept.lines[place], line=text, hash=chain.seal(before, text))
        before = kept.lines[place].hash
    kept.bounds = [replace(part, head=before) if part.trail == line.trail else part for part in kept.bounds]


# --- a sound one ---------------------------------------------------------------------------------------------------


def test_an_export_holds_with_nothing_but_the_zip(kept: Kept, tmp_path: Path) -> None:
    status, said = verify(unpack(kept.zip(), tmp_path))

    assert status == 0
    assert "2 trails, 4 events, 4 texts, 0 erased" in said
    assert "2 anchors, which cover 4 of the events" in said
    assert "OK: everything holds." in said
    assert "compare it with the one you were given" in said


def test_without_cryptography_every_hash_is_checked_and_the_signatures_are_said_not_to_be(
    kept: Kept, tmp_path: Path
) -> None:
    unpack(kept.zip(), tmp_path)

    status, said = verify(tmp_path, isolated="-I -S")

    assert status == 2
    assert "NOT CHECKED: signatures. The Python package “cryptography” is missing" in said
    assert "OK" not in said
    (tmp_path / "events.jsonl").write_bytes((tmp_path / "events.jsonl").read_bytes().replace(b"Ada", b"Bob", 1))
    assert verify(tmp_path, isolated="-I -S")[0] == 1


@pytest.mark.parametrize("given", [fingerprint_of(), fingerprint_of().upper(), "key.pem"])
def test_the_key_that_is_expected_is_compared(kept: Kept, tmp_path: Path, given: str) -> None:
    unpack(kept.zip(), tmp_path)
    (tmp_path / "key.pem").write_text(pem())

    status, said = verify(tmp_path, "--key", given)

    assert status == 0
    assert "compare it" not in said


def test_events_stand_in_it_exactly_as_they_were_hashed(kept: Kept, tmp_path: Path) -> None:
    unpack(kept.zip(), tmp_path)

    assert [row["line"] for row in rows(tmp_path, "events.jsonl")] == [line.line for line in kept.lines]
    before = GENESIS
    for row in list(rows(tmp_path, "events.jsonl"))[:3]:
        before = chain.seal(before, row["line"])
        assert before == row["hash"]


def test_an_export_without_texts_holds(kept: Kept, tmp_path: Path) -> None:
    unpack(kept.zip(texts=False), tmp_path)

    assert not (tmp_path / "payloads.jsonl").exists()
    assert "4 events, 0 texts" in verify(tmp_path)[1]
    assert verify(tmp_path)[0] == 0


def test_a_text_that_was_erased_is_no_break_where_an_event_says_so(kept: Kept, tmp_path: Path) -> None:
    kept.erase(0, 1, told_in="run:a")

    unpack(kept.zip(), tmp_path)

    status, said = verify(tmp_path)
    assert status == 0, said
    assert "2 texts, 2 erased" in said


def test_a_text_that_was_erased_while_the_export_was_sent_is_no_break(kept: Kept, tmp_path: Path) -> None:
    kept.said[1] = replace(kept.said[1], salt=None, text=None, erased_at=NOON + timedelta(seconds=3))

    assert problems(kept, tmp_path) == []


def test_an_erasure_may_be_told_at_another_time(kept: Kept, tmp_path: Path) -> None:
    kept.said[1] = replace(kept.said[1], salt=None, text=None, erased_at=NOON)

    assert problems(kept, tmp_path, kind="time") == []


def test_a_trail_may_begin_in_its_middle_and_go_on_behind_the_end(tmp_path: Path) -> None:
    whole = Kept()
    whole.add("run:a", "one", "two", "three", "four")
    whole.anchor(("run:a", 3))
    whole.anchor(("run:a", 4))
    first, last = whole.lines[1], whole.lines[2]
    part = replace(whole.bounds[0], first=2, last=3, after=whole.lines[0].hash, head=last.hash)
    middle = Kept([first, last], whole.said[1:3], whole.pins, [part])

    status, said = verify(unpack(middle.zip(kind="time"), tmp_path))

    assert status == 0
    assert "cover 2 of the events" in said
    assert problems(middle, tmp_path, kind="all") == ["trail run:a: its beginning is cut off"]


# --- one byte ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_one_changed_byte_in_any_file_is_found(kept: Kept, tmp_path: Path, name: str) -> None:
    unpack(kept.zip(), tmp_path)
    sound = (tmp_path / name).read_bytes()
    for at in range(0, len(sound), 1 + len(sound) // 150):
        changed = bytearray(sound)
        changed[at] ^= 1
        (tmp_path / name).write_bytes(changed)
        export = Export(tmp_path)
        export.check()
        # A line break at the end of the signature is no part of it.
        assert export.problems or (name, at) == ("signature.txt", len(sound) - 1), (at, sound[at : at + 20])


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_missing_is_named(kept: Kept, tmp_path: Path, name: str) -> None:
    unpack(kept.zip(), tmp_path)
    (tmp_path / name).unlink()
    export = Export(tmp_path)

    export.check()

    assert any(name in words for words in export.problems)


def test_a_folder_that_holds_no_export_is_told_so(tmp_path: Path) -> None:
    export = Export(tmp_path)
    export.check()

    assert export.problems[0] == "public_key.pem cannot be read: No such file or directory"


# --- tampered with before it was exported --------------------------------------------------------------------------


def test_a_changed_line_is_named(kept: Kept, tmp_path: Path) -> None:
    kept.lines[1] = replace(kept.lines[1], line=kept.lines[1].line.replace("Ada", "Bob"))

    assert problems(kept, tmp_path) == ["trail run:a: event 2 is not what was sealed: its text or its hash was changed"]


def test_a_deleted_event_is_named(kept: Kept, tmp_path: Path) -> None:
    del kept.lines[1]

    assert problems(kept, tmp_path) == ["trail run:a: event 2 is missing: event 3 follows event 1"]


def test_a_swapped_text_is_named(kept: Kept, tmp_path: Path) -> None:
    kept.said[1] = replace(kept.said[1], text="A.")

    assert problems(kept, tmp_path) == ["trail run:a: the text “said” of event 2 is not the one that was sealed"]


def test_a_text_that_is_gone_without_an_erasure_is_named(kept: Kept, tmp_path: Path) -> None:
    kept.said[1] = replace(kept.said[1], salt=None, text=None)

    assert problems(kept, tmp_path) == ["trail run:a: the text “said” of event 2 is gone, and was not erased"]


def test_a_text_that_was_erased_and_no_event_says_so_is_named(kept: Kept, tmp_path: Path) -> None:
    kept.said[1] = replace(kept.said[1], salt=None, text=None, erased_at=NOON)
    kept.erase(3, told_in="run:b")

    assert problems(kept, tmp_path) == ["trail run:a: the text “said” of event 2 was erased, and no event says so"]


def test_a_text_of_an_event_behind_its_erasure_was_not_erased_by_it(kept: Kept, tmp_path: Path) -> None:
    kept.erase(0, told_in="run:a")
    kept.add("run:c", "Kept.", "Taken away.")
    event = sealed("run:c", 1, before=chain.GENESIS, data={}, texts={"said": kept.said[-2].digest}, verb="run.erased")
    after = sealed("run:c", 2, before=event.hash, data={}, texts={"said": kept.said[-1].digest})
    kept.lines[-2:] = [event, after]
    kept.bounds[-1] = replace(kept.bounds[-1], head=after.hash)
    kept.said[-1] = replace(kept.said[-1], salt=None, text=None, erased_at=NOON)

    assert problems(kept, tmp_path) == ["trail run:c: the text “said” of event 2 was erased, and no event says so"]


def test_a_text_that_was_erased_long_after_the_export_was_made_is_named(kept: Kept, tmp_path: Path) -> None:
    kept.said[1] = replace(kept.said[1], salt=None, text=None, erased_at=NOON + timedelta(days=400))

    assert problems(kept, tmp_path) == ["trail run:a: the text “said” of event 2 was erased, and no event says so"]


def test_a_line_nested_too_deep_to_be_read_is_named(kept: Kept, tmp_path: Path) -> None:
    deep = '{"a":' + "[" * 5000 + "]" * 5000 + "}"
    kept.lines[1] = replace(kept.lines[1], line=deep, hash=chain.seal(kept.lines[0].hash, deep))

    assert problems(kept, tmp_path) == ["trail run:a: event 2 is sealed, but its line is no event of this place"]


def test_a_text_that_is_not_there_at_all_is_named(kept: Kept, tmp_path: Path) -> None:
    del kept.said[2]

    assert problems(kept, tmp_path) == ["trail run:a: the text “said” of event 3 is not in the export"]


def test_a_text_that_no_event_names_is_named(kept: Kept, tmp_path: Path) -> None:
    kept.said.insert(3, replace(kept.said[2], name="more"))

    assert problems(kept, tmp_path) == ["trail run:a: the text “more” of event 3 is not the one that was sealed"]


def test_a_cut_off_end_is_named_even_where_the_head_was_moved_back(kept: Kept, tmp_path: Path) -> None:
    del kept.lines[2], kept.said[2]
    kept.bounds[0] = replace(kept.bounds[0], last=2, head=kept.lines[1].hash)

    assert problems(kept, tmp_path) == ["trail run:a: the end is cut off: event 2 is the last of 3"]


def test_a_trail_that_is_gone_is_named(kept: Kept, tmp_path: Path) -> None:
    del kept.lines[3], kept.said[3], kept.bounds[1]

    assert problems(kept, tmp_path) == ["trail run:b is gone: anchor 2 names its event 1"]


def test_a_trail_of_another_project_is_not_missed(kept: Kept, tmp_path: Path) -> None:
    kept.add("run:c", "hello", project="q")
    kept.anchor(("run:c", 1), project="q")
    del kept.lines[4], kept.said[4], kept.bounds[2]

    assert problems(kept, tmp_path) == []


def test_what_was_anchored_after_the_export_is_not_missed(kept: Kept, tmp_path: Path) -> None:
    later = small()
    later.add("run:c", "later")
    newest = later.anchor(("run:c", 1))

    assert problems(kept, tmp_path, outside=newest.written() + "\n", last_anchor=2) == []


def test_anchors_that_the_database_has_forgotten_still_tell_of_a_cut_off_end(kept: Kept, tmp_path: Path) -> None:
    outside = "".join(f"{anchor.written()}\n" for anchor in kept.pins)
    del kept.pins[1], kept.lines[2:], kept.said[2:], kept.bounds[1:]
    kept.bounds[0] = replace(kept.bounds[0], last=2, head=kept.lines[1].hash)

    made_at = NOON + timedelta(hours=1)
    assert problems(kept, tmp_path, last_anchor=1, made_at=made_at) == [], "nothing inside tells"
    assert problems(kept, tmp_path, outside=outside, last_anchor=1, made_at=made_at) == [
        "anchors 2 to 2 are gone: they were kept outside",
        "trail run:a: the end is cut off: event 2 is the last of 3",
        "trail run:b is gone: anchor 2, which was kept outside, names its event 1",
    ]


def test_a_trail_that_was_made_anew_contradicts_its_anchor(kept: Kept, tmp_path: Path) -> None:
    made_anew(kept, 0)

    assert problems(kept, tmp_path) == [
        "trail run:a: event 2 is not the one that anchor 1 names: the trail was made anew"
    ]


def test_anchors_that_name_different_events_of_one_place_contradict_each_other(kept: Kept, tmp_path: Path) -> None:
    made_anew(kept, 0)
    kept.anchor(("run:a", 3))  # in good faith: the studio signs what it finds

    found = problems(kept, tmp_path)

    assert found[0] == "trail run:a: anchor 3 names another event 3 than anchor 2: it was made anew"


def test_a_trail_and_its_anchors_made_anew_contradict_an_anchor_that_was_kept_outside(
    kept: Kept, tmp_path: Path
) -> None:
    outside = "".join(f"{anchor.written()}\n" for anchor in kept.pins)
    made_anew(kept, 0)
    kept.pins.clear()
    kept.anchor(("run:a", 3), ("run:b", 1))

    assert problems(kept, tmp_path) == [], "nothing inside tells: whoever holds the key and the database wrote it all"
    assert problems(kept, tmp_path, outside=outside) == [
        "anchor 1 is not the one that was kept outside",
        "trail run:a: anchor 1 names another event 3 than anchor 2, which was kept outside: it was made anew",
        "trail run:a: event 2 is not the one that anchor 1, which was kept outside, names: the trail was made anew",
    ]


def test_anchors_that_are_gone_are_not_needed_where_some_were_kept_outside(kept: Kept, tmp_path: Path) -> None:
    outside = "".join(f"{anchor.written()}\n" for anchor in kept.pins)
    kept.pins.clear()
    del kept.lines[2:], kept.said[2:], kept.bounds[1:]
    kept.bounds[0] = replace(kept.bounds[0], last=2, head=kept.lines[1].hash)

    assert problems(kept, tmp_path, outside=outside) == [
        "trail run:a: the end is cut off: event 2 is the last of 3",
        "trail run:b is gone: anchor 2, which was kept outside, names its event 1",
    ]


def test_an_anchor_that_somebody_else_signed_is_named(kept: Kept, tmp_path: Path) -> None:
    kept.pins[1] = replace(kept.pins[1], signature=ANOTHER.sign(b"conductor-studio/anchor/v1\n").hex())

    assert problems(kept, tmp_path) == ["anchor 2 is not signed by a key of the studio"]


def test_an_anchor_whose_line_was_changed_is_named(kept: Kept, tmp_path: Path) -> None:
    kept.pins[0] = replace(kept.pins[0], line=kept.pins[0].line.replace("run:a", "run:z"))

    assert problems(kept, tmp_path) == ["anchor 1 is not what was sealed: its text or its hash was changed"]


def test_an_event_that_is_no_anchor_cannot_pass_for_one(kept: Kept, tmp_path: Path) -> None:
    event = sealed("run:x", 1, before=GENESIS, data={"heads": []}, texts={})
    kept.pins[0] = replace(kept.pins[0], prev=GENESIS, line=event.line, hash=event.hash)

    assert problems(kept, tmp_path) == ["anchor 1 is not what was sealed: its text or its hash was changed"]


def test_a_sound_event_of_another_trail_cannot_pass_for_one_of_this(kept: Kept, tmp_path: Path) -> None:
    first = kept.lines[3]
    kept.lines[3] = replace(first, trail="run:c")
    kept.bounds[1] = replace(kept.bounds[1], trail="run:c")
    kept.said[3] = replace(kept.said[3], trail="run:c")

    assert "trail run:c: event 1 is sealed, but its line is no event of this place" in problems(kept, tmp_path)


def test_an_export_that_somebody_else_signed_is_not_the_studios(kept: Kept, tmp_path: Path) -> None:
    kept.pins.clear()
    unpack(kept.zip(key=ANOTHER), tmp_path)

    assert verify(tmp_path)[0] == 0, "it holds in itself"
    status, said = verify(tmp_path, "--key", fingerprint_of(KEY))
    assert status == 1
    assert f"BROKEN: the export is signed by key {fingerprint_of(ANOTHER)}, and not by {fingerprint_of(KEY)}" in said
