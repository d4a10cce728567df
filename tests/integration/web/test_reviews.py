"""The list of reviews, and ratings under answers and results: what they show to whom, and what is done there."""

import html
import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.runs.holding import write_result
from apps.runs.models import Rating, Run
from apps.runs.rating import rate_result
from apps.runs.reviewing import assign_review, sign_off
from tests.factories import NOON, Driving, chain, make_run
from tests.integration.runs.reviewed import ROLES, member
from tests.integration.web.given import a_run, finished


@pytest.fixture
def audrey(ada: User) -> User:
    """An auditor of Ada's project."""
    return member("audrey", ROLES.AUDITOR, project="ada")


@pytest.fixture
def auditing(audrey: User) -> Client:
    client = Client()
    client.force_login(audrey)
    return client


@pytest.fixture
def run(ada: User) -> Run:
    return finished(ada)


def answer_of(client: Client, run: Run) -> str:
    return html.unescape(client.get(reverse("run-answer", args=[run.code])).content.decode())


def review_of(client: Client, run: Run) -> str:
    return html.unescape(client.get(reverse("run-review", args=[run.code])).content.decode())


def finished_again(ada: User) -> Run:
    """Another run that has ended."""
    return a_run(ada, status="succeeded", answer="42", finished_at=timezone.now())


# --- the list --------------------------------------------------------------------------------------------------------


def listed(client: Client, query: str = "") -> list[str]:
    """The codes of the runs that the list of reviews shows."""
    response = client.get(reverse("reviews") + query)
    assert response.status_code == 200
    return re.findall(r'class="name" href="/runs/(\w+)/review/"', response.content.decode())


def test_what_one_has_to_review_what_nobody_has_and_what_was_decided(auditing: Client, ada: User, audrey: User) -> None:
    mine, free, good, bad = (finished_again(ada) for _ in range(4))
    a_run(ada)  # which goes on
    assign_review(run=mine, to=audrey, by=audrey, now=NOON)
    sign_off(run=good, verdict="accepted", by=audrey, now=NOON)
    sign_off(run=bad, verdict="rejected", comment="Wrong", by=audrey, now=NOON)

    assert listed(auditing) == [mine.code]
    assert listed(auditing, "?show=open") == [mine.code]
    assert listed(auditing, "?show=unreviewed") == [free.code, mine.code]
    assert listed(auditing, "?show=accepted") == [good.code]
    assert listed(auditing, "?show=rejected") == [bad.code]


