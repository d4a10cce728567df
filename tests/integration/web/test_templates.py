"""Templates: kept from a run, found again, filled in as data, started; and what is missing is said at the step."""

import html
import re
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.audit import log
from apps.runs.models import LegalHold, Run
from apps.runs.templates import keep_template
from apps.web.keeping.templates_page import PAGE
from apps.workers.models import Profile, Worker
from apps.workflows.models import SavedWorkflow
from tests.factories import NOON, Driving, chain, make_pool, make_run
from tests.integration.web.given import finished

TASK = "Which {what} grew most in {year}? Answer as {{json}}."


@pytest.fixture
def pool(ada: User) -> Profile:
    return make_pool()


@pytest.fixture
def template(ada: User, pool: Profile) -> SavedWorkflow:
    return kept(ada)


def kept(by: User, name: str = "Growth", **changes: Any) -> SavedWorkflow:
    given: dict[str, Any] = {
        "task": TASK,
        "workflow": chain("Compute the growth", "Answer the task"),
        "profile": "studio-ultra",
    }
    return keep_template(name=name, by=by, now=NOON, **(given | changes))


def filled(**fields: str) -> dict[str, str]:
    given = {"fill-what": "region", "fill-year": "2025", "profile": "studio-ultra", "submit_key": "k" * 32}
    return given | {"action": "start"} | fields


def changed(**fields: str) -> dict[str, str]:
    return {"name": "Growth", "task": TASK, "description": "", "version": "1"} | fields


def page(client: Client, path: str) -> str:
    return html.unescape(client.get(path).content.decode())


def verbs(trail: str) -> list[str]:
    return [event.verb for event in log.read(trail)]


# --- keeping ---------------------------------------------------------------------------------------------------------


def test_a_run_is_kept_with_its_workflow_and_the_braces_of_its_task_doubled(browser: Client, ada: User) -> None:
    run = finished(ada)
    Run.objects.filter(pk=run.pk).update(task='Sum {"a": 1}')

    form = page(browser, f"/runs/{run.code}/template/")
    assert '\nSum {{"a": 1}}</textarea>' in form
    response = browser.post(f"/runs/{run.code}/template/", {"name": " My  sum ", "task": 'Sum {{"a": {n}}}'})

    template = SavedWorkflow.objects.get()
    assert response["Location"] == f"/workflows/{template.pk}/"
    assert (template.name, template.task, template.source) == ("My sum", 'Sum {{"a": {n}}}', run.code)
    assert (template.workflow, template.profile, template.owner) == (run.workflow, run.profile, ada)
    assert verbs(template.trail) == ["template.kept"]


def test_a_brace_that_means_nothing_is_said_at_the_task_with_its_line(browser: Client, ada: User) -> None:
    run = finished(ada)

    response = browser.post(f"/runs/{run.code}/template/", {"name": "x", "task": "One\nTwo {0.__class__}"})

    assert response.status_code == 422
    assert "Line 2: “{0.__class__}” is no placeholder" in html.unescape(response.content.decode())
    assert not SavedWorkflow.objects.exists()


def test_a_name_is_given_once_in_a_project(browser: Client, ada: User, template: SavedWorkflow) -> None:
    run = finished(ada)

    response = browser.post(f"/runs/{run.code}/template/", {"name": "Growth", "task": "x"})

    assert response.status_code == 422
    assert "There is a template called “Growth” already" in response.content.decode()


def test_a_run_without_a_workflow_cannot_be_kept(browser: Client, run: Run) -> None:
    assert browser.get(f"/runs/{run.code}/template/").status_code == 409


# --- the list --------------------------------------------------------------------------------------------------------


def test_an_empty_list_says_how_templates_come_about(browser: Client) -> None:
    assert "No templates yet" in page(browser, "/workflows/")


def test_the_list_is_searched_in_names_descriptions_and_tasks(browser: Client, ada: User, pool: Profile) -> None:
    kept(ada, "Tariffs", description="for the harbour")
    kept(ada, "Prices", task="Per {month}")

    def shown(asked: str) -> list[str]:
        return re.findall(r'<a href="/workflows/\d+/">([^<]+)</a>', page(browser, f"/workflows/?q={asked}"))

    assert (shown(""), shown("HARBOUR"), shown("month"), shown("none")) == (
        ["Prices", "Tariffs"],
        ["Tariffs"],
        ["Prices"],
        [],
    )


