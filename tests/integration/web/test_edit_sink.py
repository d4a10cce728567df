"""The form's part of roles, rounds and the sink: what is kept, what is cut to size, and what is refused."""

import html
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.runs.models import Run
from apps.workflows.workflow import Last, Select, Sink, Vote, Workflow
from tests.factories import Driving, chain, make_run
from tests.integration.web.forms import draft_in, form_in, form_of, post, press
from tests.integration.web.given import workflow_of

ROLES: tuple[tuple[str, str, list[str]], ...] = (
    ("s1", "thinker", []),
    ("s2", "worker", ["s1"]),
    ("s4@2", "worker", ["s2"]),
    ("s7@2", "verifier", ["s4"]),
)


@pytest.fixture
def run(ada: User) -> Run:
    """Three steps, each of which reads all before it, carried out."""
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth", "Check the table", "Answer the task"))
    return driving.carry({"s1": "South: 53 %", "s2": "It is right.", "s3": "South."})


@pytest.fixture
def planned(ada: User) -> Callable[[Sink], Run]:
    def with_sink(sink: Sink) -> Run:
        driving = Driving(make_run(by=ada))
        driving.plan(workflow_of(*ROLES, sink=sink))
        return driving.carry({"s1": "a", "s2": "b", "s4": "c", "s7": "d"})

    return with_sink


SINKS = [
    Last(),
    Vote(over=("s2", "s4")),
    Vote(over=("s4", "s2")),
    Select(over=("s2", "s4", "s7")),
    Select(over=("s2", "s4"), weights=(0.1, 1e-07)),
]


@pytest.mark.parametrize("sink", SINKS)
def test_the_form_of_a_page_sent_back_untouched_changes_nothing(
    browser: Client, planned: Callable[[Sink], Run], sink: Sink
) -> None:
    run = planned(sink)
    assert run.workflow is not None

    _, page = post(
        browser, run, {**form_in(browser.get(f"/runs/{run.code}/edit/").content.decode()), "action": "check"}
    )

    kept = Workflow.model_validate(draft_in(page)["workflow"])
    assert [(step.role, step.round) for step in kept.steps] == [(step.role, step.round) for step in run.workflow.steps]
    assert set(getattr(kept.sink, "over", ())) == set(getattr(sink, "over", ()))
    if sink != SINKS[2]:  # the form lists steps in their order, in which ties are broken
        assert kept == run.workflow


def test_roles_and_rounds_outlive_operations_and_a_copy_has_those_of_its_original(
    browser: Client, planned: Callable[[Sink], Run]
) -> None:
    run = planned(Last())
    form = form_in(browser.get(f"/runs/{run.code}/edit/").content.decode())

    _, once = post(browser, run, {**form, "edit": '{"op": "duplicate", "key": "s4"}'})
    again = form | {"order": ["s1", "s2", "s4", "s8", "s7"], "step-s8-role": ["worker"], "step-s8-round": ["2"]}
    again |= {"step-s8-instruction": ["Do s4"], "step-s8-worker": ["sim-birch"]}
    _, twice = post(browser, run, {**again, "edit": '{"op": "move", "key": "s8", "to": 4}'})

    assert '<input type="hidden" name="step-s8-role" value="worker">' in once
    assert '<input type="hidden" name="step-s8-round" value="2">' in once
    steps = {step["key"]: (step["role"], step["round"]) for step in draft_in(twice)["workflow"]["steps"]}
    assert steps == {
        "s1": ("thinker", 1),
        "s2": ("worker", 1),
        "s4": ("worker", 2),
        "s7": ("verifier", 2),
        "s8": ("worker", 2),
    }


@pytest.mark.parametrize(
    "forged", [{"round": "0"}, {"round": "9" * 30}, {"round": "x"}, {"role": "r" * 500}, {"role": "\0"}]
)
def test_forged_roles_and_rounds_are_cut_to_what_can_be(browser: Client, run: Run, forged: dict[str, str]) -> None:
    assert run.workflow is not None
    fields = form_of(run.workflow) | {f"step-s9-{name}": value for name, value in forged.items()}

    status, page = post(browser, run, fields | {"order": ["s1", "s2", "s3", "s9"], "action": "check"})

    new = draft_in(page)["workflow"]["steps"][3]
    assert status == 200
    assert new["round"] == 1
    assert len(new["role"]) <= 40


