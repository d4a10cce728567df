"""The list of runs: what it shows, how it narrows, and that it stays cheap."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.runs.models import Run, Step
from apps.web.runs import page as runs_list
from tests.integration.web.given import a_run

Counting = Callable[[int], Any]


def page(client: Client, query: str = "", **headers: str) -> str:
    return client.get(f"/runs/{query}", headers=headers).content.decode()


def titles(html: str) -> list[str]:
    return [part.split("</a>")[0].split(">")[-1] for part in html.split('id="run-')[1:]]


def ended(status: str) -> dict[str, Any]:
    return {"status": status, "finished_at": timezone.now()}


def test_the_newest_run_comes_first(browser: Client, ada: User) -> None:
    for task in ("first", "second", "third"):
        a_run(ada, task)

    assert titles(page(browser)) == ["third", "second", "first"]


def test_runs_of_others_are_not_in_it(browser: Client, bob: User) -> None:
    a_run(bob, "not for Ada")

    html = page(browser)

    assert "not for Ada" not in html
    assert "No runs yet" in html


def test_it_narrows_to_a_state_and_counts_each(browser: Client, ada: User) -> None:
    a_run(ada, "broke", **ended("failed"))
    a_run(ada, "worked", **ended("succeeded"))
    a_run(ada, "goes on", status="running")

    html = page(browser, "?state=failed")

    assert titles(html) == ["broke"]
    assert 'Live <span class="muted">1</span>' in html
    assert 'Failed <span class="muted">1</span>' in html
    assert titles(page(browser, "?state=live")) == ["goes on"]


def test_counts_are_bounded(browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_list, "COUNTED", 2)
    for _ in range(3):
        a_run(ada)

    assert 'Live <span class="muted">2+</span>' in page(browser)


def test_it_finds_text_in_tasks_every_word_of_it(browser: Client, ada: User) -> None:
    a_run(ada, "Compare the Tariff tables\nof northern Italy")
    a_run(ada, "Tariff of the south")
    run = a_run(ada, "Something else")

    assert titles(page(browser, "?q=tariff+ITALY")) == ["Compare the Tariff tables"]
    assert titles(page(browser, f"?q={run.code}")) == ["Something else"]
    assert len(titles(page(browser, "?q=ada"))) == 3
    assert "No run fits" in page(browser, "?q=tariff+nowhere")


@pytest.mark.parametrize(
    "query", ["?before=x", "?before=-1", "?before=99999999999999999999", "?state=zzz", "?q=%00", "?before=%D9%A3"]
)
def test_an_address_of_nonsense_shows_the_list(browser: Client, run: Run, query: str) -> None:
    assert titles(page(browser, query)) == [run.title]


def test_what_people_wrote_is_shown_as_text(browser: Client, ada: User) -> None:
    a_run(ada, "<script>alert(1)</script>")

    html = page(browser, "?q=<script>")

    assert "<script>alert" not in html
    assert html.count("&lt;script&gt;") >= 2


def test_pages_end_at_a_run_and_go_on_after_it(browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_list, "PAGE", 2)
    runs = [a_run(ada, f"task {number}", **ended("failed")) for number in range(5)]

    first = page(browser, "?state=failed")
    a_run(ada, "a newer one", **ended("failed"))
    second = page(browser, f"?state=failed&before={runs[3].pk}")
    last = page(browser, f"?before={runs[1].pk}")

    assert titles(first) == ["task 4", "task 3"]
    assert f"/runs/?q=status:failed&amp;before={runs[3].pk}" in first
    assert titles(second) == ["task 2", "task 1"]
    assert titles(last) == ["task 0"]
    assert "Older" not in last


def test_what_is_not_understood_is_said_beside_what_is(browser: Client, ada: User) -> None:
    a_run(ada, "broke", **ended("failed"))
    a_run(ada, "goes on", status="running")

    html = page(browser, "?q=status:failed+cots>0.1")

    assert titles(html) == ["broke"]
    assert "Character 15, <code>cots&gt;0.1</code>: There is no field “cots”. Did you mean cost?" in html
    assert "Understood, and shown: <code>status:failed</code>" in html
    assert 'aria-invalid="true"' in html


def test_a_state_takes_the_place_of_another_and_leaves_the_rest(browser: Client, ada: User) -> None:
    a_run(ada, "a tariff", **ended("failed"))

    html = page(browser, "?q=tariff+status:failed")

    assert '<a href="/runs/?q=status:held+tariff">Held' in html
    assert '<a href="/runs/?q=status:failed+tariff" aria-current="true">Failed' in html
    assert '<a href="/runs/?q=tariff">All' in html


def kept(*runs: Run, end: Run | None = None, **more: str) -> str:
    """What a page that shows these runs asks for when it is fetched again."""
    given = {"keep": ",".join(run.code for run in runs), "end": str(end.pk) if end else "", **more}
    return "?" + urlencode({name: value for name, value in given.items() if value})


def test_what_is_read_stays_in_its_place_and_what_is_new_is_counted(browser: Client, ada: User) -> None:
    first, second = a_run(ada, "first"), a_run(ada, "second", status="running")
    a_run(ada, "third")
    Run.objects.filter(pk=second.pk).update(**ended("succeeded"))
    a_run(ada, "fourth")

    html = page(browser, kept(second, first), **{"HX-Request": "true"})

    assert titles(html) == ["second", "first"]
    assert 'data-state="succeeded" data-run="' + second.code in html
    assert 'href="/runs/" data-news="2"' in html


def test_a_run_that_fits_no_more_stays_and_says_so(browser: Client, ada: User) -> None:
    run, other = a_run(ada, "one", status="running"), a_run(ada, "other", status="running")
    Run.objects.filter(pk=run.pk).update(**ended("failed"))

    html = page(browser, kept(other, run, q="status:live"), **{"HX-Request": "true"})

    assert titles(html) == ["other", "one"]
    assert html.count("fits no more") == 1
    assert f'data-run="{run.code}" class="gone"' in html


def test_only_what_would_stand_on_the_page_is_news(browser: Client, ada: User) -> None:
    runs = [a_run(ada, f"task {number}", **ended("failed")) for number in range(4)]

    first_page = page(browser, kept(runs[3], runs[2], end=runs[2]), **{"HX-Request": "true"})
    later_page = page(browser, kept(runs[1], runs[0], before=str(runs[2].pk)), **{"HX-Request": "true"})

    assert "data-news" not in first_page
    assert f"before={runs[2].pk}" in first_page
    assert "data-news" not in later_page


def test_runs_of_others_are_not_shown_by_naming_them(browser: Client, bob: User) -> None:
    hidden = a_run(bob, "not for Ada")

    assert titles(page(browser, kept(hidden), **{"HX-Request": "true"})) == []


def test_htmx_gets_what_changes_and_keeps_its_place(browser: Client, ada: User) -> None:
    run = a_run(ada)

    part = page(browser, f"?state=live&before={run.pk + 1}", **{"HX-Request": "true"})

    assert "<html" not in part
    assert titles(part) == [run.title]
    assert f'name="before" value="{run.pk + 1}"' in part
    assert f'name="keep" value="{run.code}"' in part


def test_a_cost_that_nobody_knows_is_never_nothing(browser: Client, ada: User) -> None:
    a_run(ada, "unknown", cost_unknown=True, output_tokens=5)
    a_run(ada, "partly", cost_unknown=True, cost_usd=Decimal("0.031"))
    a_run(ada, "known", cost_usd=Decimal("0.25"), output_tokens=5)
    a_run(ada, "free", output_tokens=5)
    a_run(ada, "not begun")

    costs = [part.split("<")[0] for part in page(browser).split('class="num cost">')[1:]]

    assert costs == ["–", "$0", "$0.250", "≥ $0.031", "unknown"]


def test_steps_and_workers_are_shown(browser: Client, ada: User) -> None:
    run = a_run(ada, "the parent", **ended("succeeded"))
    for position, status in enumerate(["succeeded", "reused", "running", "waiting"]):
        Step.objects.create(run=run, key=f"s{position}", position=position, worker="sim-cedar", status=status)

    html = page(browser)

    assert '<span class="count">2/4</span>' in html
    assert 'title="Cedar">C</i>' in html


def test_a_run_says_its_place_in_its_lineage_and_how_the_latest_stands(browser: Client, ada: User) -> None:
    first = a_run(ada, "the first", **ended("failed"))
    a_run(ada, "alone")
    a_run(ada, "the second", parent=first, root=first, **ended("failed"))
    last = a_run(ada, "the third", parent=first, root=first, **ended("succeeded"))

    lines = dict(zip(titles(html := page(browser)), html.split('<td class="title">')[1:], strict=True))

    assert "3 of 3, the latest" in lines["the third"]
    assert f'2 of 3, <a href="/runs/{last.code}/" data-outcome="succeeded">latest OK</a>' in lines["the second"]
    assert "1 of 3, <a" in lines["the first"]
    assert "mark lineage" not in lines["alone"]


def test_when_is_told_without_a_time_zone(browser: Client, ada: User) -> None:
    now = timezone.now()
    for ago in (timedelta(seconds=5), timedelta(minutes=3), timedelta(hours=5), timedelta(days=800)):
        a_run(ada, created_at=now - ago)

    html = page(browser)

    assert all(f">{said}</time>" in html for said in ("just now", "3 min ago", "5 h ago"))
    assert f"{(now - timedelta(days=800)).year}</time>" in html


def test_it_costs_the_same_queries_however_many_runs_there_are(
    browser: Client, ada: User, django_assert_num_queries: Counting, django_assert_max_num_queries: Counting
) -> None:
    def add(number: int) -> None:
        for _ in range(number):
            parent = a_run(ada)
            child = a_run(ada, parent=parent, root=parent)
            for position in range(3):
                Step.objects.create(run=child, key=f"s{position}", position=position, worker="sim-cedar")

    add(1)
    browser.get("/account/")  # that the session was used is noted once a minute
    with django_assert_max_num_queries(22) as few:
        page(browser)
    add(15)
    with django_assert_num_queries(len(few)):
        page(browser)
