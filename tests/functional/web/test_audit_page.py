"""The audit page in a real browser: by keys, live, without scripts, with hostile texts; and its socket."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.changes import changed
from apps.accounts.models import Membership, User
from apps.audit import log, searching
from apps.audit.log import Entry
from apps.audit.models import Check, Event
from apps.runs.models import Run
from tests.factories import NOON, Driving, chain, make_run
from tests.functional.web.browsing import (
    HOSTILE,
    Server,
    check_nobody_is_kept_out,
    check_nothing_runs,
    elsewhere,
    signed_in,
)

BREAK = {"trail": "run:abcd2345", "seq": 3, "reason": "event 3 is not what was sealed"}


@pytest.fixture
def run(ada: User) -> Run:
    """A run of Ada's, every text of which wants to be a script; she audits her project since."""
    driving = Driving(make_run(by=ada, task=HOSTILE))
    driving.plan(chain(f"Compute it {HOSTILE}", HOSTILE))
    ended = driving.carry({"s1": HOSTILE, "s2": f"**South** {HOSTILE}"})
    Membership.objects.filter(user=ada).update(role=Membership.Role.AUDITOR)
    searching.keep_words()
    return ended


@pytest.fixture
def change(ada: User, run: Run) -> int:
    """A change of something that has a hostile name; the event's id."""
    entry = changed(
        "worker", {"worker": HOSTILE[:60]}, fields=["name"], before={"name": "Oak"}, after={"name": HOSTILE}
    )
    return tell(entry, by=ada)


def tell(entry: Entry, *, by: User) -> int:
    project = by.memberships.get().project.slug
    with transaction.atomic():
        trail = log.trail_within("pool", project)
        [event] = log.append(trail, [entry], by=by.actor, at=timezone.now(), subject="pool", project=project)
    return event.pk


def pages(run: Run, change: int) -> Iterator[tuple[str, str]]:
    ready = ".events tbody"
    yield "/audit/", ready
    yield "/audit/?q=verb:step+outcome:wrong", ready
    yield "/audit/?q=nowhere", ".empty"
    yield "/audit/?q=is:person+verb:run", ready
    yield f"/audit/events/{change}/", ".changes"
    yield f"/runs/{run.code}/?view=events", ready


def focused(page: Page) -> str:
    found: str = page.evaluate("document.activeElement.id")
    return found


@pytest.mark.browser
def test_events_are_read_by_keys_alone(run: Run, change: int, server: Server, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/audit/")
        page.keyboard.press("j")
        assert focused(page) == f"open-{change}"

        page.keyboard.press("Enter")
        expect(page.locator(".changes del")).to_have_text("Oak")
        expect(page.locator(f"#open-{change}")).to_have_attribute("aria-expanded", "true")
        assert focused(page) == f"open-{change}"

        page.keyboard.press("Escape")
        expect(page.locator(".changes")).to_have_count(0)
        assert focused(page) == f"open-{change}"

        page.keyboard.press("j")
        assert focused(page) not in ("", f"open-{change}")
        page.keyboard.press("/")
        assert focused(page) == "q"
        page.keyboard.type("verb:run.sub")
        expect(page.locator(".events tbody")).to_have_count(1)
        assert "q=verb%3Arun.sub" in page.url


@pytest.mark.browser
def test_what_happens_is_counted_beside_the_list(
    run: Run, ada: User, server: Server, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened) as page:
        with page.expect_websocket():
            page.goto(f"{server.url}/audit/?q=verb:worker")
        expect(page.locator(".empty")).to_be_visible()
        page.wait_for_timeout(500)

        elsewhere(tell, Entry("worker.added", {"worker": "oak"}), by=ada)
        elsewhere(tell, Entry("profile.added", {"profile": "night"}), by=ada)

        expect(page.locator("#fresh a")).to_contain_text("1 new", timeout=15_000)
        expect(page.locator(".empty")).to_be_visible()
        expect(page.locator("#told")).to_have_text("1 new event")
        page.locator("#fresh a").click()
        expect(page.locator(".events tbody")).to_have_count(1)


@pytest.mark.browser
def test_without_scripts_the_form_finds_and_a_link_opens(
    run: Run, change: int, server: Server, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened, java_script_enabled=False) as page:
        page.goto(f"{server.url}/audit/")
        page.get_by_text("Filter by form").click()
        page.get_by_label("What", exact=True).fill("worker.changed")
        page.get_by_role("button", name="Filter", exact=True).click()

        expect(page.locator(".events tbody")).to_have_count(1)
        expect(page.locator("#q")).to_have_value("verb:worker.changed")
        page.get_by_role("button", name="Worker changed").click()
        expect(page.locator(".changes del")).to_have_text("Oak")
        assert page.url.endswith(f"/audit/events/{change}/")


@pytest.mark.browser
def test_a_check_is_asked_for_and_followed(run: Run, ada: User, server: Server, opened: Callable[[], Any]) -> None:
    slug = ada.memberships.get().project.slug
    found = {"started_at": NOON, "seen_at": NOON, "finished_at": NOON, "by_kind": "person", "by_id": "1"}
    Check.objects.create(project=slug, status="broken", broken=1, breaks=[BREAK], by_label="Ada", **found)
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/audit/")
        expect(page.get_by_role("alert").filter(has_text="The log does not hold.")).to_contain_text(
            str(BREAK["reason"])
        )

        page.get_by_role("button", name="Verify now").click()
        expect(page.locator(".progress")).to_contain_text("waits for a driver")
        elsewhere(Check.objects.filter(status="queued").update, status="holds", finished_at=timezone.now(), events=12)

        expect(page.locator(".standing")).to_contain_text("Chain verified to event 12", timeout=10_000)


@pytest.mark.browser
def test_nothing_runs_on_the_pages(run: Run, change: int, server: Server, opened: Callable[[], Any]) -> None:
    check_nothing_runs(server, opened, pages(run, change))


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_nobody_is_kept_out(
    run: Run, change: int, server: Server, opened: Callable[[], Any], scheme: str, width: int
) -> None:
    check_nobody_is_kept_out(server, opened, pages(run, change), scheme=scheme, width=width)


# --- the socket ----------------------------------------------------------------------------------------------------


async def test_the_bell_rings_for_what_is_written_in_ones_own_projects(
    ada: User, bob: User, browser: Client, view: Callable[..., Any]
) -> None:
    await sync_to_async(Membership.objects.update)(role=Membership.Role.AUDITOR)
    viewer = await view(browser, "/ws/audit/")
    await sync_to_async(tell)(Entry("worker.added"), by=bob)
    assert await viewer.silence(6)

    await sync_to_async(tell)(Entry("worker.added"), by=ada)

    assert await viewer.next(8) == {"t": "audit"}
    assert await sync_to_async(Event.objects.count)() == 2


async def test_who_audits_nothing_gets_no_bell(ada: User, browser: Client, view: Callable[..., Any]) -> None:
    viewer = await view(browser, "/ws/audit/")

    assert await viewer.next() == {"t": "closed", "reason": "not-found"}
