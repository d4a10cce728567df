"""The timeline of a run: a lane for each call, what it waited for, and what the whole run waited for."""

import re
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import User
from apps.runs.models import Run
from apps.runs.services import approve_run, fork_run
from apps.web.run.lanes import Lane
from apps.web.run.standing import Standing
from apps.web.run.timeline import Timeline
from tests.factories import Driving, chain, failure, make_run
from tests.integration.web.given import asked_again, decided, finished, nest, nesting_profile, wait_at, workflow_of


def timeline(run: Run, *, now: datetime | None = None, cut: bool = False) -> Timeline:
    run = Run.objects.get(pk=run.pk)
    return Timeline(Standing(run, now=now or run.finished_at or run.created_at + timedelta(minutes=1)), cut=cut)


def lane(run: Run, name: str, attempt: int = 1, *, now: datetime | None = None) -> Lane:
    found = [each for each in timeline(run, now=now).lanes if each.name == name and each.attempt == attempt]
    assert len(found) == 1, f"{len(found)} lanes called {name}"
    return found[0]


def parts(of: Lane) -> list[str]:
    return [bar.part for bar in of.bars]


def words(html: bytes) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html.decode()).split())


def test_a_call_is_queued_waits_for_its_first_token_and_is_written(ada: User) -> None:
    driving = Driving(make_run(by=ada), pace=timedelta(seconds=1))
    driving.plan(chain("Compute", "Answer"))
    run = driving.carry({"s1": "South", "s2": "South grew."})

    second = lane(run, "2")

    assert parts(second) == ["queue", "first", "stream"]
    assert (second.queued, second.waited, second.wrote) == ("1.0 s", "0.41 s", "0.59 s")
    assert all(a.start + a.width == pytest.approx(b.start, abs=0.01) for a, b in pairwise(second.bars))
    assert second.tokens == "120 + 2"


def test_the_plan_has_a_lane_of_its_own_before_the_steps(ada: User) -> None:
    lanes = timeline(finished(ada)).lanes

    assert [each.name for each in lanes] == ["Plan", "1", "2"]
    assert lanes[0].kind == "plan"
    assert lanes[0].path == ""
    assert lanes[0].look is not None


