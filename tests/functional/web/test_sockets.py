"""What a viewer of a run is told: everything once, in order, whatever breaks in between."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from asgiref.sync import sync_to_async
from django.conf import LazySettings
from django.contrib.sessions.models import Session
from django.test import Client
from redis import Redis

from apps.accounts.models import Membership, User
from apps.runs import services
from apps.runs.live import Typist, key_of
from apps.runs.models import Attempt, Run
from apps.web.live import following, hearing, sockets
from apps.web.urls import sockets as addresses
from tests import factories
from tests.factories import Driving, chain
from tests.functional.web.conftest import Viewer

View = Callable[..., Awaitable[Viewer]]
MESSAGES: list[Any] = [
    "no json",
    "[]",
    "null",
    "[" * 100_000,
    {},
    {"t": "dance"},
    {"t": ["hello"]},
    {"t": "hello"},
    {"t": "hello", "after": "0"},
    {"t": "hello", "after": True},
    {"t": "hello", "after": -1},
    {"t": "hello", "after": 10**30},
    {"t": "fill", "stream": "a1"},
    {"t": "fill", "stream": "a999999999999999999", "from": 0},
    {"t": "fill", "stream": "a1; DROP TABLE", "from": 0},
    {"t": "fill", "stream": {"a": 1}, "from": 0},
    {"t": "fill", "stream": "x1", "from": 0},
]


@pytest.fixture
def run(ada: User) -> Run:
    return factories.make_run(by=ada)


@pytest.fixture
def driving(run: Run) -> Driving:
    """A driver that has planned two steps and not begun them."""
    driving = Driving(run)
    driving.plan(chain("Compute the growth", "Answer the task"))
    return driving


@pytest.fixture
def writing(driving: Driving) -> Attempt:
    """The first step's worker has been called, and writes."""
    return driving.start("s1")


def path(run: Run) -> str:
    return f"/ws/runs/{run.code}/"


def of(kind: str) -> Callable[[dict[str, Any]], bool]:
    return lambda frame: frame["t"] == kind


def having(verb: str) -> Callable[[dict[str, Any]], bool]:
    return lambda frame: any(event["verb"] == verb for event in frame.get("events", ()))


# --- who is let in -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", [str(pattern.pattern) for pattern in addresses])
async def test_every_socket_refuses_who_is_not_signed_in(run: Run, view: View, address: str) -> None:
    viewer = await view(None, "/" + address.replace("<str:code>", run.code))

    assert await viewer.next() == {"t": "closed", "reason": "signed-out"}
    await viewer.next()
    assert viewer.closed == 4401


@pytest.mark.parametrize("address", [str(p.pattern) for p in addresses if "<" in str(p.pattern)])
async def test_every_socket_refuses_what_belongs_to_others(
    run: Run, other_browser: Client, view: View, address: str
) -> None:
    viewer = await view(other_browser, "/" + address.replace("<str:code>", run.code))

    assert await viewer.next() == {"t": "closed", "reason": "not-found"}
    await viewer.next()
    assert viewer.closed == 4404


async def test_a_run_that_never_was_is_refused_the_same_way(browser: Client, view: View) -> None:
    viewer = await view(browser, "/ws/runs/nothere/")

    assert await viewer.next() == {"t": "closed", "reason": "not-found"}
    await viewer.next()
    assert viewer.closed == 4404


@pytest.mark.parametrize("origin", [b"https://example.org", b"http://localhost:3000", b"https://localhost"])
async def test_another_site_cannot_open_one(run: Run, browser: Client, view: View, origin: bytes) -> None:
    viewer = await view(browser, path(run), origin=(b"origin", origin))

    assert viewer.closed is not None


# --- the past, then the present ------------------------------------------------------------------------------------


async def test_hello_is_answered_with_everything_after_the_cursor(
    driving: Driving, browser: Client, view: View
) -> None:
    viewer = await view(browser, path(driving.run))

    await viewer.hello()
    whole = await viewer.next()
    await viewer.hello(after=3)
    rest = await viewer.next()

    assert [event["seq"] for event in whole["events"]] == list(range(1, whole["head"] + 1))
    assert whole["events"][0]["verb"] == "run.submitted"
    assert whole["events"][0]["actor"] == {"kind": "person", "label": "ada"}
    assert whole["events"][0]["texts"] == {"task": driving.run.task}
    assert rest["events"] == whole["events"][3:]


