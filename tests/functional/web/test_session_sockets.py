"""A session that is ended from elsewhere takes its sockets along, and nobody else's."""

from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.test import Client

from apps.accounts.models import User
from tests.functional.web.test_sockets import path, run

__all__ = ["run"]


async def test_ending_a_session_closes_its_sockets_at_once(
    run: Any, ada: User, browser: Client, view: Callable[..., Any]
) -> None:
    elsewhere = Client()
    await sync_to_async(elsewhere.force_login)(ada)
    for each in (elsewhere, browser):
        await sync_to_async(each.get)("/account/")  # by which it is listed
    ended, staying = await view(elsewhere, path(run)), await view(browser, path(run))

    await sync_to_async(browser.post)("/account/sessions/end-others/")

    assert await ended.next() == {"t": "closed", "reason": "signed-out"}
    await ended.next()
    assert ended.closed == 4401
    assert await staying.silence()
