"""The review of a run in a real browser: read, printed, without scripts, on a phone; signed off, rated by keyboard."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from apps.accounts.models import Membership, User
from apps.runs.models import Rating, Review, Run
from apps.runs.rating import rate_result
from apps.runs.reviewing import sign_off
from apps.workers.calls import LONGEST_REPLY_CHARS
from tests.factories import Driving, chain, make_run
from tests.functional.web.browsing import (
    HOSTILE,
    Server,
    check_nobody_is_kept_out,
    check_nothing_runs,
    elsewhere,
    signed_in,
)

pytestmark = pytest.mark.browser

ON_SCREEN_ONLY = (".bar", ".toc", ".sign-off form", ".back")
EVERY_SECTION = ("#asked", "#answer", "#decisions", "#plan", "#steps", "#trail", "#sign-off")


@dataclass
class Reviewed:
    """A run whose every text wants to be a script, rated and signed off by its admin."""

    run: Run

    @property
    def page(self) -> str:
        return f"/runs/{self.run.code}/review/"

    @property
    def pages(self) -> Iterator[tuple[str, str]]:
        yield self.page, "#sign-off"
        yield f"{self.page}?all=1&raw=1", "#sign-off"
        yield "/reviews/?show=unreviewed", "main h1"
        yield "/reviews/?show=rejected", ".reviews"
        yield f"/runs/{self.run.code}/", ".ratings"


@pytest.fixture
def reviewed(ada: User) -> Reviewed:
    Membership.objects.filter(user=ada).update(role=Membership.Role.ADMIN)
    driving = Driving(make_run(by=ada, task=HOSTILE))
    driving.plan(chain(f"Compute it {HOSTILE}", HOSTILE, HOSTILE), raw=HOSTILE, repairs=[HOSTILE])
    run = driving.carry({"s1": HOSTILE, "s2": "Grew by 53 %", "s3": f"**South** {HOSTILE}"})
    now = timezone.now()
    rate_result(run=run, score=2, comment=HOSTILE, correction=HOSTILE, by=ada, now=now)
    sign_off(run=run, verdict="rejected", comment=HOSTILE, by=ada, now=now)
    return Reviewed(run)


def test_nothing_written_in_a_run_runs_in_its_review(
    server: Server, reviewed: Reviewed, opened: Callable[[], Any]
) -> None:
    check_nothing_runs(server, opened, reviewed.pages)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_nobody_is_kept_out_of_reviews(
    server: Server, reviewed: Reviewed, opened: Callable[[], Any], scheme: str, width: int
) -> None:
    check_nobody_is_kept_out(server, opened, reviewed.pages, scheme=scheme, width=width)


def test_on_paper_all_of_it_stands_there_and_nothing_to_press(
    server: Server, reviewed: Reviewed, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened, java_script_enabled=False, color_scheme="dark") as page:
        page.goto(server.url + reviewed.page)
        page.emulate_media(media="print")

        for name in ON_SCREEN_ONLY:
            expect(page.locator(name).first).to_be_hidden()
        for name in EVERY_SECTION:
            expect(page.locator(name)).to_be_visible()
        expect(page.locator(".printed")).to_contain_text(f"review of run {reviewed.run.code}")
        expect(page.locator("svg.picture")).to_be_visible()
        expect(page.locator(".step")).to_have_count(3)
        printed = page.pdf(prefer_css_page_size=True, print_background=True)

    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 3


def test_paper_is_white_whatever_the_theme(server: Server, reviewed: Reviewed, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened, color_scheme="dark") as page:
        page.goto(server.url + reviewed.page)
        page.emulate_media(media="print", color_scheme="dark")

        expect(page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
        assert _lightness(_colour(page, ".said", "color")) < 0.4
        assert _lightness(_colour(page, ".said.mono", "background-color")) > 0.9


def test_a_run_is_accepted_after_all_without_scripts(
    server: Server, reviewed: Reviewed, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened, java_script_enabled=False) as page:
        page.goto(server.url + reviewed.page)
        page.get_by_label("Comment").fill("Looked at once more.")
        page.get_by_role("button", name="Accept, after all").click()

        expect(page.locator("#sign-off .notice")).to_contain_text("Accepted by ada")
    assert elsewhere(lambda: Review.objects.get().state) == "accepted"


def test_an_answer_is_rated_from_the_keyboard(server: Server, ada: User, opened: Callable[[], Any]) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Answer"))
    run = driving.carry({"s1": "South"})
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/runs/{run.code}/")
        page.get_by_role("radio", name="1", exact=True).focus()
        page.keyboard.press("Space")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")

        expect(page.locator(".ratings [role=status]")).to_have_text("Saved.")
        expect(page.get_by_role("button", name="Change my rating")).to_be_visible()
    assert elsewhere(lambda: Rating.objects.get().score) == 2


def test_a_correction_that_is_refused_is_mended_without_scripts(
    server: Server, ada: User, opened: Callable[[], Any]
) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Answer"))
    run = driving.carry({"s1": "South"})
    with signed_in(server, opened, java_script_enabled=False) as page:
        page.goto(f"{server.url}/runs/{run.code}/?step=s1")
        form = page.locator("#rate-rating-s1")
        form.get_by_role("radio", name="2", exact=True).check()
        form.get_by_text("Say why, or what it should have said").click()
        form.get_by_label("Comment").fill("Too long, I know")
        form.get_by_label("as it should have been").fill("North. " * (LONGEST_REPLY_CHARS // 7 + 1))
        form.get_by_role("button", name="Rate").click()

        expect(page.locator("main [role=alert]")).to_contain_text("characters are kept")
        expect(page.get_by_label("Comment")).to_have_value("Too long, I know")
        page.get_by_label("as it should have been").fill("North.")
        page.get_by_role("button", name="Rate").click()

        expect(page.get_by_role("button", name="Change my rating")).to_be_visible()
    assert elsewhere(lambda: Rating.objects.get().correction) == "North."


def test_what_one_is_writing_stays_when_the_answer_is_fetched_again(
    server: Server, ada: User, opened: Callable[[], Any]
) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Answer"))
    run = driving.carry({"s1": "South"})
    bea = User.objects.create_user("bea", home_project=run.project)
    Membership.objects.create(user=bea, project=run.project, role=Membership.Role.ANALYST)
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/runs/{run.code}/")
        page.get_by_text("Say why, or what it should have said").click()
        page.get_by_label("Comment").fill("Half a thought")
        elsewhere(rate_result, run=run, score=5, comment="Fine by me", by=bea, now=timezone.now())
        page.evaluate("htmx.trigger('#answer', 'studio:refresh')")

        expect(page.locator(".ratings li")).to_contain_text("Fine by me")
        expect(page.get_by_label("Comment")).to_have_value("Half a thought")


def _colour(page: Page, selector: str, name: str) -> str:
    """A computed colour as the browser paints it: `rgb(…)`."""
    return str(
        page.evaluate(
            """([selector, name]) => {
                const paint = document.createElement("canvas").getContext("2d");
                paint.fillStyle = getComputedStyle(document.querySelector(selector)).getPropertyValue(name);
                paint.fillRect(0, 0, 1, 1);
                const [r, g, b] = paint.getImageData(0, 0, 1, 1).data;
                return `rgb(${r}, ${g}, ${b})`;
            }""",
            [selector, name],
        )
    )


def _lightness(colour: str) -> float:
    return sum(int(part) for part in re.findall(r"\d+", colour)) / 3 / 255