def test_a_vote_can_be_chosen_and_is_run(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    fields = form_of(run.workflow) | {"sink": "vote", "sink-over": ["s1", "s3"]}

    _, page = post(browser, run, fields | {"action": "check"})
    answer = press(browser, run, fields)

    assert draft_in(page)["workflow"]["sink"] == {"kind": "vote", "over": ["s1", "s3"]}
    assert "No worker would be asked: the answer is taken another way from what is recorded." in page
    child = Run.objects.get(code=answer["Location"].split("/")[2])
    assert child.workflow is not None
    assert child.workflow.sink == Vote(over=("s1", "s3"))


def test_while_the_last_step_answers_the_ends_are_ticked_for_a_vote(browser: Client, run: Run) -> None:
    page = browser.get(f"/runs/{run.code}/edit/").content.decode()

    assert re.findall(r'name="sink-over" value="([^"]+)"[^>]* checked', page) == ["s3"]
    assert re.findall(r'name="sink" value="([^"]+)"[^>]* checked', page) == ["last"]


@pytest.mark.parametrize(
    ("sink", "said"),
    [
        ({"sink": "vote"}, "The vote has no steps to choose from; name at least one."),
        ({"sink": "select"}, "The selection has no steps to choose from; name at least one."),
        ({"sink": "vote", "sink-over": ["s1", "zz"]}, "The vote counts “zz”, which is not a step of this workflow."),
        ({"sink": "vote", "sink-over": ['"><script>']}, 'The vote counts “"><script>”, which is not a step'),
    ],
)
def test_what_is_wrong_with_a_sink_is_said_at_it_and_above_the_form(
    browser: Client, run: Run, sink: dict[str, Any], said: str
) -> None:
    assert run.workflow is not None

    raw = browser.post(f"/runs/{run.code}/edit/", form_of(run.workflow) | sink | {"action": "check"})
    refused, _ = post(browser, run, form_of(run.workflow) | sink | {"action": "run"})

    page = html.unescape(raw.content.decode())
    assert re.search(rf'id="sink-faults"[^>]*>(?:(?!</div>).)*{re.escape(said)}', page, re.DOTALL)
    assert re.search(rf'id="whole-faults"[^>]*>(?:(?!</div>).)*{re.escape(said)}', page, re.DOTALL)
    assert "<script>" not in re.sub(r"<script (?:type|id|src|blocking)[^>]*>", "", raw.content.decode())
    assert refused == 422
    assert Run.objects.count() == 1


def test_a_step_that_is_counted_and_goes_is_no_longer_counted(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    fields = form_of(run.workflow, edit=["", '{"op": "remove", "key": "s2"}']) | {
        "sink": "vote",
        "sink-over": ["s2", "s3"],
    }

    _, page = post(browser, run, fields)

    assert "The vote no longer counts step 2." in page
    assert draft_in(page)["workflow"]["sink"] == {"kind": "vote", "over": ["s3"]}


def test_one_more_step_is_counted_by_an_operation(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    edit = {"op": "sink", "sink": {"kind": "vote", "over": ["s1", "s2"]}}
    fields = form_of(run.workflow, edit=["", json.dumps(edit)]) | {"sink": "vote", "sink-over": ["s1"]}

    _, page = post(browser, run, fields)
    status, refused = post(browser, run, fields | {"edit": '{"op": "sink", "sink": {"kind": "vote", "over": []}}'})

    assert draft_in(page)["workflow"]["sink"]["over"] == ["s1", "s2"]
    assert (status, "The vote has no steps to choose from" in refused) == (422, True)
    assert draft_in(refused)["workflow"]["sink"]["over"] == ["s1"]


@pytest.mark.parametrize("weight", ["", "nan", "inf", "1e400", "many", "9" * 100])
def test_weights_are_numbers_or_are_weighed_anew(browser: Client, run: Run, weight: str) -> None:
    assert run.workflow is not None
    sink = {"sink": "select", "sink-over": ["s1", "s2"], "sink-weight-s1": "0.5", "sink-weight-s2": weight}

    status, page = post(browser, run, form_of(run.workflow) | sink | {"action": "check"})

    assert status == 200
    assert draft_in(page)["workflow"]["sink"] == {"kind": "select", "over": ["s1", "s2"], "weights": None}
