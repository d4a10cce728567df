"""Planners that learn: a planted rule is found, slopes are slopes, and what was learnt is planned by."""

import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from apps.conductor.learning import masrouter, records, routerdc, smoothie, tfidf, training
from apps.conductor.learning.bodies import fit_texts
from apps.conductor.learning.records import Records, RecordsUnusable
from apps.conductor.planners import planner
from apps.conductor.planners.masrouter import steps_of
from apps.conductor.prompt import PoolEntry
from apps.conductor.proposal import Brief
from apps.core.errors import Invalid
from apps.workflows import graph
from apps.workflows.workflow import Workflow
from tests.unit.conductor.fakes import FakeConductor, FakeWatch

WORKERS = ("atlas", "birch", "cedar")
KINDS = (
    ("Add {} apples to {} apples and give the sum of the basket.", "atlas"),
    ("Sort these {} words of {} letters by the alphabet.", "birch"),
    ("How many days lie between the {} of May and the {} of June?", "cedar"),
)


def planted(count: int = 120, *, seed: int = 5) -> Records:
    """Each worker solves tasks of one kind nearly always, and those of the others seldom; the words tell the kind."""
    random = Random(seed)
    tasks, solved = [], []
    for number in range(count):
        words, expert = KINDS[number % len(KINDS)]
        tasks.append(words.format(random.randint(2, 99), random.randint(2, 99)))
        solved.append([float(random.random() < (0.95 if worker == expert else 0.15)) for worker in WORKERS])
    answers = tuple(tuple(f"answer of {worker}" for worker in WORKERS) for _ in tasks)
    cost = np.tile([0.003, 0.002, 0.001], (count, 1))
    return Records(tuple(tasks), WORKERS, np.array(solved), cost, answers)


def brief(task: str, body: dict[str, Any] | None, *pool: str) -> Brief:
    entries = tuple(PoolEntry(worker, worker.title()) for worker in pool or WORKERS)
    return Brief(task, entries, max_steps=2, seed=1, learnt=body)


async def planned(name: str, given: Brief) -> Workflow:
    proposal = await planner(name).plan(given, ask=FakeConductor(), watch=FakeWatch())
    assert proposal.workflow is not None
    return proposal.workflow


@pytest.mark.parametrize("name", ["routerdc", "masrouter"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_planted_rule_is_learnt_and_beats_chance_on_tasks_never_seen(name: str, seed: int) -> None:
    held = training.hold_out(name, planted(seed=seed), seed=seed)

    assert held.planner >= held.chance + 0.3, "by thirty points of a hundred"
    assert held.planner > held.best_single + 0.2


@pytest.mark.parametrize("name", ["routerdc", "masrouter"])
async def test_a_task_goes_to_the_worker_who_was_seen_to_solve_its_kind(name: str) -> None:
    body = json.loads(json.dumps(training.train(name, planted(), seed=1)))

    for words, expert in KINDS:
        workflow = await planned(name, brief(words.format(41, 17), body))
        workers = [step.worker for step in workflow.steps]
        assert max(set(workers), key=workers.count) == expert


async def test_the_same_seed_learns_the_same() -> None:
    assert training.train("routerdc", planted(), seed=4) == training.train("routerdc", planted(), seed=4)


async def test_a_worker_that_was_not_trained_on_is_passed_over() -> None:
    body = training.train("routerdc", planted(), seed=1)

    workflow = await planned("routerdc", brief(KINDS[0][0].format(1, 2), body, "newcomer", "birch"))

    assert [step.worker for step in workflow.steps] == ["birch"]


@pytest.mark.parametrize("name", ["routerdc", "masrouter"])
async def test_without_training_it_is_said_how_to_train(name: str) -> None:
    with pytest.raises(Invalid, match=f"has not been trained yet.*train_planner {name}"):
        await planned(name, brief("Add.", None))


async def test_training_on_other_workers_is_said() -> None:
    with pytest.raises(Invalid, match="trained on other workers"):
        await planned("routerdc", brief("Add.", training.train("routerdc", planted(), seed=1), "newcomer"))


def test_the_slopes_of_routerdcs_losses_are_those_of_small_steps() -> None:
    random = np.random.default_rng(3)
    vectors = tfidf.unit(random.normal(size=(6, 5)))
    weights, workers = random.normal(size=(5, 4)), random.normal(size=(3, 4))
    solved = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 0, 0]], dtype=float)
    best, worst = routerdc.extremes(solved, np.ones_like(solved))
    pairs = (np.array([1, 0, 3, 2, 5, 4]), random.integers(0, 6, size=(6, 2)))

    def at(changed_weights: Any, changed_workers: Any) -> float:
        return routerdc.loss(changed_weights, changed_workers, vectors, best, worst, *pairs)[0]

    _, slopes = routerdc.loss(weights, workers, vectors, best, worst, *pairs)
    for which, values in enumerate((weights, workers)):
        for place in [(0, 0), (1, 3), (2, 2)]:
            step = np.zeros_like(values)
            step[place] = 1e-6
            up, down = [
                at(*(values + sign * step if n == which else other for n, other in enumerate((weights, workers))))
                for sign in (1, -1)
            ]
            assert slopes[which][place] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-7)


