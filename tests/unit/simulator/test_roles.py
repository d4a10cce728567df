"""Workers in roles beside answering: thinkers, verifiers, aggregators, and models that go over their own work."""

import pytest

from apps.conductor.planners.direct import INSTRUCTION
from apps.conductor.planners.mixture_of_agents import SUM_UP
from apps.conductor.planners.roles import DEBATE, READ_ON, REFEREE, ROLES, THINK
from apps.conductor.planners.roles import REFLECT as IMPROVE
from apps.conductor.planners.self_reflection import REFLECT
from apps.conductor.prompt_turns import SUBTASKS
from apps.conductor.turns import proposed_role, verdict
from apps.simulator.claims import claimed
from apps.simulator.excuse import is_excuse
from apps.simulator.models import MODELS
from apps.simulator.speak import speak

from .prompts import asked_to_work
from .tasks import COUNTDOWN, NO_PUZZLES, OPEN_ENDED, SAMPLES

ATLAS, BIRCH, DELTA = (MODELS[f"sim-{name}"] for name in ("atlas", "birch", "delta"))
SUMS = {f"Compute {n} * 37 + 11.": str(n * 37 + 11) for n in range(200, 300)}


def as_(role, task, *accessed, model=ATLAS, seed=0):
    return speak(model, asked_to_work(task, SUBTASKS[role], accessed), seed=seed).text


@pytest.mark.parametrize(("task", "answer"), SAMPLES.items())
def test_a_thinker_prepares_the_answer_and_does_not_give_it(task, answer):
    reply = as_("thinker", task)

    assert claimed(reply) is None
    assert "What remains to be done:" in reply
    assert proposed_role(reply) == "worker"


@pytest.mark.parametrize(("task", "answer"), SAMPLES.items())
def test_a_worker_answers_whatever_was_planned_and_objected(task, answer):
    said = {"thinker": as_("thinker", task), "worker": "Answer: 7", "verifier": "REJECT: no."}
    earlier = [(SUBTASKS[role], words) for role, words in said.items()]

    assert claimed(as_("worker", task, *earlier)) == answer


@pytest.mark.parametrize(("task", "answer"), SAMPLES.items())
def test_a_strong_verifier_accepts_what_is_right_and_rejects_what_is_not(task, answer):
    block = f"```json\n{answer}\n```" if answer.startswith("{") else f"Answer: {answer}"

    assert verdict(as_("verifier", task, (SUBTASKS["worker"], block))) == "accept"
    assert verdict(as_("verifier", task, (SUBTASKS["worker"], "Answer: 1 or 2"))) == "reject"


def test_a_countdown_is_verified_by_its_value_and_not_by_its_form():
    assert verdict(as_("verifier", COUNTDOWN, ("Do it", "Answer: (50 + 3) * 7 + 1"))) == "reject"
    assert verdict(as_("verifier", COUNTDOWN, ("Do it", as_("worker", COUNTDOWN)))) == "accept"


def test_a_weak_verifier_errs_both_ways_and_always_alike():
    for said in (str, lambda answer: "4"):
        once, again = (
            [as_("verifier", task, ("Do it", f"Answer: {said(answer)}"), model=DELTA) for task, answer in SUMS.items()]
            for _ in range(2)
        )

        assert 20 < sum(verdict(reply) == "accept" for reply in once) < 80
        assert once == again


def test_without_an_answer_there_is_nothing_to_accept():
    assert verdict(as_("verifier", next(iter(SUMS)), (SUBTASKS["thinker"], "A plan."))) == "reject"


@pytest.mark.parametrize("task", OPEN_ENDED)
def test_where_it_cannot_judge_a_verifier_says_so_and_does_not_object(task):
    reply = as_("verifier", task, (SUBTASKS["worker"], "Well, it depends."))

    assert is_excuse(reply)
    assert "I cannot judge the answer" in reply
    assert verdict(reply) == "accept"


@pytest.mark.parametrize("role", ["thinker", "worker"])
@pytest.mark.parametrize("task", NO_PUZZLES)
def test_what_cannot_be_solved_is_said_to_be_simulated_in_every_role(task, role):
    assert is_excuse(as_(role, task))


def reflected(task, before, seed=0, model=DELTA):
    return claimed(speak(model, asked_to_work(task, REFLECT, [(INSTRUCTION, f"Answer: {before}")]), seed=seed).text)


def test_a_model_mostly_stays_with_its_own_answer_whether_right_or_wrong():
    kept_right = sum(reflected(task, answer) == answer for task, answer in SUMS.items())
    kept_wrong = sum(reflected(task, "4") == "4" for task in SUMS)

    assert 88 <= kept_right < 100
    assert 65 <= kept_wrong <= 95


def test_a_strong_model_finds_more_of_its_own_mistakes_than_a_weak_one():
    strong, weak = (
        sum(reflected(task, "4", model=model) == answer for task, answer in SUMS.items()) for model in (ATLAS, DELTA)
    )

    assert strong > weak > 0


AGGREGATING = [
    SUM_UP,
    *(f"{manner}{ROLES['mathematician']}" for manner in (READ_ON, DEBATE, THINK)),
    *(f"{IMPROVE}{said}" for said in ROLES.values()),
    REFEREE,
    "You were given the responses of several models. Synthesise them into one answer; some of them may be wrong.",
    "You are the aggregator. Weigh the candidates critically, and return a single refined answer.",
    "You are the referee of this debate. Read all statements and give the final answer.",
    "Several models have answered. Give the answer that the majority supports.",
    "You are a critic. Refute what is wrong in the statements you were given, and state what you hold to be right.",
    "Improve on the previous responses and answer again.",
]


@pytest.mark.parametrize("instruction", AGGREGATING)
@pytest.mark.parametrize(("task", "answer"), SAMPLES.items())
def test_whoever_draws_answers_together_comes_to_the_right_one(task, answer, instruction):
    candidates = [("Answer it.", "Answer: 7"), ("Answer it.", as_("worker", task)), ("Answer it.", "I do not know.")]

    assert claimed(speak(ATLAS, asked_to_work(task, instruction, candidates)).text) == answer


@pytest.mark.parametrize("instruction", AGGREGATING)
@pytest.mark.parametrize("task", OPEN_ENDED)
def test_nobody_draws_an_answer_from_replies_that_are_none(task, instruction):
    pieces = [("Answer it.", speak(model, asked_to_work(task, "Answer it.")).text) for model in (BIRCH, DELTA)]

    assert is_excuse(speak(ATLAS, asked_to_work(task, instruction, pieces)).text)
