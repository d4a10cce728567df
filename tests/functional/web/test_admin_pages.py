"""The admin pages in a real browser: all can use them, with scripts and without, and nothing written in them runs."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page

from apps.accounts.api_keys import make_api_key
from apps.accounts.models import Project, User
from apps.accounts.services import ensure_first_person
from apps.workers.models import Credential, Fallback, Worker
from apps.workers.services import ensure_simulated
from tests.factories import Driving, chain, make_person, make_run
from tests.functional.web.browsing import HOSTILE, Server, Watched, judged
from tests.simulators import Simulator

pytestmark = pytest.mark.browser


@pytest.fixture
def admin(committed_db: None, redis_url: str, simulator: Simulator) -> User:
    """An administrator of a studio with another person, simulated workers, a credential and a key of hostile names."""
    person = ensure_first_person(now=timezone.now())
    ensure_simulated(url=simulator.base_url, by=person.actor, now=timezone.now())
    Worker.objects.update(name=HOSTILE[:100])
    credential = Credential(label=HOSTILE[:100])
    credential.keep("sk-0123456789abcdef")
    credential.save()
    atlas, birch = Worker.objects.get(slug="sim-atlas"), Worker.objects.get(slug="sim-birch")
    Worker.objects.filter(pk=atlas.pk).update(credential=credential)
    Fallback.objects.create(worker=atlas, instead=birch)
    home = Project.objects.get()
    make_person(HOSTILE[:100], project=home)
    make_api_key(person=person, project=home, name=HOSTILE[:80], scopes=["read"], by=person.actor, now=timezone.now())
    driving = Driving(make_run(by=person, now=timezone.now()))
    driving.plan(chain("Do it"))
    driving.finish("s1", "done")
    return person


@pytest.fixture
def server(admin: User, web_server: str, client: Client) -> Server:
    client.force_login(admin)
    return Server.of(web_server, client)


def pages() -> Iterator[tuple[str, str]]:
    """Every kind of page, with what is there once it is ready."""
    yield "/admin/", "#dashboard"
    for place in ("workers/worker", "workers/conductor", "workers/credential", "workers/profile", "spend/budget"):
        yield f"/admin/{place}/", "#changelist"
        yield f"/admin/{place}/add/", "#content form"
    for place in ("accounts/user", "accounts/project", "accounts/membership", "accounts/apikey", "auth/group"):
        yield f"/admin/{place}/", "#changelist"
        yield f"/admin/{place}/add/", "#content form"
    yield "/admin/workers/worker/1/change/", "#worker_form"
    yield "/admin/workers/worker/1/delete/", ".st-deletion"
    yield "/admin/workers/worker/2/delete/", ".st-forbids"
    yield "/admin/workers/worker/new/", ".st-ways"
    yield "/admin/workers/worker/new/models/?q=gpt", ".st-table"
    yield "/admin/workers/worker/new/worker/?catalogue=gpt-4o-mini", ".st-form"
    yield "/admin/workers/credential/1/change/", "#credential_form"
    yield "/admin/workers/profile/1/change/", "#profile_form"
    yield "/admin/accounts/user/1/change/", "#user_form"
    yield "/admin/accounts/user/2/password/", "#content form"
    yield "/admin/accounts/apikey/1/change/", "#content-main"
    yield "/admin/accounts/apikey/1/revoke/", ".st-deletion"


def test_what_is_written_runs_nothing_and_the_policy_holds(server: Server, opened: Callable[[], Any]) -> None:
    with opened() as browser:
        context = browser.new_context()
        watched = Watched(context.new_page())
        server.sign_in(context)
        for path, ready in pages():
            watched.open(server.url + path, ready=ready)
            assert watched.page.evaluate("window.pwned") is None, path
    assert watched.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_kept_out_of_the_pages_we_made(server: Server, opened: Callable[[], Any], scheme: Any) -> None:
    """What axe finds serious in what the studio adds; what unfold itself makes is left to it."""
    ours = ("/admin/", "/admin/workers/worker/1/delete/", "/admin/workers/worker/2/delete/")
    with opened() as browser:
        context = browser.new_context(bypass_csp=True, color_scheme=scheme, reduced_motion="reduce")
        server.sign_in(context)
        page = context.new_page()
        found: list[str] = []
        for path, ready in pages():
            if path in ours or "/new/" in path or "apikey/add" in path or "revoke" in path:
                found += judged(page, server.url + path, ready)
    assert not found, "\n\n".join(sorted(set(found)))


@pytest.mark.parametrize("width", [390, 1440])
def test_a_worker_is_added_from_an_address_in_a_few_steps(
    server: Server, opened: Callable[[], Any], simulator: Simulator, width: int
) -> None:
    with opened() as browser:
        context = browser.new_context(viewport={"width": width, "height": 900})
        server.sign_in(context)
        watched = Watched(context.new_page())
        page = watched.page
        watched.open(f"{server.url}/admin/workers/worker/new/", ready=".st-ways")
        assert not sideways(page)

        page.get_by_role("textbox", name="Address").fill(simulator.base_url)
        page.get_by_role("button", name="List its models").click()
        page.get_by_role("link", name="sim-delta", exact=True).click()
        page.get_by_label("Name", exact=False).first.fill("Delta again")
        assert not sideways(page)
        page.get_by_role("button", name="Add the worker").click()

        page.locator("#worker_form").wait_for()
        assert page.get_by_text("was added").count() == 1
        page.goto(f"{server.url}/admin/")
        page.get_by_role("link", name="Delta again").wait_for()
        assert not sideways(page)
        assert watched.complaints == []


def test_the_catalogue_is_searched_while_one_types(server: Server, opened: Callable[[], Any]) -> None:
    with opened() as browser:
        context = browser.new_context()
        server.sign_in(context)
        watched = Watched(context.new_page())
        page = watched.page
        watched.open(f"{server.url}/admin/workers/worker/new/", ready=".st-ways")

        page.locator("#id_q").press_sequentially("claude haiku", delay=20)
        page.locator('a[aria-label="Choose claude-haiku-4-5"]').click()

        assert page.locator("#id_model").input_value() == "anthropic/claude-haiku-4-5"
        assert watched.complaints == []


def test_everything_works_without_scripts(server: Server, opened: Callable[[], Any], simulator: Simulator) -> None:
    with opened() as browser:
        context = browser.new_context(java_script_enabled=False)
        server.sign_in(context)
        page = context.new_page()
        page.goto(f"{server.url}/admin/workers/worker/new/")

        page.get_by_label("Model").first.fill("claude haiku")
        page.locator(".st-search button").click()
        page.get_by_role("link", name="Choose claude-haiku-4-5", exact=True).click()
        page.get_by_role("button", name="Add the worker").click()
        page.get_by_role("button", name="Save", exact=True).click()

        assert page.get_by_text("was changed successfully").count() == 1
        page.goto(f"{server.url}/admin/")
        assert page.get_by_role("heading", name="Queue and drivers").is_visible()


def sideways(page: Page) -> bool:
    """Whether the page as a whole has to be scrolled sideways."""
    wider: bool = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth + 1")
    return wider
