"""A run that is planned in rounds or turns, and one whose answer is voted for or selected: what its page says of it."""

import re
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.runs import services
from apps.runs.models import Proposal, Run
from apps.workers.models import Profile
from apps.workflows.workflow import Select, Vote
from tests.factories import Driving, make_pool, make_run
from tests.integration.web.given import asked_again, decided, workflow_of
from tests.integration.web.test_run_page import shown, words

FIRST: tuple[tuple[str, str, list[str]], ...] = (("s1", "", []), ("s2", "", ["s1"]))
THREE: tuple[tuple[str, str, list[str]], ...] = (("s1", "attempt", []), ("s2", "attempt", []), ("s3", "attempt", []))


@pytest.fixture
def first(ada: User) -> Driving:
    """A run of two rounds whose first is carried out."""
    driving = Driving(make_run(by=ada, rounds=2))
    driving.plan(workflow_of(*FIRST))
    driving.finish("s1", "53 %")
    driving.finish("s2", "South: 53 %")
    return driving


def groups(html: str) -> list[str]:
    """What the summaries of the outline's groups say."""
    return [words(summary) for summary in re.findall(r"<summary>(.*?)</summary>", html, re.DOTALL)]


# --- rounds --------------------------------------------------------------------------------------------------------


def test_a_run_with_one_round_is_not_grouped(browser: Client, first: Driving) -> None:
    outline = shown(browser, first.run, "outline/")

    assert groups(outline) == []
    assert "2 steps · 1 access edge" in words(shown(browser, first.run))


def test_while_a_round_is_planned_the_page_says_so_and_streams_what_is_written(browser: Client, first: Driving) -> None:
    proposal = asked_again(first, round=2)

    page = shown(browser, first.run)

    assert groups(shown(browser, first.run, "outline/")) == ["Round 1 2 of 2 steps", "Round 2 being planned"]
    assert "What comes next is being planned" in page
    assert f'data-stream="{proposal.stream}"' in page
    assert "Step 2 has answered. Whether that stands is being decided" in words(page)
    assert first.told().status == Run.Status.RUNNING


def test_a_round_that_changed_the_workflow_stands_behind_the_first(browser: Client, first: Driving) -> None:
    second = workflow_of(*FIRST, ("s3@2", "", ["s2"]))
    decided(first, asked_again(first, round=2), verdict="changed", raw="model_id = [2]", workflow=second)

    outline, page = shown(browser, first.run, "outline/"), words(shown(browser, first.run))

    assert groups(outline) == ["Round 1 2 of 2 steps", "Round 2 changed 0 of 1 step"]
    assert outline.index('data-fold="round:1"') < outline.index('data-step="s2"') < outline.index('data-fold="round:2"')
    assert outline.index('data-fold="round:2"') < outline.index('data-step="s3"')
    assert "2 rounds · 3 steps · 2 access edges" in page
    assert "Arrives with step 3." in page


def test_a_round_that_kept_the_workflow_says_so_and_adds_nothing(browser: Client, first: Driving) -> None:
    decided(first, asked_again(first, round=2), verdict="kept", raw="I keep it.")
    run = first.succeed("South: 53 %", step="s2")

    assert groups(shown(browser, run, "outline/")) == ["Round 1 2 of 2 steps", "Round 2 kept"]
    assert "The conductor saw the answer and added no step." in words(shown(browser, run, "outline/"))
    plan = words(shown(browser, run, "panel/"))
    assert "Plan: 2 rounds" in plan
    assert "Round 2 · kept" in plan
    assert "I keep it." in plan


def test_a_round_that_could_not_be_planned_says_so_and_why(browser: Client, first: Driving) -> None:
    proposal = asked_again(first, round=2)
    first.write(
        first.desk.finish_planning,
        proposal=proposal,
        conductor=first.conductor,
        status=Proposal.Status.INVALID,
        raw="?",
        problems=["No lists."],
    )
    first.write(first.desk.give_notice, notice="Round 2 was not planned. So the answer is the one there was before.")
    run = first.succeed("South: 53 %", step="s2")

    assert groups(shown(browser, run, "outline/"))[1] == "Round 2 not planned"
    assert "So the answer is the one there was before." in words(shown(browser, run, "head/"))
    assert "No lists." in words(shown(browser, run, "panel/"))


