"""The admin's first page says what is so: money, runs, queue, drivers and models, and what nobody knows."""

import html
import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import redis
from django.conf import LazySettings
from django.conf import settings as of_studio
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import checks
from apps.audit.anchors import seal_anchor
from apps.audit.log import STUDIO
from apps.audit.sending import send_on
from apps.audit.verification import Found, Tally, TrailBreak
from apps.runs.models import Attempt, Driver
from apps.spend.models import Line
from apps.web.pool.dashboard import messages_waiting, work, workers
from apps.web.pool.spending import DAYS, spending
from apps.workers.models import Worker
from tests.factories import Driving, chain, failure, make_pool, make_run


@pytest.fixture
def browser(ada: User, client: Client) -> Client:
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    client.force_login(User.objects.get(pk=ada.pk))
    return client


@pytest.fixture
def driving(ada: User) -> Driving:
    """A run of two steps that began a minute ago."""
    run = Driving(make_run(by=ada, now=timezone.now() - timedelta(minutes=1)))
    run.plan(chain("Do it", "Say it"))
    return run


def words(response: Any) -> str:
    text = html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode()))
    return " ".join(text.split())


def driver(name: str, *, holding: int = 0, seen: timedelta = timedelta()) -> Driver:
    now = timezone.now()
    return Driver.objects.create(
        name=name, pid=1, threads=4, holding=holding, started_at=now - timedelta(hours=1), seen_at=now - seen
    )


def called(slug: str) -> Any:
    return next(each for each in workers(now=timezone.now()) if each.worker.slug == slug)


# --- money ---------------------------------------------------------------------------------------------------------


def test_what_was_spent_is_the_sum_of_all_calls(driving: Driving) -> None:
    driving.finish("s1", "done", cost_usd=Decimal("0.0300"))
    driving.fail("s2", failure("no"), retry_in_s=1)
    driving.finish("s2", "said", cost_usd=Decimal("0.0200"))

    told = spending(now=timezone.now())

    assert told.whole.cost_usd == Decimal("0.05")
    assert len(told.days) == DAYS
    assert told.today.unknown == 0


def test_an_unknown_price_is_counted_and_never_taken_for_nothing(driving: Driving, browser: Client) -> None:
    driving.finish("s1", "done", cost_usd=None)

    told = spending(now=timezone.now())
    page = words(browser.get("/admin/"))

    assert (told.whole.cost_usd, told.whole.unknown) == (Decimal(0), 1)
    assert not told.is_nothing
    assert "and 1 call at an unknown price" in page


def test_days_are_kept_apart_and_old_ones_left_out(driving: Driving) -> None:
    for key, usd in (("s1", 1), ("s2", 2)):
        driving.finish(key, "done", cost_usd=Decimal(usd))
    noon = timezone.now().replace(hour=12)
    for key, days in (("s1", DAYS - 1), ("s2", 3)):
        Line.objects.filter(ref__contains=f":{key}:").update(at=noon - timedelta(days=days))

    told = spending(now=noon)

    assert [(at, day.cost_usd) for at, day in enumerate(told.days) if day.cost_usd] == [
        (0, Decimal(1)),
        (DAYS - 4, Decimal(2)),
    ]
    assert spending(now=noon + timedelta(days=1)).whole.cost_usd == 2
    assert len(told.bars) == DAYS
    assert max(bar.height for bar in told.bars) == 72.0


# --- queue and drivers ---------------------------------------------------------------------------------------------


def test_nobody_who_consumes_the_queue_is_red_and_says_who_waits(ada: User, browser: Client) -> None:
    make_run(by=ada)

    page = browser.get("/admin/")

    assert "No driver consumes the queue: 1 run waits." in words(page)
    assert 'data-state="down"' in page.content.decode()
    assert 'role="alert"' in page.content.decode()


def test_drivers_are_alive_full_or_gone(ada: User) -> None:
    driver("gone", holding=2, seen=timedelta(minutes=5))
    assert work(now=timezone.now()).state == "down"

    driver("one", holding=4)
    assert (work(now=timezone.now()).state, "Every place is taken" in work(now=timezone.now()).told) == ("odd", True)

    driver("two", holding=1)
    now = work(now=timezone.now())
    assert (now.state, now.told) == ("up", "2 drivers with 5 of 8 places taken.")
    assert [(each.name, alive) for each, alive in now.drivers][-1] == ("gone", False)


def test_the_queue_is_counted_and_unknown_without_redis(ada: User, settings: LazySettings) -> None:
    with redis.Redis.from_url(of_studio.REDIS_URL) as client:
        client.rpush(of_studio.CELERY_TASK_DEFAULT_QUEUE, "a", "b")
    assert messages_waiting() == 2

    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    driver("one")

    assert messages_waiting() is None
    assert work(now=timezone.now()).told.startswith("Redis does not answer")


def test_runs_are_counted_by_state(ada: User, driving: Driving, browser: Client) -> None:
    make_run(by=ada)
    driving.finish("s1", "a")
    driving.finish("s2", "b")
    driving.succeed("b", step="s2")

    page = browser.get("/admin/")

    numbers = {each.state: each.number for each in page.context["runs"]}
    assert numbers == dict.fromkeys(numbers, 0) | {"queued": 1, "succeeded": 1}


