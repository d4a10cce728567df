"""Workers: how each does, who is at its door, what it costs; for whoever may see it, and never a key."""

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import redis
from django.conf import settings
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.runs.models import Attempt, Driver, Run
from apps.spend.models import Budget, Line
from apps.web.pool import reports
from apps.workers.models import Credential, Worker
from apps.workers.pace import Pace
from apps.workers.standing import Standing
from tests.factories import Driving, chain, failure, make_person, make_pool, make_project, make_run
from tests.integration.web.given import let_stand_in

Counted = Callable[[int], Any]


@pytest.fixture(autouse=True)
def doors() -> None:
    """Each test has a Redis of its own."""
    reports.doors_client.cache_clear()


@pytest.fixture
def seen() -> None:
    """A driver is there."""
    now = timezone.now()
    Driver.objects.create(name="d", pid=1, threads=4, started_at=now, seen_at=now)


def words(content: bytes | str) -> str:
    text = content if isinstance(content, str) else content.decode()
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def page(client: Client, path: str = "/workers/") -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def card(client: Client, slug: str, query: str = "") -> str:
    """The words of one worker's card."""
    content = page(client, f"/workers/{query}")
    cards = content.split('<li class="card worker"')
    return words("<li" + next(each for each in cards if f'id="worker-{slug}"' in each))


def called(by: User, *, ago: timedelta = timedelta(minutes=5), failed: str = "", times: int = 1) -> Run:
    """Birch was called so often, so long ago, in a run of somebody's."""
    driving = Driving(make_run(by=by, now=timezone.now()))
    driving.plan(chain(*(f"Do {number}" for number in range(times))))
    for number in range(1, times + 1):
        if failed:
            driving.fail(f"s{number}", failure(failed, status=500))
        else:
            driving.finish(f"s{number}", "53 %")
    then = timezone.now() - ago
    Attempt.objects.filter(run=driving.run).update(finished_at=then, started_at=then)
    Line.objects.filter(run=driving.run.code).update(at=timezone.now())
    return driving.told()


def stands(monkeypatch: pytest.MonkeyPatch, **at: Standing) -> None:
    """How it stands at the doors of some workers, for which Redis would have to be brought into such a state."""

    def read(client: object, slugs: list[str]) -> dict[str, Standing]:
        return {slug: at.get(slug.replace("-", "_"), Standing()) for slug in slugs}

    monkeypatch.setattr(reports, "read_standings", read)


# --- state ---------------------------------------------------------------------------------------------------------


def test_each_has_a_card_with_its_state_from_real_calls(browser: Client, ada: User) -> None:
    called(ada)

    birch, atlas = card(browser, "sim-birch"), card(browser, "sim-atlas")

    assert "Answers" in birch
    assert "Last call 5 min ago: answered in 2.3 s." in birch
    assert "Not called yet" in atlas
    assert "simulated" in atlas


def test_a_failed_call_is_told_in_the_providers_words(browser: Client, ada: User) -> None:
    called(ada, failed="it <broke>")

    birch = card(browser, "sim-birch")

    assert "Last call failed" in birch
    assert "failed: server, HTTP 500. it <broke>" in birch
    assert "it <broke>" not in page(browser)


def test_the_words_of_others_calls_are_not_shown_but_that_they_failed_is(browser: Client, bob: User) -> None:
    called(bob, failed="what Bob asked")

    assert "failed: server, HTTP 500" in card(browser, "sim-birch")
    for path in ("/workers/", "/workers/sim-birch/"):
        assert "what Bob asked" not in page(browser, path)
    assert "not yours to see" in page(browser, "/workers/sim-birch/")


def test_what_a_stop_cut_says_nothing_of_a_worker(browser: Client, ada: User) -> None:
    called(ada)
    Attempt.objects.update(status=Attempt.Status.CUT)

    assert "Not called yet" in card(browser, "sim-birch")


def test_one_that_is_switched_off_says_so_and_comes_last(browser: Client, ada: User) -> None:
    make_pool()
    Worker.objects.filter(slug="sim-atlas").update(enabled=False)

    content = page(browser)

    assert "Switched off" in card(browser, "sim-atlas")
    assert content.index('id="worker-sim-embed"') < content.index('id="worker-sim-atlas"')


