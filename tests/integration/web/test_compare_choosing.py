"""Choosing two runs to compare: who is offered which, and how the page asks for the one that is missing."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.runs.models import Run
from apps.web.comparing import compare
from tests.factories import make_person, make_project, make_run
from tests.integration.web.test_compare import first, forked
from tests.integration.web.test_run_page import words

__all__ = ["first"]


# --- who may see what ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mine", ["a", "b"])
def test_what_belongs_to_others_is_not_there_on_either_side(other_browser: Client, first: Run, mine: str) -> None:
    stranger = User.objects.get(pk=int(other_browser.session["_auth_user_id"]))
    own = make_run(by=stranger)
    codes = {"a": own.code, "b": first.code} if mine == "a" else {"a": first.code, "b": own.code}

    answer = other_browser.get("/compare/", codes)

    assert answer.status_code == 404
    assert first.title not in answer.content.decode()
    assert f"There is no run {first.code}, or it is not yours to see." in words(answer.content.decode())
    assert other_browser.get("/compare/", {"a": first.code}).status_code == 404


@pytest.mark.parametrize("code", ["nowhere", "a\0b", "x" * 5_000, "'; --"])
def test_a_code_that_names_nothing_gets_a_clear_page(browser: Client, first: Run, code: str) -> None:
    answer = browser.get("/compare/", {"a": first.code, "b": code})

    assert answer.status_code == 404
    assert "There is no run" in words(answer.content.decode())


def test_only_runs_that_one_may_see_are_offered(browser: Client, other_browser: Client, first: Run) -> None:
    other = make_person(project=make_project("elsewhere"))
    elsewhere = make_run(by=other)

    page = browser.get("/compare/").content.decode()

    assert first.code in page
    assert elsewhere.code not in page


# --- choosing ------------------------------------------------------------------------------------------------------


def test_without_runs_the_page_says_what_is_needed(browser: Client) -> None:
    page = words(browser.get("/compare/").content.decode())

    assert "There are no runs yet" in page


def test_with_one_run_given_the_others_lead_on_and_those_of_its_lineage_come_first(
    browser: Client, ada: User, first: Run
) -> None:
    fork = forked(first, by=ada, results={}, fresh=())
    stranger = make_run(by=ada, task="Something else")

    page = browser.get("/compare/", {"a": first.code}).content.decode()

    assert "Compare it with" in page
    assert f'href="/compare/?a={first.code}&amp;b={fork.code}"' in page
    assert page.index(f"b={fork.code}") < page.index(f"b={stranger.code}")
    assert f"b={first.code}" not in page
    assert "its fork" in page


def test_a_given_second_run_leaves_the_first_to_be_chosen(browser: Client, ada: User, first: Run) -> None:
    other = make_run(by=ada)

    page = browser.get("/compare/", {"b": first.code}).content.decode()

    assert f'href="/compare/?a={other.code}&amp;b={first.code}"' in page


def test_a_run_beside_itself_is_asked_about(browser: Client, first: Run) -> None:
    page = words(browser.get("/compare/", {"a": first.code, "b": first.code}).content.decode())

    assert f"Both are run {first.code}. Choose another one to compare it with." in page


@pytest.mark.parametrize("typed", [" {} ", "{}", "http://127.0.0.1:8000/runs/{}/?step=s1", "/runs/{}/edit/"])
def test_a_code_may_be_pasted_as_the_address_of_a_page(browser: Client, ada: User, first: Run, typed: str) -> None:
    other = make_run(by=ada)

    answer = browser.get(
        "/compare/", {"a": typed.format(first.code.upper() if "/" not in typed else first.code), "b": other.code}
    )

    assert answer.status_code == 200
    assert f"Run {first.code} beside {other.code}" in answer.content.decode()


def test_at_most_so_many_runs_are_offered(browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "RECENT", 2)
    for _ in range(4):
        make_run(by=ada)

    page = browser.get("/compare/").content.decode()

    assert page.count("<li>") == 2
