"""Habits of every socket: who may open it, tried as nobody, as a stranger to the project and in every role.

A new socket fails the first of these until it stands in the table.
"""

from collections.abc import Awaitable, Callable

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from apps.accounts.models import Membership
from apps.accounts.roles import MAY, Deed
from apps.runs import services
from apps.web.live import sockets as live
from apps.web.urls import sockets
from tests.functional.web.conftest import Viewer
from tests.integration.habits.world import ROLES, World, make_world

View = Callable[..., Awaitable[Viewer]]

# What somebody must be allowed to do in the project of the run that is named; where none is, in any project of theirs.
SOCKETS: dict[str, tuple[str, Deed]] = {
    "ws/runs/": ("/ws/runs/", Deed.SEE),
    "ws/runs/<str:code>/": ("/ws/runs/{done}/", Deed.SEE),
    "ws/audit/": ("/ws/audit/", Deed.AUDIT),
}
OF_A_RUN = [pattern for pattern in SOCKETS if "<" in pattern]


@pytest.fixture
def world(database: None, redis_url: str) -> World:
    return make_world()


def signed_in(world: World, who: str) -> Client:
    client = Client()
    client.force_login(world.people[who])
    return client


async def reason(viewer: Viewer) -> str | None:
    """Why it was closed at once; None where it stays open."""
    if viewer.closed is None and await viewer.silence(0.2):
        return None
    frame = await viewer.next()
    return str(frame["reason"]) if frame["t"] == "closed" else None


def test_every_socket_says_who_may_open_it() -> None:
    assert {str(pattern.pattern) for pattern in sockets} == set(SOCKETS), "enter it in the table above"


async def test_each_socket_opens_to_those_who_may_and_to_nobody_else(world: World, view: View) -> None:
    for pattern, (address, deed) in SOCKETS.items():
        path = address.format(done=world["done"])

        assert await reason(await view(None, path)) == "signed-out", pattern
        for who in ROLES:
            client = await sync_to_async(signed_in)(world, who)
            expected = None if deed in MAY[who] else "not-found"
            assert await reason(await view(client, path)) == expected, (pattern, who)
        for who in ("stranger", "far"):
            client = await sync_to_async(signed_in)(world, who)
            expected = "not-found" if pattern in OF_A_RUN else None
            assert await reason(await view(client, path)) == expected, (pattern, who)


async def test_what_happens_in_a_project_rings_for_its_members_alone(world: World, view: View) -> None:
    for who, hears in (("auditor", True), ("stranger", False)):
        viewer = await view(await sync_to_async(signed_in)(world, who), "/ws/runs/")

        await sync_to_async(services.announce)(world["run:done"])

        assert await viewer.silence(0.5) != hears, who


async def test_who_belongs_to_another_project_by_now_listens_anew(
    world: World, view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "ASK_WHO_EVERY_S", 0.1)
    viewer = await view(await sync_to_async(signed_in)(world, "stranger"), "/ws/runs/")
    assert await viewer.silence(0.4)

    await Membership.objects.acreate(user=world.people["stranger"], project=world.project, role="auditor")

    assert await viewer.next(10) == {"t": "closed", "reason": "groups-changed"}
    await viewer.next()
    assert viewer.closed == live.COME_AGAIN