def test_the_list_ends_and_goes_on(browser: Client, ada: User, pool: Profile) -> None:
    body = chain("Do it").model_dump(mode="json")
    assert ada.home_project is not None
    SavedWorkflow.objects.bulk_create(
        SavedWorkflow(name=f"T{n:03}", project=ada.home_project, owner=ada, task="x", body=body)
        for n in range(PAGE + 3)
    )

    first = page(browser, "/workflows/")
    more = re.search(r'href="(/workflows/\?[^"]*after=\d+)" rel="next"', first)
    assert first.count("<li class=") == PAGE
    assert more is not None
    assert page(browser, more[1]).count("<li class=") == 3


def test_what_belongs_to_others_is_not_there(other_browser: Client, template: SavedWorkflow) -> None:
    assert "No templates yet" in page(other_browser, "/workflows/")
    for path in ("", "change/", "delete/"):
        for method in ("get", "post"):
            assert getattr(other_browser, method)(f"/workflows/{template.pk}/{path}").status_code == 404
    assert other_browser.get(f"/workflows/{template.pk}/export/").status_code == 404
    assert SavedWorkflow.objects.exists()


@pytest.mark.parametrize("id", ["0", "9" * 30, "x", "١", "a\0b"])
def test_an_address_of_nothing_is_a_clear_page(browser: Client, id: str) -> None:
    response = browser.get(f"/workflows/{id}/")

    assert response.status_code == 404
    assert "There is no such template" in response.content.decode()


# --- starting --------------------------------------------------------------------------------------------------------


def test_a_run_is_started_with_the_placeholders_filled_in(browser: Client, template: SavedWorkflow) -> None:
    response = browser.post(f"/workflows/{template.pk}/", filled())

    run = Run.objects.get()
    assert response["Location"] == f"/runs/{run.code}/"
    assert run.task == "Which region grew most in 2025? Answer as {json}."
    assert (run.workflow, run.status, run.setup["planner"]) == (template.workflow, "queued", "saved")
    assert verbs(run.trail) == ["run.submitted", "run.templated", "workflow.adopted"]
    assert f"template {template.pk}, version 1</span> Growth" in page(browser, f"/runs/{run.code}/?view=events")


def test_a_value_is_data_whatever_it_says(browser: Client, template: SavedWorkflow) -> None:
    browser.post(
        f"/workflows/{template.pk}/", filled(**{"fill-what": "{year} {0.__class__} {{x}} %s", "fill-year": "a"})
    )

    assert Run.objects.get().task == "Which {year} {0.__class__} {{x}} %s grew most in a? Answer as {json}."


def test_pressed_twice_it_is_one_run(browser: Client, template: SavedWorkflow) -> None:
    for _ in range(2):
        browser.post(f"/workflows/{template.pk}/", filled())
    browser.post(f"/workflows/{template.pk}/", filled(**{"fill-year": "2024"}))

    assert Run.objects.count() == 2


def test_a_placeholder_without_a_value_is_said_at_its_field(browser: Client, template: SavedWorkflow) -> None:
    response = browser.post(f"/workflows/{template.pk}/", filled(**{"fill-year": "  "}))

    assert response.status_code == 422
    said = html.unescape(response.content.decode())
    assert "Fill in year." in said
    assert "Fill in what." not in said
    assert "\nregion</textarea>" in said
    assert not Run.objects.exists()


def test_the_task_is_previewed_without_starting_anything(browser: Client, template: SavedWorkflow) -> None:
    headers = {"HX-Request": "true"}
    fields = filled(action="preview", **{"fill-what": "<b>region</b>", "fill-year": ""})
    response = browser.post(f"/workflows/{template.pk}/", fields, headers=headers)

    said = response.content.decode()
    assert '<mark data-kind="value">&lt;b&gt;region&lt;/b&gt;</mark>' in said
    assert '<mark data-kind="missing">{year}</mark>' in said
    assert "Answer as {json}." in said
    assert "<html" not in said
    assert not Run.objects.exists()


def test_edited_first_the_run_waits_for_review_and_no_driver_is_asked(
    browser: Client, template: SavedWorkflow, rung: list[int]
) -> None:
    response = browser.post(f"/workflows/{template.pk}/", filled(action="review"))

    run = Run.objects.get()
    assert response["Location"] == f"/runs/{run.code}/edit/"
    assert (run.status, run.hold, rung) == ("held", "review", [])
    assert verbs(run.trail)[-1] == "run.held"
    assert len(run.pool) == 4


