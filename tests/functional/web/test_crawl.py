"""Every page that links lead to, in a real browser: none breaks the policy, shows a secret or lacks its headers."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.conf import settings
from django.test import Client
from django.urls import Resolver404, resolve
from playwright.sync_api import BrowserContext, Page, Response
from playwright.sync_api import Error as BrowserError

from apps.accounts.models import ApiKey, User
from apps.accounts.services import ensure_first_person
from apps.runs.models import Run
from apps.workers.models import Credential, Worker
from apps.workers.services import ensure_simulated
from tests.factories import NOON, Driving, chain, make_run
from tests.functional.web.browsing import HOSTILE, Server
from tests.simulators import Simulator

pytestmark = pytest.mark.browser

TIMES = 2  # how often a kind of page is looked at, with other rows or other parameters
MOST = 8  # of one kind, in however many ways it is asked for
CANARY = "sk-canary-0123456789abcdef"
LISTEN = """
    window.broken = [];
    document.addEventListener("securitypolicyviolation",
        (one) => window.broken.push(one.violatedDirective + " " + one.blockedURI));
"""


@pytest.fixture
def root(committed_db: None, redis_url: str, simulator: Simulator) -> User:
    """The first administrator, with a pool, a key that must never be seen, and a run of hostile words."""
    person = ensure_first_person(now=NOON)
    ensure_simulated(url=simulator.base_url, by=person.actor, now=NOON)
    credential = Credential(label="canary")
    credential.keep(CANARY)
    credential.save()
    Worker.objects.filter(slug="sim-atlas").update(credential=credential, name=HOSTILE[:100])
    return person


@pytest.fixture
def run(root: User) -> Run:
    driving = Driving(make_run(by=root, task=HOSTILE))
    driving.plan(chain("Compute the growth", HOSTILE))
    return driving.carry({"s1": "South: 53 %", "s2": HOSTILE})


@pytest.fixture
def server(root: User, web_server: str, client: Client) -> Server:
    client.force_login(root)
    return Server.of(web_server, client)


@dataclass
class Crawl:
    """A walk along the links of a site: each kind of page a few times, each way of asking for it once."""

    server: Server
    context: BrowserContext
    secrets: list[str]
    todo: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    asked: set[tuple[str, frozenset[str]]] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    def walk(self, *starts: str) -> None:
        self.context.add_init_script(LISTEN)
        page = self.context.new_page()
        page.on("console", lambda said: self._hear(page, said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self._hear(page, str(error)))
        page.on("dialog", lambda dialog: dialog.dismiss())
        self.todo = list(starts)
        while self.todo:
            self._look(page, self.todo.pop(0))

    def _look(self, page: Page, path: str) -> None:
        try:
            response = page.goto(self.server.url + path, wait_until="load")
        except BrowserError as error:
            if "Download is starting" not in str(error):
                raise
            return
        assert response is not None
        self._judge_headers(path, response)
        if not response.headers.get("content-type", "").startswith("text/html"):
            return
        self.faults += [f"{path}: {each}" for each in page.evaluate("window.broken") or []]
        html = page.content()
        self.faults += [f"{path}: shows a secret" for secret in self.secrets if secret in html]
        if page.evaluate("window.pwned") is not None:
            self.faults.append(f"{path}: what was written in it ran")
        self.todo += [link for link in self._links(page) if self._is_new(link)]

    def _judge_headers(self, path: str, response: Response) -> None:
        headers = response.headers
        policy = headers.get("content-security-policy", "")
        if response.status >= 500:
            self.faults.append(f"{path}: answered {response.status}")
        if "default-src 'none'" not in policy:
            self.faults.append(f"{path}: has no policy")
        if "unsafe" in policy and not path.startswith("/admin/"):
            self.faults.append(f"{path}: has the policy of the admin pages")
        expected = {"x-content-type-options": "nosniff", "x-frame-options": "DENY", "referrer-policy": "same-origin"}
        self.faults += [
            f"{path}: {name} is not {value}" for name, value in expected.items() if headers.get(name) != value
        ]

    def _links(self, page: Page) -> list[str]:
        found = page.eval_on_selector_all("a[href]", "all => all.map((one) => one.href)")
        return [
            urlsplit(link)._replace(scheme="", netloc="", fragment="").geturl() for link in found if self._is_ours(link)
        ]

    def _is_ours(self, link: str) -> bool:
        return link.startswith(self.server.url + "/") and "/static/" not in link

    def _is_new(self, link: str) -> bool:
        parts = urlsplit(link)
        try:
            route = resolve(parts.path).route
        except Resolver404:
            self.faults.append(f"{link}: a link leads nowhere")
            return False
        manner = (route, frozenset(name for name, _ in parse_qsl(parts.query, keep_blank_values=True)))
        if manner in self.asked and self.seen[route] >= TIMES:
            return False
        if link in self.todo or self.seen[route] >= MOST:
            return False
        self.asked.add(manner)
        self.seen[route] += 1
        return True

    def _hear(self, page: Page, text: str) -> None:
        if "404" not in text:
            self.faults.append(f"{page.url.removeprefix(self.server.url)}: {text}")


def test_no_page_that_links_lead_to_breaks_the_policy_or_shows_a_secret(
    server: Server, run: Run, opened: Callable[[], Any]
) -> None:
    secrets = [
        CANARY,
        settings.SECRET_KEY,
        *settings.READ_VAULT_KEYS(),
        *ApiKey.objects.values_list("digest", flat=True),
    ]
    with opened() as browser:
        context = browser.new_context(reduced_motion="reduce")
        server.sign_in(context)
        crawl = Crawl(server, context, secrets)
        crawl.walk("/", "/admin/", f"/runs/{run.code}/")

    assert crawl.faults == []
    assert {"", "runs/", "runs/<code>/", "workers/", "account/", "admin/"} <= set(crawl.seen)
