"""Workflows brought in and taken along: read back as they were, with every fault named, and nothing evaluated."""

import html
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.accounts.models import User
from apps.audit import log
from apps.runs.models import Run
from apps.runs.templates import keep_template
from apps.workers.models import Profile, Worker
from apps.workflows.models import SavedWorkflow
from apps.workflows.workflow import Vote, Workflow
from tests.factories import NOON, chain, make_pool
from tests.integration.web.given import finished, workflow_of

LISTS = 'model_id = [0, "gpt-9", 0]\nsubtasks = ["Look it up", "Check it", "Answer"]\naccess_list = [[], [0], "all"]'


@pytest.fixture
def pool(ada: User) -> Profile:
    return make_pool()


def post(client: Client, action: str = "read", **fields: Any) -> tuple[int, str]:
    response = client.post("/workflows/import/", {"action": action, "profile": "studio-ultra", **fields})
    return response.status_code, html.unescape(response.content.decode()) or response["Location"]


def portable(client: Client, run: Run, form: str = "json") -> str:
    response = client.get(f"/runs/{run.code}/export/?as={form}")
    assert response["Content-Disposition"].startswith("attachment;")
    return response.content.decode()


def voting() -> Workflow:
    return workflow_of(("s1", "a", []), ("s2", "b", []), ("s3", "", ["s1"]), sink=Vote(over=("s1", "s2", "s3")))


# --- taking along ----------------------------------------------------------------------------------------------------


def test_a_runs_workflow_comes_back_as_the_same_workflow(browser: Client, ada: User) -> None:
    run = finished(ada)
    Run.objects.filter(pk=run.pk).update(workflow_body=voting().model_dump(mode="json"), task='Sum {"a": 1}')
    text = portable(browser, run)

    _, address = post(browser, "keep", text=text, name="Back", task='Sum {"a": 1}')

    template = SavedWorkflow.objects.get()
    assert address == f"/workflows/{template.pk}/"
    assert template.workflow == voting()
    assert template.task == 'Sum {{"a": 1}}'


def test_lists_come_back_with_the_same_steps(browser: Client, ada: User) -> None:
    run = finished(ada)

    post(browser, "open", text=portable(browser, run, "lists"), task=run.task)

    opened = Run.objects.exclude(pk=run.pk).get()
    assert opened.workflow == run.workflow
    assert (opened.status, opened.task) == ("held", run.task)


def test_what_is_taken_along_stands_in_the_trail(browser: Client, ada: User) -> None:
    run = finished(ada)
    for form in ("json", "lists"):
        portable(browser, run, form)

    told = [(event.verb, event.data, event.actor.label) for event in log.read(run.trail)][-2:]
    assert told == [("run.exported", {"as": "json"}, "ada"), ("run.exported", {"as": "lists"}, "ada")]


def test_a_template_is_taken_along_with_its_placeholders(browser: Client, ada: User, pool: Profile) -> None:
    template = keep_template(name="Growth", task="In {year} {{x}}", workflow=chain("Do it"), by=ada, now=NOON)
    text = browser.get(f"/workflows/{template.pk}/export/?as=json").content.decode()
    template.delete()

    status, said = post(browser, text=text)
    post(browser, "keep", text=text, name="Again", task="In {year} {{x}}")

    assert (status, "\nIn {year} {{x}}</textarea>" in said) == (200, True)
    assert SavedWorkflow.objects.get().task == "In {year} {{x}}"


def test_a_form_that_is_none_and_a_run_without_a_workflow_are_refused(browser: Client, ada: User, run: Run) -> None:
    assert browser.get(f"/runs/{run.code}/export/").status_code == 200
    assert browser.get(f"/runs/{run.code}/export/?as=json").status_code == 409
    assert browser.get(f"/runs/{finished(ada).code}/export/?as=exe").status_code == 400


# --- bringing in -----------------------------------------------------------------------------------------------------


def test_lists_as_a_conductor_writes_them_are_read_and_their_workers_chosen(browser: Client, pool: Profile) -> None:
    status, said = post(browser, text=LISTS)
    assert status == 200
    assert "There is no worker “worker 0” here. Steps 1 and 3 go to" in said
    assert "There is no worker “gpt-9” here. Step 2 goes to" in said

    chosen = {"instead-worker 0": "sim-atlas", "instead-gpt-9": "sim-delta"}
    _, address = post(browser, "open", text=LISTS, task="What is it?", **chosen)

    run = Run.objects.get()
    assert run.workflow is not None
    assert address == f"/runs/{run.code}/edit/"
    assert [(step.worker, step.access) for step in run.workflow.steps] == [
        ("sim-atlas", ()),
        ("sim-delta", ("s1",)),
        ("sim-atlas", ("s1", "s2")),
    ]


