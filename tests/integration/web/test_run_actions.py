"""Stop, approve and run again, as plain forms."""

from datetime import timedelta

import pytest
from django.contrib.messages import get_messages
from django.http import HttpResponse
from django.test import Client

from apps.accounts.models import User
from apps.audit import log
from apps.runs import services
from apps.runs.models import Run, Step
from apps.workers.models import Profile
from tests.factories import NOON, Driving, chain, make_person, make_project, make_run
from tests.integration.web.given import finished


def told(answer: object) -> list[str]:
    assert isinstance(answer, HttpResponse)
    return [str(message) for message in get_messages(answer.wsgi_request)]  # type: ignore[attr-defined]  # the test client's


def test_stop_ends_the_run_at_once(browser: Client, ada: User) -> None:
    run = make_run(by=ada)

    answer = browser.post(f"/runs/{run.code}/stop/")

    assert (answer.status_code, answer["Location"]) == (302, f"/runs/{run.code}/")
    run.refresh_from_db()
    assert run.status == Run.Status.CANCELLED


def test_stopping_what_has_ended_is_refused_in_words(browser: Client, ada: User) -> None:
    run = finished(ada)

    answer = browser.post(f"/runs/{run.code}/stop/")

    assert told(answer) == [f"Run {run.code} has already ended: succeeded."]


def test_approval_lets_a_held_run_go_on(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Answer"), hold=True)

    browser.post(f"/runs/{driving.run.code}/approve/")

    assert driving.told().status == Run.Status.QUEUED
    again = browser.post(f"/runs/{driving.run.code}/approve/")
    assert told(again) == [f"Run {driving.run.code} does not wait for approval any more."]


@pytest.mark.parametrize(("mode", "fresh"), [("reuse", []), ("fresh", ["s1", "s2"])])
def test_running_again_makes_a_fork(browser: Client, ada: User, mode: str, fresh: list[str]) -> None:
    run = finished(ada)

    answer = browser.post(f"/runs/{run.code}/rerun/", {"mode": mode, "submit_key": "k"})

    child = Run.objects.get(parent=run)
    assert answer["Location"] == f"/runs/{child.code}/"
    assert child.workflow == run.workflow
    assert child.fresh == fresh


def test_pressed_twice_it_is_one_run(browser: Client, ada: User) -> None:
    run = finished(ada)

    for _ in range(2):
        browser.post(f"/runs/{run.code}/rerun/", {"mode": "reuse", "submit_key": "k"})

    assert Run.objects.filter(parent=run).count() == 1


def test_gone_back_to_and_pressed_another_button_it_is_another_run(browser: Client, ada: User) -> None:
    run = finished(ada)

    for mode in ("reuse", "fresh", "plan"):
        browser.post(f"/runs/{run.code}/rerun/", {"mode": mode, "submit_key": "k" * 32})

    assert sorted(len(child.fresh) for child in Run.objects.filter(parent=run)) == [0, 2]
    assert Run.objects.filter(parent=None).count() == 2


def test_a_reason_of_anything_is_kept_as_far_as_it_can_be(browser: Client, ada: User) -> None:
    run = make_run(by=ada)

    browser.post(f"/runs/{run.code}/stop/", {"reason": " too\0 dear " + "!" * 5_000})

    reason = log.read(run.trail)[-1].texts["reason"] or ""
    assert reason.startswith("too dear !")
    assert len(reason) == 2_000


def test_a_run_can_be_planned_anew(browser: Client, ada: User) -> None:
    run = make_run(by=ada)
    services.stop_run(run=run, by=ada, now=NOON + timedelta(seconds=1))

    answer = browser.post(f"/runs/{run.code}/rerun/", {"mode": "plan"})

    again = Run.objects.exclude(pk=run.pk).get()
    assert answer["Location"] == f"/runs/{again.code}/"
    assert (again.task, again.profile, again.status) == (run.task, run.profile, Run.Status.QUEUED)


def test_planning_anew_needs_the_profile(browser: Client, ada: User) -> None:
    run = finished(ada)
    Profile.objects.update(enabled=False)

    answer = browser.post(f"/runs/{run.code}/rerun/", {"mode": "plan"})

    assert told(answer) == [
        "The profile “studio-ultra” is not offered any more. Compose the task anew with another one."
    ]


def test_what_has_no_workflow_cannot_be_run_again(browser: Client, ada: User) -> None:
    run = make_run(by=ada)

    assert "no workflow yet" in told(browser.post(f"/runs/{run.code}/rerun/", {"mode": "reuse"}))[0]


def test_an_unknown_mode_is_refused(browser: Client, ada: User) -> None:
    run = finished(ada)

    assert "Choose how" in told(browser.post(f"/runs/{run.code}/rerun/", {"mode": "sideways"}))[0]


def test_a_run_still_running_can_be_forked_and_is_not_changed(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute", "Answer"))
    driving.finish("s1", "53 %")
    driving.start("s2")

    browser.post(f"/runs/{driving.run.code}/rerun/", {"mode": "reuse"})

    assert driving.told().status == Run.Status.RUNNING
    assert driving.step("s2").status == Step.Status.RUNNING
    assert Run.objects.filter(parent=driving.run).count() == 1


@pytest.mark.parametrize("action", ["stop", "approve", "rerun"])
def test_nothing_is_done_by_looking_and_nothing_by_others(client: Client, ada: User, action: str) -> None:
    run = make_run(by=ada)
    client.force_login(ada)
    assert client.get(f"/runs/{run.code}/{action}/").status_code == 405

    client.force_login(make_person("eve", project=make_project("others")))
    assert client.post(f"/runs/{run.code}/{action}/").status_code == 404
    run.refresh_from_db()
    assert run.status == Run.Status.QUEUED
