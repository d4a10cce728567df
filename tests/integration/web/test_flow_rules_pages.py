"""Flow rules in pages: their own, the run that they hold, and its editor."""

import html
import re
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from apps.accounts.models import Membership, Project, User
from apps.audit import log
from apps.runs.flow import Flow
from apps.runs.guard import held_by
from apps.runs.labels import Labels
from apps.runs.models import Run
from apps.workers.models import FlowRule, Tag, Worker
from apps.workers.rules import trail_of
from tests.factories import NOON, Driving, chain, make_run
from tests.integration.web.forms import form_of, press

HTMX = {"HX-Request": "true"}
ACTIONS = 'name="actions" value="([^"]*)"'  # by which a page tells whether what it offers is still what the run needs


def words(page: bytes) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page.decode())).split())


def told(answer: Any) -> list[str]:
    return [str(message) for message in get_messages(answer.wsgi_request)]


def seen(browser: Client, run: Run) -> str:
    """All that the form on the run's page says it was shown with."""
    page = browser.get(f"/runs/{run.code}/").content.decode()
    [found] = re.findall(r'name="seen" value="([^"]*)"', page)
    return str(found)


def address(project: Project) -> str:
    return f"/projects/{project.slug}/rules/"


# --- the page of a project's rules -----------------------------------------------------------------------------------


def test_an_admin_adds_tags_and_a_rule_between_them(browser: Client, admin: User, project: Project) -> None:
    for name in ("client-confidential", "eu-hosted"):
        added = browser.post(address(project), {"action": "add-tag", "name": name, "words": "Said in the contract."})
        assert (added.status_code, told(added)[-1]) == (302, f"Tag “{name}” added.")
    given = {"action": "add-rule", "carries": "client-confidential", "needs": "eu-hosted", "words": "Article 44."}
    assert browser.post(address(project), given).status_code == 302

    page = words(browser.get(address(project)).content)
    assert "What carries client-confidential may only be read by models with eu-hosted Article 44." in page
    events = log.read(trail_of(project))
    assert [event.verb for event in events] == ["tag.added", "tag.added", "rule.added"]
    assert events[2].data["carries"] == "client-confidential"
    assert events[2].texts["words"] == "Article 44."


def test_without_rules_it_says_what_to_begin_with(browser: Client, admin: User, project: Project) -> None:
    assert "Begin with two tags" in words(browser.get(address(project)).content)


@pytest.mark.parametrize(
    ("given", "status", "message"),
    [
        ({"action": "add-tag", "name": "Client Confidential"}, 422, "Name the tag with lower-case letters"),
        ({"action": "add-tag", "name": "secret"}, 409, "There is a tag “secret” already."),
        ({"action": "add-tag", "name": "new", "words": "x" * 201}, 422, "Say it in at most 200 characters."),
        ({"action": "add-rule", "carries": "nothing", "needs": "trusted"}, 422, "“nothing” is no tag of"),
        ({"action": "add-rule", "carries": "secret", "needs": "trusted"}, 409, "There is a rule already"),
        ({"action": "change", "rule": "999"}, 422, "There is no such rule of this project."),
        ({"action": "dance"}, 422, "There is no such rule of this project."),
    ],
)
def test_what_is_wrong_is_said_and_what_was_typed_is_kept(
    browser: Client, project: Project, rule: FlowRule, given: dict[str, str], status: int, message: str
) -> None:
    answer = browser.post(address(project), given)

    assert answer.status_code == status
    assert message in words(answer.content)
    assert given.get("name", "") in answer.content.decode()


def test_a_rule_is_switched_off_and_of_two_who_change_it_the_second_is_told(
    browser: Client, project: Project, rule: FlowRule
) -> None:
    change = {"action": "change", "rule": rule.pk, "seen": 1, "carries": "secret", "needs": "trusted", "words": ""}

    off = browser.post(address(project), change)
    late = browser.post(address(project), {**change, "enabled": "on"})

    assert told(off) == ["Rule switched off: what carries secret may only be read by models with trusted."]
    assert late.status_code == 409
    assert "Somebody has changed this rule since you opened it." in words(late.content)
    rule.refresh_from_db()
    assert (rule.enabled, rule.words, rule.version) == (False, "", 2)
    assert log.read(trail_of(project))[-1].data["before"] == {"enabled": True}


def test_an_analyst_reads_the_rules_and_changes_none(browser: Client, ada: User, project: Project) -> None:
    Tag.objects.create(project=project, name="secret", created_at=NOON)
    FlowRule.objects.create(project=project, carries="secret", needs="trusted", created_at=NOON)

    page = browser.get(address(project)).content.decode()
    refused = browser.post(address(project), {"action": "add-tag", "name": "mine"})

    assert "Admins of the project add and change them." in page
    assert 'method="post"' not in page.split("<main")[1]
    assert refused.status_code == 403
    assert Tag.objects.count() == 1


def test_the_rules_of_others_are_not_there(other_browser: Client, project: Project, rule: FlowRule) -> None:
    assert other_browser.get(address(project)).status_code == 404
    assert other_browser.post(address(project), {"action": "add-tag", "name": "mine"}).status_code == 404


