"""Tags and flow rules of the whole studio in the admin pages, and the tags of a model."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Project, User
from apps.accounts.services import ensure_first_person
from apps.audit.log import read
from apps.workers.models import FlowRule, Tag, Worker
from apps.workers.rules import STUDIO_TRAIL
from apps.workers.services import TRAIL
from tests.integration.workers.test_admin import WORKER, save, texts

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> User:
    return ensure_first_person(now=timezone.now())


@pytest.fixture
def browser(admin: User, client: Client) -> Client:
    client.force_login(admin)
    return client


@pytest.fixture
def tags(browser: Client) -> list[str]:
    names = ["client-confidential", "eu-hosted"]
    for name in names:
        save(browser, "tag", {"name": name, "words": "as the contract says"})
    return names


def rule(**changes: Any) -> dict[str, Any]:
    return {"carries": "client-confidential", "needs": "eu-hosted", "words": "", "enabled": "on", **changes}


def test_tags_and_rules_of_the_studio_leave_events(browser: Client, tags: list[str]) -> None:
    save(browser, "flowrule", rule())
    made = FlowRule.objects.get()
    save(browser, "flowrule", rule(enabled=""), made.pk)

    made.refresh_from_db()
    assert (made.project, made.enabled, made.version) == (None, False, 2)
    events = read(STUDIO_TRAIL)
    assert [event.verb for event in events] == ["tag.added", "tag.added", "rule.added", "rule.changed"]
    assert events[3].data["fields"] == ["enabled"]
    assert texts(events[3]) == {"before": {"enabled": True}, "after": {"enabled": False}}


@pytest.mark.parametrize("given", [{"name": "Two Words"}, {"name": "eu-hosted"}, {"name": ""}])
def test_a_name_that_is_none_or_taken_is_refused(browser: Client, tags: list[str], given: dict[str, str]) -> None:
    assert browser.post("/admin/workers/tag/add/", given).status_code == 200
    assert Tag.objects.count() == 2


def test_the_same_rule_is_made_once(browser: Client, tags: list[str]) -> None:
    save(browser, "flowrule", rule())

    again = browser.post("/admin/workers/flowrule/add/", rule())

    assert "There is a rule already that says the same." in again.content.decode()
    assert FlowRule.objects.count() == 1


def test_neither_is_deleted_and_those_of_projects_are_not_here(browser: Client, tags: list[str], admin: User) -> None:
    theirs = FlowRule.objects.create(project=Project.objects.get(), carries="a", needs="b", created_at=timezone.now())
    tag = Tag.objects.get(name="eu-hosted")

    assert browser.post(f"/admin/workers/tag/{tag.pk}/delete/", {"post": "yes"}).status_code == 403
    assert browser.get(f"/admin/workers/flowrule/{theirs.pk}/change/").status_code == 302
    assert "client-confidential" in browser.get("/admin/workers/tag/").content.decode()
    assert browser.get("/admin/workers/flowrule/").status_code == 200


def test_a_worker_gets_its_tags_and_keeps_those_that_nobody_knows_any_more(browser: Client, tags: list[str]) -> None:
    save(browser, "worker", {**WORKER, "tags": ["eu-hosted"]})
    worker = Worker.objects.get()
    Worker.objects.update(tags=["eu-hosted", "long-gone"])

    page = browser.get(f"/admin/workers/worker/{worker.pk}/change/").content.decode()
    save(browser, "worker", {**WORKER, "name": "Qwen 3", "tags": ["eu-hosted", "long-gone"]}, worker.pk)

    worker.refresh_from_db()
    assert "eu-hosted: as the contract says" in page
    assert worker.tags == ["eu-hosted", "long-gone"]
    assert texts(read(TRAIL)[0])["after"]["tags"] == ["eu-hosted"]
    assert browser.post("/admin/workers/worker/add/", {**WORKER, "slug": "x", "tags": ["nothing"]}).status_code == 200
