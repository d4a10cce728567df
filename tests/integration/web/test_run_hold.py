"""A run that waits for a person: a plan to approve or to reject, a pause, a breakpoint, a result written by hand."""

import html
import re
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from apps.accounts.models import User
from apps.audit import log
from apps.runs.holding import pause_run, reject_run, set_breakpoints
from apps.runs.models import Attempt, Run, Step
from apps.runs.services import go_on
from tests.factories import NOON, Driving, chain, make_person, make_project, make_run
from tests.integration.web.given import finished

HTMX = {"HX-Request": "true"}


@pytest.fixture
def in_review(ada: User) -> Run:
    """A run of two steps whose plan waits for approval."""
    driving = Driving(make_run(by=ada, review=True))
    driving.plan(chain("Compute the growth", "Answer the task"), hold=True)
    return driving.told()


@pytest.fixture
def going(ada: User) -> Driving:
    """A run of three steps whose first has answered."""
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth", "Check it", "Answer the task"))
    driving.finish("s1", "South: 53 %")
    return driving


@pytest.fixture
def paused(going: Driving, ada: User) -> Driving:
    """The same, held before its second step, where a breakpoint is set."""
    set_breakpoints(run=going.run, keys=["s2"], by=ada, now=NOON)
    going.write(going.desk.hold, reason=Run.Hold.PAUSE, about={"breakpoint": "s2"}, steps=["s2"])
    return going


def words(page: bytes | str) -> str:
    text = page if isinstance(page, str) else page.decode()
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def shown(client: Client, run: Run, part: str = "") -> str:
    answer = client.get(f"/runs/{run.code}/{part}")
    assert answer.status_code == 200
    return words(answer.content)


def told(answer: Any) -> list[str]:
    return [str(message) for message in get_messages(answer.wsgi_request)]


def verbs(run: Run) -> list[str]:
    return [event.verb for event in log.read(run.trail)]


# --- a plan that waits for approval --------------------------------------------------------------------------------


def test_a_plan_that_waits_can_be_approved_edited_or_rejected(browser: Client, in_review: Run) -> None:
    content = browser.get(f"/runs/{in_review.code}/").content.decode()

    assert "The plan waits for your approval." in content
    assert f'action="/runs/{in_review.code}/approve/"' in content
    assert f'<a class="button" href="/runs/{in_review.code}/edit/">Edit, then approve</a>' in content
    assert f'action="/runs/{in_review.code}/reject/"' in content
    assert "2 steps, at most $" in words(content)
    assert ">Stop</button>" not in content
    assert ">Pause</button>" not in content


def test_a_plan_that_waits_is_held_by_no_driver(browser: Client, in_review: Run) -> None:
    assert (in_review.driver, in_review.heart_at) == ("", None)


@pytest.mark.parametrize("htmx", [False, True], ids=["form", "htmx"])
def test_a_rejection_is_told_with_who_and_why(browser: Client, in_review: Run, ada: User, htmx: bool) -> None:
    headers = HTMX if htmx else {}

    answer = browser.post(f"/runs/{in_review.code}/reject/", {"reason": "too dear, <b>really</b>"}, headers=headers)

    assert answer.status_code == (200 if htmx else 302)
    if htmx:
        assert 'id="actions" hx-swap-oob="true"' in answer.content.decode()
        assert "Approve" not in answer.content.decode()
    in_review.refresh_from_db()
    assert in_review.status == Run.Status.CANCELLED
    page = shown(browser, in_review)
    assert f"Rejected by {ada.actor.label}: too dear, <b>really</b>" in page
    assert "There is none: the plan was rejected." in page
    assert "too dear" in shown(browser, in_review, "?view=events")


@pytest.mark.parametrize("htmx", [False, True], ids=["form", "htmx"])
def test_a_rejection_without_a_reason_is_refused_at_the_field(browser: Client, in_review: Run, htmx: bool) -> None:
    answer = browser.post(f"/runs/{in_review.code}/reject/", {"reason": " \n"}, headers=HTMX if htmx else {})

    content = answer.content.decode()
    assert answer.status_code == 422
    assert "Say why: whoever asked wants to know." in content
    assert '<details class="reject" open>' in content
    assert 'aria-describedby="reject-error"' in content
    assert ("<html" in content) is not htmx
    in_review.refresh_from_db()
    assert in_review.status == Run.Status.HELD


