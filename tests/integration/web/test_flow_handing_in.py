"""What is handed in with tags and files: a task, a plan again, a template that is filled in."""

import html
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.accounts.models import User
from apps.runs.models import Run
from apps.runs.templates import keep_template
from apps.workers.models import FlowRule, Profile, Tag
from apps.workflows.models import SavedWorkflow
from tests.factories import NOON, chain, make_pool


def words(page: bytes) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page.decode())).split())


@pytest.fixture
def pool(admin: User) -> Profile:
    return make_pool()


def filled(**fields: Any) -> dict[str, Any]:
    return {"task": "What does it say?", "profile": "studio-ultra", "submit_key": "k" * 32, **fields}


def file(name: str, body: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, body, content_type="text/plain")


def test_a_task_is_handed_in_with_tags_and_files(browser: Client, rule: FlowRule, pool: Profile) -> None:
    given = filled(
        tags=["trusted"], file_tags=["secret"], attachments=[file("a/offer.txt", b"\xef\xbb\xbf14 EUR\r\nnet")]
    )

    assert browser.post("/", given).status_code == 302

    run = Run.objects.get()
    assert run.title == "What does it say?"
    assert re.search(r"^Attachment “offer.txt”, between two lines of (\S+):\n\1\n14 EUR\nnet\n\1$", run.task, re.M)
    assert run.setup["tags"] == ["trusted"]
    assert run.setup["attachments"] == [{"name": "offer.txt", "chars": 10, "tags": ["secret"]}]


def test_the_same_pressed_twice_is_one_run_and_with_another_file_another(
    browser: Client, rule: FlowRule, pool: Profile
) -> None:
    for body in (b"one", b"one", b"two"):
        browser.post("/", filled(attachments=[file("a.txt", body)]))

    assert Run.objects.count() == 2


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([file("cat.png", b"\x89PNG\xff\xfe")], "“cat.png” is no text in UTF-8."),
        ([file("zero.txt", b"a\0b")], "“zero.txt” is no text"),
        ([file("blank.txt", b" \n ")], "There is nothing in “blank.txt”."),
        ([file("long.txt", b"x" * 1_000_001)], "“long.txt” has 1,000,001 bytes; at most 1,000,000 can be attached."),
        ([file(f"{number}.txt", b"x") for number in range(11)], "At most 10 files can be attached; 11 were."),
        ([file("much.txt", b"x" * 150_000)], "This task has 150,"),
    ],
)
def test_a_file_that_cannot_be_attached_is_named_and_nothing_typed_is_lost(
    browser: Client, pool: Profile, files: list[SimpleUploadedFile], message: str
) -> None:
    answer = browser.post("/", filled(attachments=files))

    assert answer.status_code == 422
    page = words(answer.content)
    assert message in page
    assert "What does it say?" in page
    assert not Run.objects.exists()


def test_files_that_were_chosen_are_asked_for_again_when_something_else_is_wrong(
    browser: Client, pool: Profile
) -> None:
    answer = browser.post("/", filled(max_steps="many", attachments=[file("a.txt", b"one")]))

    assert answer.status_code == 422
    assert "Attach the files again: a page cannot keep them." in words(answer.content)


def test_a_tag_that_there_is_not_is_refused_at_the_tags(browser: Client, rule: FlowRule, pool: Profile) -> None:
    answer = browser.post("/", filled(tags=["made-up"]))

    assert answer.status_code == 422
    assert "“made-up” is no tag of Ada." in words(answer.content)


def test_the_tags_of_the_project_are_offered_and_no_others(
    browser: Client, bob: User, rule: FlowRule, pool: Profile
) -> None:
    Tag.objects.create(project=bob.home_project, name="bobs-own", created_at=NOON)
    Tag.objects.create(name="of-the-studio", created_at=NOON)

    page = browser.get("/").content.decode()

    assert re.findall(r'name="tags" value="([^"]*)"', page) == ["of-the-studio", "secret"]


def test_planned_again_the_task_carries_the_same(browser: Client, held: Run) -> None:
    browser.post(f"/runs/{held.code}/rerun/", {"mode": "plan", "submit_key": "x" * 32})

    again = Run.objects.exclude(pk=held.pk).get()
    assert again.setup["tags"] == ["secret"]


def test_a_template_made_from_a_run_carries_what_its_task_did(browser: Client, held: Run) -> None:
    kept = browser.post(f"/runs/{held.code}/template/", {"name": "Mine", "task": "What of {region}?"})
    assert kept.status_code == 302, words(kept.content)[:600]
    profile = {"profile": "studio-ultra", "fill-region": "the North", "action": "start", "submit_key": "y" * 32}
    started = browser.post(kept["Location"], profile)

    assert started.status_code == 302, words(started.content)[:600]
    run = Run.objects.exclude(pk=held.pk).get()
    assert run.setup["tags"] == ["secret"]
    assert run.setup["told"] == [[]]


@pytest.fixture
def template(admin: User, rule: FlowRule, pool: Profile) -> SavedWorkflow:
    return keep_template(name="Mine", task="What of {region}?", workflow=chain("Compute it"), by=admin, now=NOON)


def started_from(template: SavedWorkflow, browser: Client, **fields: Any) -> Any:
    given = {"fill-region": "the North", "profile": "studio-ultra", "action": "start", "submit_key": "y" * 32}
    return browser.post(f"/workflows/{template.pk}/", given | fields)


def test_what_is_filled_into_a_template_can_be_tagged(browser: Client, template: SavedWorkflow) -> None:
    page = browser.get(f"/workflows/{template.pk}/").content.decode()
    assert re.findall(r'name="tags" value="([^"]*)"', page) == ["secret"]
    assert "What you fill in is" in page

    assert started_from(template, browser, tags=["secret"]).status_code == 302
    assert Run.objects.get().setup["tags"] == ["secret"]
    assert started_from(template, browser).status_code == 302
    assert Run.objects.latest("pk").setup["tags"] == [], "tagged otherwise, it is another run"


def test_a_templates_own_tags_are_carried_whatever_is_ticked(browser: Client, template: SavedWorkflow) -> None:
    SavedWorkflow.objects.update(tags=["secret"])

    page = browser.get(f"/workflows/{template.pk}/").content
    assert "Carried in any case, since the template does: secret" in words(page)
    assert b'name="tags"' not in page
    assert started_from(template, browser).status_code == 302
    assert Run.objects.get().setup["tags"] == ["secret"]


def test_a_tag_that_there_is_not_is_refused_where_a_template_is_filled_in(
    browser: Client, template: SavedWorkflow
) -> None:
    answer = started_from(template, browser, tags=["made-up"])

    assert answer.status_code == 422
    assert "“made-up” is no tag of Ada." in words(answer.content)
    assert not Run.objects.exists()


def test_what_it_carries_stands_beside_the_task(browser: Client, rule: FlowRule, pool: Profile) -> None:
    browser.post("/", filled(tags=["trusted"], file_tags=["secret"], attachments=[file("offer.txt", b"14 EUR")]))

    page = words(browser.get(f"/runs/{Run.objects.get().code}/panel/").content)

    assert "The task is trusted" in page
    assert "Attached offer.txt 6 characters secret" in page