async def test_long_texts_are_cut_and_requests_stay_at_home(run: Run, browser: Client, view: View) -> None:
    def drive() -> None:
        driving = Driving(run)
        driving.plan(chain("Compute"), raw="x" * 5_000)
        driving.finish("s1", "y" * 5_000)

    await sync_to_async(drive)()
    viewer = await view(browser, path(run))

    await viewer.hello()
    texts = {event["verb"]: event["texts"] for event in (await viewer.next())["events"]}

    assert texts["planning.done"]["raw"] == "x" * 2_000 + "…"
    assert texts["step.succeeded"]["result"] == "y" * 2_000 + "…"
    assert "request" not in texts["step.started"]
    assert "request" not in texts["planning.started"]


async def test_a_long_trail_comes_whole_and_in_order(
    driving: Driving, browser: Client, view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "EVENTS_AT_ONCE", 2)
    viewer = await view(browser, path(driving.run))

    await viewer.hello()
    await viewer.until(having("workflow.adopted"))

    seqs = [event["seq"] for event in viewer.events()]
    assert seqs == list(range(1, len(seqs) + 1))


async def test_what_happens_is_told_when_the_bell_rings(
    driving: Driving, typist: Typist, browser: Client, view: View
) -> None:
    viewer = await view(browser, path(driving.run))
    await viewer.hello()
    await viewer.next()

    await sync_to_async(driving.finish)("s1", "South: 53 %")
    typist.ring(driving.run.group, "run.bell")
    frame = await viewer.until(having("step.succeeded"))

    assert frame["events"][-1]["texts"] == {"result": "South: 53 %"}
    seqs = [event["seq"] for event in viewer.events()]
    assert seqs == list(range(1, len(seqs) + 1))


async def test_a_person_who_stops_it_is_heard(driving: Driving, ada: User, browser: Client, view: View) -> None:
    viewer = await view(browser, path(driving.run))
    await viewer.hello()
    await viewer.next()

    await sync_to_async(services.stop_run)(run=driving.run, by=ada, now=factories.NOON)

    assert await viewer.until(having("run.stopped"))


async def test_a_lost_bell_costs_seconds(
    driving: Driving, browser: Client, view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "LOOK_EVERY_S", 0.2)
    viewer = await view(browser, path(driving.run))
    await viewer.hello()
    await viewer.next()

    await sync_to_async(driving.finish)("s1", "nobody rings")

    assert await viewer.until(having("step.succeeded"))


async def test_before_the_hello_nothing_is_told(
    writing: Attempt, driving: Driving, typist: Typist, browser: Client, view: View
) -> None:
    viewer = await view(browser, path(driving.run))

    typist.say(code=driving.run.code, stream=writing.stream, piece="early")
    typist.ring(driving.run.group, "run.bell")

    assert await viewer.silence()


# --- bad messages --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: str(message)[:40])
async def test_a_bad_message_is_answered_and_breaks_nothing(
    driving: Driving, browser: Client, view: View, message: Any
) -> None:
    viewer = await view(browser, path(driving.run))

    await viewer.say(message)
    answer = await viewer.next()
    await viewer.socket.send(bytes=b"\xff\x00")
    second = await viewer.next()
    await viewer.hello()

    assert answer["t"] == second["t"] == "error"
    assert answer["message"]
    assert (await viewer.next())["t"] == "events"


# --- signing out ---------------------------------------------------------------------------------------------------


async def test_signing_out_closes_every_socket_of_the_session_and_no_other(
    run: Run, ada: User, browser: Client, view: View
) -> None:
    elsewhere = Client()
    await sync_to_async(elsewhere.force_login)(ada)
    watching, listing = await view(browser, path(run)), await view(browser, "/ws/runs/")
    staying = await view(elsewhere, path(run))

    await sync_to_async(browser.post)("/sign-out/")

    for viewer in (watching, listing):
        assert await viewer.next() == {"t": "closed", "reason": "signed-out"}
        await viewer.next()
        assert viewer.closed == 4401
    assert await staying.silence()


