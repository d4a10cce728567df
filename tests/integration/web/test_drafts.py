"""Drafts of the edit page: they survive a reload, and whoever saves on top of others loses nothing, nor do they."""

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Membership, User
from apps.runs.drafts import Hold, save_draft
from apps.runs.models import Run, SavedDraft
from apps.workflows.workflow import Workflow
from tests.factories import NOON, Driving, chain, make_run
from tests.integration.web.forms import draft_in, form_in, form_of, post, press


@pytest.fixture
def run(ada: User) -> Run:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth", "Answer the task"))
    return driving.carry({"s1": "South: 53 %", "s2": "South."})


@pytest.fixture
def mate(ada: User, bob: User, other_browser: Client) -> Client:
    """The browser of Bob, who works in Ada's project, too."""
    assert ada.home_project is not None
    Membership.objects.create(user=bob, project=ada.home_project, role=Membership.Role.ANALYST)
    return other_browser


class Tab:
    """A page that somebody has open: what its form says, and what it knows of its draft."""

    def __init__(self, browser: Client, run: Run, query: str = "") -> None:
        self.browser, self.run = browser, run
        answer = browser.get(f"/runs/{run.code}/edit/{query}")
        self.status = answer.status_code
        self.page = html.unescape(answer.content.decode())
        self.fields = form_in(answer.content.decode()) if self.status == 200 else {}

    def type(self, instruction: str, *, key: str = "s2") -> str:
        """Write in a step; a moment later the page has it checked and kept."""
        self.fields[f"step-{key}-instruction"] = [instruction]
        _, self.page = post(self.browser, self.run, self.fields | {"action": "check"}, headers={"HX-Request": "true"})
        for name in ("draft", "version", "editor"):
            found = re.search(rf'name="{name}" value="([^"]*)"', self.page)
            assert found is not None
            self.fields[name] = [found[1]]
        return self.page

    def leave(self, action: str, **more: Any) -> str:
        answer = self.browser.post(f"/runs/{self.run.code}/edit/", self.fields | {"action": action} | more)
        return str(answer["Location"])

    @property
    def says(self) -> str:
        return str(draft_in(self.page)["workflow"]["steps"][1]["instruction"])


def workflow_of(run: Run) -> Workflow:
    assert run.workflow is not None
    return run.workflow


def texts() -> set[str]:
    return {
        instruction
        for draft in SavedDraft.objects.all()
        for instruction in re.findall(r'"instruction": "([^"]*)"', draft.body)
        if instruction != "Compute the growth"
    }


def test_what_was_typed_is_there_after_a_reload(browser: Client, run: Run) -> None:
    Tab(browser, run).type("Answer in one word")

    again = Tab(browser, run)

    assert again.says == "Answer in one word"
    assert "Your draft is here again," in again.page
    assert "Start over" in again.page


def test_a_page_that_nobody_changed_leaves_no_draft(browser: Client, run: Run) -> None:
    Tab(browser, run).type("Answer the task")

    assert not SavedDraft.objects.exists()


def test_one_page_has_one_draft_however_often_it_is_kept(browser: Client, run: Run) -> None:
    tab = Tab(browser, run)
    for text in ("A", "An", "Answer"):
        tab.type(text)

    draft = SavedDraft.objects.get()
    assert (draft.version, texts()) == (3, {"Answer"})


def test_an_answer_that_was_lost_on_its_way_makes_no_second_draft(browser: Client, run: Run) -> None:
    tab = Tab(browser, run)
    known = dict(tab.fields)
    tab.type("once")
    tab.fields |= {name: known[name] for name in ("draft", "version", "editor")}

    tab.type("twice")

    assert texts() == {"twice"}
    assert SavedDraft.objects.count() == 1


def test_an_operation_is_kept_as_well(browser: Client, run: Run) -> None:
    tab = Tab(browser, run)

    post(browser, run, tab.fields | {"edit": '{"op": "duplicate", "key": "s1"}'})

    assert [step["key"] for step in draft_in(Tab(browser, run).page)["workflow"]["steps"]] == ["s1", "s3", "s2"]


def test_faults_and_odd_characters_are_kept_as_they_were_typed(browser: Client, run: Run) -> None:
    tab = Tab(browser, run)
    tab.type("a\0b")
    tab.fields["step-s1-instruction"] = [""]
    tab.type("naïve\ntext „with“ \\u0000")

    again = Tab(browser, run)

    assert again.says == "naïve\ntext „with“ \\u0000"
    assert draft_in(again.page)["workflow"]["steps"][0]["instruction"] == ""


def test_starting_over_shows_the_run_as_it_is(browser: Client, run: Run) -> None:
    tab = Tab(browser, run)
    tab.type("Answer in one word")

    assert tab.leave("start-over") == f"/runs/{run.code}/edit/"

    assert Tab(browser, run).says == "Answer the task"
    assert not SavedDraft.objects.exists()


def test_what_was_started_is_no_draft_any_more(browser: Client, run: Run) -> None:
    tab = Tab(browser, run)
    tab.type("Answer in one word")

    press(browser, run, tab.fields)

    assert Run.objects.filter(parent=run).count() == 1
    assert not SavedDraft.objects.exists()


