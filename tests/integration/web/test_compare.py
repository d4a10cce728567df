"""Two runs beside each other: who may see them, what the page says of every kind of difference, and what it costs."""

import json
import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import User
from apps.runs import services
from apps.runs.models import Run
from apps.web.comparing import compare, differing
from apps.workflows.edits import AddStep, Edit, RemoveStep, SetInstruction, SetWorker, apply
from apps.workflows.workflow import Vote, Workflow
from tests.factories import Driving, chain, failure, make_run
from tests.integration.web.given import asked_again, decided, nest, nesting_profile, workflow_of
from tests.integration.web.test_run_page import words

HTML = '<script>alert(1)</script> "><img src=x onerror=alert(2)>'
TASKS = ("Compute the growth of each region", "Answer the task in a sentence")


def carried(by: User, *results: str, workflow: Workflow | None = None, **run: Any) -> Run:
    """A run whose steps answered `results`."""
    driving = Driving(make_run(by=by, **run))
    planned = workflow or chain(*TASKS)
    driving.plan(planned)
    return driving.carry(dict(zip(planned.keys, results, strict=True)))


def forked(parent: Run, *edits: Edit, by: User, results: dict[str, str], fresh: tuple[str, ...] = ()) -> Run:
    """A fork with `edits` made, whose steps answered `results`; what has none is reused."""
    workflow = parent.workflow
    assert workflow is not None
    for edit in edits:
        workflow = apply(workflow, edit, used=workflow.keys).workflow
    driving = Driving(services.fork_run(parent=parent, workflow=workflow, by=by, now=timezone.now(), fresh=fresh))
    for key in workflow.keys:
        if key in results:
            driving.finish(key, results[key])
        else:
            driving.reuse(key)
    last = driving.step(workflow.keys[-1])
    return driving.succeed(last.result, step=last.key)


def beside(client: Client, a: Run, b: Run, **more: str | int) -> str:
    answer = client.get("/compare/", {"a": a.code, "b": b.code, **more})
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def pairs(page: str) -> list[tuple[str, str]]:
    """Each step that is listed, with what it is beside the other run."""
    found = re.findall(
        r'<details class="pair card" id="pair-\d+" data-difference="([a-z-]+)".*?<summary>(.*?)</summary>', page
    )
    return [(what, words(summary)) for what, summary in found]