def test_a_rule_of_another_project_is_not_changed_from_here(
    browser: Client, bob: User, admin: User, project: Project
) -> None:
    assert bob.home_project is not None
    other = FlowRule.objects.create(project=bob.home_project, carries="a", needs="b", created_at=NOON)

    answer = browser.post(address(project), {"action": "change", "rule": other.pk, "seen": 1})

    assert answer.status_code == 422
    other.refresh_from_db()
    assert other.version == 1


def test_rules_of_the_whole_studio_hold_everywhere_and_are_changed_elsewhere(
    browser: Client, admin: User, project: Project
) -> None:
    FlowRule.objects.create(carries="secret", needs="trusted", created_at=NOON)

    page = browser.get(address(project)).content.decode()

    assert "of the whole studio" in page
    assert 'name="rule"' not in page


def test_a_run_is_held_against_the_rules_whether_they_are_in_force_or_not(
    browser: Client, project: Project, held: Run, rule: FlowRule
) -> None:
    FlowRule.objects.update(enabled=False)
    FlowRule.objects.create(project=project, carries="trusted", needs="secret", created_at=NOON)

    page = words(browser.get(f"{address(project)}?run={held.code}").content)

    assert "1 of 2 rules would have held" in page
    assert "(switched off)" in page
    assert "the task → , read by the planner" in page
    assert "the task → , read by step 3" in page
    assert "There is no run “zzz” in Ada." in words(browser.get(f"{address(project)}?run=zzz").content)


# --- the run that rules hold -----------------------------------------------------------------------------------------


def test_a_run_that_is_held_says_by_which_path_and_why(browser: Client, held: Run) -> None:
    page = words(browser.get(f"/runs/{held.code}/").content)

    assert "Held: rules" in page
    assert "Held by flow rules. 3 calls would show a model what it may not read. None was made" in page
    assert "the task → , read by step 2" in page
    assert "may only be read by models with trusted , and" in page
    assert "The client asked for it." in page
    assert page.count("held: rules") == 3


def test_outline_matrix_and_panel_show_where(browser: Client, held: Run, rule: FlowRule) -> None:
    Worker.objects.filter(slug="sim-birch").update(tags=["secret"])
    assert held.workflow is not None
    Run.objects.filter(pk=held.pk).update(
        held_by={**held.held_by, "rules": [{**held.held_by["rules"][2], "path": ["s1", "s2", "s3"]}], "steps": ["s3"]}
    )

    outline = browser.get(f"/runs/{held.code}/outline/").content.decode()
    matrix = browser.get(f"/runs/{held.code}/?view=matrix").content.decode()

    assert re.findall(r'data-step="(s\d)" data-forbidden="true"', outline) == ["s3"]
    assert re.findall(r'data-cell="may" data-forbidden="true"><a[^>]*data-edge="([^"]*)"', matrix) == ["s1:s2", "s2:s3"]
    assert "what a flow rule holds the run for goes this way" in matrix
    panel = words(browser.get(f"/runs/{held.code}/steps/s3/").content)
    assert "by a flow rule that holds the run." in panel


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["form", "htmx"])
def test_an_admin_approves_it_with_a_reason(browser: Client, held: Run, headers: dict[str, str]) -> None:
    given = {"seen": seen(browser, held)}
    refused = browser.post(f"/runs/{held.code}/except/", given | {"reason": " "}, headers=headers)
    assert refused.status_code == 422
    assert "Say why it may be read all the same" in words(refused.content)

    browser.post(f"/runs/{held.code}/except/", given | {"reason": "They agreed."}, headers=headers)

    held.refresh_from_db()
    assert (held.status, len(held.excepted)) == (Run.Status.QUEUED, 3)
    event = log.read(held.trail)[-1]
    assert (event.verb, event.texts["reason"]) == ("run.excepted", "They agreed.")
    late = browser.post(f"/runs/{held.code}/except/", {"reason": "Again."})
    assert told(late)[-1:] == [f"No rules hold run {held.code} any more."]


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["form", "htmx"])
def test_what_holds_it_by_now_is_shown_before_it_is_approved(
    browser: Client, held: Run, headers: dict[str, str]
) -> None:
    before = {"seen": seen(browser, held), "reason": "They <agreed>."}
    [needs] = re.findall(ACTIONS, browser.get(f"/runs/{held.code}/").content.decode())
    more = {**held.held_by["rules"][0], "name": "secret>local s1 sim-birch task:", "needs": "local"}
    held.held_by["rules"].append(more)
    held.save()

    late = browser.post(f"/runs/{held.code}/except/", before, headers=headers)

    assert late.status_code == 409
    assert "has changed since you were shown it: 1 call is new. Nothing was approved." in words(late.content)
    page = late.content.decode()
    assert page.count('<span class="tag">new</span>') == 1
    assert 'value="They &lt;agreed&gt;."' in page
    assert re.findall(ACTIONS, page) != [needs], "who watches is shown the new list, too"
    held.refresh_from_db()
    assert (held.status, held.excepted) == (Run.Status.HELD, [])
    [now] = re.findall(r'name="seen" value="([^"]*)"', page)
    browser.post(f"/runs/{held.code}/except/", {"seen": now, "reason": "They agreed."}, headers=headers)
    held.refresh_from_db()
    assert (held.status, len(held.excepted)) == (Run.Status.QUEUED, 4)