# --- two who edit the same ------------------------------------------------------------------------------------------


def test_of_two_tabs_the_later_one_is_told_and_both_texts_are_kept(browser: Client, run: Run) -> None:
    Tab(browser, run).type("begun")
    one, two = Tab(browser, run), Tab(browser, run)
    one.type("of the first tab")

    told = two.type("of the second tab")

    assert "You, in another tab, changed this draft just now." in told
    assert texts() == {"of the first tab", "of the second tab"}
    assert "changed this draft" not in two.type("of the second tab, and on")
    assert texts() == {"of the first tab", "of the second tab, and on"}


def test_two_tabs_that_both_begin_are_told_of_each_other(browser: Client, run: Run) -> None:
    one, two = Tab(browser, run), Tab(browser, run)
    one.type("of the first tab")

    assert "You, in another tab, changed this draft" in two.type("of the second tab")
    assert texts() == {"of the first tab", "of the second tab"}


def test_of_two_people_the_later_one_is_told_who_changed_it(browser: Client, mate: Client, run: Run, bob: User) -> None:
    mine = Tab(browser, run)
    mine.type("Ada's")
    theirs = Tab(mate, run, f"?draft={mine.fields['draft'][0]}")
    assert "You edit ada’s draft," in theirs.page
    theirs.type("Bob's")

    told = mine.type("Ada's, again")

    assert f"{bob.label} changed this draft just now." in told
    assert texts() == {"Bob's", "Ada's, again"}


def test_theirs_can_be_taken(browser: Client, mate: Client, run: Run) -> None:
    mine = Tab(browser, run)
    mine.type("Ada's")
    of_both = mine.fields["draft"][0]
    Tab(mate, run, f"?draft={of_both}").type("Bob's")
    mine.type("Ada's, again")

    address = mine.leave("take", other=of_both)

    assert address == f"/runs/{run.code}/edit/?draft={of_both}"
    assert Tab(browser, run, f"?draft={of_both}").says == "Bob's"
    assert texts() == {"Bob's"}


def test_others_who_edit_the_run_are_named(browser: Client, mate: Client, run: Run) -> None:
    other = Tab(browser, run)
    other.type("Ada's")

    page = Tab(mate, run).page

    assert "ada edits this run, too, last just now:" in page
    assert f"/runs/{run.code}/edit/?draft={other.fields['draft'][0]}" in page
    assert Tab(mate, run).says == "Answer the task"


def test_starting_over_leaves_to_others_what_they_changed(browser: Client, mate: Client, run: Run) -> None:
    mine = Tab(browser, run)
    mine.type("Ada's")
    Tab(mate, run, f"?draft={mine.fields['draft'][0]}").type("Bob's")

    mine.leave("start-over")

    assert texts() == {"Bob's"}


def test_a_draft_that_was_started_elsewhere_is_said_and_what_is_here_is_kept(browser: Client, run: Run) -> None:
    tab = Tab(browser, run)
    tab.type("begun")
    SavedDraft.objects.all().delete()

    told = tab.type("and on")

    assert "The draft that was open is not there any more:" in told
    assert texts() == {"and on"}


@pytest.mark.parametrize("named", ["0", "999999", "x", "-1", "9" * 40, "\0"])
def test_a_draft_that_is_not_there_has_a_page_that_says_so(browser: Client, run: Run, named: str) -> None:
    answer = browser.get(f"/runs/{run.code}/edit/", {"draft": named})

    assert answer.status_code == 404
    assert "This draft is not there any more" in answer.content.decode()


def test_a_draft_of_another_run_is_not_there(browser: Client, ada: User, run: Run) -> None:
    tab = Tab(browser, run)
    tab.type("of this run")
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Another"))

    answer = browser.get(f"/runs/{driving.run.code}/edit/?draft={tab.fields['draft'][0]}")

    assert answer.status_code == 404


def test_a_forged_draft_of_another_run_is_never_written(browser: Client, ada: User, run: Run) -> None:
    tab = Tab(browser, run)
    tab.type("of this run")
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Another", "step"))
    other = driving.told()

    forged = form_of(workflow_of(other), action="check") | {"step-s2-instruction": "forged"}
    post(browser, other, forged | {name: tab.fields[name] for name in ("draft", "version", "editor")})

    assert texts() == {"of this run", "forged", "Another"}
    assert SavedDraft.objects.get(run=run).body.count("of this run") == 1


def test_a_draft_of_a_run_whose_workflow_has_changed_since_says_so(browser: Client, run: Run) -> None:
    Tab(browser, run).type("begun")
    Run.objects.filter(pk=run.pk).update(workflow_body=chain("Compute", "Answer", "Check").model_dump(mode="json"))

    assert "The run’s workflow has changed since it was begun." in Tab(browser, run).page


def test_a_draft_of_a_run_that_is_gone_goes_with_it(browser: Client, run: Run, ada: User) -> None:
    save_draft(run=run, body="{}", hold=Hold(editor="e"), by=ada, now=NOON + timedelta(hours=1))
    code = run.code
    Run.objects.filter(pk=run.pk).delete()

    assert browser.get(f"/runs/{code}/edit/").status_code == 404
    assert not SavedDraft.objects.exists()
