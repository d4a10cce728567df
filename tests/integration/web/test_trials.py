"""The test button: who may press it, what it shows, and what it leaves alone."""

import html
import re
from typing import Any

import pytest
import redis
from django.contrib.messages import get_messages
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Membership, User
from apps.runs import trying
from apps.runs.models import TRIAL, Run
from apps.web.pool import reports
from apps.workers.models import Worker
from apps.workers.standing import Standing
from tests.factories import Driving, chain, failure, make_pool, make_project

HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def doors() -> None:
    reports.doors_client.cache_clear()


@pytest.fixture
def boss(ada: User) -> User:
    """Ada, who is the admin of her project."""
    make_pool()
    Membership.objects.filter(user=ada).update(role=Membership.Role.ADMIN)
    return ada


@pytest.fixture
def driving(boss: User) -> Driving:
    """A trial of Birch in the hands of a driver."""
    run = trying.try_worker(worker=Worker.objects.get(slug="sim-birch"), by=boss, now=timezone.now())
    driving = Driving(run)
    workflow = chain("Answer the task.")
    driving.write(driving.desk.adopt, workflow=workflow, by="planner", planner="direct", warnings=(), hold=False)
    return driving


def words(answer: Any) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.content.decode())).split())


def told(answer: Any) -> list[str]:
    return [str(message) for message in get_messages(answer.wsgi_request)]


def part(client: Client, run: Run, slug: str = "sim-birch") -> Any:
    return client.get(f"/workers/{slug}/test/{run.code}/", headers=HTMX)


# --- pressing it -----------------------------------------------------------------------------------------------------


def test_without_scripts_the_page_comes_back_with_the_test_on_it(browser: Client, boss: User) -> None:
    answer = browser.post("/workers/sim-birch/test/", {"submit_key": "k"})

    run = Run.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/workers/sim-birch/?test={run.code}#test")
    content = browser.get(answer["Location"]).content.decode()
    assert f'data-run="{run.code}"' in content
    assert "Waiting for a driver." in content


def test_as_htmx_the_part_comes_at_once(browser: Client, boss: User) -> None:
    answer = browser.post("/workers/sim-birch/test/", {"submit_key": "k"}, headers=HTMX)

    content = answer.content.decode()
    assert "<html" not in content
    assert f'hx-get="/workers/sim-birch/test/{Run.objects.get().code}/"' in content
    assert "Test again" not in content, "not while it goes on"


def test_pressed_twice_it_is_one_test_and_pressed_again_another(browser: Client, boss: User) -> None:
    for key in ("k", "k", "l"):
        browser.post("/workers/sim-birch/test/", {"submit_key": key})

    assert Run.objects.count() == 2


def test_an_analyst_sees_no_button_and_is_refused(browser: Client, ada: User) -> None:
    make_pool()

    content = browser.get("/workers/sim-birch/").content.decode()
    refused = browser.post("/workers/sim-birch/test/")

    assert 'id="test-button"' not in content
    assert "An admin can have it called once" in content
    assert refused.status_code == 403
    assert "Only admins may try Birch: it costs money. Ask one." in refused.content.decode()
    assert browser.post("/workers/sim-birch/test/", headers=HTMX).status_code == 403
    assert not Run.objects.exists()


def test_one_that_gives_vectors_has_no_button(browser: Client, boss: User) -> None:
    content = browser.get("/workers/sim-embed/").content.decode()

    assert 'id="test-button"' not in content
    assert "turns texts into vectors" in told(browser.post("/workers/sim-embed/test/"))[0]


@pytest.mark.parametrize("action", ["test", "try-now"])
def test_nothing_is_done_by_looking_and_nothing_to_workers_of_others(browser: Client, boss: User, action: str) -> None:
    assert browser.get(f"/workers/sim-birch/{action}/").status_code == 405
    Worker.objects.filter(slug="sim-birch").update(project=make_project("others"))
    assert browser.post(f"/workers/sim-birch/{action}/").status_code == 404


# --- how it goes -----------------------------------------------------------------------------------------------------


def test_what_it_says_streams_into_the_part(browser: Client, driving: Driving) -> None:
    assert "About to be called." in words(part(browser, driving.run))

    attempt = driving.start("s1")

    assert f'data-stream="{attempt.stream}"' in part(browser, driving.run).content.decode()


