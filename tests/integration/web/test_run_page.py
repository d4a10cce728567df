"""The run page in every state a run can be in: what it says, what it offers, and what it costs to make."""

import json
import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import User
from apps.audit import log
from apps.runs import services
from apps.runs.models import Run
from apps.web.run import whence
from apps.workers.models import Conductor, Profile, Worker
from tests.factories import NOON, Driving, chain, failure, make_person, make_pool, make_project, make_run
from tests.integration.web.given import finished

HTML = '<script>alert(1)</script> "><img src=x onerror=alert(2)>'
PARTS = ("", "head/", "outline/", "answer/", "panel/")


def shown(client: Client, run: Run, part: str = "") -> str:
    """A page or a part of it as text, its white space made one kind."""
    answer = client.get(f"/runs/{run.code}/{part}")
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def words(html: str) -> str:
    """What is read, without the marks around it."""
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def test_a_queued_run_waits_for_a_driver_and_can_be_stopped(browser: Client, ada: User) -> None:
    page = shown(browser, make_run(by=ada))

    assert "Queued" in page
    assert "waits for a driver" in page
    assert ">Stop</button>" in page
    assert "csrfmiddlewaretoken" in page
    assert "run-edit" not in page
    assert "Re-run" not in page


def test_while_the_conductor_writes_its_text_has_a_place_to_stream_to(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.misplan("model_id = [9]", problems=["Step 1 is given to worker 9."], repairs=["a comma was added"])
    proposal = driving.ask()

    page = shown(browser, driving.run)

    assert "The conductor is writing" in page
    assert f'data-stream="{proposal.stream}"' in page
    assert "Step 1 is given to worker 9." in page
    assert "Repaired: a comma was added" in page
    assert "model_id = [9]" in page
    assert "asked 2 times" in page


def test_a_running_run_streams_the_answer_once_its_last_step_writes(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute", "Answer"))
    first = driving.start("s1")
    assert "Arrives with step 2, which waits for 1." in words(shown(browser, driving.run, "answer/"))

    driving.answer("s1", first, "53 %")
    attempt = driving.start("s2")

    assert f'data-stream="{attempt.stream}"' in shown(browser, driving.run, "answer/")
    assert "data-elapsed=" in shown(browser, driving.run, "head/")


def test_the_outline_and_the_canvas_tell_one_duration(browser: Client, ada: User) -> None:
    """That of the worker's call, not of the time between two rows."""
    driving = Driving(make_run(by=ada), pace=timedelta(seconds=7))
    driving.plan(chain("Compute"))
    driving.finish("s1", "53 %")

    step = words(shown(browser, driving.run, "outline/"))
    told = [event for event in log.read(driving.run.trail) if event.verb == "step.succeeded"]

    assert told[0].data["duration_ms"] == 2300.0
    assert "2.3 s · $0.0042" in step


def test_the_outline_says_which_workers_are_simulated(browser: Client, ada: User) -> None:
    outline = shown(browser, finished(ada), "outline/")

    assert outline.count('title="Birch, simulated"') == 2
    assert "Birch , simulated" in words(outline)


def test_a_page_reads_no_more_of_a_plan_than_it_shows(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.misplan("é" * 1_000_000, problems=["No list."])

    with CaptureQueriesContext(connection) as asked:
        page = words(shown(browser, driving.run, "panel/"))

    assert "The first 20,000 of 1,000,000 characters." in page
    assert page.count("é") == 20_000
    proposals = [query["sql"] for query in asked if 'FROM "runs_proposal"' in query["sql"]]
    assert proposals
    assert not any('"runs_proposal"."raw",' in sql.replace('LEFT("runs_proposal"."raw",', "") for sql in proposals)


def test_a_held_run_asks_for_approval(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute", "Answer"), hold=True)

    page = shown(browser, driving.run)

    assert "The plan waits for your approval." in page
    assert "Approve and run" in page
    assert "Edit, then approve" in page
    assert "Reject…" in page
    assert "not approved yet" in page


def test_a_finished_run_shows_its_answer_formatted_or_as_it_is(browser: Client, ada: User) -> None:
    run = finished(ada)

    assert "<strong>South</strong> grew most." in shown(browser, run, "answer/")
    assert "**South** grew most.</pre>" in shown(browser, run, "answer/?raw=1")
    assert "from step 2" in words(shown(browser, run, "answer/"))
    assert "data-elapsed" not in shown(browser, run, "head/")


def test_the_head_says_what_was_spent_and_who_planned(browser: Client, ada: User) -> None:
    run = finished(ada, repairs=["smart quotes were read as plain ones"])

    head = words(shown(browser, run, "head/"))

    assert "Spent $0.0084" in head
    assert "Conductor Simulated conductor · 1.0 s · 1 repair" in head
    assert "Profile studio-ultra@1" in head


def test_an_unknown_price_is_said_and_never_nothing(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Answer"))
    driving.finish("s1", "53 %", cost_usd=None)

    assert "Spent price unknown" in words(shown(browser, driving.run, "head/"))
    assert "price unknown" in words(shown(browser, driving.run, "outline/"))


def test_nothing_is_said_to_be_free_before_that_is_certain(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Answer"))
    driving.finish("s1", "53 %", cost_usd=Decimal(0))

    assert "Spent nothing yet" in words(shown(browser, driving.run, "head/"))

    driving.succeed("53 %", step="s1")

    assert "Spent free of charge" in words(shown(browser, driving.run, "head/"))


def test_what_was_cut_off_is_said_to_be_estimated(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Answer"))
    attempt = driving.start("s1")
    services.stop_run(run=driving.told(), by=ada, now=driving.tick())

    driving.desk.cut({attempt.stream: "what came of it before the stop " * 400})

    head = words(shown(browser, driving.run, "head/"))
    assert "Spent ≈ $" in head
    assert "· what was cut off is estimated" in head


def test_what_was_lost_with_a_driver_has_no_known_price(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Answer"))
    driving.start("s1")

    services.stop_run(run=driving.told(), by=ada, now=NOON + timedelta(minutes=1))  # its heart stopped long before

    assert "price unknown" in words(shown(browser, driving.run, "head/"))


def test_a_fork_names_its_parent_however_many_others_there_are(
    browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whence, "FORKS_SHOWN", 2)
    parent = finished(ada)
    assert parent.workflow is not None
    forks = [services.fork_run(parent=parent, workflow=parent.workflow, by=ada, now=NOON) for _ in range(4)]

    head = words(shown(browser, parent, "head/"))

    assert f"Forked as {forks[3].code} , {forks[2].code} " in head
    assert f"Fork of run {parent.code}" in words(shown(browser, forks[3], "head/"))


def test_an_estimate_is_marked(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Answer"))
    driving.finish("s1", "53 %", estimated=True)

    assert "Spent ≈ $0.0042" in words(shown(browser, driving.run, "head/"))


def test_a_failed_run_names_step_attempt_and_message_and_says_what_to_do(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth", "Answer"))
    driving.finish("s1", "53 %")
    driving.fail("s2", failure("slow down", kind="rate_limited", status=429), retry_in_s=1)
    driving.fail("s2", failure("no tokens left", kind="rate_limited", status=429))
    driving.write(driving.desk.fail, message="Step 2 failed: no tokens left", step="s2", code="rate_limited")

    head = shown(browser, driving.run, "head/")

    assert "Step 2, “Answer”, failed at attempt 2 of 3." in head
    assert "no tokens left" in head
    assert "rate limited, HTTP 429" in head
    assert "Paid so far: $0.0042 , for 1 finished step of 2." in words(head)
    assert "Resume from step 2" in head
    assert f"/runs/{driving.run.code}/edit/?resume=1&amp;step=s2" in head


def test_a_step_tried_anew_by_a_second_driver_did_not_fail_at_attempt_four_of_three(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth"))
    for wait in (0.4, 0.8, 0.4, None):
        driving.fail("s1", failure("busy"), retry_in_s=wait)
    run = driving.give_up("Step 1 failed: busy", step="s1", code="server")

    assert "failed at attempt 4." in words(shown(browser, run, "head/"))


def test_a_run_without_a_plan_offers_to_plan_anew(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.misplan("I would rather talk.", problems=["There are no lists in the reply."])
    driving.write(driving.desk.fail, message="The planner's workflow cannot be run.", code="invalid-plan")

    page = shown(browser, driving.run)

    assert "The plan failed after 1 try." in page
    assert "I would rather talk." in page
    assert 'value="plan">Plan anew' in page
    assert "Edit" not in words(page)


def test_a_stopped_run_names_the_cut_calls(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute", "Check", "Answer"))
    driving.finish("s1", "53 %")
    cut = driving.start("s2")
    services.stop_run(run=driving.told(), by=ada, now=driving.tick())
    driving.desk.cut({cut.stream: "half of it"})

    head = words(shown(browser, driving.run, "head/"))
    assert "Cut off: step 2 ." in head
    assert "1 result is kept and can be reused." in head
    assert "There is none: the run was stopped." in words(shown(browser, driving.run, "answer/"))


def test_a_stopped_run_names_the_replies_that_came_too_late(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute", "Check", "Answer"))
    driving.finish("s1", "53 %")
    late = driving.start("s2")
    services.stop_run(run=driving.told(), by=ada, now=driving.tick())

    driving.late("s2", late, "all of it")

    assert "Too late, so billed and not used: step 2." in words(shown(browser, driving.run, "head/"))


def test_a_fork_shows_what_it_reused_and_both_runs_link_to_each_other(browser: Client, ada: User) -> None:
    parent = finished(ada)
    assert parent.workflow is not None
    child = services.fork_run(parent=parent, workflow=parent.workflow, by=ada, now=NOON + timedelta(minutes=1))
    driving = Driving(child)
    driving.reuse("s1")

    head, outline = shown(browser, child, "head/"), words(shown(browser, child, "outline/"))
    assert f'<dt>Fork of</dt> <dd><a class="link" href="/runs/{parent.code}/">' in head
    assert "Spent nothing yet · reused what once cost $0.0042" in words(head)
    assert "once $0.0042" in outline
    assert f'<dt>Forked as</dt> <dd><a class="link" href="/runs/{child.code}/">' in shown(browser, parent, "head/")


def test_the_buttons_are_sent_again_only_when_others_are_needed(browser: Client, ada: User) -> None:
    run = make_run(by=ada)

    assert "hx-swap-oob" not in shown(browser, run, "head/?actions=queued")
    assert 'id="actions" hx-swap-oob="true"' in shown(browser, run, "head/?actions=planning")


def test_the_canvas_is_given_the_workers_and_all_that_happened(browser: Client, ada: User) -> None:
    run = finished(ada)
    page = browser.get(f"/runs/{run.code}/").content.decode()

    def data(name: str) -> dict[str, Any]:
        found = re.search(rf'<script id="{name}" type="application/json">(.*?)</script>', page, re.DOTALL)
        assert found is not None
        told: dict[str, Any] = json.loads(found[1])
        return told

    events = data("events")
    assert data("workers")["sim-birch"] == {"name": "Birch", "letter": "B", "colour": "a", "simulated": True}
    assert events["head"] == len(events["events"])
    assert [event["verb"] for event in events["events"]][-1] == "run.succeeded"
    assert f'data-seq="{events["head"]}"' in page
    assert f'data-socket="/ws/runs/{run.code}/"' in page


def test_the_events_can_be_read_as_a_list(browser: Client, ada: User) -> None:
    page = words(shown(browser, finished(ada), "?view=events"))

    assert "Run submitted" in page
    assert "Step succeeded s1" in page
    assert "driver-of-the-tests" in page


@pytest.mark.parametrize("part", PARTS)
def test_what_people_and_models_wrote_is_shown_as_text(browser: Client, ada: User, part: str) -> None:
    driving = Driving(make_run(by=ada, task=HTML))
    driving.plan(chain(HTML, f"Read it: {HTML}"), raw=HTML, repairs=[HTML])
    driving.finish("s1", HTML)
    run = driving.carry({"s2": HTML})

    page = browser.get(f"/runs/{run.code}/{part}").content.decode()

    assert "<script>alert" not in page
    assert "<img" not in page


@pytest.mark.parametrize("part", [*PARTS, "steps/s1/", "steps/s1/?tab=attempts", "edit/", "?view=events"])
def test_a_worker_may_be_called_anything(browser: Client, ada: User, part: str) -> None:
    pool = make_pool()
    Worker.objects.update(name=HTML, provider="<img src=x>", strengths=HTML)
    Conductor.objects.update(name=HTML)
    Profile.objects.update(name=HTML, description=HTML)
    driving = Driving(make_run(by=ada, profile=pool))
    driving.plan(chain("Compute", "Answer"))
    driving.carry({"s1": "53 %", "s2": "South."})

    for path in (f"/runs/{driving.run.code}/{part}", "/runs/", "/"):
        page = browser.get(path).content.decode()
        assert "<script>alert" not in page
        assert "<img" not in page


@pytest.mark.parametrize("part", [*PARTS, "steps/s1/", "edit/"])
def test_the_run_of_others_is_not_there(client: Client, ada: User, part: str) -> None:
    run = finished(ada)
    client.force_login(make_person("eve", project=make_project("others")))

    assert client.get(f"/runs/{run.code}/{part}").status_code == 404


@pytest.mark.parametrize("part", PARTS)
def test_a_page_costs_as_many_queries_for_thirty_steps_as_for_two(
    browser: Client, ada: User, part: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    workflow = chain(*[f"Do part {number}" for number in range(30)])
    driving = Driving(make_run(by=ada))
    driving.plan(workflow)
    parent = driving.carry(dict.fromkeys(workflow.keys, "done"))
    forked = Driving(services.fork_run(parent=parent, workflow=workflow, by=ada, now=NOON))
    for key in workflow.keys:
        forked.reuse(key)

    browser.get("/account/")  # that the session was used is noted once a minute
    with django_assert_max_num_queries(20):
        shown(browser, forked.run, part)


def test_a_run_that_cost_a_thousandth_of_a_cent_does_not_read_as_nothing(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada, profile=make_pool()))
    driving.plan(chain("Answer"))
    driving.finish("s1", "53 %", cost_usd=Decimal("0.0000123"))

    assert "Spent $0.000012" in words(shown(browser, driving.run, "head/"))
