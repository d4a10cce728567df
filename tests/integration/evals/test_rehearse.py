"""The command `rehearse` on real PostgreSQL and Redis, with the simulator as its own process."""

import json
import socket
import threading
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.accounts.models import Project, User
from apps.audit.verification import verify
from apps.evals.entrants import entrants
from apps.evals.generators import generate, make_task
from apps.evals.outcomes import Outcome, read_outcomes
from apps.evals.rehearsal import Rehearsal, find_pool
from apps.evals.simulated import NoSimulator, answers, simulated_models
from apps.runs.models import Run
from apps.workers.models import Conductor, Profile, Worker
from tests.simulators import Simulator


def rehearse(out: Path, *arguments: str, **options: Any) -> str:
    said = StringIO()
    call_command("rehearse", *arguments, out=out, speed=0.0, jobs=4, stdout=said, stderr=StringIO(), **options)
    return said.getvalue()


def test_two_planners_are_rehearsed_on_two_tasks(admin: User, pool: str, tmp_path: Path) -> None:
    said = rehearse(tmp_path, n=2, samples=2, planners=("conductor", "moa"), workers=("sim-birch", "sim-delta"))

    outcomes = read_outcomes(tmp_path / "outcomes.jsonl")
    assert {each.entrant for each in outcomes} == {
        "direct: sim-birch",
        "direct: sim-delta",
        "conductor",
        "conductor, 2 rounds",
        "moa",
        "self-consistency: sim-birch × 2",
        "self-consistency: sim-delta × 2",
    }
    assert len(outcomes) == 14
    runs = {run.code: run for run in Run.objects.all()}
    assert {each.run for each in outcomes} == set(runs)
    for each in outcomes:
        run = runs[each.run]
        task = make_task(each.kind, each.seed)
        assert (run.status, run.task) == (Run.Status.SUCCEEDED, task.text)
        assert each.right == task.grader.grade(run.answer).is_right
        assert each.calls == run.attempts.count() + run.proposals.count()
        assert each.tokens == run.input_tokens + run.output_tokens > 0
        assert each.cost_usd == float(run.cost_usd) > 0
        assert each.steps == run.steps.count() == sum(each.widths)
        assert sum(each.workers.values()) == run.attempts.count()
        assert run.project.slug == "rehearsals"
        assert verify(run.trail).first_break is None
    assert "2 tasks of the set “mixed”, simulated workers without the delays of their models" in said
    assert "Report:" in said
    assert "<svg" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_votes_of_fewer_attempts_are_taken_from_the_run_of_most(admin: User, pool: str, tmp_path: Path) -> None:
    rehearse(tmp_path, n=2, samples=3, planners=("random",), workers=("sim-delta",))

    for each in read_outcomes(tmp_path / "outcomes.jsonl"):
        if each.planner == "self-consistency":
            attempts = list(Run.objects.get(code=each.run).attempts.order_by("step__position"))
            grader = make_task(each.kind, each.seed).grader
            assert [vote.n for vote in each.votes] == [1, 2, 3]
            assert each.votes[0].right == grader.grade(attempts[0].text).is_right
            assert each.votes[-1].right == each.right
            assert each.votes[1].cost_usd == pytest.approx(sum(float(a.cost_usd or 0) for a in attempts[:2]))
            assert each.votes[-1].tokens == each.tokens
        else:
            assert each.votes == ()


def test_scores_of_single_workers_are_kept_for_planners_that_learn(admin: User, pool: str, tmp_path: Path) -> None:
    rehearse(tmp_path, n=3, samples=1, planners=("random",), workers=("sim-atlas", "sim-delta"))

    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert [row["worker"] for row in rows] == ["sim-atlas"] * 3 + ["sim-delta"] * 3
    assert all(row["correct"] for row in rows if row["worker"] == "sim-atlas")
    assert {row["task"] for row in rows} == {task.text for task in generate("mixed", 3, seed=1)}


def test_the_same_rehearsal_gives_the_same_answers_again(admin: User, pool: str, tmp_path: Path) -> None:
    found = []
    for folder in ("one", "two"):
        rehearse(tmp_path / folder, n=3, samples=1, planners=("conductor",), workers=("sim-cedar", "sim-delta"))
        found.append([(o.entrant, o.seed, o.answer) for o in read_outcomes(tmp_path / folder / "outcomes.jsonl")])

    assert found[0] == found[1]


def test_who_has_not_learnt_is_left_out_and_said_to_be(admin: User, pool: str, tmp_path: Path) -> None:
    said = rehearse(tmp_path, n=1, samples=1, planners=("smoothie",), workers=("sim-birch", "sim-delta"))

    names = {each.entrant for each in read_outcomes(tmp_path / "outcomes.jsonl")}
    assert "smoothie, local" in names
    assert "smoothie, global" not in names
    assert "Left out: smoothie, global." in said
    assert "train_planner smoothie" in said
    assert "train_planner smoothie" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_where_there_is_no_conductor_those_that_ask_one_are_left_out(admin: User, pool: str, tmp_path: Path) -> None:
    Conductor.objects.update(enabled=False)

    said = rehearse(tmp_path, n=1, samples=1, planners=("conductor", "random"), workers=("sim-birch",))

    assert {each.planner for each in read_outcomes(tmp_path / "outcomes.jsonl")} == {
        "direct",
        "random",
        "self-consistency",
    }
    assert "Left out: conductor. There is no simulated conductor." in said


