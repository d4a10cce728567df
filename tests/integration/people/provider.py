"""A small OpenID Connect provider: real HTTP, real signatures, PKCE; and whatever a test wants it to get wrong.

Only its login page is missing: whoever comes is the person in `claims`.
"""

import asyncio
import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client
from jwt.algorithms import RSAAlgorithm

from apps.accounts.models import User

CLIENT, SECRET = "studio", "a-client-secret"
ADA = {"sub": "u-1", "email": "Ada@example.org", "email_verified": True, "name": "Ada L.", "preferred_username": "al"}


@dataclass
class Provider:
    """Its address, who comes, and what is asked of it."""

    url: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    wrong: dict[str, Any] = field(default_factory=dict)  # what is put into a token that should not be there
    has_token: bool = True  # whether it signs anything
    left_out: tuple[str, ...] = ()  # of the claims, what no token says
    unsigned: dict[str, Any] = field(default_factory=dict)  # what it says beside the token, and not in it
    forged: bool = False  # signed by somebody else's key
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    other: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    looked_up: int = 0  # how often somebody read its configuration

    async def configuration(self, request: web.Request) -> web.Response:
        self.looked_up += 1
        at = {name: f"{self.url}/{name}" for name in ("authorize", "token", "userinfo", "keys")}
        return web.json_response(
            {
                "issuer": self.url,
                "authorization_endpoint": at["authorize"],
                "token_endpoint": at["token"],
                "userinfo_endpoint": at["userinfo"],
                "jwks_uri": at["keys"],
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            }
        )

    def authorize(self, asked: dict[str, str]) -> dict[str, str]:
        """What the browser brings back, for what it was sent with."""
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return {"code": code, "state": asked["state"]}

    async def token(self, request: web.Request) -> web.Response:
        given = {name: str(value) for name, value in (await request.post()).items()}
        self.asked.append("token")
        asked = self.codes.pop(given.get("code", ""), None)
        digest = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or asked["code_challenge"] != challenge or given.get("client_secret") != SECRET:
            return web.json_response({"error": "invalid_grant"}, status=400)
        now = int(time.time())
        told = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 60, **self.claims, **self.wrong}
        told = {name: said for name, said in told.items() if name not in self.left_out}
        signed = jwt.encode(told, self.other if self.forged else self.key, algorithm="RS256", headers={"kid": "one"})
        answer = {"access_token": "t", "token_type": "Bearer", "expires_in": 60}
        return web.json_response(answer | {"id_token": signed} if self.has_token else answer)

    async def userinfo(self, request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == "Bearer t"
        self.asked.append("userinfo")
        return web.json_response(self.claims | self.unsigned)

    async def keys(self, request: web.Request) -> web.Response:
        public = json.loads(RSAAlgorithm.to_jwk(self.key.public_key()))
        return web.json_response({"keys": [public | {"kid": "one", "alg": "RS256", "use": "sig"}]})

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", self.configuration)
        app.router.add_post("/token", self.token)
        app.router.add_get("/userinfo", self.userinfo)
        app.router.add_get("/keys", self.keys)
        return app


@contextmanager
def running_provider() -> Iterator[Provider]:
    """It answers on a loop of its own for as long as the block lasts."""
    provider, loop = Provider(), asyncio.new_event_loop()
    runner = web.AppRunner(provider.app())

    async def start() -> None:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        provider.url = f"http://127.0.0.1:{runner.addresses[0][1]}"

    loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield provider
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


@pytest.fixture
def provider(redis_url: str, settings) -> Iterator[Provider]:
    with running_provider() as started:
        started.claims = dict(ADA)
        settings.OIDC_URL, settings.OIDC_NAME, settings.OIDC_SIGN_UP = started.url, "Example ID", False
        app: dict[str, Any] = {"provider_id": "oidc", "name": "Example ID", "client_id": CLIENT, "secret": SECRET}
        app |= {"settings": {"server_url": started.url, "oauth_pkce_enabled": True}}
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [app]}}
        yield started


@pytest.fixture
def known(ada: User) -> User:
    ada.email = "ada@example.org"
    ada.save()
    return ada


def come(client: Client, provider: Provider, next_url: str = "") -> Any:
    """There and back, as a browser goes."""
    sent = client.get("/sign-in/with/oidc/", {"next": next_url} if next_url else {})
    assert sent.status_code == 302
    back = provider.authorize(dict(parse_qsl(urlsplit(sent["Location"]).query)))
    return client.get("/sign-in/with/oidc/back/", back)