def test_a_run_is_not_opened_before_every_worker_is_chosen(browser: Client, pool: Profile) -> None:
    status, said = post(browser, "open", text=LISTS, task="What is it?", **{"instead-worker 0": "sim-atlas"})

    assert status == 422
    assert "There is no worker “gpt-9” here." in said
    assert not Run.objects.exists()


def test_a_template_may_name_a_worker_that_is_to_come(browser: Client, pool: Profile) -> None:
    post(browser, "keep", text=LISTS, name="Later", task="What is it?")

    assert [step.worker for step in SavedWorkflow.objects.get().workflow.steps] == ["worker 0", "gpt-9", "worker 0"]


def test_a_file_is_read_like_what_is_pasted(browser: Client, pool: Profile) -> None:
    file = SimpleUploadedFile("lists.txt", b"\xef\xbb\xbf" + LISTS.encode())

    status, said = post(browser, file=file)

    assert status == 200
    assert 'model_id = [0, "gpt-9", 0]' in said


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\xff\xfe{}", "not UTF-8"), (b"x" * 1_000_001, "at most 1,000,000 are read"), (b"", "Paste a workflow")],
)
def test_a_file_that_cannot_be_read_is_refused_clearly(
    browser: Client, pool: Profile, content: bytes, said: str
) -> None:
    status, page = post(browser, file=SimpleUploadedFile("x.json", content))

    assert status == 422
    assert said in page


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Paste a workflow"),
        ("hello", "This text holds no lists"),
        ('{\n "format": 1,,}', "Line 2, column 14"),
        ('{"format": "other"}', "“other”"),
        ('model_id = [0]\nsubtasks = ["a", "b"]\naccess_list = [[], []]', "equally long"),
        (
            'model_id = [0, 0]\nsubtasks = ["a", "b"]\naccess_list = [[1], []]',
            "Step 1 (access_list[0]) reads position 1",
        ),
        ("__import__('os').system('x')", "This text holds no lists"),
        ('{"a":' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_wrong_with_it_is_said_with_its_place(browser: Client, pool: Profile, text: str, said: str) -> None:
    status, page = post(browser, text=text)

    assert status == 422
    assert said in page
    assert not SavedWorkflow.objects.exists()


def test_a_step_that_breaks_a_rule_is_named(browser: Client, pool: Profile) -> None:
    body = json.loads(json.dumps({"format": "conductor-studio/workflow", "version": 1}))
    steps = chain("Do it", "").model_dump(mode="json")
    status, page = post(browser, "keep", text=json.dumps(body | {"workflow": steps}), name="x", task="y")

    assert status == 422
    assert "Step 2 " in page
    assert not SavedWorkflow.objects.exists()


def test_a_template_in_a_file_is_not_opened_with_its_placeholders_empty(browser: Client, pool: Profile) -> None:
    body = {
        "format": "conductor-studio/workflow",
        "version": 1,
        "task": "In {year}",
        "placeholders": True,
        "workflow": chain("Do it").model_dump(mode="json"),
    }

    status, said = post(browser, "open", text=json.dumps(body), task="In {year}")

    assert status == 422
    assert "write what {year} is to be" in said
    assert not Run.objects.exists()


def test_a_hostile_text_is_text(browser: Client, pool: Profile) -> None:
    hostile = "</textarea><script>x</script>{{ 7*7 }}{0.__class__}"
    body = {"format": "conductor-studio/workflow", "version": 1, "name": hostile, "task": hostile}
    flow = chain(hostile).model_dump(mode="json")
    response = browser.post("/workflows/import/", {"text": json.dumps(body | {"workflow": flow}), "action": "read"})

    said = response.content.decode()
    assert "<script>x" not in said
    assert "{{ 7*7 }}" in html.unescape(said)


def test_a_price_nobody_knows_is_asked_about_before_a_run_is_opened(browser: Client, pool: Profile) -> None:
    Worker.objects.update(free=False, input_price_usd=None, output_price_usd=None)
    text = json.dumps({"model_id": ["sim-atlas"], "subtasks": ["a"], "access_list": [[]]})

    status, said = post(browser, "open", text=text, task="t")
    post(browser, "open", text=text, task="t", unknown_price="1")

    assert (status, 'name="unknown_price"' in said) == (422, True)
    assert Run.objects.count() == 1