def test_every_try_stands_under_its_round_with_what_was_mended_and_what_was_wrong(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada, rounds=2))
    driving.misplan("model_id = [9]", problems=["There is no model 9."], repairs=["a comma was added"])
    driving.plan(workflow_of(*FIRST), raw="model_id = [0]")
    driving.finish("s1", "53 %")
    driving.finish("s2", "South")
    decided(driving, asked_again(driving, round=2), verdict="kept", raw="nothing to add")

    plan = words(shown(browser, driving.run, "panel/"))

    rounds = plan[plan.index("Plan: 2 rounds, 3 tries") :]
    told = [
        "Round 1",
        "There is no model 9.",
        "a comma was added",
        "model_id = [9]",
        "model_id = [0]",
        "Round 2 · kept",
    ]
    places = [rounds.index(each) for each in [*told, "nothing to add"]]
    assert places == sorted(places)


def test_the_turns_of_trinity_are_steps_with_roles_and_no_groups(browser: Client, ada: User) -> None:
    profile = make_pool()
    Profile.objects.filter(pk=profile.pk).update(planner="trinity")
    profile.refresh_from_db()
    driving = Driving(make_run(by=ada, profile=profile))
    turn = [("s1", "thinker", []), ("s2@2", "worker", ["s1"])]
    driving.plan(workflow_of(*turn[:1]))
    driving.finish("s1", "Divide first.")
    Run.objects.filter(pk=driving.run.pk).update(planned_by="trinity")
    decided(driving, asked_again(driving, round=2), verdict="", workflow=workflow_of(*turn))
    asked_again(driving, round=3)

    outline = shown(browser, driving.run, "outline/")

    assert groups(outline) == []
    assert '<span class="role">thinker</span>' in outline
    assert '<span class="role">worker</span>' in outline
    assert "What comes next is being decided." in outline
    assert "Planner TRINITY · asks Simulated conductor" in words(shown(browser, driving.run, "head/"))
    assert '<span class="tag">thinker</span>' in shown(browser, driving.run, "steps/s1/")


def test_planning_anew_keeps_the_rounds_and_the_workers_that_were_chosen(browser: Client, ada: User) -> None:
    run = make_run(by=ada, rounds=3, workers=["sim-delta", "sim-birch"])
    services.stop_run(run=run, by=ada, now=run.created_at)

    browser.post(f"/runs/{run.code}/rerun/", {"mode": "plan", "submit_key": "k"})

    again = Run.objects.exclude(pk=run.pk).get()
    assert again.setup["rounds"] == 3
    assert list(again.pool) == ["sim-delta", "sim-birch"]


# --- who planned it ------------------------------------------------------------------------------------------------


def test_that_another_planner_stood_in_is_said_on_top(browser: Client, ada: User) -> None:
    profile = make_pool()
    Profile.objects.filter(pk=profile.pk).update(fallback="self-consistency")
    profile.refresh_from_db()
    driving = Driving(make_run(by=ada, profile=profile))
    why = "The conductor <b>could</b> not be asked."
    driving.write(driving.desk.fall_back, planner="self-consistency", why=why)
    vote = workflow_of(*THREE, sink=Vote(over=("s1", "s2", "s3")))
    adopt: Any = driving.desk.adopt
    driving.write(adopt, workflow=vote, by="planner", planner="self-consistency", warnings=(), hold=False)

    head = shown(browser, driving.run, "head/")

    assert "Planner Self-consistency · a fixed scheme · stood in for conductor" in words(head)
    assert '<div class="notice" data-kind="warning">' in head
    assert "The conductor &lt;b&gt;could&lt;/b&gt; not be asked." in head


def test_the_pool_is_numbered_as_the_planner_knows_it(browser: Client, ada: User) -> None:
    run = make_run(by=ada, workers=["sim-cedar", "sim-atlas"])

    pool = words(shown(browser, run, "panel/"))

    assert re.search(r"Model 0 C Cedar simulated Model 1 A Atlas simulated", pool)


def test_the_list_names_planners_in_words(browser: Client, ada: User) -> None:
    for planner in ("moa", "self-consistency", "conductor"):
        Run.objects.filter(pk=make_run(by=ada).pk).update(planned_by=planner)

    page = words(browser.get("/runs/").content.decode())

    assert "studio-ultra mixture of agents simulated" in page
    assert "studio-ultra self-consistency simulated" in page
    assert "studio-ultra simulated" in page


