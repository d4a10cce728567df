"""Ratings and corrections of results: who gives them, what they are of, and how they are read for training."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.permits import NotAllowed
from apps.audit import log
from apps.core.errors import Invalid
from apps.runs.holding import write_result
from apps.runs.models import Attempt, Rating, Run
from apps.runs.rating import NoResult, rate_result, ratings_for, withdraw_rating
from tests.factories import NOON, Driving, chain, failure, make_pool, make_run
from tests.integration.runs.reviewed import ROLES, carried_out, member, told
from tests.integration.web.given import let_stand_in, stood_in


@pytest.fixture
def ada(db: None, redis_url: str) -> User:
    return member("ada", ROLES.ANALYST)


@pytest.fixture
def bea(ada: User) -> User:
    return member("bea", ROLES.ANALYST)


@pytest.fixture
def run(ada: User) -> Run:
    return carried_out(ada)


def erase(run: Run) -> None:
    """As far as an erasure shows in the run's row."""
    gone = {"task": "", "answer": "", "error": "", "notice": "", "erased_at": timezone.now()}
    Run.objects.filter(pk=run.pk).update(**gone)


def test_an_answer_is_rated_and_corrected_and_the_trail_has_both(run: Run, ada: User) -> None:
    rating = rate_result(run=run, score=2, correction="North grew most.", comment="Wrong table", by=ada, now=NOON)

    assert (rating.step, rating.score, rating.correction) == (None, 2, "North grew most.")
    [event] = told(run, "result.rated")
    assert event.actor == ada.actor
    assert event.data == {"rating": rating.pk, "step": None, "attempt": None, "score": 2, "was": None}
    assert event.texts == {"correction": "North grew most.", "comment": "Wrong table"}
    assert log.verify(run.trail).first_break is None


def test_who_rates_once_more_changes_their_mind(run: Run, ada: User, bea: User) -> None:
    rate_result(run=run, score=2, by=ada, now=NOON)
    rate_result(run=run, score=4, by=bea, now=NOON)
    rate_result(run=run, score=5, by=ada, now=NOON + timedelta(minutes=1))

    assert list(run.ratings.values_list("by__username", "score")) == [("ada", 5), ("bea", 4)]
    assert [event.data["was"] for event in told(run, "result.rated")] == [None, None, 2]


def test_the_same_said_twice_is_one_event(run: Run, ada: User) -> None:
    for _ in range(2):
        rate_result(run=run, score=3, comment="So so", by=ada, now=NOON)

    assert len(told(run, "result.rated")) == 1


def test_a_correction_that_changes_nothing_is_none(run: Run, ada: User) -> None:
    assert rate_result(run=run, score=5, correction="South grew most.\r\n", by=ada, now=NOON).correction == ""


def test_a_step_is_rated_beside_the_answer(run: Run, ada: User) -> None:
    rate_result(run=run, score=5, by=ada, now=NOON)
    rating = rate_result(run=run, step="s1", score=1, by=ada, now=NOON)

    assert rating.step is not None
    assert rating.step.key == "s1"
    assert run.ratings.count() == 2
    assert run.ratings.of_answers().get().score == 5


def test_a_rating_is_taken_back(run: Run, ada: User, bea: User) -> None:
    rate_result(run=run, score=5, by=ada, now=NOON)
    rate_result(run=run, step="s1", score=1, by=ada, now=NOON)

    assert not withdraw_rating(run=run, by=bea, now=NOON)
    assert withdraw_rating(run=run, step="s1", by=ada, now=NOON)
    assert run.ratings.get().score == 5
    assert [event.data["step"] for event in told(run, "result.unrated")] == ["s1"]


@pytest.mark.parametrize("score", [0, 6, -1])
def test_scores_go_from_one_to_five_for_the_database_too(run: Run, ada: User, score: int) -> None:
    with pytest.raises(Invalid, match="Choose from 1"):
        rate_result(run=run, score=score, by=ada, now=NOON)
    with pytest.raises(IntegrityError), transaction.atomic():
        Rating.objects.create(run=run, by=ada, score=abs(score) and 6, created_at=NOON, updated_at=NOON)


def test_the_database_knows_one_rating_of_an_answer_a_person(run: Run, ada: User) -> None:
    rate_result(run=run, score=5, by=ada, now=NOON)

    with pytest.raises(IntegrityError), transaction.atomic():
        Rating.objects.create(run=run, by=ada, score=4, created_at=NOON, updated_at=NOON)