def graph(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="merged" type="application/json">(.*?)</script>', page)
    assert found is not None
    drawn: dict[str, Any] = json.loads(found[1])
    return drawn


@pytest.fixture
def first(ada: User) -> Run:
    return carried(ada, "South grew by 53 %.", "South grew most, by 53 %.")


# --- steps ---------------------------------------------------------------------------------------------------------


def test_a_fork_is_told_apart_step_by_step_and_word_by_word(browser: Client, ada: User, first: Run) -> None:
    fork = forked(
        first,
        SetInstruction(key="s2", instruction="Answer the task in two sentences"),
        by=ada,
        results={"s2": "South grew most, by half."},
    )

    page = beside(browser, first, fork)

    assert pairs(page) == [
        ("same", "Step 1 Compute the growth of each region the same"),
        ("changed", "Step 2 Answer the task in two sentences changed instruction prompt result"),
    ]
    assert "Answer the task in <del>a sentence</del><ins>two sentences</ins>" in page
    assert "South grew most, by <del>53 %</del><ins>half</ins>." in page
    assert "fork of the other" in page


def test_workers_reads_and_steps_of_one_run_alone_are_told(browser: Client, ada: User, first: Run) -> None:
    fork = forked(
        first,
        SetWorker(key="s1", worker="sim-atlas"),
        AddStep(after="s1", instruction="Doubt it", worker="sim-delta", access=("s1",)),
        RemoveStep(key="s2"),
        by=ada,
        results={"s1": "South grew by 53 %.", "s3": "I do not."},
    )

    page = beside(browser, first, fork)

    assert pairs(page) == [
        ("changed", "Step 1 Compute the growth of each region changed worker Birch → Atlas"),
        ("only-a", "Step 2 Answer the task in a sentence only in A"),
        ("only-b", "Step 2 Doubt it only in B"),
    ]
    assert "Only in A the answer comes from step 2." in words(page)
    assert "Only in B the answer comes from step 2." in words(page)


def test_an_access_that_changed_is_told_by_the_numbers_of_either_run(browser: Client, ada: User) -> None:
    a = carried(ada, "1", "2", "3", workflow=workflow_of(("s1", "", []), ("s2", "", []), ("s3", "", ["s1"])))
    b = carried(ada, "1", "2", "3", workflow=workflow_of(("s1", "", []), ("s2", "", []), ("s3", "judge", ["s2"])))

    page = beside(browser, a, b)

    assert pairs(page)[2][1] == (
        "Step 3 Do s3 changed reads step 2 of B no longer reads step 1 of A role none → judge prompt"
    )


def test_same_input_and_different_output_can_be_looked_for(browser: Client, ada: User, first: Run) -> None:
    again = forked(first, by=ada, results={"s1": "South grew by 54 %.", "s2": "South."}, fresh=("s1", "s2"))

    page = beside(browser, first, again, show="unlike")

    assert pairs(page) == [("outcome", "Step 1 Compute the growth of each region other outcome result")]
    assert "same input, different output" in page
    assert 'the prompt as sent <span class="same">the same</span>' in page
    assert [words(tab) for tab in re.findall(r'<a href="/compare/[^>]*>(.*?)</a>', page) if "<span" in tab] == [
        "All steps 2",
        "Differences only 2",
        "Same input, different output 1",
    ]


def test_a_failure_and_a_success_with_one_prompt_are_such_a_pair_too(browser: Client, ada: User, first: Run) -> None:
    workflow = first.workflow
    assert workflow is not None
    driving = Driving(services.fork_run(parent=first, workflow=workflow, by=ada, now=timezone.now(), fresh=("s1",)))
    driving.fail("s1", failure("The model is overloaded", retryable=False))
    driving.skip("s2", because=["s1"])
    failed = driving.give_up("Step 1 failed.", step="s1", code="step-failed")

    page = beside(browser, first, failed, show="unlike")

    assert pairs(page) == [("outcome", "Step 1 Compute the growth of each region other outcome done → failed")]


def test_runs_that_differ_in_nothing_say_so(browser: Client, ada: User, first: Run) -> None:
    again = forked(first, by=ada, results={})

    page = words(beside(browser, first, again, show="changed"))

    assert "Nothing differs" in page
    assert "2 results reused" in page or "0 results reused in A, 2 in B" in page
    assert "Answer the same" in page


def test_plans_made_anew_are_aligned_by_likeness_whatever_their_keys(browser: Client, ada: User) -> None:
    a = carried(ada, "1", "2")
    swapped = chain(TASKS[1], TASKS[0])
    b = carried(ada, "2", "1", workflow=swapped)

    assert [what for _, what in pairs(beside(browser, a, b))] == [
        "Step 2 → 1 Answer the task in a sentence changed no longer reads step 1 of A prompt",
        "Step 1 → 2 Compute the growth of each region changed reads step 1 of B prompt",
    ]


def test_rounds_are_compared_too(browser: Client, ada: User) -> None:
    def two_rounds(verdict: str) -> Run:
        driving = Driving(make_run(by=ada, rounds=2))
        planned = workflow_of(("s1", "", []), ("s2", "", ["s1"]))
        driving.plan(planned)
        driving.finish("s1", "53 %")
        driving.finish("s2", "South")
        if verdict == "kept":
            decided(driving, asked_again(driving, round=2), verdict="kept")
            return driving.succeed("South", step="s2")
        more = workflow_of(("s1", "", []), ("s2", "", ["s1"]), ("s3@2", "", ["s2"]))
        decided(driving, asked_again(driving, round=2), verdict="changed", workflow=more)
        driving.finish("s3", "South, surely")
        return driving.succeed("South, surely", step="s3")

    page = beside(browser, two_rounds("kept"), two_rounds("changed"))

    assert pairs(page) == [
        ("same", "Step 1 Do s1 the same"),
        ("same", "Step 2 Do s2 the same"),
        ("only-b", "Step 3 Do s3 only in B"),
    ]
    assert "South<ins>, surely</ins>" in page


def test_runs_within_a_step_are_compared_on_a_page_of_their_own(browser: Client, ada: User) -> None:
    def holding() -> tuple[Run, Run]:
        outer = Driving(make_run(by=ada, profile=nesting_profile()))
        outer.plan(workflow_of(("s1", "", []), worker="sim-conductor"))
        inner = nest(outer, "s1")
        inner.plan(workflow_of(("s1", "", [])))
        inner.carry({"s1": "52 more"})
        outer.answer("s1", outer.step("s1").attempts.get(), "52 more")
        return outer.succeed("52 more", step="s1"), inner.run

    (a, in_a), (b, in_b) = holding(), holding()

    page = beside(browser, a, b)

    assert f'href="/compare/?a={in_a.code}&amp;b={in_b.code}"' in page
    assert pairs(beside(browser, in_a, in_b)) == [("same", "Step 1 Do s1 the same")]


def test_a_run_without_a_plan_yet_has_no_steps_and_the_page_says_so(browser: Client, ada: User, first: Run) -> None:
    queued = make_run(by=ada)

    page = beside(browser, first, queued)

    assert f"Run {queued.code} has no workflow yet: there are no steps of B to compare." in words(page)
    assert [what for what, _ in pairs(page)] == ["only-a", "only-a"]
    assert "B is not over" in page
    assert "reload the page" in page
    assert "No steps" in beside(browser, queued, make_run(by=ada))


def test_how_the_answer_is_taken_and_what_else_was_set_is_told(browser: Client, ada: User) -> None:
    steps: tuple[tuple[str, str, list[str]], ...] = (("s1", "", []), ("s2", "", []))
    a = carried(ada, "1", "1", workflow=workflow_of(*steps))
    voting = workflow_of(*steps, sink=Vote(over=("s1", "s2"))).model_copy(
        update={"show_task": False, "on_failure": "empty"}
    )
    b = carried(ada, "1", "1", workflow=voting, task="Which one shrank?", workers=["sim-birch"])

    page = words(beside(browser, a, b))

    assert "The answer is the last step’s result in A, voted for in B." in page
    assert "Only in B the answer comes from step 1." in page
    assert "Only in A every step is shown the task." in page
    assert "Only in B what reads a failed step goes on without it." in page
    assert "Only A has" in page
    assert "Task" in page
    assert "Which region grew most" in page


# --- figures -------------------------------------------------------------------------------------------------------


def figures(page: str, name: str) -> list[str]:
    """What is said of A and of B, and of the difference."""
    found = re.search(rf'<li data-name="{name}">(.*?)</li>', page)
    assert found is not None
    a, b, change = re.findall(r"<p[^>]*>(.*?)</p>", found[1])
    return [words(a).removeprefix("A "), words(b).removeprefix("B "), words(change).removeprefix("B less A: ")]


def test_the_figures_of_both_and_what_lies_between_them_are_told(browser: Client, ada: User, first: Run) -> None:
    fork = forked(first, by=ada, results={"s2": "South."}, fresh=("s2",))

    page = beside(browser, first, fork)

    assert figures(page, "Steps") == ["2", "2", "the same"]
    assert figures(page, "Calls")[:2] == ["3", "1"]
    assert figures(page, "Calls")[2] == "−2 and 0 results reused in A, 1 in B"
    cost = figures(page, "Cost")
    assert (cost[0], cost[2]) == ("$0.0084", "−$0.0042 (−50 %)")
    assert figures(page, "Tokens")[2].startswith("−")
    assert len(figures(page, "Time")) == 3


def test_an_unknown_price_is_said_and_never_taken_for_nothing(browser: Client, ada: User, first: Run) -> None:
    other = carried(ada, "1", "2")
    Run.objects.filter(pk=other.pk).update(cost_unknown=True)

    assert figures(beside(browser, first, other), "Cost")[2] == "not known B made calls of unknown price"


# --- the graph -----------------------------------------------------------------------------------------------------


def test_the_graph_holds_every_step_once_and_every_read_with_the_run_that_has_it(
    browser: Client, ada: User, first: Run
) -> None:
    fork = forked(
        first,
        AddStep(after="s1", instruction="Doubt it", worker="sim-delta", access=("s1",)),
        by=ada,
        results={"s3": "I do not.", "s2": "South."},
        fresh=("s2",),
    )

    drawn = graph(beside(browser, first, fork))

    assert [(step["key"], step["number"], step["difference"], step["label"]) for step in drawn["steps"]] == [
        ("pair:1", 1, "same", "the same"),
        ("pair:2", 2, "only-b", "only in B"),
        ("pair:3", 3, "outcome", "other outcome"),
    ]
    assert [(edge["source"], edge["reader"], edge["difference"]) for edge in drawn["edges"]] == [
        ("pair:1", "pair:3", "same"),
        ("pair:1", "pair:2", "only-b"),
    ]
    assert all(edge["carried"] for edge in drawn["edges"])
    assert drawn["steps"][2]["text"] == "Result"


# --- texts ---------------------------------------------------------------------------------------------------------


def test_whatever_people_and_models_wrote_stays_text(browser: Client, ada: User) -> None:
    a = carried(ada, HTML, HTML, workflow=chain(HTML, f"Read {HTML}"), task=HTML)
    b = carried(ada, f"{HTML} more", HTML, workflow=chain(f"{HTML}, too", f"Read it {HTML}"), task=f"{HTML}?")

    for page in (beside(browser, a, b), beside(browser, a, b, only="s1:s1"), beside(browser, a, b, only="task")):
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "&lt;script&gt;" in page
    assert "<img" not in browser.get("/compare/").content.decode()


def test_long_texts_are_shown_around_what_differs_and_whole_on_demand(browser: Client, ada: User) -> None:
    long = "".join(f"Line {number} of a long result.\n" for number in range(2_000))
    a = carried(ada, long, "x")
    b = carried(ada, long.replace("Line 300 of", "Line three hundred of"), "x")

    page = beside(browser, a, b)
    whole = beside(browser, a, b, only="s1:s1")

    assert "<del>300</del><ins>three hundred</ins>" in page
    assert "Line 50 of" not in page
    assert "characters the same …" in page
    assert f'href="/compare/?a={a.code}&amp;b={b.code}&amp;only=s1:s1">Show all' in page
    assert len(page) < 60_000
    assert "Line 50 of" in whole
    assert "Line 1999 of" in whole
    assert "<del>300</del><ins>three hundred</ins>" in whole


def test_texts_too_long_for_words_say_how_they_were_compared(
    browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.web.comparing.compared.PAGE_EFFORT", 0)
    a, b = carried(ada, "one two three", "x"), carried(ada, "one two four", "x")

    assert differing.GRAINS["whole"] in beside(browser, a, b)


@pytest.mark.parametrize("only", ["s9:s9", "s1:", ":", "\0", "x" * 1_000])
def test_a_pair_that_is_not_there_gets_a_clear_page(browser: Client, ada: User, first: Run, only: str) -> None:
    answer = browser.get("/compare/", {"a": first.code, "b": carried(ada, "1", "2").code, "only": only})

    assert answer.status_code == 404
    assert "no such step" in answer.content.decode()


def test_the_answer_and_a_step_of_one_run_can_be_looked_at_alone(browser: Client, ada: User, first: Run) -> None:
    fork = forked(first, RemoveStep(key="s2"), by=ada, results={"s1": "53 %"}, fresh=("s1",))

    assert "<h1>Answer" in beside(browser, first, fork, only="answer")
    assert "only in A" in beside(browser, first, fork, only="s2:")


# --- bounds --------------------------------------------------------------------------------------------------------


def test_a_page_lists_so_many_steps_and_leads_on(browser: Client, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "ROWS", 2)
    steps = workflow_of(*((f"s{number}", "", []) for number in range(1, 6)))
    a, b = (carried(ada, *"12345", workflow=steps) for _ in range(2))

    page, last = beside(browser, a, b), beside(browser, a, b, **{"from": 4})

    assert len(pairs(page)) == 2
    assert f'href="/compare/?a={a.code}&amp;b={b.code}&amp;from=2" rel="next"' in page
    assert [what for _, what in pairs(last)] == ["Step 5 Do s5 the same"]
    assert "Further steps</a>" not in last
    assert f'href="/compare/?a={a.code}&amp;b={b.code}&amp;from=2">Earlier steps' in last
    assert len(graph(page)["steps"]) == 5
    assert pairs(beside(browser, a, b, **{"from": 99999})) == []


def test_a_page_costs_as_many_queries_for_twelve_steps_as_for_two(
    browser: Client, ada: User, first: Run, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    steps = workflow_of(*((f"s{number}", "", []) for number in range(1, 13)))
    a = carried(ada, *map(str, range(12)), workflow=steps)
    b = carried(ada, *map(str, range(1, 13)), workflow=steps)

    browser.get("/account/")  # that the session was used is noted once a minute
    with django_assert_max_num_queries(36):
        beside(browser, first, b)
    with django_assert_max_num_queries(36):
        beside(browser, a, b)


def test_the_page_holds_no_script_or_style_of_its_own(browser: Client, ada: User, first: Run) -> None:
    other = carried(ada, "1", "2")

    for query in ("", f"?a={first.code}", f"?a={first.code}&b={other.code}"):
        page = browser.get(f"/compare/{query}").content.decode()
        assert " style=" not in page
        assert "<style" not in page
        assert all("src=" in script or 'type="application/json"' in script for script in page.split("<script")[1:])