async def test_a_new_password_asks_the_sockets_to_come_again(run: Run, ada: User, browser: Client, view: View) -> None:
    await sync_to_async(ada.set_unusable_password)()
    viewer = await view(browser, path(run))
    new = {"new_password1": "a-new-correct-horse", "new_password2": "a-new-correct-horse"}

    await sync_to_async(browser.post)("/account/", new)
    await viewer.next()
    await viewer.next()
    again = await view(browser, path(run))
    await again.hello()

    assert viewer.closed == 4000
    assert (await again.next())["t"] == "events"


@pytest.mark.parametrize(
    ("lose", "code"),
    [(lambda: Session.objects.all().delete(), 4401), (lambda: Membership.objects.all().delete(), 4404)],
    ids=["session", "membership"],
)
async def test_who_may_no_longer_watch_is_found_out(
    run: Run, browser: Client, view: View, monkeypatch: pytest.MonkeyPatch, lose: Callable[[], Any], code: int
) -> None:
    monkeypatch.setattr(sockets, "ASK_WHO_EVERY_S", 0.1)
    viewer = await view(browser, path(run))
    assert await viewer.silence(0.3)

    await sync_to_async(lose)()
    await viewer.next()
    await viewer.next()

    assert viewer.closed == code


# --- Redis ---------------------------------------------------------------------------------------------------------


class Gate:
    """A way to Redis that is shut until it is opened."""

    def __init__(self, port: int, redis_port: int | None) -> None:
        self.port, self.redis_port = port, redis_port
        self.streams: list[asyncio.StreamWriter] = []
        self.copies: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        self.server = await asyncio.start_server(self._through, "127.0.0.1", self.port)

    async def _through(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.redis_port)
        self.streams += [writer, back]
        self.copies += [asyncio.create_task(_copy(reader, back)), asyncio.create_task(_copy(there, writer))]

    async def shut(self) -> None:
        self.server.close()
        for stream in self.streams:
            stream.close()
        await asyncio.gather(*self.copies)


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await source.read(65536):
            sink.write(piece)
            await sink.drain()


@pytest.fixture
async def gate(redis_url: str, settings: LazySettings, unused_tcp_port: int) -> AsyncIterator[Gate]:
    """Viewers reach Redis only through this."""
    redis_port = urlsplit(redis_url).port
    settings.REDIS_URL = redis_url.replace(f":{redis_port}", f":{unused_tcp_port}")
    layer: dict[str, Any] = settings.CHANNEL_LAYERS["default"]
    hosts = [{"address": settings.REDIS_URL, "socket_timeout": None}]
    settings.CHANNEL_LAYERS = {"default": {**layer, "CONFIG": {**layer["CONFIG"], "hosts": hosts}}}
    gate = Gate(unused_tcp_port, redis_port)
    yield gate
    await gate.shut()


async def test_without_redis_events_are_told_and_live_text_comes_when_it_is_back(
    gate: Gate, driving: Driving, browser: Client, view: View, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hearing, "AGAIN_S", 0.1)
    monkeypatch.setattr(sockets, "LOOK_EVERY_S", 0.2)

    viewer = await view(browser, path(driving.run))
    await viewer.hello()
    assert (await viewer.next())["t"] == "events"
    await sync_to_async(driving.finish)("s1", "South grew most.")
    await viewer.until(having("step.succeeded"))
    writing = await sync_to_async(driving.start)("s2")
    Redis.from_url(redis_url).set(key_of(writing.stream), "The answer")
    await gate.open()

    frame = await viewer.until(of("text"))

    assert frame == {"t": "text", "stream": writing.stream, "from": 0, "text": "The answer"}


# --- the list ------------------------------------------------------------------------------------------------------


async def test_the_list_hears_of_its_own_projects_alone(
    ada: User, bob: User, browser: Client, other_browser: Client, view: View
) -> None:
    mine, others = await view(browser, "/ws/runs/"), await view(other_browser, "/ws/runs/")

    await sync_to_async(factories.make_run)(by=ada)

    assert await mine.next() == {"t": "runs"}
    assert await others.silence()
