"""Editing a workflow through the form: what every operation does, what is refused, and what is started."""

import html
import json
import re
from collections.abc import Callable
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.audit import log
from apps.runs import services
from apps.runs.models import Run
from apps.workers.models import Worker
from apps.workflows.workflow import Last, Select, Sink, Vote, Workflow
from tests.factories import NOON, Driving, chain, make_run
from tests.integration.web.given import workflow_of

SCRIPT = '</textarea></script><script>alert(1)</script>" onfocus="alert(2)'


@pytest.fixture
def run(ada: User) -> Run:
    """Three steps, each of which reads all before it, carried out."""
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth\nin percent", "Check the table", "Answer the task"))
    return driving.carry({"s1": "South: 53 %", "s2": "It is right.", "s3": "South."})


def form_of(workflow: Workflow, **changes: Any) -> dict[str, Any]:
    """What a browser would send of the form of `workflow`, its line ends as browsers send them."""
    fields: dict[str, Any] = {"order": list(workflow.keys), "show_task": "1", "on_failure": workflow.on_failure}
    for step in workflow.steps:
        fields[f"step-{step.key}-instruction"] = step.instruction.replace("\n", "\r\n")
        fields[f"step-{step.key}-worker"] = step.worker
        fields[f"step-{step.key}-access"] = list(step.access)
    return fields | changes


def draft_in(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="draft" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    draft: dict[str, Any] = json.loads(found[1])
    return draft


def steps_in(page: str) -> dict[str, list[str]]:
    """Each step of the draft with what it may read."""
    return {step["key"]: step["access"] for step in draft_in(page)["workflow"]["steps"]}


def post(client: Client, run: Run, fields: dict[str, Any], **more: Any) -> tuple[int, str]:
    answer = client.post(f"/runs/{run.code}/edit/", fields, **more)
    return answer.status_code, html.unescape(answer.content.decode())


def operated(client: Client, run: Run, **edit: Any) -> tuple[int, str]:
    assert run.workflow is not None
    return post(client, run, form_of(run.workflow, edit=["", json.dumps(edit)]))


def test_the_page_is_the_workflow_as_a_form(browser: Client, run: Run) -> None:
    page = browser.get(f"/runs/{run.code}/edit/").content.decode()

    assert "\nCompute the growth\nin percent</textarea>" in page
    assert "Birch (simulated) · $1.00 in, $4.00 out a million tokens" in page
    assert "Reuse all 3 steps" in page
    assert steps_in(page) == {"s1": [], "s2": ["s1"], "s3": ["s1", "s2"]}
    assert {fate["verdict"] for fate in draft_in(page)["forecast"]} == {"reuse"}
    assert 'data-mode="edit"' in page


def test_a_form_sent_back_untouched_changes_nothing(browser: Client, run: Run) -> None:
    assert run.workflow is not None

    status, page = post(browser, run, form_of(run.workflow, action="check"))

    assert status == 200
    assert draft_in(page)["workflow"] == run.workflow.model_dump(mode="json")


@pytest.mark.parametrize("instruction", ["one\rtwo", "one\r\ntwo\n", "\n\nthree"])
def test_line_ends_that_browsers_change_do_not_make_a_step_another(
    browser: Client, ada: User, instruction: str
) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain(instruction))
    run = driving.carry({"s1": "done"})
    typed = instruction.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")

    _, page = post(browser, run, {"order": "s1", "step-s1-instruction": typed, "step-s1-worker": "sim-birch"})

    assert "Reuse all 1 step" in page


@pytest.mark.parametrize(
    ("edit", "steps"),
    [
        ({"op": "add", "after": "s1", "worker": "sim-cedar"}, {"s1": [], "s4": [], "s2": ["s1"], "s3": ["s1", "s2"]}),
        ({"op": "duplicate", "key": "s2"}, {"s1": [], "s2": ["s1"], "s4": ["s1"], "s3": ["s1", "s2"]}),
        ({"op": "remove", "key": "s1"}, {"s2": [], "s3": ["s2"]}),
        ({"op": "deny", "reader": "s3", "source": "s1"}, {"s1": [], "s2": ["s1"], "s3": ["s2"]}),
        ({"op": "access", "key": "s3", "access": ["s1"]}, {"s1": [], "s2": ["s1"], "s3": ["s1"]}),
        ({"op": "worker", "key": "s3", "worker": "sim-delta"}, {"s1": [], "s2": ["s1"], "s3": ["s1", "s2"]}),
    ],
)
def test_an_operation_is_done_on_what_the_form_says(
    browser: Client, run: Run, edit: dict[str, Any], steps: dict[str, list[str]]
) -> None:
    status, page = operated(browser, run, **edit)

    assert status == 200
    assert steps_in(page) == steps


