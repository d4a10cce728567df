"""Signing runs off: who may, what it asks for, and that every turn of it stays in the trail."""

import pytest

from apps.accounts.models import User
from apps.accounts.permits import NotAllowed
from apps.audit import log
from apps.core.errors import Invalid
from apps.runs.models import Review, Run
from apps.runs.reviewing import (
    LONGEST_COMMENT,
    NotReviewable,
    OwnRun,
    assign_review,
    can_sign_off,
    reviewers_of,
    sign_off,
    withdraw_review,
)
from tests.factories import NOON, Driving, chain, make_run
from tests.integration.runs.reviewed import ROLES, carried_out, member, told


@pytest.fixture
def ada(db: None, redis_url: str) -> User:
    return member("ada", ROLES.ANALYST)


@pytest.fixture
def audrey(ada: User) -> User:
    return member("audrey", ROLES.AUDITOR)


@pytest.fixture
def boss(ada: User) -> User:
    return member("boss", ROLES.ADMIN)


@pytest.fixture
def run(ada: User) -> Run:
    return carried_out(ada)


def test_a_run_is_accepted_and_its_trail_says_by_whom_and_why(run: Run, audrey: User) -> None:
    review = sign_off(run=run, verdict="accepted", comment="  Checked against the books.\r\n", by=audrey, now=NOON)

    assert (review.state, review.decided_by, review.comment) == ("accepted", audrey, "Checked against the books.")
    [event] = told(run, "review.signed")
    assert event.actor == audrey.actor
    assert event.data == {"verdict": "accepted", "own": False, "was": None}
    assert event.texts == {"comment": "Checked against the books."}
    assert log.verify(run.trail).first_break is None


def test_a_rejection_needs_a_reason(run: Run, audrey: User) -> None:
    with pytest.raises(Invalid, match="Say why") as refused:
        sign_off(run=run, verdict="rejected", comment=" \n", by=audrey, now=NOON)

    assert refused.value.field == "comment"
    assert not Review.objects.exists()
    assert not told(run, "review.signed")


@pytest.mark.parametrize("verdict", ["open", "", "perhaps"])
def test_there_are_two_verdicts(run: Run, audrey: User, verdict: str) -> None:
    with pytest.raises(Invalid, match="Accept the run or reject it"):
        sign_off(run=run, verdict=verdict, comment="Why not", by=audrey, now=NOON)


def test_a_comment_has_an_end(run: Run, audrey: User) -> None:
    with pytest.raises(Invalid, match="10,000 characters"):
        sign_off(run=run, verdict="accepted", comment="x" * (LONGEST_COMMENT + 1), by=audrey, now=NOON)


def test_who_says_otherwise_has_said_both(run: Run, audrey: User, boss: User) -> None:
    sign_off(run=run, verdict="accepted", by=audrey, now=NOON)
    sign_off(run=run, verdict="rejected", comment="The figures are last year's.", by=boss, now=NOON)

    review = Review.objects.get()
    assert (review.state, review.decided_by) == ("rejected", boss)
    assert [event.data["was"] for event in told(run, "review.signed")] == [None, "accepted"]


def test_the_run_itself_says_how_its_review_stands(run: Run, audrey: User) -> None:
    def stands() -> str:
        return Run.objects.get(pk=run.pk).reviewed

    before = stands()
    assign_review(run=run, to=audrey, by=audrey, now=NOON)
    given = stands()
    withdraw_review(run=run, by=audrey, now=NOON)
    taken_back = stands()
    sign_off(run=run, verdict="accepted", by=audrey, now=NOON)

    assert [before, given, taken_back, stands()] == ["", "open", "", "accepted"]


def test_pressed_twice_it_is_said_once(run: Run, audrey: User) -> None:
    for _ in range(2):
        sign_off(run=run, verdict="accepted", by=audrey, now=NOON)

    assert len(told(run, "review.signed")) == 1


