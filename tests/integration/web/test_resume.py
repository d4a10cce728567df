"""Resuming a failure: at the failed step, on another worker, paying nothing twice, and what the runs then say."""

import html
import re

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.runs.models import Run, Step
from tests.factories import Driving, chain, failure, make_run
from tests.integration.web.forms import form_in, post, press, seal_in


@pytest.fixture
def failed(ada: User) -> Run:
    """Three steps, of which the second failed."""
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth", "Check the table", "Answer the task"))
    driving.finish("s1", "South: 53 %")
    driving.fail("s2", failure("no tokens left", kind="rate_limited", status=429, retryable=False))
    driving.skip("s3", because=["s2"])
    return driving.give_up("Step 2 failed: no tokens left", step="s2", code="step-failed")


def page_of(client: Client, run: Run, path: str = "") -> str:
    return html.unescape(client.get(f"/runs/{run.code}/{path}").content.decode())


def test_a_failed_run_offers_to_go_on_from_its_failed_step(browser: Client, failed: Run) -> None:
    page = page_of(browser, failed)

    assert "Resume from step 2" in page
    assert f'href="/runs/{failed.code}/edit/?resume=1&step=s2"' in page


def test_the_page_opens_at_the_failed_step_with_the_other_workers_in_reach(browser: Client, failed: Run) -> None:
    page = page_of(browser, failed, "edit/?resume=1")

    assert 'data-selected="s2"' in page
    assert re.search(r'name="step-s2-worker"[^>]* autofocus', page)
    assert "Step 2, “Check the table”, failed at its first attempt." in page
    assert "no tokens left" in page
    offered = re.findall(r'"op":"worker","key":"s2","worker":"(sim-\w+)"', page)
    assert "sim-cedar" in offered
    assert "sim-birch" not in offered  # whose step it is
    assert "Resume: run 2 steps, reuse 1" in page
    assert "last call failed: rate limited, HTTP 429" in page


def test_on_another_worker_only_what_is_missing_is_run(browser: Client, failed: Run) -> None:
    form = form_in(browser.get(f"/runs/{failed.code}/edit/?resume=1").content.decode())
    edit = '{"op": "worker", "key": "s2", "worker": "sim-cedar"}'
    answer = browser.post(f"/runs/{failed.code}/edit/", form | {"edit": edit})
    changed = answer.content.decode()
    assert "Resume: run 2 steps, reuse 1" in changed

    browser.post(f"/runs/{failed.code}/edit/", form_in(changed) | {"action": "run", "seen": seal_in(changed)})

    child = Driving(Run.objects.get(parent=failed))
    child.reuse("s1")
    child.finish("s2", "It is right.")
    child.finish("s3", "South.")
    child.succeed("South.", step="s3")
    steps = {step.key: (step.status, step.worker) for step in child.run.steps.all()}
    assert steps == {
        "s1": (Step.Status.REUSED, "sim-birch"),
        "s2": (Step.Status.SUCCEEDED, "sim-cedar"),
        "s3": (Step.Status.SUCCEEDED, "sim-birch"),
    }


def test_the_run_that_failed_says_in_which_run_it_was_fixed(browser: Client, failed: Run) -> None:
    assert "Fixed in run" not in page_of(browser, failed)
    press(browser, failed, form_in(browser.get(f"/runs/{failed.code}/edit/").content.decode()))
    child = Run.objects.get(parent=failed)
    assert "Fixed in run" not in page_of(browser, failed)

    driving = Driving(child)
    driving.reuse("s1")
    driving.finish("s2", "It is right.")
    driving.finish("s3", "South.")
    driving.succeed("South.", step="s3")

    page = page_of(browser, failed)
    assert re.search(rf'Fixed in run <a class="link" href="/runs/{child.code}/">', page)
    assert f"/compare/?a={failed.code}&b={child.code}" in page
    assert f'href="/runs/{failed.code}/"' in page_of(browser, child)  # it says where it comes from


@pytest.mark.parametrize("change", ["succeeded", "gone"])
def test_there_is_nothing_to_resume_where_nothing_failed(browser: Client, ada: User, failed: Run, change: str) -> None:
    if change == "succeeded":
        driving = Driving(make_run(by=ada))
        driving.plan(chain("Answer"))
        run = driving.carry({"s1": "South."})
    else:  # the failed step was taken away in a draft
        run = failed
        form = form_in(browser.get(f"/runs/{run.code}/edit/?resume=1").content.decode())
        post(browser, run, form | {"edit": '{"op": "remove", "key": "s2"}'})

    page = page_of(browser, run, "edit/?resume=1")

    assert "no tokens left" not in page
    assert "autofocus" not in page
