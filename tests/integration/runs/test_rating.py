"""Ratings and corrections of results: who gives them, what they are of, and how they are read for training."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.permits import NotAllowed
from apps.audit import log
from apps.core.errors import Invalid
from apps.runs.models import Rating, Run
from apps.runs.rating import NoResult, rate_result, ratings_for, withdraw_rating
from tests.factories import NOON, Driving, chain, failure, make_run
from tests.integration.runs.reviewed import ROLES, carried_out, member, told


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
    assert event.data == {"rating": rating.pk, "step": None, "score": 2, "was": None}
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


def test_an_erased_run_is_neither_rated_nor_read(run: Run, ada: User) -> None:
    rate_result(run=run, score=2, by=ada, now=NOON)
    erase(run)

    assert list(ratings_for(run.project)) == []
    with pytest.raises(NoResult, match="erased"):
        rate_result(run=run, score=3, by=ada, now=NOON)
