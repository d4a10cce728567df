"""Conductors: how each is set up and does, for whoever may see it, and never a key."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.runs.models import Proposal, Run
from apps.workers.models import Conductor, Health
from tests.factories import Driving, chain, make_project, make_run


def planned(by: User, *, repairs: tuple[str, ...] = ()) -> Run:
    driving = Driving(make_run(by=by, now=timezone.now()))
    driving.misplan("I would rather not.", problems=["The reply holds no lists."])
    driving.plan(chain("Look at it.", "Answer."), repairs=repairs)
    return driving.told()


def page(browser: Client, query: str = "") -> str:
    answer = browser.get(f"/conductors/sim-conductor/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_list_names_each_with_its_health(browser: Client, ada: User) -> None:
    planned(ada)

    html = browser.get("/conductors/").content.decode()

    assert "Simulated conductor" in html
    assert 'data-health="up"' in html, "its last call came whole"
    assert "simulated" in html


def test_without_any_it_says_what_a_conductor_is(browser: Client) -> None:
    assert "There is no conductor yet" in browser.get("/conductors/").content.decode()


def test_one_of_them_is_told_in_figures(browser: Client, ada: User) -> None:
    run = planned(ada, repairs=("smart quotes were made plain",))

    html = page(browser, "?period=all")

    assert "50%" in html, "one of two replies was valid"
    assert "smart quotes were made plain" in html
    assert "2 steps" in html
    assert f"/runs/{run.code}/" in html
    assert "<svg" in html
    assert html.count("<rect") >= 3
    assert "style=" not in html.split("<main")[1]


def test_replies_to_runs_of_others_count_for_nothing(browser: Client, bob: User) -> None:
    planned(bob)

    assert "No replies in this time" in page(browser, "?period=all")


def test_a_period_leaves_out_what_was_before_it(browser: Client, ada: User) -> None:
    planned(ada)
    Proposal.objects.update(started_at=timezone.now() - timedelta(days=3))

    assert "No replies in this time" in page(browser, "?period=day")
    assert "Latest replies" in page(browser, "?period=week")


def test_a_look_that_failed_is_told_in_the_endpoints_words(browser: Client, ada: User) -> None:
    make_run(by=ada)
    now = timezone.now()
    Health.objects.create(
        conductor=Conductor.objects.get(), at=now, since=now, is_up=False, error="cannot connect: <refused>"
    )

    html = page(browser)

    assert 'data-health="down"' in html
    assert "cannot connect: &lt;refused&gt;" in html


def test_no_key_is_shown(browser: Client, ada: User) -> None:
    make_run(by=ada)
    Conductor.objects.update(params={"temperature": 0.2, "extra": "sk-abcdefgh12345678"})

    html = page(browser)

    assert "temperature 0.2" in html
    assert "sk-abcdefgh12345678" not in html


@pytest.mark.parametrize("slug", ["nobody", "a.b", "%00", "..%2f"])
def test_an_unknown_one_is_a_clear_page(browser: Client, slug: str) -> None:
    assert browser.get(f"/conductors/{slug}/").status_code == 404


def test_a_conductor_of_another_project_is_not_there(browser: Client, ada: User) -> None:
    make_run(by=ada)
    Conductor.objects.update(project=make_project("others"))

    assert browser.get("/conductors/sim-conductor/").status_code == 404
    assert "Simulated conductor" not in browser.get("/conductors/").content.decode()


def test_who_is_not_signed_in_is_shown_the_way_in(client: Client, db: None) -> None:
    assert client.get("/conductors/").status_code == 302