# --- models --------------------------------------------------------------------------------------------------------


def test_a_worker_s_health_is_that_of_its_real_calls(driving: Driving) -> None:
    assert (called("sim-birch").state, called("sim-birch").told) == ("unknown", "not called in the last hour")

    driving.finish("s1", "done")
    assert (called("sim-birch").state, called("sim-birch").told) == ("up", "0% of 1 call failed")

    driving.fail("s2", failure("too many", kind="rate_limited"), retry_in_s=1)
    assert (called("sim-birch").state, called("sim-birch").told) == (
        "odd",
        "50% of 2 calls failed, mostly rate limited",
    )

    Attempt.objects.update(finished_at=timezone.now() - timedelta(hours=2))
    assert called("sim-birch").state == "unknown"
    assert called("sim-birch").last_at is not None


def test_a_worker_that_is_off_and_one_that_only_fails_are_told_apart(driving: Driving) -> None:
    driving.fail("s1", failure("down"))
    Worker.objects.filter(slug="sim-delta").update(enabled=False)

    assert called("sim-birch").state == "down"
    assert called("sim-delta").told == "switched off"


def test_the_page_of_an_empty_studio_says_so(browser: Client) -> None:
    page = words(browser.get("/admin/"))

    assert "There is no worker yet." in page
    assert "There is no conductor yet." in page
    assert "No call has cost anything in the last 30 days." in page


def test_everything_is_on_the_page(browser: Client, driving: Driving) -> None:
    driver("one", holding=1)
    driving.finish("s1", "done", cost_usd=Decimal("0.0300"))

    page = words(browser.get("/admin/"))

    assert "1 driver with 1 of 4 places taken." in page
    assert "Simulated conductor" in page
    assert "simulated" in page
    assert "$0.030" in page
    assert "0% of 1 call failed" in page


def test_money_and_models_are_shown_to_those_who_may_see_workers(ada: User, client: Client) -> None:
    make_pool()
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    client.force_login(ada)
    assert "Spent" not in words(client.get("/admin/"))
    assert "Atlas" not in words(client.get("/admin/"))

    ada.user_permissions.add(Permission.objects.get(codename="view_worker"))

    assert "Spent" in words(client.get("/admin/"))
    assert "Add a worker" not in words(client.get("/admin/"))


# --- trails --------------------------------------------------------------------------------------------------------


def checked(*, at: datetime, project: str | None = None, broken: TrailBreak | None = None) -> None:
    found = Found(None)
    found.by_project[project or "default"] = Tally(trails=3, events=1234)
    if broken:
        found.by_project[project or "default"].tell(broken)
    checks.keep(project, found, by=STUDIO, started_at=at, now=at)


def test_trails_that_hold_are_said_to(ada: User, browser: Client) -> None:
    assert "The trails have not been checked yet." in words(browser.get("/admin/"))

    checked(at=timezone.now())
    page = words(browser.get("/admin/"))

    assert "All 3 trails hold: 1,234 events. Checked just now." in page
    assert "Anchors are kept in this database alone." in page


def test_an_alarm_names_the_place_and_stays_until_a_check_passes(ada: User, browser: Client) -> None:
    then = timezone.now() - timedelta(minutes=5)
    checked(at=then, broken=TrailBreak("run:a", 7, "event 7 is missing: event 8 follows event 6"))

    page = browser.get("/admin/")

    assert "What was sealed is not what is there." in words(page)
    assert "run:a, event 7: event 7 is missing: event 8 follows event 6. Checked 5 minutes ago by the studio." in words(
        page
    )
    assert 'role="alert"' in page.content.decode()

    checked(at=timezone.now())
    assert "event 7 is missing" not in words(browser.get("/admin/"))


def test_a_check_that_is_overdue_is_said_to_be(ada: User, browser: Client) -> None:
    checked(at=timezone.now() - timedelta(hours=5))

    assert (
        "All 3 trails held at the last check: 1,234 events. The next check is overdue. Checked 5 hours ago."
        in words(browser.get("/admin/"))
    )


def test_anchors_that_are_not_sent_on_are_told(ada: User, browser: Client, settings: LazySettings) -> None:
    settings.ANCHOR_FILE = "/nowhere/anchors.jsonl"
    checked(at=timezone.now())
    seal_anchor(now=timezone.now())
    send_on(now=timezone.now())

    page = words(browser.get("/admin/"))

    assert "The newest anchor is 1, sealed just now." in page
    assert "The file /nowhere/anchors.jsonl takes no anchors (No such file or directory), since just now." in page


def test_a_studio_without_a_signing_key_is_told_so(ada: User, browser: Client, settings: LazySettings) -> None:
    settings.READ_SIGNING_KEYS = list

    assert "There is no signing key: nothing is anchored." in words(browser.get("/admin/"))


def test_whoever_may_not_see_every_project_is_shown_no_trails(ada: User, browser: Client) -> None:
    User.objects.filter(pk=ada.pk).update(is_superuser=False)

    assert "trails" not in words(browser.get("/admin/"))