def test_an_operation_keeps_what_was_typed(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    typed = {"step-s3-instruction": "Answer in one word", "reason": "shorter", "step-s2-fresh": "1"}

    _, page = post(browser, run, form_of(run.workflow, edit='{"op": "duplicate", "key": "s1"}') | typed)

    assert "Answer in one word</textarea>" in page
    assert 'value="shorter"' in page
    assert 'name="step-s2-fresh" value="1" checked' in page


def test_removing_a_step_that_others_read_says_what_they_lose(browser: Client, run: Run) -> None:
    _, page = operated(browser, run, op="remove", key="s1")

    assert "Step 2 (now step 1) no longer reads step 1." in page


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"op": "allow", "reader": "s1", "source": "s3"}, "Step 1 cannot read step 3, which comes later"),
        ({"op": "move", "key": "s3", "to": 0}, "Step 3 cannot move to place 1: it reads step 1"),
        ({"op": "remove", "key": "s9"}, "There is no step “s9” in this workflow."),
        ({"op": "explode"}, "That operation is none that this page knows."),
    ],
)
def test_what_cannot_be_done_is_refused_in_words_and_changes_nothing(
    browser: Client, run: Run, edit: dict[str, Any], words: str
) -> None:
    status, page = operated(browser, run, **edit)

    assert status == 422
    assert words in page
    assert steps_in(page) == {"s1": [], "s2": ["s1"], "s3": ["s1", "s2"]}


@pytest.mark.parametrize("edit", ["{", "[]", "null", '"x"', "{" * 5_000])
def test_an_operation_that_is_no_json_is_refused(browser: Client, run: Run, edit: str) -> None:
    assert run.workflow is not None

    status, page = post(browser, run, form_of(run.workflow, edit=edit))

    assert (status, "none that this page knows" in page) == (422, True)


def test_the_preview_says_what_runs_and_what_is_reused(browser: Client, run: Run) -> None:
    assert run.workflow is not None

    _, page = post(browser, run, form_of(run.workflow, action="check") | {"step-s2-instruction": "Check it twice"})

    assert "Run 2 steps, reuse 1" in page
    assert "Runs: its instruction, worker or access list changed" in page
    assert "Runs: its context changes because step 2 runs" in page
    assert f"Reused: unchanged since run {run.code}" in page
    assert "What is reused once cost $0.0042" in page