def test_the_list_goes_on_where_a_page_ended(auditing: Client, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.web.reviewing.listing.PAGE", 2)
    first, second, third = (finished_again(ada) for _ in range(3))

    assert listed(auditing, "?show=unreviewed") == [third.code, second.code]
    assert listed(auditing, f"?show=unreviewed&before={second.pk}") == [first.code]


def test_runs_of_other_projects_are_in_no_list(other_browser: Client, run: Run, audrey: User) -> None:
    assign_review(run=run, to=audrey, by=audrey, now=NOON)

    for show in ("mine", "open", "unreviewed", "accepted", "rejected"):
        assert listed(other_browser, f"?show={show}") == []


@pytest.mark.parametrize("query", ["?show=nothing", "?before=x", "?show=mine&before=99999999999999999999", "?show=\0"])
def test_no_address_of_the_list_is_too_odd(browser: Client, query: str) -> None:
    assert browser.get(reverse("reviews") + query).status_code == 200


def test_who_signs_nothing_off_is_told_who_does(browser: Client) -> None:
    assert "auditors and admins of a project" in browser.get(reverse("reviews")).content.decode()


# --- ratings ---------------------------------------------------------------------------------------------------------


def test_an_answer_is_rated_under_it_and_the_review_says_so(browser: Client, run: Run) -> None:
    answer = answer_of(browser, run)
    assert "How good is this answer?" in answer

    given = {"score": "2", "comment": "Wrong region", "correction": "North grew most."}
    response = browser.post(reverse("run-rate", args=[run.code]), given)

    assert response["Location"] == f"/runs/{run.code}/#answer"
    said = review_of(browser, run)
    for text in ("Answer: 2 of 5", "Wrong region", "North grew most."):
        assert text in said


def test_a_step_is_rated_in_its_panel(browser: Client, run: Run) -> None:
    panel = browser.get(reverse("run-step", args=[run.code, "s1"])).content.decode()
    assert "How good is this result?" in panel

    response = browser.post(
        reverse("run-rate", args=[run.code]), {"score": "5", "step": "s1"}, headers={"HX-Request": "true"}
    )

    assert "Saved." in response.content.decode()
    assert "Step 1: 5 of 5" in review_of(browser, run)


def test_a_rating_is_taken_back(browser: Client, run: Run, ada: User) -> None:
    rate_result(run=run, score=4, by=ada, now=timezone.now())
    assert "Change my rating" in answer_of(browser, run)

    browser.post(reverse("run-rate", args=[run.code]), {"withdraw": "1"})

    assert not Rating.objects.filter(run=run).exists()


@pytest.mark.parametrize("score", ["", "6", "0", "-1", "five", "²", "9" * 30])
def test_what_is_no_score_comes_back_with_what_was_written(browser: Client, run: Run, score: str) -> None:
    response = browser.post(
        reverse("run-rate", args=[run.code]),
        {"score": score, "comment": "Kept for me"},
        headers={"HX-Request": "true"},
    )

    assert response.status_code == 422
    assert "Choose from 1" in response.content.decode()
    assert "Kept for me" in response.content.decode()


@pytest.mark.parametrize("step", ["", "s1"])
def test_what_was_refused_is_not_lost_without_scripts_either(browser: Client, run: Run, step: str) -> None:
    correction = "North grew most. " * 500
    given = {"step": step, "score": "9", "comment": "Kept for me", "correction": correction}

    response = browser.post(reverse("run-rate", args=[run.code]), given)

    said = response.content.decode()
    assert response.status_code == 422
    assert "<!doctype html>" in said.lower()
    for text in ("Choose from 1", "Kept for me", correction):
        assert text in said
    assert not Rating.objects.exists()


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_what_was_written_of_a_run_that_was_erased_meanwhile_is_given_back(
    browser: Client, run: Run, headers: dict[str, str]
) -> None:
    Run.objects.filter(pk=run.pk).update(task="", answer="", erased_at=timezone.now())

    response = browser.post(
        reverse("run-rate", args=[run.code]), {"score": "2", "correction": "North grew most."}, headers=headers
    )

    assert response.status_code == 422
    for text in ("there is nothing left to rate", "North grew most."):
        assert text in response.content.decode()


def test_each_result_that_a_step_had_is_rated_by_itself(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth", "Answer the task"))
    seen = driving.finish("s1", "South: 53 %")
    Run.objects.filter(pk=driving.run.pk).update(status="held", hold="pause")
    write_result(run=driving.run, key="s1", text="North: 40 %", by=ada, now=NOON)
    url = reverse("run-rate", args=[driving.run.code])

    browser.post(url, {"step": "s1", "attempt": str(seen.pk), "score": "1", "comment": "Misread"})
    browser.post(url, {"step": "s1", "score": "5", "comment": "As it is"})

    panel = reverse("run-step", args=[driving.run.code, "s1"])
    first, last = (browser.get(f"{panel}{query}").content.decode() for query in ("?attempt=1", ""))
    assert ("Misread" in first, "As it is" in first) == (True, False)
    assert ("Misread" in last, "As it is" in last) == (False, True)
    said = review_of(browser, driving.run)
    assert "Step 1, before its result was written over: 1 of 5" in said
    assert "Step 1: 5 of 5" in said


@pytest.mark.parametrize("attempt", ["x", "-1", "²", "٣", "9" * 18, "9" * 30, "\0"])
def test_no_attempt_that_is_named_is_too_odd(browser: Client, run: Run, attempt: str) -> None:
    response = browser.post(reverse("run-rate", args=[run.code]), {"step": "s1", "score": "1", "attempt": attempt})

    assert response.status_code in (302, 422)


def test_auditors_see_ratings_and_give_none(auditing: Client, run: Run, ada: User) -> None:
    rate_result(run=run, score=4, comment="Good enough", by=ada, now=timezone.now())

    answer = answer_of(auditing, run)

    assert "Good enough" in answer
    assert 'name="score"' not in answer
    assert auditing.post(reverse("run-rate", args=[run.code]), {"score": "1"}).status_code == 403
