"""What tests of signing in do: sign in, show codes, read what the trail says."""

import base64
import hashlib
import hmac
import struct
import time
from typing import Any

from django.test import Client

from apps.accounts.models import User
from apps.accounts.services import TRAIL
from apps.audit.log import Read
from tests.factories import told_in
from tests.integration.people.conftest import PASSWORD


def sign_in(client: Client, *, name: str = "ada", password: str = PASSWORD, **more: Any) -> Any:
    return client.post("/sign-in/", {"login": name, "password": password}, **more)


def is_signed_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


def told(*verbs: str) -> list[Read]:
    """The events of these verbs, or of all."""
    return [event for event in told_in(TRAIL) if not verbs or event.verb in verbs]


def last(verb: str) -> Read:
    return told(verb)[-1]


def code_of(secret: str, *, steps: int = 0) -> str:
    """What an authenticator app shows for `secret` (RFC 6238), `steps` of 30 seconds from now."""
    counter = struct.pack(">Q", int(time.time()) // 30 + steps)
    digest = hmac.new(base64.b32decode(secret), counter, hashlib.sha1).digest()
    at = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[at : at + 4])[0] & 0x7FFFFFFF) % 10**6:06}"


def confirm(client: Client, password: str = PASSWORD) -> None:
    """Show once more who is there."""
    assert client.post("/account/again/", {"password": password}).status_code == 302


def set_up_app(client: Client, user: User) -> tuple[str, list[str]]:
    """Set up an authenticator app as somebody signed in; its secret, and the recovery codes shown."""
    confirm(client)
    page = client.get("/account/second-factors/app/")
    secret = page.content.decode().split('id="secret">')[1].split("<")[0]
    done = client.post("/account/second-factors/app/", {"code": code_of(secret)}, follow=True)
    shown = done.content.decode().split('id="codes">')[1].split("</pre>")[0].split()
    return secret, shown