def test_an_open_circuit_says_why_and_when_it_is_tried_again(
    browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    called(ada)
    then = datetime(2026, 3, 2, 12, 4, 11, tzinfo=UTC)
    stands(
        monkeypatch,
        sim_birch=Standing(circuit="open", reason="server: key sk-abcdefgh1234 refused", opened_at=then, next_try=then),
        sim_cedar=Standing(circuit="half-open", reason="timeout", opened_at=then, next_try=then),
        sim_delta=Standing(cooling_until=then),
    )

    birch = card(browser, "sim-birch")

    assert "Left alone" in birch
    assert "Its calls keep failing since 12:04:11 UTC: server: key [removed] refused." in birch
    assert "It is tried again at 12:04:11 UTC." in birch
    assert "Being tried again" in card(browser, "sim-cedar")
    assert "It is tried again by the next call." in card(browser, "sim-cedar")
    assert "It asked for a pause, until 12:04:11 UTC." in card(browser, "sim-delta")


# --- figures -------------------------------------------------------------------------------------------------------


def test_the_median_and_the_slow_end_are_of_what_was_answered(browser: Client, ada: User) -> None:
    run = called(ada, times=5)
    for number, attempt in enumerate(run.attempts.order_by("pk"), start=1):
        Attempt.objects.filter(pk=attempt.pk).update(duration_ms=number * 1000, ttft_ms=number * 100)
    called(ada, failed="slow down")

    birch = card(browser, "sim-birch")

    assert "Whole reply, p50 3.0 s p95 4.8 s" in birch
    assert "First token, p50 0.30 s p95 0.48 s" in birch
    assert "Failed 17% 1 of 6 calls" in birch


def test_the_last_hour_leaves_out_what_the_last_day_has(browser: Client, ada: User) -> None:
    called(ada, ago=timedelta(hours=3))

    assert "no calls" in card(browser, "sim-birch")
    assert "Last call 3 h ago" in card(browser, "sim-birch"), "however long ago it was"
    assert "0 of 1 call" in card(browser, "sim-birch", "?period=day")
    assert "no calls" in card(browser, "sim-birch", "?period=century")


def test_all_workers_cost_as_many_queries_as_one(
    browser: Client, ada: User, django_assert_max_num_queries: Counted
) -> None:
    called(ada, times=3)
    for number in range(30):
        Worker.objects.create(slug=f"w{number}", name=f"W {number}", model="m", base_url="http://127.0.0.1:9/v1")

    browser.get("/account/")  # that the session was used is noted once a minute
    with django_assert_max_num_queries(16):
        browser.get("/workers/")


def test_the_index_serves_the_query(ada: User) -> None:
    """With rows enough to matter, nothing is read but the latest calls of each worker."""
    from django.db import connection

    from apps.web.pool.working import READ

    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        given: dict[str, Any] = {"slugs": ["sim-birch"], "since": timezone.now(), "most": 10}
        cursor.execute(f"EXPLAIN {READ}", given)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert plan.count("attempt_of_worker") == 2


# --- the door ------------------------------------------------------------------------------------------------------


def test_who_is_at_work_and_who_waits_is_told_with_the_limit(
    browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_pool()
    Worker.objects.filter(slug="sim-birch").update(concurrency=8, requests_per_minute=60)
    stands(monkeypatch, sim_birch=Standing(in_flight=2, waiting=1), sim_cedar=Standing(in_flight=5, waiting=3))

    assert "At the door 2 of 8 at work, 1 waits" in card(browser, "sim-birch")
    assert "At the door 5 at work, 3 wait" in card(browser, "sim-cedar")
    assert '<rect width="25.0%"' in page(browser)
    assert "At most 60 calls a minute." in words(page(browser, "/workers/sim-birch/"))


def test_it_is_read_from_redis_as_it_is(browser: Client, ada: User, redis_url: str) -> None:
    make_pool()
    in_a_while = (timezone.now() + timedelta(seconds=Pace().lease_s)).timestamp() * 1000
    client = redis.Redis.from_url(redis_url)
    client.zadd("places:{sim-birch}:held", {"t:1": in_a_while, "t:2": in_a_while})
    client.close()

    assert "2 at work" in card(browser, "sim-birch")


def test_a_redis_that_is_away_is_said_and_no_crash(browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    called(ada)
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1/0")

    assert "unknown: Redis does not answer" in card(browser, "sim-birch")
    assert "Answers" in card(browser, "sim-birch"), "its calls are known all the same"
    assert "Redis does not answer: nobody can say" in words(page(browser, "/workers/sim-birch/"))


@pytest.mark.parametrize("path", ["/workers/", "/workers/sim-birch/"])
def test_without_a_driver_that_stands_above_all(browser: Client, ada: User, path: str) -> None:
    make_run(by=ada)

    assert "No driver consumes the queue. 1 run waits, and nobody is called" in words(page(browser, path))


@pytest.mark.parametrize("path", ["/workers/", "/workers/sim-birch/"])
def test_with_a_driver_nothing_is_said_of_it(browser: Client, ada: User, seen: None, path: str) -> None:
    make_run(by=ada)

    assert "No driver" not in page(browser, path)


# --- money, key, others --------------------------------------------------------------------------------------------


def test_spend_of_today_stands_beside_the_budgets_that_are_about_it(browser: Client, ada: User, bob: User) -> None:
    make_pool()
    birch = Worker.objects.get(slug="sim-birch")
    common = {"worker": birch, "limit_usd": Decimal(5), "period": Budget.Period.TOTAL}
    Budget.objects.create(name="Birch in all", **common)
    Budget.objects.create(name="Only Bob's", person=bob, **common)
    Budget.objects.create(name="No longer", enabled=False, **common)
    called(ada, times=2)

    birch_card = card(browser, "sim-birch")

    assert "Today $0.0084 · $0.0084 of $5.00 (Birch in all)" in birch_card
    assert "Bob" not in birch_card
    assert "No longer" not in birch_card
    assert "Today all of them cost $0.0084." in words(page(browser))


def test_a_price_says_where_it_is_from_and_an_unknown_one_that_it_is(browser: Client, ada: User) -> None:
    make_pool()
    Worker.objects.filter(slug="sim-birch").update(price_version=4, price_from="entered by Ada")
    Worker.objects.filter(slug="sim-cedar").update(output_price_usd=None)
    Worker.objects.filter(slug="sim-delta").update(free=True)

    assert "Price $1.00 in, $4.00 out a million tokens version 4, entered by Ada" in card(browser, "sim-birch")
    assert "Price unknown" in card(browser, "sim-cedar")
    assert "Price free: self-hosted" in card(browser, "sim-delta")


def test_a_key_is_told_by_label_last_four_and_age_and_never_shown(browser: Client, ada: User) -> None:
    make_pool()
    credential = Credential(label="Main")
    credential.keep("canary-1234567890-wxyz")
    credential.save()
    Credential.objects.update(entered_at=timezone.now() - timedelta(days=70))
    Worker.objects.filter(slug="sim-birch").update(
        credential=credential, params={"temperature": 0.2, "extra": "sk-abcdefgh12345678"}
    )

    for content in (page(browser), page(browser, "/workers/sim-birch/")):
        assert "Main …wxyz, 2" in content
        assert "canary" not in content
        assert credential.sealed not in content
        assert "sk-abcdefgh12345678" not in content
    assert "temperature 0.2" in page(browser, "/workers/sim-birch/")


def test_who_stands_in_for_whom_is_told_on_both_sides(browser: Client, ada: User) -> None:
    make_pool()
    let_stand_in("sim-birch", "sim-cedar", "sim-delta")

    assert "Stand-ins Cedar, then Delta" in card(browser, "sim-birch")
    assert "Stand-ins stands in for Birch" in card(browser, "sim-cedar")
    assert 'href="/workers/sim-cedar/"' in page(browser, "/workers/sim-birch/")


# --- the list ------------------------------------------------------------------------------------------------------


def make_many(number: int = 10) -> None:
    for each in range(number):
        Worker.objects.create(slug=f"w{each}", name=f"W {each}", model="m", base_url="http://127.0.0.1:9/v1", free=True)


def order_in(content: str) -> list[str]:
    return re.findall(r'id="worker-([\w-]+)"', content)


def test_few_are_not_filtered_and_many_are(browser: Client, ada: User) -> None:
    make_pool()
    assert 'id="q"' not in page(browser)

    make_many()
    assert 'id="q"' in page(browser)
    assert order_in(page(browser, "/workers/?q=w+3")) == ["w3"]
    assert order_in(page(browser, "/workers/?q=birch&state=nonsense&sort=none")) == ["sim-birch"]
    assert "No worker fits" in page(browser, "/workers/?q=nobody")
    assert "No worker fits" in page(browser, "/workers/?q=%00%3Cb%3E&state=down")


def test_they_can_be_sorted_by_what_they_cost_and_how_they_fail(browser: Client, ada: User) -> None:
    make_pool()
    make_many()
    called(ada)

    assert order_in(page(browser, "/workers/?sort=spent"))[0] == "sim-birch"
    assert order_in(page(browser, "/workers/"))[0] == "sim-atlas"
    assert order_in(page(browser, "/workers/?state=up")) == ["sim-birch"]


def test_htmx_gets_the_cards_alone_which_ask_for_themselves_again(browser: Client, ada: User) -> None:
    make_pool()

    whole = page(browser)
    part = browser.get("/workers/", headers={"HX-Request": "true"})

    assert 'hx-trigger="every 4s"' in whole
    assert "<html" not in part.content.decode()
    assert part["Vary"].count("HX-Request") == 1
    assert order_in(part.content.decode()) == order_in(whole), "each link keeps its id, so that focus stays"


def test_without_any_it_says_what_a_worker_is_and_who_can_add_one(browser: Client, ada: User) -> None:
    assert "An admin can add one." in page(browser)

    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    assert "/admin/workers/worker/new/" in page(browser)


# --- one of them ---------------------------------------------------------------------------------------------------


def test_its_page_has_its_setup_and_its_latest_calls_with_their_runs(browser: Client, ada: User) -> None:
    run = called(ada, times=2)

    content = page(browser, "/workers/sim-birch/")

    assert f"/runs/{run.code}/?step=s2&amp;tab=attempts" in content
    assert f"/runs/{run.code}/ledger/#{run.code}:s2:1" in content
    assert "good at numbers and tables" in content
    assert "4,096 tokens" in content


def test_calls_in_runs_of_others_are_not_listed(browser: Client, bob: User) -> None:
    run = called(bob)

    assert run.code not in page(browser, "/workers/sim-birch/")


def test_one_that_turns_texts_into_vectors_says_where_its_calls_are(browser: Client, ada: User) -> None:
    make_pool()

    assert "Not called today" in card(browser, "sim-embed")
    assert "p50" not in card(browser, "sim-embed")
    assert "It turns texts into vectors" in page(browser, "/workers/sim-embed/")


@pytest.mark.parametrize("slug", ["nobody", "a.b", "%00", "..%2f"])
def test_an_unknown_one_is_a_clear_page(browser: Client, slug: str) -> None:
    assert browser.get(f"/workers/{slug}/").status_code == 404


def test_one_of_another_project_is_not_there(browser: Client, ada: User) -> None:
    make_pool()
    let_stand_in("sim-birch", "sim-cedar")
    Worker.objects.filter(slug="sim-cedar").update(project=make_project("others"))

    assert browser.get("/workers/sim-cedar/").status_code == 404
    assert "Cedar" not in page(browser)
    assert "Cedar" not in page(browser, "/workers/sim-birch/")


def test_only_who_may_change_it_is_shown_the_way_there(client: Client, ada: User) -> None:
    make_pool()
    client.force_login(ada)
    assert "/admin/" not in page(client, "/workers/sim-birch/")

    boss = make_person("boss")
    User.objects.filter(pk=boss.pk).update(is_staff=True, is_superuser=True)
    client.force_login(User.objects.get(pk=boss.pk))
    assert f"/admin/workers/worker/{Worker.objects.get(slug='sim-birch').pk}/change/" in page(
        client, "/workers/sim-birch/"
    )


def test_what_is_written_in_names_is_text(browser: Client, ada: User) -> None:
    make_pool()
    Worker.objects.update(name="<script>alert(1)</script>", model='"><img src=x>', strengths="<b>")

    for path in ("/workers/", "/workers/sim-birch/"):
        assert "<script>alert" not in page(browser, path)
        assert "<img src=x" not in page(browser, path)