def test_what_was_rejected_meanwhile_is_neither_rejected_nor_approved_again(
    browser: Client, in_review: Run, ada: User
) -> None:
    reject_run(run=in_review, by=ada, now=NOON, reason="no")

    for action in ("reject", "approve"):
        answer = browser.post(f"/runs/{in_review.code}/{action}/", {"reason": "no"})
        assert told(answer)[-1] == f"Run {in_review.code} does not wait for approval any more."
    late = browser.post(f"/runs/{in_review.code}/reject/", {"reason": "no"}, headers=HTMX)
    assert late.status_code == 409
    assert "does not wait for approval any more" in words(late.content)


# --- pausing a whole run -------------------------------------------------------------------------------------------


def test_a_run_that_goes_on_can_be_paused(browser: Client, going: Driving) -> None:
    assert ">Pause</button>" in browser.get(f"/runs/{going.run.code}/").content.decode()

    answer = browser.post(f"/runs/{going.run.code}/pause/")

    assert answer.status_code == 302
    assert going.told().pause_asked
    page = browser.get(f"/runs/{going.run.code}/").content.decode()
    assert ">Pause</button>" not in page
    assert "Running, to be paused" in page
    assert "What is under way ends and is kept; nothing more begins. If that is all of it, the run ends." in page


def test_the_buttons_are_replaced_once_it_is_paused(browser: Client, going: Driving, ada: User) -> None:
    before = re.search(r'name="actions" value="([^"]*)"', browser.get(f"/runs/{going.run.code}/").content.decode())
    assert before is not None
    pause_run(run=going.run, by=ada, now=NOON)

    head = browser.get(f"/runs/{going.run.code}/head/", {"actions": before[1]}).content.decode()

    assert 'id="actions" hx-swap-oob="true"' in head


def test_what_has_ended_cannot_be_paused_and_says_so(browser: Client, ada: User) -> None:
    run = finished(ada)

    assert told(browser.post(f"/runs/{run.code}/pause/")) == ["A run that is succeeded cannot be paused."]


def test_a_paused_run_says_who_paused_it_and_offers_to_go_on(browser: Client, going: Driving, ada: User) -> None:
    pause_run(run=going.run, by=ada, now=NOON)
    going.write(going.desk.hold, reason=Run.Hold.PAUSE, about={}, steps=["s2"])

    page = shown(browser, going.run)
    assert f"Paused by {ada.actor.label} before step 2" in page
    assert "Comes once the run goes on: it is paused." in page
    assert "approv" not in page.replace("held: for approval, or at a limit", "")
    assert "held: paused" in shown(browser, going.run, "outline/")

    answer = browser.post(f"/runs/{going.run.code}/go-on/", {"reason": "seen enough"}, headers=HTMX)
    assert answer.status_code == 200
    assert going.told().status == Run.Status.QUEUED
    assert log.read(going.run.trail)[-1].texts == {"reason": "seen enough"}


# --- breakpoints ---------------------------------------------------------------------------------------------------


def test_a_breakpoint_is_set_in_the_panel_and_taken_away_again(browser: Client, going: Driving) -> None:
    panel = browser.get(f"/runs/{going.run.code}/steps/s2/").content.decode()
    assert 'value="on" aria-pressed="false"' in panel

    fields = {"step": "s2", "set": "on", "tab": "context"}
    answer = browser.post(f"/runs/{going.run.code}/breakpoints/", fields, headers=HTMX)

    content = answer.content.decode()
    assert 'value="off" aria-pressed="true"' in content
    assert 'data-tab="context" aria-current="true"' in content
    assert going.told().breakpoints == ["s2"]
    assert "Breakpoint:" in shown(browser, going.run, "outline/")
    assert "pauses before it" in shown(browser, going.run, "outline/")
    assert "pauses before s2" in shown(browser, going.run, "?view=events")

    browser.post(f"/runs/{going.run.code}/breakpoints/", {"step": "s2", "set": "off"})
    assert going.told().breakpoints == []


def test_as_a_form_a_breakpoint_leads_back_to_the_step(browser: Client, going: Driving) -> None:
    answer = browser.post(f"/runs/{going.run.code}/breakpoints/", {"step": "s3", "set": "on", "tab": "prompt"})

    assert answer["Location"] == f"/runs/{going.run.code}/?step=s3&tab=prompt"


