"""Several plans for one task: asked for, shown side by side while they are written, and one of them picked."""

import html
import re
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from apps.accounts.models import User
from apps.audit import log
from apps.runs.models import Run
from apps.runs.plans import MOST_BESIDE, pick_plan, plan_again, side_by_side
from apps.runs.services import fork_run
from apps.workers.models import Profile
from tests.factories import NOON, Driving, chain, make_person, make_project, make_run


@pytest.fixture
def first(ada: User) -> Run:
    """A run whose plan waits for approval."""
    driving = Driving(make_run(by=ada, review=True, limit_usd=None))
    driving.plan(chain("Compute the growth", "Answer the task"), hold=True)
    return driving.told()


@pytest.fixture
def three(browser: Client, first: Run) -> list[Run]:
    """The same and two more plans for its task, one of which is written."""
    ask(browser, first, "2")
    made = list(side_by_side(first))
    driving = Driving(made[1])
    driving.plan(chain("Guess", "Look it up", "Answer", worker="sim-cedar"), hold=True)
    return list(side_by_side(first))


def ask(client: Client, run: Run, times: str, key: str = "k") -> Any:
    return client.post(f"/runs/{run.code}/plans/", {"times": times, "submit_key": key})


def words(page: bytes) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page.decode())).split())


def shown(client: Client, run: Run, part: str = "") -> str:
    answer = client.get(f"/runs/{run.code}/plans/{part}")
    assert answer.status_code == 200
    return words(answer.content)


def told(answer: Any) -> list[str]:
    return [str(message) for message in get_messages(answer.wsgi_request)]


# --- asking --------------------------------------------------------------------------------------------------------


def test_a_run_leads_to_its_plans(browser: Client, first: Run) -> None:
    assert f'href="/runs/{first.code}/plans/"' in browser.get(f"/runs/{first.code}/").content.decode()


def test_plans_are_asked_for_with_other_seeds_and_held_for_review(browser: Client, first: Run, ada: User) -> None:
    answer = ask(browser, first, "3")

    assert (answer.status_code, answer["Location"]) == (302, f"/runs/{first.code}/plans/")
    made = list(first.plans.order_by("pk"))
    assert len({run.setup["seed"] for run in [first, *made]}) == 4
    for run in made:
        assert (run.task, run.profile, run.setup["review"], run.parent) == (first.task, first.profile, True, None)
        assert list(run.pool) == list(first.pool)
        assert log.read(run.trail)[0].data["beside"] == first.code
    event = log.read(first.trail)[-1]
    assert (event.verb, event.actor, event.data["runs"]) == ("run.replanned", ada.actor, [run.code for run in made])


def test_asked_twice_they_are_made_once(browser: Client, first: Run) -> None:
    for _ in range(2):
        ask(browser, first, "2")

    assert first.plans.count() == 2
    assert [event.verb for event in log.read(first.trail)].count("run.replanned") == 1


def test_further_plans_stand_beside_the_first_run_whichever_of_them_was_looked_at(
    browser: Client, three: list[Run]
) -> None:
    ask(browser, three[1], "2", key="another")

    assert three[0].plans.count() == 4
    assert len({run.setup["seed"] for run in side_by_side(three[2])}) == 5


@pytest.mark.parametrize("times", ["", "0", "1", "6", "99", "-2", "two", "²"])
def test_too_few_or_too_many_are_refused_in_words(browser: Client, first: Run, times: str) -> None:
    answer = ask(browser, first, times)

    assert answer.status_code == 422
    assert "Ask for 2 to 5 plans at once." in words(answer.content)
    assert first.plans.count() == 0


def test_there_is_an_end_to_what_stands_side_by_side(browser: Client, first: Run) -> None:
    answers = [ask(browser, first, "5", key=str(number)).status_code for number in range(3)]

    assert answers == [302, 302, 422]
    assert side_by_side(first).count() <= MOST_BESIDE


def test_what_nobody_planned_is_not_planned_again(browser: Client, first: Run, ada: User) -> None:
    workflow = first.workflow
    assert workflow is not None
    fork = fork_run(parent=first, workflow=workflow, by=ada, now=NOON)

    assert "Plan again, several times" not in words(browser.get(f"/runs/{fork.code}/").content)
    assert ask(browser, fork, "2").status_code == 422


def test_a_profile_that_is_gone_is_told(browser: Client, first: Run) -> None:
    Profile.objects.update(enabled=False)

    answer = ask(browser, first, "2")

    assert answer.status_code == 422
    assert "is not offered any more" in words(answer.content)


# --- side by side --------------------------------------------------------------------------------------------------