def test_an_analyst_signs_nothing_off(run: Run, ada: User) -> None:
    another = member("ann", ROLES.ANALYST)

    assert not can_sign_off(another, run)
    for refused in (
        lambda: sign_off(run=run, verdict="accepted", by=another, now=NOON),
        lambda: assign_review(run=run, to=ada, by=another, now=NOON),
        lambda: withdraw_review(run=run, by=another, now=NOON),
    ):
        with pytest.raises(NotAllowed):
            refused()
    assert not Review.objects.exists()


def test_an_auditor_of_another_project_signs_nothing_off(run: Run) -> None:
    stranger = member("stranger", ROLES.AUDITOR, project="elsewhere")

    with pytest.raises(NotAllowed):
        sign_off(run=run, verdict="accepted", by=stranger, now=NOON)


def test_nobody_signs_off_their_own_run_but_an_admin_whose_event_says_so(run: Run, ada: User, boss: User) -> None:
    ada.memberships.update(role=ROLES.AUDITOR)  # who has become an auditor since
    assert not can_sign_off(ada, run)
    with pytest.raises(OwnRun):
        sign_off(run=run, verdict="accepted", by=ada, now=NOON)

    own = carried_out(boss)
    review = sign_off(run=own, verdict="accepted", by=boss, now=NOON)

    assert review.is_own
    assert told(own, "review.signed")[0].data["own"] is True


def test_a_run_that_goes_on_is_not_signed_off(ada: User, audrey: User) -> None:
    run = make_run(by=ada)

    with pytest.raises(NotReviewable, match="once it has ended"):
        sign_off(run=run, verdict="accepted", by=audrey, now=NOON)
    with pytest.raises(NotReviewable):
        assign_review(run=run, to=audrey, by=audrey, now=NOON)


def test_a_run_that_failed_or_was_stopped_is_reviewed_too(ada: User, audrey: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth"))
    failed = driving.give_up("Nobody answered.", code="server")

    assert sign_off(run=failed, verdict="accepted", by=audrey, now=NOON).state == "accepted"


def test_a_review_is_assigned_given_to_another_and_taken_back(run: Run, audrey: User, boss: User) -> None:
    assign_review(run=run, to=audrey, by=boss, now=NOON)
    assign_review(run=run, to=audrey, by=boss, now=NOON)
    review = assign_review(run=run, to=boss, by=audrey, now=NOON)

    assert (review.state, review.assigned_to, review.assigned_by) == ("open", boss, audrey)
    assert [event.data["to"]["label"] for event in told(run, "review.assigned")] == ["audrey", "boss"]
    assert withdraw_review(run=run, by=boss, now=NOON)
    assert not withdraw_review(run=run, by=boss, now=NOON)
    assert not Review.objects.exists()
    assert len(told(run, "review.withdrawn")) == 1


def test_what_was_signed_off_can_be_looked_at_anew(run: Run, audrey: User, boss: User) -> None:
    sign_off(run=run, verdict="accepted", comment="Fine.", by=audrey, now=NOON)

    review = assign_review(run=run, to=boss, by=audrey, now=NOON)

    assert (review.state, review.decided_by, review.comment) == ("open", None, "")
    assert told(run, "review.assigned")[0].data["was"] == "accepted"
    assert told(run, "review.signed")[0].texts == {"comment": "Fine."}


def test_a_review_is_assigned_to_nobody_who_could_not_decide_it(run: Run, ada: User, audrey: User) -> None:
    with pytest.raises(Invalid, match="choose an auditor"):
        assign_review(run=run, to=ada, by=audrey, now=NOON)
    own = carried_out(ada)
    ada.memberships.update(role=ROLES.AUDITOR)  # who has become one since
    with pytest.raises(Invalid, match="started this run"):
        assign_review(run=own, to=ada, by=audrey, now=NOON)


def test_those_who_may_review_are_the_auditors_and_admins_of_the_project(run: Run, audrey: User, boss: User) -> None:
    member("stranger", ROLES.AUDITOR, project="elsewhere")
    gone = member("gone", ROLES.AUDITOR)
    gone.is_active = False
    gone.save()

    assert reviewers_of(run.project, limit=10) == [audrey, boss]
    assert reviewers_of(run.project, limit=1) == [audrey]
