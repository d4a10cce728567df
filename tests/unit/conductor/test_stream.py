"""A reply that is read while it arrives: steps as they become known, and the same meaning however it is cut."""

import json
from collections.abc import Callable
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.conductor.parse import DraftStep, StreamParser, parse

REPLY = 'I think…\nmodel_id = [2, 0]\nsubtasks = ["Plan.", "Do it."]\naccess_list = [[], ["all"]]'

PIECES = [
    *"[](){},:=`'\"\\/#\n *-_<>.0129x“”‘’„，：é😀",
    "model_id",
    "Model ID",
    "subtasks",
    "sub-task",
    "access_list",
    "access",
    "steps",
    "model_id = [",
    "subtasks: [",
    "access_list = [",
    '{"steps": [',
    '{"worker": 0, "instruction": "a", "access": []}',
    '"all"',
    "['all']",
    "[]",
    "[[",
    "]]",
    "<think>",
    "</think>",
    "```",
    "```python\n",
    '"""',
    "'''",
    '", "',
    "', '",
    "it's",
    "\\frac",
    "\\u00e9",
    "\\ud83d",
    "all",
    "None",
    "null",
    "true",
    "Model 1",
    "...",
    "\n\n",
    "// no",
    "# no",
    "list[int] =",
    "(",
    "  ",
    " " * 90,
    "words and words ",
]
Written = tuple[int, str, list[int] | list[str]]
replies = st.lists(st.sampled_from(PIECES), max_size=60).map("".join) | st.text(max_size=300)


def follow(text: str, *, size: int = 1) -> list[DraftStep]:
    parser = StreamParser()
    return [step for at in range(0, len(text), size) for step in parser.feed(text[at : at + size])]


def test_a_step_shows_first_its_worker_then_its_instruction_then_what_it_reads() -> None:
    assert follow(REPLY) == [
        DraftStep(0, None, 2, None),
        DraftStep(1, None, 0, None),
        DraftStep(0, "Plan.", 2, None),
        DraftStep(1, "Do it.", 0, None),
        DraftStep(0, "Plan.", 2, ()),
        DraftStep(1, "Do it.", 0, (0,)),
    ]


def test_a_step_is_known_as_soon_as_its_text_is_closed() -> None:
    parser = StreamParser()
    parser.feed('model_id = [2, 0]\nsubtasks = ["Pl')
    assert parser.feed("an.") == []

    assert parser.feed('", "Do') == [DraftStep(0, "Plan.", 2, None)]


def test_several_steps_in_one_piece_are_told_once_each() -> None:
    assert follow(REPLY, size=len(REPLY)) == [DraftStep(0, "Plan.", 2, ()), DraftStep(1, "Do it.", 0, (0,))]


def test_steps_as_json_come_one_by_one() -> None:
    steps = [{"worker": 1, "instruction": "Plan.", "access": []}, {"worker": 0, "instruction": "Do.", "access": [0]}]

    assert follow(json.dumps({"thinking": "Hm.", "steps": steps})) == [
        DraftStep(0, "Plan.", 1, ()),
        DraftStep(1, "Do.", 0, (0,)),
    ]


def test_thinking_shows_no_steps() -> None:
    assert follow(f"<think>{REPLY}</think> Well.") == []


def test_a_second_set_of_lists_begins_anew() -> None:
    told = follow(f"{REPLY}\nBetter:\nmodel_id = [1]\nsubtasks = ['All of it.']\naccess_list = [[]]")

    assert told[-3:] == [
        DraftStep(0, None, 1, None),
        DraftStep(0, "All of it.", 1, None),
        DraftStep(0, "All of it.", 1, ()),
    ]


def test_forward_references_are_told_as_written() -> None:
    assert follow("access_list = [[2, 1, 1]]") == [DraftStep(0, None, None, (1, 2))]


@settings(max_examples=400, deadline=None)
@given(replies)
def test_nothing_makes_it_raise_and_pieces_make_no_difference(reply: str) -> None:
    whole = parse(reply)
    parser = StreamParser()
    for character in reply:
        parser.feed(character)

    assert parser.finish() == whole


@settings(max_examples=200, deadline=None)
@given(replies, st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_pieces_of_any_size_make_no_difference(reply: str, sizes: list[int]) -> None:
    parser = StreamParser()
    at = 0
    while at < len(reply):
        size = sizes[at % len(sizes)]
        parser.feed(reply[at : at + size])
        at += size

    assert parser.finish() == parse(reply)


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00\\", exclude_categories=["Cc", "Cs"]), max_size=60)
steps = st.lists(
    st.tuples(st.integers(0, 9), texts.map(str.strip), st.just(["all"]) | st.lists(st.integers(0, 9), max_size=4)),
    min_size=2,
    max_size=6,
)


def spread(value: object) -> str:
    return json.dumps(value, indent=4, ensure_ascii=False)


forms = st.sampled_from([repr, json.dumps, spread])


@settings(max_examples=300, deadline=None)
@given(steps, forms)
def test_well_formed_lists_are_read_exactly(steps: list[Written], form: Callable[[object], str]) -> None:
    model_id, subtasks, access_list = (list(column) for column in zip(*steps, strict=True))

    parsed = parse(f"model_id = {form(model_id)}\nsubtasks = {form(subtasks)}\naccess_list = {form(access_list)}")

    assert parsed.problems == ()
    assert parsed.repairs == ()
    assert parsed.lists is not None
    assert (parsed.lists.model_id, parsed.lists.subtasks, parsed.lists.access_list) == (model_id, subtasks, access_list)


@settings(max_examples=100, deadline=None)
@given(steps)
def test_the_last_that_was_told_of_each_step_is_what_the_whole_says(steps: list[Written]) -> None:
    model_id, subtasks, access_list = (list(column) for column in zip(*steps, strict=True))
    reply = f"model_id = {model_id}\nsubtasks = {subtasks!r}\naccess_list = {access_list}"

    last = {step.position: step for step in follow(reply)}
    whole = parse(reply).lists

    assert whole is not None
    assert [last[position].instruction for position in range(len(steps))] == whole.subtasks
    assert [last[position].worker_index for position in range(len(steps))] == model_id


@pytest.mark.parametrize("piece", ["words and more ", "[", "'it's ", '"a", ', "model_id = ["])
def test_the_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    def took_s(length: int) -> float:
        parser = StreamParser()
        text = ("subtasks = [" + piece * length)[:length]
        begun = thread_time()
        for character in text:
            parser.feed(character)
        parser.finish()
        return thread_time() - begun

    short = min(took_s(5_000) for _ in range(3))

    assert min(took_s(40_000) for _ in range(2)) < 8 * short * 4 + 0.1
