"""The pages in a real browser, served by the real server: what is written in them runs nothing, and all can use them.

Rows are made before the browser opens: Playwright's loop keeps Django from the database in the same thread.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connections
from playwright.sync_api import Page

from apps.accounts.models import User
from apps.runs.models import Run
from apps.workers.models import Profile, Worker
from apps.workflows.workflow import Vote
from tests.factories import Driving, chain, failure, make_pool, make_run
from tests.functional.web.browsing import HOSTILE, Server, Watched, judged, signed_in
from tests.integration.web.given import asked_again, decided, nest, nesting_profile, workflow_of

pytestmark = pytest.mark.browser

TABS = ("result", "prompt", "context", "attempts", "request")


@dataclass
class Grouped:
    """A run that holds another, and whoever drives them."""

    outer: Driving
    inner: Driving


@pytest.fixture
def hostile(ada: User) -> Run:
    """A run that failed, whose every text, by people and by models, wants to be a script."""
    profile = make_pool()
    Worker.objects.update(name=HOSTILE[:100])
    Profile.objects.filter(pk=profile.pk).update(name=HOSTILE[:100], description=HOSTILE[:200])
    driving = Driving(make_run(by=ada, task=HOSTILE, profile=profile))
    driving.misplan(HOSTILE, problems=[HOSTILE], repairs=[HOSTILE])
    driving.plan(chain(HOSTILE, f"Read it: {HOSTILE}", HOSTILE), raw=HOSTILE, repairs=[HOSTILE])
    driving.finish("s1", HOSTILE)
    driving.finish("s2", f"# {HOSTILE}\n\n| a | b |\n|---|---|\n| {HOSTILE.replace(chr(10), ' ')} | 1 |")
    driving.fail("s3", failure(HOSTILE, retryable=False))
    return driving.give_up(HOSTILE, step="s3", code="step-failed")


@pytest.fixture
def answered(ada: User, hostile: Run) -> Run:
    """A run that succeeded with such an answer."""
    driving = Driving(make_run(by=ada, task=f"Say it.\n{HOSTILE}"))
    driving.plan(chain("Say it", HOSTILE))
    return driving.carry({"s1": HOSTILE, "s2": HOSTILE})


@pytest.fixture
def grouped(ada: User) -> Grouped:
    """A run in two rounds, the second being planned, whose second step is a run of its own that is half done."""
    profile = nesting_profile()
    outer = Driving(make_run(by=ada, profile=profile, rounds=2))
    steps = workflow_of(("s1", "thinker", []), ("s2", "", ["s1"]), ("s3", "", ["s2"]))
    given = steps.steps[1].model_copy(update={"worker": "sim-conductor"})
    outer.plan(steps.model_copy(update={"steps": (steps.steps[0], given, steps.steps[2])}))
    outer.finish("s1", HOSTILE)
    inner = nest(outer, "s2")
    inner.plan(workflow_of(("s1", "", []), ("s2", HOSTILE[:40], ["s1"]), ("s3", "", ["s2"])))
    inner.finish("s1", "52 more")
    return Grouped(outer, inner)


@pytest.fixture
def voted(ada: User, grouped: Grouped) -> Run:
    """A run whose answer was voted for, one answer of three being hostile."""
    driving = Driving(make_run(by=ada))
    keys = ("s1", "s2", "s3")
    driving.plan(workflow_of(*((key, "attempt", []) for key in keys), sink=Vote(over=keys)))
    for key in keys:
        driving.finish(key, HOSTILE)
    counts = {HOSTILE: ["s1", "s3"], "42": ["s2"]}
    return driving.succeed(HOSTILE, step="s1", rule="vote", detail={"counts": counts, "tie": False})


def pages_of(*runs: Run) -> Iterator[tuple[str, str]]:
    """Every page, with what is there once it is ready."""
    yield "/", "#task"
    yield "/runs/", "table.runs"
    yield "/account/", "main h1"
    for run in runs:
        page = f"/runs/{run.code}/"
        yield page, ".flow-card"
        yield f"{page}?raw=1&all=1", ".flow-card"
        yield f"{page}?view=events", ".trail"
        yield f"{page}?edge=s1:s2", ".panel [data-source]"
        for tab in TABS:
            yield f"{page}?step=s2&tab={tab}", f'.panel [data-tab="{tab}"][aria-current]'
        yield f"{page}edit/?step=s2", ".flow-card"


def pages_of_groups(grouped: Grouped, voted: Run) -> Iterator[tuple[str, str]]:
    """The pages of runs that hold rounds, other runs and votes."""
    outer, inner = f"/runs/{grouped.outer.run.code}/", f"/runs/{grouped.inner.run.code}/"
    yield f"{outer}?step=s2/s2", '[data-key="s2/s2"]'  # unfolds what it is in
    yield f"{outer}?step=s2&tab=request", ".flow-fold"
    yield f"{outer}?edge=s2/s1:s2/s2", ".panel [data-source]"
    yield f"{outer}edit/?step=s2", ".flow-card"
    yield inner, ".flow-card"
    yield f"/runs/{voted.code}/", ".flow-sink"
    yield f"/runs/{voted.code}/edit/", ".flow-sink"


def test_what_is_written_runs_nothing_on_any_page(
    server: Server, hostile: Run, answered: Run, grouped: Grouped, voted: Run, opened: Callable[[], Any]
) -> None:
    with opened() as browser:
        context = browser.new_context()
        watched = Watched(context.new_page())
        watched.open(f"{server.url}/sign-in/", ready="main h1")
        server.sign_in(context)
        for path, ready in [*pages_of(hostile, answered), *pages_of_groups(grouped, voted)]:
            watched.open(server.url + path, ready=ready)

            assert watched.page.evaluate("window.pwned") is None, path
            links = watched.page.eval_on_selector_all("a[href], [src]", "all => all.map((one) => one.href || one.src)")
            assert not [link for link in links if str(link).lower().startswith("javascript:")], path
        watched.page.goto(f"{server.url}/runs/{answered.code}/edit/")
        watched.page.locator("#s1-duplicate").click()
        watched.page.locator('[data-step-form="s3"]').wait_for(state="attached")
        assert watched.page.evaluate("window.pwned") is None
        assert watched.complaints == []

        lost = Watched(context.new_page())
        lost.open(f"{server.url}/nowhere/{HOSTILE[:40].replace('/', '')}", ready="main h1")
        assert lost.page.evaluate("window.pwned") is None
        assert [said for said in lost.complaints if "404" not in said] == []  # the browser says so of the page itself


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_kept_out_by_how_a_page_is_made(
    server: Server,
    hostile: Run,
    answered: Run,
    grouped: Grouped,
    voted: Run,
    opened: Callable[[], Any],
    scheme: Any,
) -> None:
    """What axe finds to be serious or critical. The policy that forbids its script is set aside here, and only here."""
    with opened() as browser:
        context = browser.new_context(bypass_csp=True, color_scheme=scheme, reduced_motion="reduce")
        page = context.new_page()
        found = judged(page, f"{server.url}/sign-in/", "main h1")
        server.sign_in(context)
        for path, ready in [*pages_of(hostile, answered), *pages_of_groups(grouped, voted)]:
            found += judged(page, server.url + path, ready)
    assert not found, "\n\n".join(sorted(set(found)))


def places(page: Page) -> dict[str, str]:
    """Where every card and frame of the graph stands."""
    found: dict[str, str] = page.eval_on_selector_all(
        ".react-flow__node", "all => Object.fromEntries(all.map((one) => [one.dataset.id, one.style.transform]))"
    )
    return found


def wait_for_focus(page: Page, key: str) -> None:
    """A card that has just come takes the focus once it is measured."""
    focused = ""
    for _ in range(50):
        focused = page.evaluate("document.activeElement.dataset.key ?? document.activeElement.dataset.fold ?? ''")
        if focused == key:
            return
        page.wait_for_timeout(50)
    assert focused == key


def test_a_nested_run_folds_and_unfolds_by_keys_in_the_graph_and_the_outline_alike(
    server: Server, grouped: Grouped, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/runs/{grouped.outer.run.code}/")
        page.locator('.flow-fold[data-fold="s2"]', has_text="1 of 3 steps").wait_for()
        before = places(page)
        outline = page.locator('.outline details[data-fold="s2"]')

        page.locator('[data-key="s2"]').focus()
        page.keyboard.press("f")
        page.locator('[data-key="s2/s2"]').wait_for()
        assert outline.evaluate("group => group.open")
        wait_for_focus(page, "s2")
        assert places(page)["s1"] == before["s1"]
        assert places(page)["s3"] != before["s3"], "it made room"

        page.locator('[data-key="s2/s2"]').focus()
        page.keyboard.press("Enter")
        page.locator(".panel .within").wait_for()
        assert page.url.endswith("?step=s2/s2")

        page.keyboard.press("f")  # from within: folds what it is in
        page.locator('[data-key="s2/s2"]').wait_for(state="detached")
        wait_for_focus(page, "s2")
        assert places(page) == before
        assert not outline.evaluate("group => group.open")

        outline.locator("summary").click()
        page.locator('[data-key="s2/s1"]').wait_for()
        page.reload()
        page.locator('[data-key="s2/s1"]').wait_for()  # the tab remembers


def test_what_a_round_adds_appears_and_what_stands_stays(
    server: Server, grouped: Grouped, opened: Callable[[], Any]
) -> None:
    """The driver writes in a thread of its own: Playwright's loop keeps Django from the database in this one."""
    outer, inner = grouped.outer, grouped.inner
    answered = ThreadPoolExecutor(1)

    def finish_the_first_round() -> None:
        for key in ("s2", "s3"):
            inner.finish(key, "53 %")
        inner.succeed("53 %", step="s3")
        attempt = outer.step("s2").attempts.get()
        outer.answer("s2", attempt, "53 %")
        outer.finish("s3", "South")

    def add_a_round() -> None:
        proposal = asked_again(outer, round=2)
        first = outer.told().workflow
        assert first is not None
        more = workflow_of(("s4@2", "", ["s3"]), ("s5@2", "", ["s4"])).steps
        workflow = first.model_copy(update={"steps": (*first.steps, *more)})
        decided(outer, proposal, verdict="changed", workflow=workflow)

    with signed_in(server, opened, viewport={"width": 1600, "height": 1000}) as page:
        page.goto(f"{server.url}/runs/{outer.run.code}/")
        page.locator('.flow-fold[data-fold="s2"]').click()
        page.locator('[data-key="s2/s3"][data-state="waiting"]').wait_for()
        page.locator('[data-key="s1"]').drag_to(page.locator("#canvas"), target_position={"x": 60, "y": 420})
        before = places(page)

        answered.submit(finish_the_first_round).result()
        page.locator('[data-key="s2/s3"][data-state="succeeded"]').wait_for()  # by its own socket
        page.locator('[data-key="s3"][data-state="succeeded"]').wait_for()
        assert places(page) == before

        answered.submit(add_a_round).result()
        page.locator('[data-key="s5"]').wait_for()
        after = places(page)
        assert {key: after[key] for key in before} == before
        assert set(after) - set(before) == {"s4", "s5", "round:1", "round:2"}
        page.locator(".outline details[data-fold='round:2']", has_text="changed").wait_for()

        page.locator("#canvas .flow-fold", has_text="Round 1").click()
        page.locator('[data-key="s3"]').wait_for(state="detached")
        wait_for_focus(page, "round:1")
        page.keyboard.press("Enter")
        page.locator('[data-key="s3"]').wait_for()
        assert places(page) == after
    answered.submit(connections.close_all).result()
    answered.shutdown()


def test_a_vote_is_chosen_in_the_form_and_seen_in_the_graph(
    server: Server, answered: Run, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/runs/{answered.code}/edit/")
        page.locator("#sink-vote").check()
        page.locator(".flow-sink", has_text="step 2").wait_for()
        page.locator("#sink-over-s1").check()
        page.locator(".flow-sink", has_text="steps 1 and 2").wait_for()
        page.locator("#sink-over-s1").uncheck()
        page.locator("#sink-over-s2").uncheck()
        page.locator("#sink-faults", has_text="The vote has no steps to choose from").wait_for()
        assert page.locator('#verdict button[value="run"]').is_disabled()
        page.locator("#sink-last").check()
        page.locator(".flow-sink").wait_for(state="detached")


def test_the_workers_to_choose_from_are_those_of_the_profile(
    server: Server, answered: Run, opened: Callable[[], Any]
) -> None:
    with signed_in(server, opened) as page:
        page.goto(server.url)
        page.locator('input[name="profile"][value="studio-mini"]').check()
        page.get_by_text("Limits and workers").click()
        workers = page.locator('input[name="workers"]:visible')
        alone = workers.count()
        page.locator('input[name="profile"][value="studio-ultra"]').check()

        assert (alone, workers.count()) == (1, 4)