def test_problems_sit_at_their_step_and_nothing_can_be_run(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    broken = form_of(run.workflow) | {"step-s2-instruction": "  ", "step-s3-access": ["s1", "zz"]}

    _, page = post(browser, run, broken | {"action": "check"})

    faults = re.search(r'id="s2-faults"[^>]*>(.*?)</div>', page, re.DOTALL)
    assert faults is not None
    assert "Step 2 has no instruction." in faults[1]
    assert 'value="zz" checked' in page
    assert "disabled" in page[page.index('value="run"') :][:40]
    assert draft_in(page)["problems"][1]["edge"] == ["zz", "s3"]


def test_running_what_is_invalid_is_refused_with_the_same_words(browser: Client, run: Run) -> None:
    assert run.workflow is not None

    status, page = post(browser, run, form_of(run.workflow, action="run") | {"step-s2-instruction": "  "})

    assert status == 422
    assert "Step 2 has no instruction." in page
    assert Run.objects.count() == 1


def test_running_makes_a_fork_that_keeps_keys_reason_and_wishes(browser: Client, ada: User, run: Run) -> None:
    assert run.workflow is not None
    fields = form_of(run.workflow, action="run", reason="shorter", submit_key="k")

    answer = browser.post(
        f"/runs/{run.code}/edit/", fields | {"step-s3-instruction": "Answer in one word", "step-s1-fresh": "1"}
    )

    child = Run.objects.get(parent=run)
    assert answer["Location"] == f"/runs/{child.code}/"
    assert child.workflow is not None
    assert child.workflow.keys == ("s1", "s2", "s3")
    assert child.workflow.step("s1") == run.workflow.step("s1")
    assert child.workflow.step("s3").instruction == "Answer in one word"
    assert child.fresh == ["s1"]
    assert log.read(child.trail)[0].texts["reason"] == "shorter"


def test_pressed_twice_it_is_one_run(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    for _ in range(2):
        browser.post(f"/runs/{run.code}/edit/", form_of(run.workflow, action="run", submit_key="k"))

    assert Run.objects.filter(parent=run).count() == 1


def test_gone_back_to_and_changed_it_is_another_run(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    fields = form_of(run.workflow, action="run", submit_key="k")

    browser.post(f"/runs/{run.code}/edit/", fields)
    browser.post(f"/runs/{run.code}/edit/", fields | {"step-s3-instruction": "Answer in one word"})
    browser.post(f"/runs/{run.code}/edit/", fields | {"step-s1-fresh": "1"})

    assert Run.objects.filter(parent=run).count() == 3


def test_what_was_reused_in_the_preview_is_reused_in_the_fork(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    browser.post(f"/runs/{run.code}/edit/", form_of(run.workflow, action="run"))

    driving = Driving(Run.objects.get(parent=run))
    for key in ("s1", "s2", "s3"):
        driving.reuse(key)

    assert set(driving.run.steps.values_list("status", flat=True)) == {"reused"}


def test_a_new_step_never_takes_the_key_of_one_the_run_had(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    without_last = form_of(run.workflow) | {"order": ["s1", "s2"]}

    _, page = post(browser, run, without_last | {"edit": '{"op": "add", "after": "s2", "worker": "sim-birch"}'})

    assert list(steps_in(page)) == ["s1", "s2", "s4"]


def test_a_worker_that_left_the_pool_is_said_at_its_step(browser: Client, run: Run) -> None:
    Worker.objects.filter(slug="sim-birch").update(enabled=False)

    page = html.unescape(browser.get(f"/runs/{run.code}/edit/").content.decode())

    assert "sim-birch (not in the pool any more)" in page
    assert "Step 1 is given to “sim-birch”, which is not a worker of this pool." in page


def test_with_htmx_the_form_alone_comes_back_and_a_check_touches_no_field(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    htmx: dict[str, Any] = {"headers": {"HX-Request": "true"}}

    _, form = post(browser, run, form_of(run.workflow, edit='{"op": "duplicate", "key": "s1"}'), **htmx)
    _, verdict = post(browser, run, form_of(run.workflow, action="check"), **htmx)
    started = browser.post(f"/runs/{run.code}/edit/", form_of(run.workflow, action="run"), **htmx)

    assert "<textarea" in form
    assert "<html" not in form
    assert "<textarea" not in verdict
    assert 'id="s1-faults" hx-swap-oob="true"' in verdict
    assert started["HX-Redirect"] == f"/runs/{Run.objects.get(parent=run).code}/"


@pytest.mark.parametrize(
    ("order", "keys", "words"),
    [
        ([], ["s1", "s2", "s3"], "The form came without its steps"),
        (["s1", "S 2!"], ["s1", "s2"], "names step 2 as no step can be named"),
        (["s1", SCRIPT], ["s1", "s2"], "names step 2 as no step can be named"),
        (["s1", "s1"], ["s1"], ""),
        ([f"k{number}" for number in range(400)], [f"k{number}" for number in range(151)], "The form has 400 steps"),
    ],
)
def test_a_forged_order_is_said_and_what_was_typed_is_kept(
    browser: Client, run: Run, order: list[str], keys: list[str], words: str
) -> None:
    fields = {"order": order, "reason": "kept", "action": "check"}
    fields |= {f"step-{name}-instruction": f"typed in {name}" for name in order}

    status, page = post(browser, run, fields)

    assert status == (422 if words else 200)
    assert words in page
    assert list(steps_in(page)) == keys
    assert 'value="kept"' in page
    for step, name in zip(draft_in(page)["workflow"]["steps"], dict.fromkeys(order), strict=False):
        assert step["instruction"] == f"typed in {name}"


def test_a_form_that_did_not_arrive_as_written_starts_nothing(browser: Client, run: Run) -> None:
    status, _ = post(browser, run, {"action": "run"})

    assert status == 422
    assert Run.objects.count() == 1


def test_forged_settings_leave_the_runs_own(browser: Client, run: Run) -> None:
    assert run.workflow is not None
    fields = form_of(run.workflow) | {
        "show_task": "maybe",
        "on_failure": "explode",
        "sink": "explode",
        "action": "check",
    }

    status, page = post(browser, run, fields)

    assert status == 200
    assert draft_in(page)["workflow"] == run.workflow.model_dump(mode="json")


def test_markup_in_instructions_stays_text(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada, task=SCRIPT))
    driving.plan(chain(SCRIPT, f"Read it {SCRIPT}"))
    run = driving.carry({"s1": SCRIPT, "s2": SCRIPT})
    assert run.workflow is not None

    pages = [browser.get(f"/runs/{run.code}/edit/")]
    pages.append(browser.post(f"/runs/{run.code}/edit/", form_of(run.workflow, reason=SCRIPT, action="check")))
    fields = form_of(run.workflow) | {"step-s2-worker": SCRIPT, "step-s2-access": [SCRIPT]}
    pages.append(browser.post(f"/runs/{run.code}/edit/", fields))

    for page in pages:
        assert "<script>alert" not in page.content.decode()
        assert not re.search(r'(?<!\\)" onfocus', page.content.decode())


def test_a_nul_is_said_and_not_stored(browser: Client, run: Run) -> None:
    assert run.workflow is not None

    status, page = post(browser, run, form_of(run.workflow, action="run") | {"step-s2-instruction": "a\0b"})

    assert status == 422
    assert "cannot be stored" in page


def test_a_run_that_goes_on_is_forked_and_never_changed(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute", "Answer"))
    driving.finish("s1", "53 %")
    run = driving.told()
    assert run.workflow is not None

    page = browser.get(f"/runs/{run.code}/edit/").content.decode()
    browser.post(f"/runs/{run.code}/edit/", form_of(run.workflow, action="run"))

    assert "stays as it is and goes on" in page
    assert driving.told().status == Run.Status.RUNNING
    assert Run.objects.filter(parent=run).count() == 1


def test_a_run_without_a_workflow_has_nothing_to_edit(browser: Client, ada: User) -> None:
    run = make_run(by=ada)

    assert browser.get(f"/runs/{run.code}/edit/")["Location"] == f"/runs/{run.code}/"

    services.stop_run(run=run, by=ada, now=NOON + timedelta(seconds=1))
    assert "no workflow yet" in browser.get(f"/runs/{run.code}/edit/", follow=True).content.decode()


# --- how the answer is taken, and what a planner calls the steps ------------------------------------------------------


class Fields(HTMLParser):
    """What a browser would send of a form: every field as it stands in the page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sent: dict[str, list[str]] = {}
        self.open: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name, kind = given.get("name"), given.get("type")
        if tag == "select":
            self.open = name
        if tag == "option" and self.open and "selected" in given:
            self.add(self.open, given.get("value"))
        if tag == "textarea" and name:
            self.open = name
            self.sent[name] = [""]
        if tag == "input" and name and (kind not in ("checkbox", "radio") or "checked" in given):
            self.add(name, given.get("value"))

    def handle_data(self, data: str) -> None:
        if self.open and self.open.endswith("-instruction"):
            self.sent[self.open][0] += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("select", "textarea"):
            self.open = None

    def add(self, name: str, value: str | None) -> None:
        self.sent.setdefault(name, []).append(value or "")


def form_in(page: str) -> dict[str, list[str]]:
    """The edit form as it would be sent; the line break that HTML drops at the start of a text is dropped."""
    form = page[page.index('<form id="edit"') : page.index("</form>", page.index('<form id="edit"'))]
    sent = Fields(form).sent
    return {name: [value.removeprefix("\n") for value in values] for name, values in sent.items() if name != "edit"}


ROLES = (("s1", "thinker", []), ("s2", "worker", ["s1"]), ("s4@2", "worker", ["s2"]), ("s7@2", "verifier", ["s4"]))


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
    answer = browser.post(f"/runs/{run.code}/edit/", fields | {"action": "run"})

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