def test_what_is_no_result_is_not_rated(ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth", "Answer the task"))
    driving.fail("s1", failure("no", retryable=False))
    run = driving.give_up("Step 1 failed.", step="s1", code="server")

    for step in ("", "s1", "s2"):
        with pytest.raises(NoResult):
            rate_result(run=run, step=step, score=1, by=ada, now=NOON)
    with pytest.raises(Invalid, match="no step of this run"):
        rate_result(run=run, step="s9", score=1, by=ada, now=NOON)


def test_auditors_and_strangers_rate_nothing(run: Run) -> None:
    for other in (member("audrey", ROLES.AUDITOR), member("stranger", ROLES.ADMIN, project="elsewhere")):
        with pytest.raises(NotAllowed):
            rate_result(run=run, score=5, by=other, now=NOON)
        with pytest.raises(NotAllowed):
            withdraw_rating(run=run, by=other, now=NOON)
    assert not told(run, "result.rated")


def test_evaluation_and_training_read_task_result_and_correction(run: Run, ada: User, bea: User) -> None:
    rate_result(run=run, score=2, correction="North.", by=ada, now=NOON)
    rate_result(run=run, step="s1", score=4, by=bea, now=NOON + timedelta(days=1))
    rate_result(
        run=carried_out(member("far", ROLES.ANALYST, "elsewhere")),
        score=1,
        by=User.objects.get(username="far"),
        now=NOON,
    )

    answer, step = ratings_for(run.project)

    assert (answer.run, answer.step, answer.asked, answer.result) == (run.code, "", run.task, "South grew most.")
    assert (answer.score, answer.correction, answer.by) == (2, "North.", ada.pk)
    assert (step.step, step.worker, step.asked) == ("s1", "sim-birch", "Compute the growth")
    assert (step.task, step.result) == (run.task, "South: 53 %")
    assert [each.score for each in ratings_for(run.project, since=NOON + timedelta(hours=1))] == [4]


# --- of which result -------------------------------------------------------------------------------------------------


@pytest.fixture
def paused(ada: User) -> Run:
    """A paused run whose first step has answered, and whose second reads that."""
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth", "Answer the task"))
    driving.finish("s1", "South: 53 %")
    Run.objects.filter(pk=driving.run.pk).update(status="held", hold="pause")
    return driving.told()


def write_over(run: Run, by: User) -> None:
    write_result(run=run, key="s1", text="North: 40 %", by=by, now=NOON + timedelta(hours=1), reason="Misread")


def test_a_rating_stays_with_the_result_it_was_of(paused: Run, ada: User, bea: User) -> None:
    rate_result(run=paused, step="s1", score=1, correction="North: 41 %", by=ada, now=NOON)
    write_over(paused, bea)

    [rated] = ratings_for(paused.project)

    assert (rated.worker, rated.result, rated.score, rated.correction) == ("sim-birch", "South: 53 %", 1, "North: 41 %")


def test_what_a_person_wrote_is_rated_beside_what_was_there_and_is_no_workers(
    paused: Run, ada: User, bea: User
) -> None:
    rate_result(run=paused, step="s1", score=1, by=ada, now=NOON)
    write_over(paused, bea)
    rate_result(run=paused, step="s1", score=4, by=ada, now=NOON)

    first, second = ratings_for(paused.project)

    assert (first.worker, first.result, first.score) == ("sim-birch", "South: 53 %", 1)
    assert (second.worker, second.result, second.score) == ("", "North: 40 %", 4)
    assert [event.data["was"] for event in told(paused, "result.rated")] == [None, None]


def test_who_began_to_rate_before_another_wrote_over_it_rates_what_they_saw(paused: Run, ada: User, bea: User) -> None:
    seen = Attempt.objects.get(step__run=paused)
    write_over(paused, bea)

    rating = rate_result(run=paused, step="s1", attempt=seen.pk, score=1, by=ada, now=NOON)

    assert rating.attempt == seen
    assert told(paused, "result.rated")[0].data["attempt"] == seen.pk
    assert not withdraw_rating(run=paused, step="s1", by=ada, now=NOON)
    assert withdraw_rating(run=paused, step="s1", attempt=seen.pk, by=ada, now=NOON)


def test_what_gave_another_step_its_result_or_none_is_not_rated_as_this_ones(run: Run, paused: Run, ada: User) -> None:
    for attempt in (Attempt.objects.get(step__run=run, step__key="s2").pk, 0):
        with pytest.raises(NoResult, match="no such result"):
            rate_result(run=run, step="s1", attempt=attempt, score=1, by=ada, now=NOON)


def test_who_stood_in_is_the_worker_whose_result_is_rated(ada: User) -> None:
    make_pool()
    let_stand_in("sim-birch", "sim-delta")
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Answer"))
    driving.fail("s1", failure("the endpoint is on fire"), retry_in_s=1.0)
    stood_in(driving, "s1", "sim-delta", "42")
    rate_result(run=driving.run, step="s1", score=5, by=ada, now=NOON)

    [rated] = ratings_for(driving.run.project)

    assert (rated.worker, rated.result) == ("sim-delta", "42")


def test_ratings_from_before_are_of_what_was_there_when_they_were_given(paused: Run, ada: User, bea: User) -> None:
    rate_result(run=paused, step="s1", score=1, by=ada, now=NOON + timedelta(minutes=30))
    write_over(paused, bea)
    rate_result(run=paused, step="s1", score=4, by=bea, now=NOON + timedelta(hours=2))
    birch, written = Attempt.objects.filter(step__run=paused).order_by("number")
    Rating.objects.filter(by=ada).update(attempt=written)
    Rating.objects.filter(by=bea).update(attempt=birch)

    with connection.cursor() as cursor:
        cursor.execute(import_module("apps.runs.migrations.0019_ratings_of_attempts").FIND)

    assert dict(Rating.objects.values_list("by__username", "attempt")) == {"ada": birch.pk, "bea": written.pk}


def test_an_erased_run_is_neither_rated_nor_read(run: Run, ada: User) -> None:
    rate_result(run=run, score=2, by=ada, now=NOON)
    erase(run)

    assert list(ratings_for(run.project)) == []
    with pytest.raises(NoResult, match="erased"):
        rate_result(run=run, score=3, by=ada, now=NOON)