def test_a_profile_that_has_every_run_reviewed_has_this_one_reviewed_too(
    browser: Client, template: SavedWorkflow, pool: Profile, rung: list[int]
) -> None:
    Profile.objects.filter(pk=pool.pk).update(review=True)

    browser.post(f"/workflows/{template.pk}/", filled())

    assert (Run.objects.get().status, rung) == ("held", [])


def test_a_worker_that_is_disabled_or_gone_is_said_at_its_step(browser: Client, template: SavedWorkflow) -> None:
    Worker.objects.filter(slug="sim-birch").update(enabled=False, name="Birch")
    before = page(browser, f"/workflows/{template.pk}/")
    response = browser.post(f"/workflows/{template.pk}/", filled())

    assert before.count('<p class="error">Birch is disabled.</p>') == 2
    assert response.status_code == 422
    assert "Choose who does the steps that are marked" in response.content.decode()
    assert not Run.objects.exists()


def test_another_worker_does_the_steps_of_one_that_is_missing(browser: Client, template: SavedWorkflow) -> None:
    Worker.objects.filter(slug="sim-birch").delete()

    assert "There is no worker “sim-birch” here." in page(browser, f"/workflows/{template.pk}/")
    browser.post(f"/workflows/{template.pk}/", filled(**{"instead-sim-birch": "sim-delta"}))

    workflow = Run.objects.get().workflow
    assert workflow is not None
    assert {step.worker for step in workflow.steps} == {"sim-delta"}
    assert template.workflow.steps[0].worker == "sim-birch"


def test_a_profile_that_does_not_offer_a_worker_says_so(
    browser: Client, template: SavedWorkflow, pool: Profile
) -> None:
    pool.workers.set(Worker.objects.filter(slug="sim-atlas"))

    assert f"is not offered by the profile “{pool.name}”." in page(browser, f"/workflows/{template.pk}/")


def test_a_profile_that_draws_workers_leaves_out_none_that_a_step_names(
    browser: Client, template: SavedWorkflow, pool: Profile
) -> None:
    Profile.objects.filter(pk=pool.pk).update(pool_size=1)

    browser.post(f"/workflows/{template.pk}/", filled())

    assert list(Run.objects.get().pool) == ["sim-birch"]


def test_a_price_nobody_knows_is_asked_about(browser: Client, template: SavedWorkflow) -> None:
    Worker.objects.filter(slug="sim-birch").update(free=False, input_price_usd=None, output_price_usd=None)

    assert 'name="unknown_price"' in browser.post(f"/workflows/{template.pk}/", filled()).content.decode()
    browser.post(f"/workflows/{template.pk}/", filled(unknown_price="1"))

    assert Run.objects.count() == 1


# --- changing --------------------------------------------------------------------------------------------------------


def test_a_change_is_another_version_and_what_was_before_stays_in_the_trail(
    browser: Client, template: SavedWorkflow
) -> None:
    browser.post(f"/workflows/{template.pk}/change/", changed(task="Only {x}", description="d"))

    template.refresh_from_db()
    event = log.read(template.trail)[-1]
    assert (template.task, template.version, template.description) == ("Only {x}", 2, "d")
    assert (event.verb, event.data["changed"]) == ("template.changed", ["task", "description"])
    assert (event.texts["before:task"], event.texts["task"]) == (TASK, "Only {x}")


def test_nothing_changed_is_no_version_and_no_event(browser: Client, template: SavedWorkflow) -> None:
    browser.post(f"/workflows/{template.pk}/change/", changed())

    template.refresh_from_db()
    assert (template.version, verbs(template.trail)) == (1, ["template.kept"])


def test_of_two_who_change_it_the_second_is_told_and_may_insist(browser: Client, template: SavedWorkflow) -> None:
    browser.post(f"/workflows/{template.pk}/change/", changed(task="First"))
    response = browser.post(f"/workflows/{template.pk}/change/", changed(task="Second"))

    template.refresh_from_db()
    said = html.unescape(response.content.decode())
    assert (response.status_code, template.task) == (422, "First")
    assert "it is at version 2 now" in said
    assert "\nSecond</textarea>" in said
    assert 'name="version" value="2"' in said
    browser.post(f"/workflows/{template.pk}/change/", changed(task="Second", version="2"))
    template.refresh_from_db()
    assert (template.task, log.read(template.trail)[-1].texts["before:task"]) == ("Second", "First")


