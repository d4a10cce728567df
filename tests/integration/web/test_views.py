"""The views of a run's page: one selection in the address, whichever is open, and the run at an earlier event."""

import re

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.runs.models import Attempt
from tests.factories import NOON, Driving, chain, make_run
from tests.integration.web.given import finished

VIEWS = ("graph", "timeline", "matrix", "events")


def tabs(client: Client, path: str) -> dict[str, str]:
    page = client.get(path).content.decode()
    found = re.findall(r'<a href="([^"]*)" data-view="(\w+)"', page)
    return {name: url.replace("&amp;", "&") for url, name in found}


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_leads_to_the_others_with_the_same_selection(browser: Client, ada: User, view: str) -> None:
    code = finished(ada).code

    ways = tabs(browser, f"/runs/{code}/?view={view}&step=s2&tab=context")

    assert tuple(ways) == VIEWS
    assert ways["graph"] == f"/runs/{code}/?step=s2&tab=context"
    assert ways["matrix"] == f"/runs/{code}/?view=matrix&step=s2&tab=context"
    for way in ways.values():
        assert "May read" in browser.get(way.replace("tab=context", "tab=result")).content.decode()


def test_one_view_is_open_and_an_unknown_one_is_the_graph(browser: Client, ada: User) -> None:
    code = finished(ada).code

    for asked, opened in [*zip(VIEWS, VIEWS, strict=True), ("<b>", "graph"), ("", "graph")]:
        page = browser.get(f"/runs/{code}/", {"view": asked}).content.decode()
        assert re.findall(r'data-view="(\w+)" aria-current="page"', page) == [opened]
        canvas = page.split('id="canvas"')[1].split("<noscript>")[0]
        assert ("hidden>" in canvas) == (opened != "graph")


def test_the_view_alone_can_be_fetched_again_as_it_is(browser: Client, ada: User) -> None:
    code = finished(ada).code

    part = browser.get(f"/runs/{code}/view/", {"view": "timeline", "idle": "cut"}).content.decode()

    assert "<html" not in part
    assert '<input type="hidden" name="view" value="timeline">' in part
    assert '<input type="hidden" name="idle" value="cut">' in part


def test_without_scripts_an_earlier_moment_is_the_events_up_to_it(browser: Client, ada: User) -> None:
    code = finished(ada).code

    page = browser.get(f"/runs/{code}/", {"view": "events", "at": "4"}).content.decode()
    graph = browser.get(f"/runs/{code}/", {"at": 4}).content.decode()

    assert "As it was at event 4." in page
    assert len(re.findall(r'data-event="\d+"', page)) == 4
    assert f'href="/runs/{code}/?view=events&amp;at=4"' in graph


@pytest.mark.parametrize("at", ["0", "-1", "x", "9" * 30, "²"])
def test_an_event_that_cannot_be_is_as_none(browser: Client, ada: User, at: str) -> None:
    page = browser.get(f"/runs/{finished(ada).code}/", {"view": "events", "at": at})

    assert page.status_code == 200
    assert "As it was at event" not in page.content.decode()


def test_the_tracks_tell_when_each_text_was_how_long(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute", "Answer"))
    attempt = driving.start("s1")
    attempt.track = [[410, 5], [500, 11]]
    driving.answer("s1", attempt, "South grew.")
    driving.finish("s2", "South")  # as of a run from before there were tracks

    told = browser.get(f"/runs/{driving.run.code}/tracks/").json()

    assert told == {attempt.stream: {"at": attempt.started_at.isoformat(), "marks": [[410, 5], [500, 11]]}}


def test_the_text_of_a_track_is_fetched_by_itself(browser: Client, ada: User) -> None:
    run = finished(ada)
    attempt = Attempt.objects.get(run=run, step__key="s1")

    text = browser.get(f"/runs/{run.code}/tracks/", {"stream": attempt.stream})

    assert text.json() == {"text": "South: 53 %"}


@pytest.mark.parametrize("stream", ["a0", "a999999999999", "x1", "", "a1; DROP"])
def test_a_text_that_is_none_of_the_run_is_not_found(browser: Client, ada: User, stream: str) -> None:
    assert browser.get(f"/runs/{finished(ada).code}/tracks/", {"stream": stream}).status_code == 404


def test_nobody_else_reads_a_text_through_a_run_of_their_own(browser: Client, ada: User, bob: User) -> None:
    theirs = Attempt.objects.get(run=finished(bob), step__key="s1")

    answer = browser.get(f"/runs/{finished(ada).code}/tracks/", {"stream": theirs.stream})

    assert answer.status_code == 404
    assert theirs.started_at > NOON