def test_once_it_has_answered_its_figures_stand_beside_what_it_said(browser: Client, driving: Driving) -> None:
    driving.finish("s1", "I <work>.")
    driving.succeed("I <work>.", step="s1")

    shown = words(part(browser, driving.run))

    assert "I <work>." in shown
    assert "First token 0.41 s Whole reply 2.3 s Tokens 120 in, 2 out Cost $0.0042" in shown
    assert "Test again" in shown
    assert f"/ledger/#{driving.run.code}:s1:1" in part(browser, driving.run).content.decode()


def test_what_failed_is_told_in_the_providers_words(browser: Client, driving: Driving) -> None:
    driving.fail("s1", failure("no such key: <sk>", kind="auth", status=401, retryable=False))
    driving.give_up("Step 1 failed: no such key", step="s1", code="auth")

    shown = words(part(browser, driving.run))

    assert "Auth, HTTP 401 no such key: <sk>" in shown
    assert "Test again" in shown


def test_what_could_not_be_called_says_why(browser: Client, driving: Driving) -> None:
    step = driving.step("s1")
    driving.write(driving.desk.fail_step, step=step, kind="circuit", message="Birch keeps failing (timeout)")
    driving.give_up("Step 1 failed: Birch keeps failing (timeout)", step="s1", code="circuit")

    assert "It could not be called Birch keeps failing (timeout)" in words(part(browser, driving.run))


def test_a_test_is_of_its_worker_and_its_viewers_alone(
    browser: Client, other_browser: Client, driving: Driving
) -> None:
    assert part(browser, driving.run).status_code == 200
    assert part(browser, driving.run, "sim-cedar").status_code == 404
    assert part(other_browser, driving.run).status_code == 404
    assert browser.get(f"/workers/sim-birch/?test={driving.run.code}").status_code == 200
    assert other_browser.get(f"/workers/sim-birch/?test={driving.run.code}").status_code == 404


def test_a_run_that_is_no_test_is_not_shown_as_one(browser: Client, driving: Driving) -> None:
    Run.objects.update(profile="studio-mini")

    assert part(browser, driving.run).status_code == 404


def test_tests_are_left_out_of_lists_of_runs_unless_they_are_asked_for(browser: Client, driving: Driving) -> None:
    assert driving.run.code not in browser.get("/").content.decode()
    everything = browser.get("/runs/").content.decode()
    assert f"/runs/{driving.run.code}/" not in everything
    assert "/runs/?q=is:test" in everything
    assert f"/runs/{driving.run.code}/" in browser.get("/runs/?state=tests").content.decode()


def test_without_any_there_is_no_tab_for_them(browser: Client, ada: User) -> None:
    assert "is:test" not in browser.get("/runs/").content.decode()


def test_its_own_page_is_that_of_a_run(browser: Client, driving: Driving) -> None:
    page = browser.get(f"/runs/{driving.run.code}/")

    assert page.status_code == 200
    assert "Test of Birch" in page.content.decode()
    assert driving.run.profile == TRIAL


# --- letting it be called at once ------------------------------------------------------------------------------------


def test_one_that_is_left_alone_can_be_let_in_at_once_by_who_answers_for_it(
    browser: Client, boss: User, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = redis.Redis.from_url(redis_url)
    client.hset("places:{sim-birch}:trouble", mapping={"opened_at": 1, "next_try": 9_999_999_999_999, "reason": "x"})

    content = browser.get("/workers/sim-birch/").content.decode()
    done = browser.post("/workers/sim-birch/try-now/")

    assert 'id="try-now"' in content
    assert told(done) == ["Birch is called again from now on."]
    assert not client.exists("places:{sim-birch}:trouble")
    assert 'id="try-now"' not in browser.get("/workers/sim-birch/").content.decode()
    client.close()


def test_an_analyst_cannot(browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    make_pool()
    monkeypatch.setattr(reports, "read_standings", lambda _, slugs: dict.fromkeys(slugs, Standing(circuit="open")))

    assert 'id="try-now"' not in browser.get("/workers/sim-birch/").content.decode()
    assert browser.post("/workers/sim-birch/try-now/").status_code == 403


def test_with_redis_away_that_is_said(browser: Client, boss: User, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    assert "Redis does not answer" in told(browser.post("/workers/sim-birch/try-now/"))[0]
