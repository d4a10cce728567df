"""A key with an unmistakable name goes every way that a key can go, and is then looked for in everything there is."""

import base64
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from django.conf import LazySettings
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.runs import tasks as run_tasks
from apps.runs.models import Attempt, Run
from apps.runs.services import submit_run
from apps.workers import listing
from apps.workers import tasks as worker_tasks
from apps.workers.models import Conductor, Credential, Profile, Worker
from apps.workers.tasks import check_conductors
from tests.echoing import Echo, echoing
from tests.integration.workers.test_admin import WORKER
from tests.pools import workflow

CANARY = "sk-canary-of-the-tests-0123456789-WXYZ"
OTHER = "tweety-without-a-prefix-9876543210-QRST"
FORMS = [
    form
    for key in (CANARY, OTHER)
    for form in (key, base64.b64encode(key.encode()).decode().rstrip("="), base64.b64encode(key.encode()).decode()[:40])
]


@pytest.fixture
def echo() -> Iterator[Echo]:
    with echoing() as server:
        yield server


@pytest.fixture
def browser(admin: User, client: Client) -> Client:
    client.force_login(admin)
    client.raise_request_exception = False
    listing._client.cache_clear()
    return client


def everything_in_the_database() -> str:
    """Every row of every table, as text."""
    told = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT row::text FROM "{table}" AS row')
            told += [f"{table}: {row}" for (row,) in cursor.fetchall()]
    return "\n".join(told)


def everything_in_redis(url: str) -> str:
    with redis.Redis.from_url(url) as client:
        read: dict[bytes, Callable[[bytes], Any]] = {
            b"string": client.get,
            b"list": lambda key: client.lrange(key, 0, -1),
            b"hash": client.hgetall,
            b"set": client.smembers,
            b"zset": lambda key: client.zrange(key, 0, -1, withscores=True),
            b"stream": lambda key: client.xrange(key),
        }
        return "\n".join(f"{key!r}: {read[client.type(key)](key)!r}" for key in client.scan_iter())


def sightings(where: dict[str, str]) -> list[str]:
    """In what the key was seen, and around what."""
    return [
        f"{name}: …{text[max(0, text.index(form) - 60) : text.index(form) + 20]}…"
        for name, text in where.items()
        for form in FORMS
        if form in text
    ]


def test_a_key_is_seen_nowhere_but_at_its_endpoint(
    browser: Client,
    admin: User,
    mini: Profile,
    ultra: Profile,
    drive: Callable[[Run], Run],
    echo: Echo,
    redis_url: str,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    seen: dict[str, str] = {}
    messages: list[Any] = []
    monkeypatch.setattr(worker_tasks.list_models, "delay", lambda *given: messages.append(given))
    monkeypatch.setattr(run_tasks, "ring_driver", lambda *given: messages.append(given))

    def look(name: str, response: Any) -> Any:
        seen[f"{name} {response.status_code}"] = (
            response.content.decode() + str(response.headers) + str(response.cookies)
        )
        return response

    # Entered, changed, entered wrongly, and entered while the studio breaks.
    add = "/admin/workers/credential/add/"
    look("added", browser.post(add, {"label": "Lab", "key": CANARY, "_continue": "1"}))
    credential = Credential.objects.get()
    page = f"/admin/workers/credential/{credential.pk}/"
    look("other key", browser.post(f"{page}change/", {"label": "Lab", "key": OTHER}))
    look("first key again", browser.post(f"{page}change/", {"label": "Lab", "key": CANARY}))
    look("wrong", browser.post(add, {"label": "", "key": CANARY}))
    look("two lines", browser.post(add, {"label": "Lab", "key": f"{CANARY}\n{OTHER}"}))
    for name in ("list", "change", "history", "delete"):
        look(name, browser.get("/admin/workers/credential/" if name == "list" else f"{page}{name}/"))
    settings.DEBUG = True
    with monkeypatch.context() as broken:
        broken.setattr("apps.accounts.trailed.log.append", lambda *_, **__: 1 / 0)
        look("traceback", browser.post(add, {"label": "Lab", "key": CANARY}))
        new = {"name": "n", "slug": "n", "model": "m", "transport": "litellm", "key": CANARY}
        look("traceback of the wizard", browser.post("/admin/workers/worker/new/worker/", new))
    settings.READ_VAULT_KEYS, reading = list, settings.READ_VAULT_KEYS
    look("locked", browser.post(add, {"label": "Lab", "key": CANARY}))
    settings.READ_VAULT_KEYS = reading
    settings.DEBUG = False

    # Used: to list models, to look at a conductor, to call in a run, by endpoints that repeat what they were sent.
    with_key = {"base_url": echo.base_url, "credential": credential.pk}
    asked = browser.post("/admin/workers/worker/new/address/", with_key)
    worker_tasks.list_models(messages[-1][0])
    look("listing", browser.get(asked["Location"]))
    look(
        "worker added", browser.post("/admin/workers/worker/add/", {**WORKER, **with_key, "slug": "echo", "free": "on"})
    )
    worker = Worker.objects.get(slug="echo")
    look("worker", browser.get(f"/admin/workers/worker/{worker.pk}/change/"))
    Worker.objects.filter(pk=worker.pk).update(credential=credential)
    Conductor.objects.update(base_url=echo.base_url, credential=credential)
    check_conductors()
    direct = submit_run(
        task="Say it.", profile=mini, by=admin, now=timezone.now(), workflow=workflow(("s1", "Say it", "echo", []))
    )
    conducted = submit_run(task="Plan it.", profile=ultra, by=admin, now=timezone.now())
    for run in (direct, conducted):
        assert drive(run).status == Run.Status.FAILED
        for name in ("run", "run-step", "run-events"):
            look(f"{name} {run.code}", browser.get(reverse("run", args=[run.code])))
    for tab in ("result", "prompt", "context", "attempts", "request"):
        look(f"step {tab}", browser.get(f"{reverse('run', args=[direct.code])}?step=s1&tab={tab}"))
    for path in ("/admin/", "/conductors/", "/conductors/sim-conductor/", "/runs/", "/readyz"):
        look(path, browser.get(path))
    look("in use", browser.get(f"{page}delete/"))

    assert {"Bearer " + CANARY} == set(echo.keys)
    assert len(echo.keys) >= 4
    assert "[removed]" in Attempt.objects.get(run=direct, worker="echo", number=1).error
    assert any(name.startswith("traceback") and name.endswith("500") for name in seen)
    captured = capfd.readouterr()
    seen |= {
        "database": everything_in_the_database(),
        "redis": everything_in_redis(redis_url),
        "log": caplog.text + "".join(str(record.__dict__) for record in caplog.records),
        "stdout": captured.out,
        "stderr": captured.err,
        "messages": str(messages),
        "setup": str([direct.setup, conducted.setup]),
    }
    assert credential.last_four == "WXYZ"
    assert sightings(seen) == []


def test_the_search_would_find_it(admin: User, redis_url: str) -> None:
    User.objects.filter(pk=admin.pk).update(first_name=CANARY)
    with redis.Redis.from_url(redis_url) as client:
        client.rpush("a-list", base64.b64encode(OTHER.encode()))

    found = sightings({"database": everything_in_the_database(), "redis": everything_in_redis(redis_url)})

    assert {each.partition(":")[0] for each in found} == {"database", "redis"}