def test_it_is_deleted_after_a_question_and_its_runs_stay(browser: Client, template: SavedWorkflow) -> None:
    browser.post(f"/workflows/{template.pk}/", filled())

    asked = page(browser, f"/workflows/{template.pk}/delete/")
    assert "Delete “Growth”?" in asked
    assert "Its texts go from its trail, too: its name, task and description" in asked
    assert SavedWorkflow.objects.exists()
    browser.post(f"/workflows/{template.pk}/delete/")

    assert not SavedWorkflow.objects.exists()
    assert Run.objects.count() == 1
    assert verbs(f"template:{template.pk}") == ["template.kept", "template.deleted", "template.erased"]


def test_one_of_a_project_under_a_legal_hold_is_not_deleted_and_the_page_says_why(
    browser: Client, template: SavedWorkflow, ada: User
) -> None:
    LegalHold.objects.create(project=template.project, reason="Case 4711", placed_by=ada, placed_at=NOON)

    response = browser.post(f"/workflows/{template.pk}/delete/")

    assert response.status_code == 409
    assert "A legal hold is on all of" in html.unescape(response.content.decode())
    assert SavedWorkflow.objects.exists()


# --- from scratch ----------------------------------------------------------------------------------------------------


def test_a_workflow_is_drawn_from_scratch(browser: Client, pool: Profile, rung: list[int]) -> None:
    task = {"task": "What is 6 times 7?", "profile": "studio-ultra", "submit_key": "k" * 32, "how": "draw"}

    first, second = browser.post("/", task), browser.post("/", task)

    run = Run.objects.get()
    assert first["Location"] == second["Location"] == f"/runs/{run.code}/edit/"
    assert (run.status, run.hold, rung) == ("held", "review", [])
    assert [(step.worker, step.instruction) for step in run.steps.all()] == [("sim-atlas", "Answer the task.")]
    assert browser.get(f"/runs/{run.code}/").status_code == 200
    assert browser.get(f"/runs/{run.code}/edit/").status_code == 200


def test_what_is_drawn_has_the_workers_that_were_ticked(browser: Client, pool: Profile) -> None:
    ticked = {"workers": ["sim-cedar", "sim-birch"], "task": "What is it?", "profile": "studio-ultra", "how": "draw"}

    browser.post("/", ticked)

    run = Run.objects.get()
    assert (list(run.pool), run.steps.get().worker) == (["sim-cedar", "sim-birch"], "sim-cedar")


def test_a_run_that_was_drawn_is_approved_and_carried_out(browser: Client, pool: Profile) -> None:
    browser.post("/", {"task": "What is 6 times 7?", "profile": "studio-ultra", "submit_key": "k", "how": "draw"})
    run = Run.objects.get()

    browser.post(f"/runs/{run.code}/approve/")

    run.refresh_from_db()
    assert run.status == "queued"
    assert Driving(run).carry({"s1": "42"}).answer == "42"


def test_from_scratch_an_empty_task_is_said_at_its_field(browser: Client, pool: Profile) -> None:
    response = browser.post("/", {"task": " ", "profile": "studio-ultra", "how": "draw"})

    assert response.status_code == 422
    assert "Write a task first." in response.content.decode()


def test_the_page_one_starts_from_leads_to_the_templates(browser: Client, pool: Profile) -> None:
    assert 'href="/workflows/">Start from a template' in page(browser, "/")


def test_templates_are_found_from_every_page(browser: Client, template: SavedWorkflow) -> None:
    assert 'href="/workflows/" aria-current="page">Templates</a>' in page(browser, "/workflows/")
    assert 'href="/workflows/" aria-current="true">Templates</a>' in page(browser, f"/workflows/{template.pk}/")
    assert 'href="/workflows/"' in page(browser, "/palette/?q=templ")


def test_a_run_leads_to_being_kept_shared_and_downloaded(browser: Client, ada: User) -> None:
    run = finished(ada)
    said = page(browser, f"/runs/{run.code}/")

    assert all(f'href="/runs/{run.code}/{path}/"' in said for path in ("template", "share", "export"))
    going = make_run(by=ada, submit_key="another")
    assert f'href="/runs/{going.code}/share/"' not in page(browser, f"/runs/{going.code}/")