def test_the_three_best_are_those_that_solved_it_and_the_three_worst_those_that_did_not() -> None:
    best, worst = routerdc.extremes(np.array([[1, 0, 1, 0.0]]), np.array([[3, 1, 2, 1.0]]))

    assert best.tolist() == [[True, False, True, False]]
    assert worst.tolist() == [[False, True, False, True]]


@pytest.mark.parametrize(
    ("mode", "reads"),
    [
        ("IO", [()]),
        ("CoT", [()]),
        ("chain", [(), ("s1",), ("s2",), ("s1", "s2", "s3")]),
        ("full", [(), ("s1",), ("s1", "s2"), ("s1", "s2", "s3")]),
        ("reflection", [(), ("s1",), ("s2",), ("s1", "s2", "s3")]),
        ("debate", [(), (), (), *[("s1", "s2", "s3")] * 3, ("s1", "s2", "s3", "s4", "s5", "s6")]),
    ],
)
def test_masrouters_modes_are_what_may_be_read(mode: str, reads: list[tuple[str, ...]]) -> None:
    agents = [("solver", "atlas"), ("sceptic", "birch"), ("checker", "atlas")][: 1 if len(reads) == 1 else 3]

    steps = steps_of(mode, agents, "cedar")

    assert [step.access for step in steps] == reads
    if len(agents) > 1:
        assert (steps[-1].role, steps[-1].worker) == ("referee", "cedar")


def test_every_system_masrouter_can_choose_can_be_carried_out() -> None:
    random = np.random.default_rng(1)
    fitted, vectors = fit_texts(planted().tasks)
    sizes = {"mode": 6, "count": 6, "role": 8, "worker": 3}
    for _ in range(60):
        maps = {name: random.normal(size=(vectors.shape[1] + 1, size)).tolist() for name, size in sizes.items()}
        chosen = masrouter.choose({"workers": list(WORKERS), "maps": maps}, vectors[0], pool=("birch", "cedar"))
        steps = steps_of(chosen.mode, list(chosen.agents), chosen.referee)
        workflow = Workflow(steps=steps)
        problems = graph.check(workflow, workers=("birch", "cedar"), max_steps=13)
        assert graph.errors(problems) == []
        assert len(chosen.agents) <= masrouter.MOST_AGENTS
    assert fitted["terms"]


def test_smoothie_weighs_most_who_says_what_the_others_say() -> None:
    tasks = tuple(f"task {number}" for number in range(12))
    answers = tuple(
        (f"the answer is {n} apples", f"the answer is {n} apples indeed", "bananas are blue", f"answer is {n} apples")
        for n in range(12)
    )
    known = Records(tasks, ("a", "b", "odd", "d"), np.ones((12, 4)), np.ones((12, 4)), answers)

    weights = smoothie.train(known)["weights"]

    assert min(weights, key=lambda worker: weights[worker]) == "odd"


def test_a_vector_made_again_from_plain_data_is_the_one_it_was_fitted_on() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = planted(30).tasks
    fitted = json.loads(json.dumps(tfidf.fit(texts)))
    own = np.array([tfidf.vector(fitted, text) for text in texts])
    theirs = TfidfVectorizer(analyzer=tfidf.words, max_features=tfidf.MOST_TERMS, sublinear_tf=True)

    assert np.allclose(own, theirs.fit_transform(texts).toarray(), atol=1e-4)


# --- files ---------------------------------------------------------------------------------------------------------


def row(task: str, worker: str, **more: Any) -> str:
    return json.dumps({"task": task, "worker": worker, "correct": 1, "cost_usd": 0.1, "answer": "x"} | more)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "line 2: this is no JSON"),
        ("[]", "line 2: a row needs"),
        (json.dumps({"task": "t", "worker": "w"}), "line 2: a row needs"),
        (row("t", "w", correct=7), "line 2: a row needs"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line(tmp_path: Path, line: str, why: str) -> None:
    file = tmp_path / "scores.jsonl"
    file.write_text(f"{row('t', 'a')}\n{line}\n")

    with pytest.raises(RecordsUnusable, match=why):
        records.read([tmp_path])


def test_too_little_to_learn_from_is_said(tmp_path: Path) -> None:
    (tmp_path / "scores.jsonl").write_text(row("t", "a"))

    with pytest.raises(RecordsUnusable, match="at least 10 tasks and 2 workers"):
        records.read([tmp_path])


def test_tasks_that_not_everybody_answered_are_left_out(tmp_path: Path) -> None:
    rows = [row(f"t{n}", worker) for n in range(12) for worker in ("a", "b")]
    (tmp_path / "scores.jsonl").write_text("\n".join([*rows, row("alone", "a")]))

    known = records.read([tmp_path])

    assert (len(known.tasks), known.workers) == (12, ("a", "b"))
