import pytest
from pydantic import ValidationError

from apps.evals.outcomes import Score, by_entrant, read_outcomes, scores, write_lines
from tests.unit.evals.making import outcome, votes


def test_outcomes_survive_being_written_and_read(tmp_path):
    kept = [outcome("a", 1, votes=votes(True, False)), outcome("b", 2, right=False, answer="zwölf\n“so”")]

    write_lines(tmp_path / "outcomes.jsonl", kept)

    assert read_outcomes(tmp_path / "outcomes.jsonl") == kept
    assert len((tmp_path / "outcomes.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_a_line_that_is_no_outcome_is_refused(tmp_path):
    (tmp_path / "outcomes.jsonl").write_text('{"entrant": "a"}\n')

    with pytest.raises(ValidationError):
        read_outcomes(tmp_path / "outcomes.jsonl")


def test_scores_are_of_single_workers_alone():
    found = list(
        scores(
            [
                outcome("direct: sim-delta", 1, right=False, workers={"sim-delta": 1}),
                outcome("moa", 1, planner="moa"),
                outcome("direct: sim-atlas", 2, workers={}),
            ]
        )
    )

    assert [(score.worker, score.correct, score.answer) for score in found] == [("sim-delta", False, "Answer: 7")]


def test_scores_are_what_a_planner_learns_from(tmp_path):
    from apps.conductor.learning import records

    rows = [
        outcome(f"direct: {worker}", seed, right=seed % 2 == 0 or worker == "sim-atlas", workers={worker: 1})
        for worker in ("sim-atlas", "sim-delta")
        for seed in range(12)
    ]
    write_lines(tmp_path / "scores.jsonl", scores(rows))

    found = records.read([tmp_path])

    assert found.workers == ("sim-atlas", "sim-delta")
    assert found.solved.mean(axis=0).tolist() == [1.0, 0.5]
    assert found.answers[0] == ("Answer: 7", "Answer: 7")
    assert set(Score.model_fields) >= {"task", "worker", "correct", "cost_usd", "answer"}


def test_only_tasks_that_every_entrant_finished_are_compared_and_in_one_order():
    finished = {"a": (1, 2, 3), "b": (3, 1), "c": (3, 1)}

    table = by_entrant([outcome(name, seed) for name, seeds in finished.items() for seed in seeds])

    assert {name: [each.seed for each in kept] for name, kept in table.items()} == {name: [1, 3] for name in finished}


@pytest.mark.parametrize(
    ("fields", "shape"),
    [
        ({"widths": (1,)}, "1"),
        ({"widths": (3, 1)}, "3 → 1"),
        ({"widths": (5,), "sink": "vote"}, "5 → vote"),
        ({"widths": (), "sink": ""}, ""),
    ],
)
def test_a_shape_tells_what_stands_side_by_side(fields, shape):
    assert outcome("a", 1, **fields).shape == shape
