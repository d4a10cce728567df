"""Retention in a real browser: its pages as anybody meets them, and the walk of an admin who runs no scripts."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import Membership, User
from apps.runs.models import Run
from apps.runs.retention.erasing import erase_run
from apps.runs.retention.holds import lift_hold, place_hold
from apps.runs.retention.policies import set_policy
from tests.functional.web.browsing import HOSTILE, Server, check_nobody_is_kept_out, check_nothing_runs, signed_in
from tests.integration.web.given import finished

pytestmark = pytest.mark.browser


@dataclass
class Kept:
    """A run that is due, one that is held and one that was erased, each for reasons that want to be scripts."""

    due: Run
    held: Run
    erased: Run

    @property
    def pages(self) -> list[tuple[str, str]]:
        """Every page of it, with what is there once it is ready."""
        return [
            ("/projects/ada/retention/", "#outlook"),
            ("/projects/ada/retention/?profile=&days=1", "[data-tried]"),
            (f"/runs/{self.due.code}/retention/", "#erase-reason"),
            (f"/runs/{self.held.code}/retention/", ".held"),
            (f"/runs/{self.erased.code}/retention/", ".notice"),
            (f"/runs/{self.erased.code}/", ".flow-card"),
            (f"/runs/{self.erased.code}/?step=s1&view=matrix", "#view"),
            (f"/runs/{self.erased.code}/share/", ".notice"),
            ("/runs/?q=is:erased", "main h1"),
        ]


def over(by: User) -> Run:
    run = finished(by)
    ended = timezone.now() - timedelta(days=40)
    Run.objects.filter(pk=run.pk).update(created_at=ended, finished_at=ended, heart_at=ended)
    return Run.objects.get(pk=run.pk)


@pytest.fixture
def kept(ada: User) -> Kept:
    Membership.objects.filter(user=ada).update(role=Membership.Role.ADMIN)
    due, held, erased = over(ada), over(ada), over(ada)
    now, project = timezone.now(), due.project
    set_policy(project=project, profile="", keep_days=30, reason=HOSTILE, by=ada, now=now)
    set_policy(project=project, profile=due.profile, keep_days=20, reason=HOSTILE, by=ada, now=now)
    place_hold(project=project, run=held, reason=HOSTILE, by=ada, now=now)
    lifted = place_hold(project=project, reason=HOSTILE, by=ada, now=now)
    lift_hold(hold=lifted, reason=HOSTILE, by=ada, now=now)
    erase_run(run=erased, reason=HOSTILE, by=ada, now=now)
    return Kept(due, held, erased)


def test_what_is_written_runs_nothing(server: Server, kept: Kept, opened: Callable[[], Any]) -> None:
    check_nothing_runs(server, opened, kept.pages)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_nobody_is_kept_out_by_how_these_pages_are_made(
    server: Server, kept: Kept, opened: Callable[[], Any], scheme: str, width: int
) -> None:
    check_nobody_is_kept_out(server, opened, kept.pages, scheme=scheme, width=width)


def test_an_admin_needs_no_scripts(server: Server, kept: Kept, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, java_script_enabled=False) as page:
        page.goto(f"{server.url}/projects/ada/retention/")
        page.get_by_label("Days after the end").fill("7")
        page.get_by_role("button", name="Show what would go").click()
        assert "not set yet" in page.locator("section[data-tried]").inner_text()
        page.locator("#reason").fill("Agreed.")
        page.get_by_role("button", name="Set the policy").click()
        assert "for 7 days" in page.locator("main").inner_text()

        page.goto(f"{server.url}/runs/{kept.held.code}/retention/")
        page.get_by_text("Lift…").click()
        page.locator(".held input[name=reason]").fill("Settled.")
        page.get_by_role("button", name="Lift the hold").click()
        page.locator("#erase-reason").fill("The client asked for it.")
        page.get_by_role("button", name="Erase").click()

        said = page.locator("main").inner_text()
        assert "Its texts were erased on" in said
        assert "The client asked for it." in said