def test_the_plans_tell_their_steps_workers_shape_and_cost(browser: Client, three: list[Run]) -> None:
    content = browser.get(f"/runs/{three[0].code}/plans/").content.decode()
    page = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", content)).split())

    assert "Plan 1 Waits for you" in page
    assert "Plan 2 Waits for you" in page
    assert "Plan 3 Waits for a driver" in page
    assert 'aria-label="2 steps, longest chain 2"' in content
    assert 'aria-label="3 steps, longest chain 3"' in content
    drawn = "".join(re.findall(r'class="shape".*?</svg>', content, re.DOTALL))
    assert (drawn.count("<path"), drawn.count("<circle")) == (1 + 3, 2 + 3)
    assert "Look it up C Cedar" in page
    assert "reads 1 and 2" in page
    assert len(re.findall(r"At most \$0\.\d+", page)) == 2
    assert content.count("Pick this one") == 2


def test_whichever_of_them_is_looked_at_the_same_plans_are_shown(browser: Client, three: list[Run]) -> None:
    for run in three:
        page = shown(browser, run)
        assert all(f"run {each.code}" in page for each in three)


def test_a_plan_that_is_being_written_asks_for_itself_until_it_is_there(browser: Client, three: list[Run]) -> None:
    coming, there = (browser.get(f"/runs/{run.code}/plans/card/").content.decode() for run in (three[2], three[1]))

    assert f'hx-get="/runs/{three[2].code}/plans/card/"' in coming
    assert "hx-get" not in there
    assert "Plan 2" in there
    assert "<html" not in there


def test_a_plan_like_an_earlier_one_says_so(browser: Client, three: list[Run]) -> None:
    Driving(three[2]).plan(chain("Compute the growth", "Answer the task"), hold=True)

    assert "The same as plan 1, word for word." in shown(browser, three[0])


def test_a_plan_that_failed_says_why(browser: Client, three: list[Run]) -> None:
    driving = Driving(three[2])
    driving.misplan("{", problems=["No list."])
    driving.give_up("The conductor wrote nothing that could be used.", code="no_plan")

    page = shown(browser, three[0])
    assert "Plan 3 Failed" in page
    assert "The conductor wrote nothing that could be used." in page


def test_a_run_in_review_tells_of_the_plans_beside_it(browser: Client, three: list[Run]) -> None:
    assert "It is one of 3 plans for this task" in words(browser.get(f"/runs/{three[1].code}/").content)


# --- picking -------------------------------------------------------------------------------------------------------


def test_picking_one_runs_it_and_sets_the_others_aside(browser: Client, three: list[Run], ada: User) -> None:
    answer = browser.post(f"/runs/{three[1].code}/plans/pick/")

    assert answer["Location"] == f"/runs/{three[1].code}/"
    states = dict(side_by_side(three[0]).values_list("code", "status"))
    assert [states[run.code] for run in three] == [Run.Status.CANCELLED, Run.Status.QUEUED, Run.Status.CANCELLED]
    ends = [log.read(run.trail)[-1] for run in three]
    assert [event.verb for event in ends] == ["run.rejected", "run.approved", "run.stopped"]
    assert ends[0].texts["reason"] == ends[2].texts["reason"] == f"Another plan was picked: run {three[1].code}."
    page = shown(browser, three[0])
    assert f"Rejected by {ada.actor.label}: Another plan was picked: run {three[1].code}." in page
    assert "Pick this one" not in page


def test_a_second_pick_comes_too_late_and_changes_nothing(browser: Client, three: list[Run], ada: User) -> None:
    pick_plan(run=three[1], by=ada, now=NOON)

    answer = browser.post(f"/runs/{three[0].code}/plans/pick/")

    assert told(answer) == [f"Run {three[0].code} does not wait for approval any more."]
    assert Run.objects.get(pk=three[1].pk).status == Run.Status.QUEUED


def test_what_runs_already_goes_on_when_another_is_picked(browser: Client, three: list[Run], ada: User) -> None:
    Run.objects.filter(pk=three[0].pk).update(status=Run.Status.RUNNING, hold="")

    pick_plan(run=three[1], by=ada, now=NOON)

    assert Run.objects.get(pk=three[0].pk).status == Run.Status.RUNNING


# --- who may -------------------------------------------------------------------------------------------------------


def test_plans_are_seen_and_picked_by_those_alone_who_may_see_the_run(client: Client, first: Run, ada: User) -> None:
    made = plan_again(run=first, times=2, by=ada, now=NOON)
    client.force_login(make_person("eve", project=make_project("others")))

    for run in (first, made[0]):
        for part in ("", "card/"):
            assert client.get(f"/runs/{run.code}/plans/{part}").status_code == 404
        assert client.post(f"/runs/{run.code}/plans/", {"times": "2"}).status_code == 404
        assert client.post(f"/runs/{run.code}/plans/pick/").status_code == 404
    assert first.plans.count() == 2
