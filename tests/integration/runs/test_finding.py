"""What each condition of a filter finds, and the words under which a run is found."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import Membership, Project, User
from apps.runs.filters import parse
from apps.runs.finding import find
from apps.runs.models import TRIAL, Attempt, Experiment, Rating, Run, RunWords, Step, Variant
from tests.factories import make_person, make_run

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def ada(db: None, redis_url: str) -> User:
    return make_person("ada")


def a_run(by: User, task: str = "A task", **changes: Any) -> Run:
    run = make_run(by=by, task=task)
    Run.objects.filter(pk=run.pk).update(**{"created_at": NOW - timedelta(hours=1), **changes})
    return run


def ended(status: str, *, took: timedelta = timedelta(minutes=1)) -> dict[str, Any]:
    return {"status": status, "finished_at": NOW - timedelta(hours=1) + took}


def found(text: str, by: User) -> set[str]:
    asked = parse(text)
    assert asked.faults == ()
    return set(find(Run.objects.all(), asked, by=by, now=NOW).values_list("title", flat=True))


def steps(run: Run, *workers: str, **fields: str) -> None:
    for position, worker in enumerate(workers):
        Step.objects.create(run=run, key=f"s{position}", position=position, worker=worker, **fields)


def finish(run: Run) -> None:
    """End the run, as a driver does: by writing its status."""
    Run.objects.filter(pk=run.pk).update(status="succeeded", finished_at=timezone.now())


def test_a_state_is_one_or_several_statuses(ada: User) -> None:
    for status in ("queued", "planning", "running", "held"):
        a_run(ada, status, status=status)
    for status in ("succeeded", "failed", "cancelled"):
        a_run(ada, status, **ended(status))

    assert found("status:live", ada) == {"queued", "planning", "running"}
    assert found("status:stopped", ada) == {"cancelled"}
    assert found("-status:live -status:failed", ada) == {"held", "succeeded", "cancelled"}


def test_kinds_of_runs_are_told_apart(ada: User) -> None:
    first = a_run(ada, "first")
    a_run(make_person("bob"), "fork", parent=first, root=first, cost_unknown=True)
    a_run(ada, "a test", profile=TRIAL)

    assert found("is:fork", ada) == {"fork"}
    assert found("-is:mine", ada) == {"fork"}
    assert found("is:unpriced", ada) == {"fork"}
    assert found("is:test", ada) == {"a test"}


def test_a_worker_is_found_by_a_part_of_its_slug_or_of_its_name(ada: User) -> None:
    steps(a_run(ada, "cedar only"), "sim-cedar")
    steps(a_run(ada, "both"), "sim-birch", "sim-cedar", "sim-cedar")
    a_run(ada, "no steps")

    assert found("worker:cedar", ada) == {"cedar only", "both"}
    assert found("worker:BIRCH", ada) == {"both"}
    assert found("-worker:birch", ada) == {"cedar only", "no steps"}
    assert found("worker:100%", ada) == set()


def test_profile_code_person_and_planner_are_found_by_parts(ada: User) -> None:
    grace = make_person("grace")
    User.objects.filter(pk=grace.pk).update(first_name="Grace", last_name="Hopper")
    run = a_run(grace, "hers", profile="night-shift", planned_by="moa")
    a_run(ada, "ours")

    assert found("profile:night", ada) == {"hers"}
    assert found(f"code:{run.code[:5].upper()}", ada) == {"hers"}
    assert found('who:"grace hop"', ada) == {"hers"}
    assert found("who:GRACE", ada) == {"hers"}
    assert found("planner:moa", ada) == {"hers"}
    assert found("-planner:mixture", ada) == {"ours"}
    assert found("planner:conductor", ada) == {"ours"}  # which is to plan it


def test_a_project_is_found_by_a_part_of_its_slug_or_name_by_those_who_belong_to_it(ada: User) -> None:
    lab = Project.objects.create(slug="lab-7", name="Night watch", created_at=NOW)
    Membership.objects.create(user=ada, project=lab, role="analyst")
    a_run(ada, "at home")
    a_run(ada, "in the lab", project=lab)

    assert found("project:LAB", ada) == {"in the lab"}
    assert found("project:watch", ada) == {"in the lab"}
    assert found("-project:lab", ada) == {"at home"}
    assert found("project:lab", make_person("bob")) == set()


def test_numbers_are_compared(ada: User) -> None:
    dear = a_run(ada, "dear", cost_usd=Decimal("0.25"), input_tokens=9_000, output_tokens=2_000)
    cheap = a_run(ada, "cheap", cost_usd=Decimal("0.01"), input_tokens=500)
    steps(dear, "sim-cedar", "sim-cedar", "sim-cedar")
    steps(cheap, "sim-cedar")
    a_run(ada, "free")

    assert found("cost>0.1", ada) == {"dear"}
    assert found("cost:0", ada) == {"free"}
    assert found("cost>0 cost<=0.01", ada) == {"cheap"}
    assert found("tokens>10k", ada) == {"dear"}
    assert found("steps:3", ada) == {"dear"}
    assert found("steps<2", ada) == {"cheap", "free"}
    assert found("-steps:0", ada) == {"cheap", "dear"}
    assert found("steps>0.5 tokens<999999999999", ada) == {"cheap", "dear"}


def test_how_long_it_took_is_from_its_start_to_its_end_or_to_now(ada: User) -> None:
    a_run(ada, "short", **ended("succeeded", took=timedelta(seconds=20)))
    a_run(ada, "long", **ended("failed", took=timedelta(minutes=5)))
    a_run(ada, "goes on")  # since an hour

    assert found("took<30s", ada) == {"short"}
    assert found("took>2m", ada) == {"long", "goes on"}
    assert found("took>10m", ada) == {"goes on"}
    assert found("took<999999999999d", ada) == {"short", "long", "goes on"}


def test_days_begin_at_midnight_utc(ada: User) -> None:
    a_run(ada, "today", created_at=datetime(2026, 11, 21, 0, 5, tzinfo=UTC))
    a_run(ada, "yesterday", created_at=datetime(2026, 11, 20, 23, 55, tzinfo=UTC))
    a_run(ada, "last week", created_at=datetime(2026, 11, 13, tzinfo=UTC))

    assert found("after:today", ada) == {"today"}
    assert found("after:yesterday before:today", ada) == {"yesterday"}
    assert found("before:2026-11-20", ada) == {"last week"}
    assert found("after:7d", ada) == {"today", "yesterday"}
    assert found("after:2026-11-21T01:00", ada) == set()


def test_words_are_found_in_the_task_from_the_beginning(ada: User) -> None:
    a_run(ada, "Compare the Tariff tables, “per region”")
    a_run(ada, "Something else")

    assert found("tari TABLES", ada) == {"Compare the Tariff tables, “per region”"}
    assert found('"tariff tables"', ada) == {"Compare the Tariff tables, “per region”"}
    assert found('"tables tariff"', ada) == set()
    assert found("region", ada) == {"Compare the Tariff tables, “per region”"}
    assert found("-tariff", ada) == {"Something else"}
    assert found('"tari"', ada) == set()  # in quotes a word is whole


def test_words_of_any_script_and_case_are_found(ada: User) -> None:
    a_run(ada, "Ärger über ЁЛКА und 比較")

    for word in ("ärger", "ÜBER", "ёлка", "比較"):
        assert found(word, ada), word


def test_what_looks_like_an_address_or_a_name_is_found_by_its_parts(ada: User) -> None:
    a_run(ada, "Ask sim-cedar at https://example.org/v1/models for o'clock & 53.4 %")

    for text in ("cedar", "sim-ced", "example.org", "v1/mod", "o'clock", "53.4", "'models':*", "cedar&!at|https"):
        assert found(f'"{text}"', ada) or found(text.replace(":", ""), ada), text


def test_words_of_instructions_and_results_are_found_once_the_run_has_ended(ada: User) -> None:
    run = a_run(ada, "The task")
    steps(run, "sim-cedar", instruction="Look at elasticity", result="It is inelastic")
    assert found("inelastic", ada) == set()

    finish(run)

    assert found("elasticity inelastic task", ada) == {"The task"}
    assert found("inelastic -task", ada) == set()


def test_a_held_run_is_found_by_its_plan_and_again_by_what_came_of_it(ada: User) -> None:
    run = a_run(ada, "The task")
    steps(run, "sim-cedar", instruction="Look at elasticity")
    Run.objects.filter(pk=run.pk).update(status="held")
    assert found("elasticity", ada) == {"The task"}

    Step.objects.filter(run=run).update(instruction="Look at income")
    Run.objects.filter(pk=run.pk).update(status="running")
    finish(run)

    assert found("income", ada) == {"The task"}
    assert found("elasticity", ada) == set()


def test_no_text_is_too_long_or_too_odd_for_the_words(ada: User) -> None:
    run = a_run(ada, "The task")
    many = " ".join(f"word{number}" for number in range(60_000))
    steps(run, "sim-cedar", "sim-cedar", result=many)
    steps_ = Step.objects.filter(run=run)
    steps_.filter(position=1).update(result="界" * 400_000, instruction="\\ ' \" :* <-> &|!()")

    finish(run)

    assert found("word17", ada) == {"The task"}
    assert RunWords.objects.filter(run=run).exists()


def test_the_code_the_profile_and_the_person_are_words_of_a_run(ada: User) -> None:
    run = a_run(ada, "The task")

    assert found(run.code, ada) == found(run.profile, ada) == found("ada", ada) == {"The task"}


# --- reviews, ratings, experiments ----------------------------------------------------------------------------------


def test_runs_are_found_by_how_they_were_signed_off(ada: User) -> None:
    runs = {name: a_run(ada, name, **ended("succeeded")) for name in ("accepted", "rejected", "open", "unseen")}
    a_run(ada, "live", status="running")
    for name in ("accepted", "rejected", "open"):
        Run.objects.filter(pk=runs[name].pk).update(reviewed=name)

    assert found("reviewed:accepted", ada) == {"accepted"}
    assert found("reviewed:yes", ada) == {"accepted", "rejected"}
    assert found("reviewed:open", ada) == {"open"}
    assert found("reviewed:no", ada) == {"open", "unseen"}
    assert found("-reviewed:no", ada) == {"accepted", "rejected", "live"}


def test_runs_are_found_by_what_somebody_gave_their_answer(ada: User) -> None:
    runs = {name: a_run(ada, name) for name in ("good", "bad", "of a step", "unrated")}
    steps(runs["of a step"], "sim-birch")
    step = runs["of a step"].steps.get()
    call = Attempt.objects.create(run=step.run, step=step, number=1, status="succeeded", sent=[], started_at=NOW)
    for name, score, of in (("good", 5, {}), ("bad", 1, {}), ("of a step", 1, {"step": step, "attempt": call})):
        said = "Better" if name == "bad" else ""
        Rating.objects.create(
            run=runs[name], **of, by=ada, score=score, correction=said, created_at=NOW, updated_at=NOW
        )

    assert found("rating<2.5", ada) == {"bad"}
    assert found("rating:5", ada) == {"good"}
    assert found("rating>0", ada) == {"good", "bad"}
    assert found("-rating>0", ada) == {"of a step", "unrated"}
    assert found("is:corrected", ada) == {"bad"}


def test_the_forks_of_experiments_are_found(ada: User) -> None:
    parent = a_run(ada, "parent", **ended("succeeded"))
    experiment = Experiment.objects.create(run=parent, owner=ada, limit_usd=1, created_at=NOW)
    for position, name in enumerate(("first fork", "second fork")):
        fork = a_run(ada, name)
        Variant.objects.create(experiment=experiment, position=position, source="s1", reader=f"s{position}", fork=fork)

    assert found("is:experiment", ada) == {"first fork", "second fork"}
    assert found("-is:experiment", ada) == {"parent"}