def test_a_run_that_fails_is_wrong_and_its_reason_is_told(admin: User, pool: str, tmp_path: Path) -> None:
    Worker.objects.filter(slug="sim-birch").update(model="sim-birch:ttft=0,rate=0,fail=400")

    said = rehearse(tmp_path, n=1, samples=1, planners=("random",), workers=("sim-birch",))

    assert {(each.right, each.why) for each in read_outcomes(tmp_path / "outcomes.jsonl")} == {
        (False, "there is no answer")
    }
    assert "direct: sim-birch: 1 of 1 runs gave no answer. The first: Step 1 failed" in said


def test_a_rehearsal_leaves_the_studio_as_it_was(admin: User, pool: str, tmp_path: Path) -> None:
    before = (
        list(Worker.objects.order_by("pk").values()),
        list(Conductor.objects.values()),
        list(Profile.objects.values()),
        User.objects.get(pk=admin.pk).home_project_id,
    )

    rehearse(tmp_path, n=1, samples=1, planners=("conductor",), workers=("sim-birch",))

    assert before == (
        list(Worker.objects.order_by("pk").values()),
        list(Conductor.objects.values()),
        list(Profile.objects.values()),
        User.objects.get(pk=admin.pk).home_project_id,
    )
    assert not Run.objects.visible_to(admin).exists(), "they fill nobody's list"
    assert Project.objects.get(slug="rehearsals").name == "Rehearsals"


def test_only_simulated_workers_are_asked(admin: User, pool: str, tmp_path: Path) -> None:
    Worker.objects.filter(slug="sim-atlas").update(simulated=False)

    with pytest.raises(CommandError, match="“sim-atlas” is no enabled simulated worker"):
        rehearse(tmp_path, n=1, workers=("sim-atlas",))
    assert "sim-atlas" not in find_pool().workers

    Worker.objects.update(enabled=False)
    with pytest.raises(CommandError, match="There is no simulated worker"):
        rehearse(tmp_path, n=1)
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    "wrong",
    [
        ("--planners", "oracle"),
        ("--set", "poetry"),
        ("--n", "0"),
        ("--n", "many"),
        ("--speed", "-1"),
        ("--jobs", "0"),
    ],
)
def test_what_cannot_be_meant_is_refused(admin: User, pool: str, tmp_path: Path, wrong: tuple[str, str]) -> None:
    with pytest.raises(CommandError, match=wrong[1]):
        call_command("rehearse", *wrong, "--out", str(tmp_path), stdout=StringIO(), stderr=StringIO())

    assert not Run.objects.exists()


def test_without_redis_it_says_how_to_start(admin: User, pool: str, tmp_path: Path, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:9/0"

    with pytest.raises(CommandError, match="Start the studio: make run"):
        rehearse(tmp_path, n=1)


def test_broken_off_its_runs_are_stopped(admin: User, pool: str) -> None:
    Worker.objects.filter(slug="sim-birch").update(model="sim-birch:fail=hang")
    taking_part = entrants([], workers=("sim-delta", "sim-birch"), samples=1)[:2]
    rehearsal = Rehearsal(find_pool(["sim-delta", "sim-birch"]), by=admin, speed=0, jobs=4)

    def break_off(_: Outcome) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rehearsal.carry_out(generate("mixed", 2, seed=1), taking_part, done=break_off)

    assert all(run.is_ended for run in Run.objects.all())
    assert {run.status for run in Run.objects.filter(setup__options__worker="sim-birch")} == {Run.Status.CANCELLED}


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def test_a_simulator_that_runs_is_used_and_another_is_started_for_the_command(simulator: Simulator) -> None:
    with simulated_models(simulator.base_url) as was_started:
        assert not was_started

    url = f"http://127.0.0.1:{free_port()}/v1"
    with simulated_models(url) as was_started:
        assert was_started
        assert answers(url)
    assert not answers(url)


def test_no_simulator_is_started_on_other_machines_or_a_port_that_is_taken() -> None:
    with pytest.raises(NoSimulator, match="Start the studio there"), simulated_models("http://192.0.2.1:1/v1"):
        pass

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refuse = threading.Thread(target=_refuse, args=[taken], daemon=True)
        refuse.start()
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(NoSimulator, match="did not come up"), simulated_models(url):
            pass


def _refuse(server: socket.socket) -> None:
    """Hang up on whoever comes."""
    while True:
        try:
            server.accept()[0].close()
        except OSError:
            return


def test_a_rehearsal_is_in_the_moment_it_began(admin: User, pool: str, tmp_path: Path) -> None:
    began = timezone.now()

    rehearse(tmp_path, n=1, samples=1, planners=("random",), workers=("sim-birch",))

    assert all(run.created_at >= began for run in Run.objects.all())