def test_breakpoints_of_different_steps_do_not_undo_each_other(browser: Client, going: Driving) -> None:
    for key in ("s3", "s2"):
        browser.post(f"/runs/{going.run.code}/breakpoints/", {"step": key, "set": "on"})

    assert going.told().breakpoints == ["s2", "s3"]


def test_where_nothing_begins_any_more_no_breakpoint_is_offered_and_none_is_taken(browser: Client, ada: User) -> None:
    run = finished(ada)

    assert "data-break" not in browser.get(f"/runs/{run.code}/steps/s2/").content.decode()
    late = browser.post(f"/runs/{run.code}/breakpoints/", {"step": "s2", "set": "on"}, headers=HTMX)
    assert late.status_code == 409
    assert "nothing of it begins any more" in words(late.content)


def test_a_breakpoint_at_no_step_is_refused(browser: Client, going: Driving) -> None:
    answer = browser.post(f"/runs/{going.run.code}/breakpoints/", {"step": "s9", "set": "on"})

    assert told(answer) == ["“s9” is no step of this run."]


def test_a_run_at_a_breakpoint_says_which_everywhere(browser: Client, paused: Driving) -> None:
    page = shown(browser, paused.run)
    assert "Paused before step 2 : a breakpoint is set there." in page
    assert "held: breakpoint" in shown(browser, paused.run, "outline/")
    assert "the run is held by the breakpoint before this step" in shown(browser, paused.run, "steps/s2/")
    assert "at a breakpoint" in shown(browser, paused.run, "?view=events")


# --- a result written by hand --------------------------------------------------------------------------------------


def write(client: Client, run: Run, key: str, *, htmx: bool = True, **fields: str) -> Any:
    return client.post(f"/runs/{run.code}/steps/{key}/write/", fields, headers=HTMX if htmx else {})


def test_a_result_can_be_corrected_while_the_run_is_held(browser: Client, paused: Driving, ada: User) -> None:
    panel = browser.get(f"/runs/{paused.run.code}/steps/s1/").content.decode()
    assert "Correct this result by hand…" in panel
    assert "South: 53 %</textarea>" in panel

    answer = write(browser, paused.run, "s1", text="South: 54 %\r\n", reason="a digit was wrong")

    content = words(answer.content)
    assert answer.status_code == 200
    assert f"Written by {ada.actor.label}. a digit was wrong" in content
    assert f"✎ {ada.actor.label} written by a person, attempt 2 of 2" in content
    assert "Before it said South: 53 %" in content
    step = paused.step("s1")
    assert (step.status, step.result) == (Step.Status.WRITTEN, "South: 54 %")
    assert verbs(paused.run)[-1] == "step.written"


def test_what_a_person_wrote_is_marked_wherever_it_shows(browser: Client, paused: Driving, ada: User) -> None:
    write(browser, paused.run, "s1", text="South: 54 %", reason="a digit was wrong")
    by = f"written by {ada.actor.label}"

    assert by in shown(browser, paused.run, "outline/")
    assert 'data-state="written"' in browser.get(f"/runs/{paused.run.code}/outline/").content.decode()
    attempts = shown(browser, paused.run, "steps/s1/?tab=attempts")
    assert "Attempt 2 written by a person" in attempts
    assert f"Written by ✎ {ada.actor.label}" in attempts
    assert "Because a digit was wrong" in attempts
    assert "Before it said South: 53 %" in attempts
    assert f"Nobody was asked: this result was {by}." in shown(browser, paused.run, "steps/s1/?tab=prompt")
    assert f"There is no request: the result was {by}." in shown(browser, paused.run, "steps/s1/?tab=request")
    assert by in shown(browser, paused.run, "steps/s2/?tab=context")
    assert f"✎ {ada.actor.label}" in shown(browser, paused.run, "steps/s2/")
    assert "by hand · in the place of the one that was there" in shown(browser, paused.run, "?view=events")


def test_an_answer_that_a_person_wrote_says_so(browser: Client, going: Driving, ada: User) -> None:
    going.finish("s2", "It is right.")
    going.write(going.desk.hold, reason=Run.Hold.PAUSE, about={}, steps=["s3"])
    write(browser, going.run, "s3", text="South.")
    go_on(run=going.told(), by=ada, now=NOON)
    again = Driving(going.told(), at=going.at)
    again.succeed("South.", step="s3")

    assert f"from step 3, written by {ada.actor.label}" in shown(browser, going.run, "answer/")