def test_what_holds_a_run_within_is_told_under_that_run(
    browser: Client, admin: User, held: Run, rule: FlowRule
) -> None:
    nested = make_run(by=admin, task="Within", labels=Labels(tags=("secret",)), submit_key="n" * 32)
    theirs = {**held.held_by["rules"][1], "run": nested.code}
    Run.objects.filter(pk=held.pk).update(
        held_by=held.held_by | {"rules": [theirs, held.held_by["rules"][1]], "within": [nested.code]}
    )

    page = browser.get(f"/runs/{held.code}/").content.decode()

    hold = page.split('id="hold"')[1].split("<form")[0]
    own, within = hold.split("which is part of this one:")
    assert f"run {nested.code}" in words(own.encode()).split("the task")[-1]
    assert f'/runs/{held.code}/?step=s2" data-step="s2"' in own
    assert f'/runs/{nested.code}/?step=s2"' in within
    assert "data-step" not in within
    assert "2 calls would show a model" in words(hold.encode())


def test_an_analyst_is_shown_who_may_and_is_refused(browser: Client, ada: User, held: Run) -> None:
    Membership.objects.filter(user=ada).update(role=Membership.Role.ANALYST)

    page = browser.get(f"/runs/{held.code}/").content.decode()
    refused = browser.post(f"/runs/{held.code}/except/", {"reason": "Please.", "seen": "all"})

    assert "An admin of the project can approve it with a reason." in page
    assert f"/runs/{held.code}/except/" not in page
    assert refused.status_code == 403
    assert Run.objects.get(pk=held.pk).status == Run.Status.HELD


def test_it_can_be_checked_again(browser: Client, held: Run, rung: list[int]) -> None:
    browser.post(f"/runs/{held.code}/go-on/", {})

    assert Run.objects.get(pk=held.pk).status == Run.Status.QUEUED


def test_a_plan_that_waits_for_review_says_that_rules_will_hold_it(
    browser: Client, admin: User, rule: FlowRule
) -> None:
    driving = Driving(make_run(by=admin, review=True, labels=Labels(tags=("secret",))))
    driving.plan(chain("Compute the growth", "Answer the task"), hold=True)

    page = words(browser.get(f"/runs/{driving.run.code}/").content)

    assert "Approved as it is, flow rules will hold it: the task → , read by step 1" in page


def test_a_page_of_many_paths_folds_most_of_them(browser: Client, admin: User, rule: FlowRule) -> None:
    driving = Driving(make_run(by=admin, labels=Labels(tags=("secret",))))
    driving.plan(chain(*(f"Step {number}" for number in range(30))))
    assert driving.run.workflow is not None
    stop = held_by(Flow.of(driving.run).of_workflow(driving.run.workflow), run=driving.run)
    driving.write(driving.desk.hold, reason=stop.reason, about=stop.about, steps=["s1"])

    page = words(browser.get(f"/runs/{driving.run.code}/").content)

    assert "30 calls would show a model" in page
    assert "18 more" in page


# --- editing a run that rules hold -----------------------------------------------------------------------------------


def test_in_the_editor_each_step_says_what_it_would_be_held_for(browser: Client, held: Run) -> None:
    page = words(browser.get(f"/runs/{held.code}/edit/").content)

    assert "Held by flow rules" in page
    assert "Step 2 reads what is secret, and Birch is not known to be trusted: the run would be held." in page


def test_given_to_others_the_run_itself_goes_on_for_its_driver_to_check(
    browser: Client, held: Run, rung: list[int]
) -> None:
    assert held.workflow is not None
    fields = form_of(held.workflow, action="revise") | {f"step-s{number}-worker": "sim-atlas" for number in (1, 2, 3)}

    press(browser, held, fields)

    held.refresh_from_db()
    assert (held.status, held.hold, held.held_by) == (Run.Status.QUEUED, "", {})
    assert [event.verb for event in log.read(held.trail)][-2:] == ["workflow.adopted", "run.approved"]
    assert Run.objects.count() == 1


def test_unchanged_it_is_checked_again(browser: Client, held: Run) -> None:
    assert held.workflow is not None

    press(browser, held, form_of(held.workflow, action="revise"))

    assert Run.objects.get(pk=held.pk).status == Run.Status.QUEUED
    assert log.read(held.trail)[-1].verb == "run.resumed"


def test_once_something_has_begun_an_edit_is_a_fork(browser: Client, held: Run) -> None:
    held.steps.filter(key="s1").update(status="succeeded", result="South: 53 %")

    page = words(browser.get(f"/runs/{held.code}/edit/").content)

    assert "Editing a copy" in page