# --- sinks ---------------------------------------------------------------------------------------------------------


def voting(ada: User, **sink: Any) -> Driving:
    driving = Driving(make_run(by=ada))
    driving.plan(workflow_of(*THREE, sink=sink.get("sink") or Vote(over=("s1", "s2", "s3"))))
    return driving


def test_a_vote_says_what_it_waits_for(browser: Client, ada: User) -> None:
    driving = voting(ada)
    driving.finish("s1", "42")
    driving.start("s3")

    assert "Arrives once what steps 1, 2 and 3 say is counted: 1 of 3 is there." in words(
        shown(browser, driving.run, "answer/")
    )
    assert "Vote over steps 1, 2 and 3 1 of 3 in" in words(shown(browser, driving.run, "outline/"))


def test_a_vote_tells_each_answer_and_who_gave_it_the_winner_first(browser: Client, ada: User) -> None:
    driving = voting(ada)
    for key, text in {"s1": "41", "s2": "The answer is 42.", "s3": "42"}.items():
        driving.finish(key, text)
    detail = {"counts": {"41": ["s1"], "42": ["s2", "s3"]}, "tie": False}
    run = driving.succeed("The answer is 42.", step="s2", rule="vote", detail=detail)

    answer = words(shown(browser, run, "answer/"))

    assert "2 of 3 say so, as step 2 put it" in answer
    assert "Vote over steps 1, 2 and 3 42 ✓ taken steps 2, 3 2 of 3 41 step 1 1 of 3" in answer


def test_a_tie_is_said(browser: Client, ada: User) -> None:
    driving = voting(ada)
    for key, text in {"s1": "41", "s2": "42", "s3": "43"}.items():
        driving.finish(key, text)
    counts = {"41": ["s1"], "42": ["s2"], "43": ["s3"]}
    run = driving.succeed("41", step="s1", rule="vote-tie", detail={"counts": counts, "tie": True})

    answer = words(shown(browser, run, "answer/"))

    assert "a tie, the first said was taken: 1 of 3 say so, as step 1 put it" in answer
    assert "A tie: the answer that was said first was taken." in answer


def test_a_selection_tells_the_weights(browser: Client, ada: User) -> None:
    driving = voting(ada, sink=Select(over=("s1", "s2", "s3")))
    for key in ("s1", "s2", "s3"):
        driving.finish(key, f"from {key}")
    weights = {"s1": 0.5, "s2": 12345.678, "s3": 3.14159}
    run = driving.succeed("from s2", step="s2", rule="select", detail={"weights": weights})

    answer = words(shown(browser, run, "answer/"))

    assert "from step 2, selected by weight" in answer
    assert "Step 2 ✓ taken weight 12300 Step 3 weight 3.14 Step 1 weight 0.5" in answer


def test_what_was_voted_for_is_shown_as_text_and_of_many_answers_the_first(browser: Client, ada: User) -> None:
    keys = [f"s{number}" for number in range(1, 13)]
    driving = Driving(make_run(by=ada))
    driving.plan(workflow_of(*((key, "", []) for key in keys), sink=Vote(over=tuple(keys))))
    for key in keys:
        driving.finish(key, f"<b>{key}</b>")
    counts = {f"<b>{key}</b>{'x' * 400}": [key] for key in keys}
    run = driving.succeed("<b>s1</b>", step="s1", rule="vote-tie", detail={"counts": counts, "tie": True})

    answer = browser.get(f"/runs/{run.code}/answer/").content.decode()

    assert "<b>s" not in answer
    assert "&lt;b&gt;s1&lt;/b&gt;" in answer
    assert "And 4 others." in words(answer)
    assert "Vote over 12 steps" in words(answer)
    assert "x" * 301 not in answer


def test_an_old_run_without_the_new_settings_has_its_page(browser: Client, ada: User) -> None:
    run = make_run(by=ada)
    setup = {
        name: value for name, value in run.setup.items() if name not in ("rounds", "nesting", "fallback", "options")
    }
    Run.objects.filter(pk=run.pk).update(setup=setup)

    assert "Conductor Simulated conductor" in words(shown(browser, run))
    services.stop_run(run=run, by=ada, now=run.created_at)
    assert browser.post(f"/runs/{run.code}/rerun/", {"mode": "plan", "submit_key": "k"}).status_code == 302
