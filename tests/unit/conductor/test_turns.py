"""What a coordinator's reply for a turn says, and what in the words of a thinker or a verifier decides."""

from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.conductor.turns import parse_turn, proposed_role, verdict

NAMES = {"atlas": 0, "sim-birch": 1}

UNDERSTOOD = {
    "as-asked-for": "worker = 1\nrole = verifier",
    "other-order": "role = verifier\nworker = 1",
    "on-one-line": "worker = 1, role = verifier",
    "thoughts-before": "Model 0 was sloppy. The role of a worker is taken.\nworker = 1\nrole = verifier",
    "colons": "worker: 1\nrole: verifier",
    "shouted": "WORKER = 1\nROLE = VERIFIER",
    "called-model": "model: 1\nrole: verifier",
    "model-number": "Worker: Model 1\nRole: Verifier",
    "model-id": "model_id = 1\nrole = verifier",
    "by-slug": "worker = sim-birch\nrole = verifier",
    "bold": "**Worker:** 1\n**Role:** verifier.",
    "ticks": "`worker = 1`\n`role = verifier`",
    "quotes": "worker = “1”\nrole = 'verifier'",
    "remarks": "worker = 1 (the other one)\nrole = verifier, since there is an answer",
    "json": '{"thinking": "Hm.", "worker": "Model 1", "role": "verifier"}',
    "json-number": '{"worker": 1, "role": "verifier"}',
    "thinking-block": "<think>worker = 0\nrole = thinker</think>\nworker = 1\nrole = verifier",
    "second-thoughts": "worker = 0\nrole = worker\nNo:\nworker = 1\nrole = verifier",
}


@pytest.mark.parametrize("reply", UNDERSTOOD.values(), ids=UNDERSTOOD.keys())
def test_a_turn_is_understood(reply: str) -> None:
    turn = parse_turn(reply, pool_size=2, names=NAMES)

    assert (turn.worker, turn.role, turn.problems) == (1, "verifier", ())


NOT_UNDERSTOOD = {
    "nothing": ("  \n", ["is empty"]),
    "prose": ("Let Model 1 verify it.", ["names no worker", "names no role"]),
    "no-role": ("worker = 1", ["names no role"]),
    "no-worker": ("role = worker", ["names no worker"]),
    "out-of-range": ("worker = 2\nrole = worker", ["names the worker “2”; they are numbered 0 to 1"]),
    "negative": ("worker = -1\nrole = worker", ["“-1”"]),
    "half": ("worker = 0.5\nrole = worker", ["“0.5”"]),
    "nobody": ("worker = somebody\nrole = worker", ["“somebody”"]),
    "a-role-of-its-own": (
        "worker = 1\nrole = critic",
        ["cannot be “critic”; in this turn it can be thinker or worker"],
    ),
    "a-role-out-of-turn": ("worker = 1\nrole = verifier", ["cannot be “verifier”"]),
    "only-thinking": ("<think>worker = 1\nrole = worker", ["is empty"]),
    "digits-without-end": (f"worker = {'9' * 5000}\nrole = worker", ["names the worker"]),
}


@pytest.mark.parametrize(("reply", "problems"), NOT_UNDERSTOOD.values(), ids=NOT_UNDERSTOOD.keys())
def test_what_cannot_be_used_is_a_problem_in_words(reply: str, problems: list[str]) -> None:
    turn = parse_turn(reply, pool_size=2, roles=("thinker", "worker"), names=NAMES)

    assert len(turn.problems) == len(problems)
    assert all(part in told for part, told in zip(problems, turn.problems, strict=True))


def test_the_thinking_is_what_stands_before_the_decision() -> None:
    assert (
        parse_turn("<think>a</think>An easy one.\n\n**worker = 1**\nrole = worker", pool_size=2).thinking
        == "An easy one."
    )


PIECES = [
    "worker",
    "model",
    "role",
    "=",
    ":",
    " ",
    "\n",
    "1",
    "thinker",
    "<think>",
    "</think>",
    "“",
    "*",
    "ACCEPT",
    "x",
]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=200))
def test_no_reply_makes_it_raise(reply: str) -> None:
    turn = parse_turn(reply, pool_size=2, names=NAMES)

    assert bool(turn.problems) == (turn.worker is None or turn.role is None or not 0 <= turn.worker < 2)
    assert verdict(reply) in ("accept", "reject", None)
    proposed_role(reply)


@pytest.mark.parametrize(
    "piece",
    ["x", "\n", " ", "*", "worker", "worker ", "worker = ", "role = ", "<think>", "next role ", "the final ", "A"],
)
def test_a_million_characters_of_anything_take_no_time(piece: str) -> None:
    text = (piece * (1_000_000 // len(piece) + 1))[:1_000_000]

    def took_s() -> float:
        begun = thread_time()
        parse_turn(text, pool_size=2, names=NAMES)
        verdict(text)
        proposed_role(text)
        return thread_time() - begun

    assert min(took_s() for _ in range(3)) < 0.15