def test_what_a_worker_was_paid_for_stays_paid_and_is_not_counted_as_what_a_person_wrote(
    browser: Client, paused: Driving
) -> None:
    before = paused.told().cost_usd
    write(browser, paused.run, "s1", text="x" * 4_000)

    assert paused.told().cost_usd == before
    assert "≈ 1,000 tok" in shown(browser, paused.run, "steps/s2/?tab=context")
    assert paused.run.attempts.get(status=Attempt.Status.WRITTEN).cost_usd == 0


def test_a_step_that_nobody_has_done_can_be_written(browser: Client, paused: Driving) -> None:
    assert "Write this result by hand…" in shown(browser, paused.run, "steps/s2/")

    answer = write(browser, paused.run, "s2", htmx=False, text="It is right.")

    assert answer["Location"] == f"/runs/{paused.run.code}/?step=s2&tab=result"
    assert paused.step("s2").status == Step.Status.WRITTEN


@pytest.mark.parametrize("htmx", [False, True], ids=["form", "htmx"])
def test_an_empty_result_is_refused_at_the_field_and_the_reason_stays(
    browser: Client, paused: Driving, htmx: bool
) -> None:
    answer = write(browser, paused.run, "s2", htmx=htmx, text="  ", reason="because <i>")

    content = answer.content.decode()
    assert answer.status_code == 422
    assert "Write the step’s result." in html.unescape(content).replace("'", "’")
    assert 'aria-describedby="by-hand-error"' in content
    assert "because &lt;i&gt;" in content
    assert ("<html" in content) is not htmx
    assert paused.step("s2").status == Step.Status.WAITING


def test_what_was_read_already_is_offered_to_nobody_and_refused(browser: Client, going: Driving) -> None:
    going.finish("s2", "It is right.")
    going.write(going.desk.hold, reason=Run.Hold.PAUSE, about={}, steps=["s3"])

    assert "by hand…" not in shown(browser, going.run, "steps/s1/")
    answer = write(browser, going.run, "s1", htmx=False, text="54")
    assert answer.status_code == 409
    assert "has read this result already" in words(answer.content)
    assert "54</textarea>" in answer.content.decode(), "what was typed is not lost"


def test_nothing_is_written_while_the_run_goes_on(browser: Client, going: Driving) -> None:
    assert "by hand…" not in shown(browser, going.run, "steps/s1/")

    answer = write(browser, going.run, "s1", text="54")
    assert answer.status_code == 409
    assert "Pause the run first" in words(answer.content)


# --- who may ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["pause", "reject", "breakpoints", "steps/s1/write"])
def test_nothing_is_done_by_looking_and_nothing_by_others(
    client: Client, paused: Driving, ada: User, action: str
) -> None:
    client.force_login(ada)
    assert client.get(f"/runs/{paused.run.code}/{action}/").status_code == 405

    before = verbs(paused.run)
    client.force_login(make_person("eve", project=make_project("others")))
    fields = {"reason": "x", "text": "x", "step": "s3", "set": "on"}
    assert client.post(f"/runs/{paused.run.code}/{action}/", fields).status_code == 404
    assert verbs(paused.run) == before


def test_every_page_of_a_run_with_a_written_result_opens(browser: Client, paused: Driving, ada: User) -> None:
    write(browser, paused.run, "s1", text="South: 54 %")
    write(browser, paused.run, "s2", text="It is right.")
    go_on(run=paused.told(), by=ada, now=NOON)
    again = Driving(paused.told(), at=paused.at)
    again.finish("s3", "South.")
    run = again.succeed("South.", step="s3")
    other = finished(ada)

    views = [f"/runs/{run.code}/?view={view}" for view in ("graph", "timeline", "matrix", "events")]
    tabs = [f"/runs/{run.code}/?step=s2&tab={tab}" for tab in ("result", "prompt", "context", "attempts", "request")]
    others = [f"/runs/{run.code}/{page}/" for page in ("ledger", "edit", "export", "edges")]
    compared = [f"/compare/?a={run.code}&b={other.code}", f"/compare/?a={other.code}&b={run.code}"]
    for address in [*views, *tabs, *others, *compared, "/runs/"]:
        assert browser.get(address).status_code == 200, address