def test_the_tries_of_a_step_stand_below_each_other_and_are_joined(ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute"))
    driving.fail("s1", failure("overloaded"), retry_in_s=2)
    run = driving.carry({"s1": "South"})

    first, second = lane(run, "1", 1), lane(run, "1", 2)

    assert first.state == "failed"
    assert first.joins == second.joined
    assert (first.joined, second.joins) == (None, None)
    assert second.queued == "1.0 s"  # from when the first had failed
    assert parts(first)[-1] == "call"  # no token was seen to come


def test_what_the_run_waited_for_is_outlined(ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(workflow_of(("s1", "", []), ("s2", "", []), ("s3", "", ["s1", "s2"])))
    slow = driving.start("s2")
    driving.finish("s1", "at once")
    driving.answer("s2", slow, "at last")
    run = driving.carry({"s3": "South"})

    critical = [each.name for each in timeline(run).lanes if each.is_critical]

    assert critical == ["Plan", "2", "3"]
    assert "on the critical path" in lane(run, "2").words
    assert "on the critical path" not in lane(run, "1").words


def test_a_step_that_waits_at_a_door_is_queued_until_now_and_one_that_waits_for_others_is_not(ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute", "Answer"))
    wait_at(driving, "s1", "waiting for a place at Birch")
    assert driving.at is not None

    now = driving.at + timedelta(seconds=30)
    first, second = lane(driving.run, "1", 0, now=now), lane(driving.run, "2", 0, now=now)

    assert parts(first) == ["queue"]
    assert first.said == "waiting for a place at Birch"
    assert first.bars[0].ms > 30_000
    assert second.bars == []


def test_a_call_that_is_under_way_grows_until_now(ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute"))
    attempt = driving.start("s1")

    going = lane(driving.run, "1", now=attempt.started_at + timedelta(seconds=9))

    assert parts(going)[-1] == "going"
    assert going.wrote == "9.0 s"
    assert going.bars[-1].start + going.bars[-1].width == pytest.approx(100, abs=0.01)


def test_a_run_that_was_held_is_no_queue_and_its_gap_can_be_collapsed(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute"), hold=True)
    assert driving.at is not None
    later = driving.at + timedelta(hours=3)
    approve_run(run=driving.told(), by=ada, now=later)
    run = Driving(driving.told(), at=later).carry({"s1": "South"})

    whole, cut = timeline(run), timeline(run, cut=True)
    page = words(browser.get(f"/runs/{run.code}/?view=timeline").content)
    collapsed = words(browser.get(f"/runs/{run.code}/?view=timeline&idle=cut").content)

    assert whole.holds[0].words == "held for review"
    assert whole.holds[0].width > 95 > 10 > cut.holds[0].width
    assert lane(run, "1").queued in ("1.0 s", "2.0 s")  # from the approval on
    assert "Collapse 1 idle gap" in page
    assert "Held for review, hatched." in page
    assert "Show 1 idle gap at full length" in collapsed


def test_rounds_are_groups_as_they_are_in_the_outline(ada: User) -> None:
    driving = Driving(make_run(by=ada, rounds=2))
    first = workflow_of(("s1", "", []))
    driving.plan(first)
    driving.finish("s1", "South")
    decided(
        driving,
        asked_again(driving, round=2),
        verdict="changed",
        workflow=workflow_of(("s1", "", []), ("s2@2", "", ["s1"])),
    )
    run = driving.carry({"s2": "South, by 53 %"})

    groups = timeline(run).groups

    assert [(each.number, each.verdict, each.key) for each in groups] == [(1, "", "round:1"), (2, "changed", "round:2")]
    assert [each.name for each in groups[1].lanes] == ["Plan, round 2", "2"]
    assert groups[1].lanes[0].is_critical


def test_the_run_that_a_step_became_is_folded_under_it_on_the_same_line(browser: Client, ada: User) -> None:
    outer = Driving(make_run(by=ada, profile=nesting_profile()))
    steps = workflow_of(("s1", "", []), ("s2", "", ["s1"]))
    given = steps.steps[1].model_copy(update={"worker": "sim-conductor"})
    outer.plan(steps.model_copy(update={"steps": (steps.steps[0], given)}))
    outer.finish("s1", "South")
    inner = nest(outer, "s2")
    inner.plan(workflow_of(("s1", "", []), ("s2", "", ["s1"])))
    inner.finish("s1", "52 more")

    lanes = timeline(outer.run, now=inner.at).lanes
    page = browser.get(f"/runs/{outer.run.code}/?view=timeline")

    within = next(each.inner for each in lanes if each.name == "2")
    assert within is not None
    assert (within.code, within.path, within.progress) == (inner.run.code, "s2", "1 of 2 steps")
    assert [(each.name, each.path) for each in within.lanes] == [("Plan", ""), ("2.1", "s2/s1"), ("2.2", "s2/s2")]
    outside = next(each for each in lanes if each.name == "2").bars[-1]
    assert all(bar.start >= outside.start for each in within.lanes for bar in each.drawn if bar.part != "queue")
    assert '<details class="nest" data-fold="s2">' in page.content.decode()


def test_a_result_that_took_no_time_is_marked_where_it_came(ada: User) -> None:
    parent = finished(ada)
    workflow = Run.objects.get(pk=parent.pk).workflow
    assert workflow is not None
    driving = Driving(fork_run(parent=parent, workflow=workflow, by=ada, now=parent.created_at, fresh=()))
    driving.reuse("s1")

    reused = lane(driving.run, "1")

    assert reused.is_instant
    assert reused.state == "reused"
    assert reused.cost == "–"


def test_the_same_is_told_as_a_table(browser: Client, ada: User) -> None:
    page = words(browser.get(f"/runs/{finished(ada).code}/?view=timeline").content)

    assert "The same as a table" in page
    assert "Step Call Worker State Began after Queued First token Writing In all Tokens in + out Cost Critical" in page
    assert "2 Answer the task 1 Birch succeeded" in page
    assert "$0.0042 yes" in page


def test_a_run_without_a_plan_yet_has_a_line_too(browser: Client, ada: User) -> None:
    run = make_run(by=ada)

    assert browser.get(f"/runs/{run.code}/?view=timeline").status_code == 200
    assert browser.get(f"/runs/{run.code}/view/?view=timeline").status_code == 200


def test_a_timeline_costs_as_many_queries_for_many_steps_as_for_few(
    browser: Client, ada: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    few = finished(ada)
    many = Driving(make_run(by=ada))
    many.plan(chain(*(f"Do part {number}" for number in range(1, 5))))
    run = many.carry({f"s{number}": "done" for number in range(1, 5)})

    browser.get("/account/")  # that the session was used is noted once a minute
    for each in (few, run):
        with django_assert_max_num_queries(16):
            assert browser.get(f"/runs/{each.code}/view/?view=timeline").status_code == 200
