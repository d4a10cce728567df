"""What an admin does to the pool at /admin/ is an event, and a key that is entered there is never seen again."""

import html
import json
import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Project, User
from apps.accounts.services import ensure_first_person
from apps.audit.log import Read, verify
from apps.audit.models import Event, Payload
from apps.workers import vault
from apps.workers.models import Conductor, Credential, Profile, Worker
from apps.workers.services import TRAIL, open_endpoint
from tests.factories import told_in

pytestmark = pytest.mark.django_db

CANARY = "sk-canary-0123456789abcdefWXYZ"
OTHER = "another-canary-key-98765432QRST"
WORKER: Mapping[str, Any] = {
    "fallbacks-TOTAL_FORMS": 0,
    "fallbacks-INITIAL_FORMS": 0,
    "slug": "qwen",
    "name": "Qwen",
    "transport": "wire",
    "base_url": "http://vllm:8000/v1",
    "model": "qwen3",
    "params": "{}",
    "enabled": "on",
    "connect_timeout_s": 10,
    "first_token_timeout_s": 120,
    "between_tokens_timeout_s": 60,
    "whole_timeout_s": 1800,
}
PROFILE: Mapping[str, Any] = {
    "slug": "mine",
    "name": "Mine",
    "planner": "direct",
    "max_steps": 5,
    "tries": 3,
    "position": 0,
    "enabled": "on",
    "rounds": 1,
    "nesting": 0,
    "options": "{}",
    "initial-options": "{}",  # as the form sends it, whose default is made anew each time
}


@pytest.fixture
def admin() -> User:
    return ensure_first_person(now=timezone.now())


@pytest.fixture
def browser(admin: User, client: Client) -> Client:
    client.force_login(admin)
    return client


def save(browser: Client, kind: str, given: Mapping[str, Any], pk: int | None = None) -> None:
    path = f"/admin/workers/{kind}/{pk}/change/" if pk else f"/admin/workers/{kind}/add/"
    response = browser.post(path, given)
    assert response.status_code == 302, complaints(response)


def complaints(response: Any) -> list[str]:
    """What a form says is wrong, by field."""
    context = response.context
    forms = [context["adminform"].form, *(form for each in context["inline_admin_formsets"] for form in each.formset)]
    return [str(form.errors.as_data()) for form in forms if form.errors]


def delete(browser: Client, kind: str, pk: int) -> None:
    assert browser.post(f"/admin/workers/{kind}/{pk}/delete/", {"post": "yes"}).status_code == 302


def told() -> list[Read]:
    return told_in(TRAIL)


def texts(event: Read) -> dict[str, Any]:
    return {name: json.loads(value or "null") for name, value in event.texts.items()}


def test_adding_changing_and_removing_a_worker_are_events(browser: Client, admin: User) -> None:
    save(browser, "worker", WORKER)
    worker = Worker.objects.get()
    save(browser, "worker", {**WORKER, "name": "Qwen 3", "input_price_usd": "0.50"}, worker.pk)
    save(browser, "worker", {**WORKER, "name": "Qwen 3", "input_price_usd": "0.5"}, worker.pk)
    delete(browser, "worker", worker.pk)

    added, changed, removed = told()
    assert [added.verb, changed.verb, removed.verb] == ["worker.added", "worker.changed", "worker.removed"]
    assert added.actor == admin.actor
    assert added.data == removed.data == {"worker": "qwen"}
    assert texts(added)["after"]["base_url"] == "http://vllm:8000/v1"
    assert changed.data == {"worker": "qwen", "fields": ["input_price_usd", "name", "price_from", "price_version"]}
    assert texts(changed) == {
        "before": {"name": "Qwen", "input_price_usd": None, "price_from": "", "price_version": 1},
        "after": {
            "name": "Qwen 3",
            "input_price_usd": "0.500000",
            "price_from": "entered by admin",
            "price_version": 2,
        },
    }
    assert texts(removed)["before"]["name"] == "Qwen 3"
    assert {event.subject for event in Event.objects.all() if event.verb.startswith("worker")} == {
        f"worker:{worker.pk}"
    }
    assert verify(TRAIL).first_break is None


def test_removing_several_at_once_leaves_an_event_for_each(browser: Client) -> None:
    save(browser, "worker", WORKER)
    save(browser, "worker", {**WORKER, "slug": "qwen-2"})
    chosen = [str(pk) for pk in Worker.objects.values_list("pk", flat=True)]

    browser.post("/admin/workers/worker/", {"action": "delete_selected", "_selected_action": chosen, "post": "yes"})

    assert not Worker.objects.exists()
    assert sorted(event.data["worker"] for event in told() if event.verb == "worker.removed") == ["qwen", "qwen-2"]


def test_what_goes_along_with_a_project_is_told_of_too(browser: Client) -> None:
    project = Project.objects.create(slug="lab", name="Lab", created_at=timezone.now())
    save(browser, "worker", {**WORKER, "project": project.pk})

    assert browser.post(f"/admin/accounts/project/{project.pk}/delete/", {"post": "yes"}).status_code == 302

    assert [event.verb for event in told()] == ["worker.added", "worker.removed"]
    assert told_in("accounts")[-1].verb == "project.removed"


def test_the_change_goes_where_its_event_cannot_be_written(browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("no log")

    monkeypatch.setattr("apps.accounts.trailed.log.append", refuse)

    with pytest.raises(RuntimeError, match="no log"):
        browser.post("/admin/workers/worker/add/", WORKER)

    assert not Worker.objects.exists()


def test_a_conductor_leaves_events(browser: Client) -> None:
    fields = {"encoding": "lists", "attempts": 3, "examples": "general", "prompt_version": "1"}
    save(browser, "conductor", {**WORKER, **fields, "slug": "planner"})
    save(browser, "conductor", {**WORKER, **fields, "slug": "planner", "encoding": "json"}, Conductor.objects.get().pk)

    assert [event.verb for event in told()] == ["conductor.added", "conductor.changed"]
    assert told()[-1].data == {"conductor": "planner", "fields": ["encoding"]}


def test_a_profile_gets_a_version_with_every_change_and_with_nothing_else(browser: Client) -> None:
    save(browser, "worker", WORKER)
    save(browser, "profile", PROFILE)
    profile = Profile.objects.get()
    save(browser, "profile", PROFILE, profile.pk)
    assert Profile.objects.get().version == 1

    save(browser, "profile", {**PROFILE, "workers": [Worker.objects.get().pk]}, profile.pk)

    assert Profile.objects.get().version == 2
    assert told()[-1].data == {"profile": "mine", "fields": ["version", "workers"]}
    assert texts(told()[-1]) == {
        "before": {"version": 1, "workers": []},
        "after": {"version": 2, "workers": ["qwen"]},
    }


def test_an_embedding_model_is_no_worker_of_a_profile(browser: Client) -> None:
    save(browser, "worker", {**WORKER, "embeds": "on"})

    answer = browser.post("/admin/workers/profile/add/", {**PROFILE, "workers": [Worker.objects.get().pk]})

    assert "is not one of the available choices" in answer.content.decode()
    assert not Profile.objects.exists()


def test_a_new_profile_comes_last(browser: Client) -> None:
    assert browser.get("/admin/workers/profile/add/").context["adminform"].form.initial["position"] == 0
    save(browser, "profile", {**PROFILE, "position": 4})

    assert browser.get("/admin/workers/profile/add/").context["adminform"].form.initial["position"] == 5


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"planner": "conductor"}, "“conductor” asks a conductor: choose one"),
        ({"planner": "trinity"}, "“trinity” asks a conductor: choose one"),
        ({"fallback": "conductor"}, "“conductor” asks a conductor: choose one"),
        ({"nesting": 1}, "only where there is one"),
        ({"options": "[1]"}, "Give the options by name"),
        ({"rounds": 9}, "less than or equal to 5"),
    ],
)
def test_a_profile_that_could_not_run_is_refused_at_the_field(browser: Client, given: dict[str, Any], why: str) -> None:
    page = browser.post("/admin/workers/profile/add/", {**PROFILE, **given}).content.decode()

    assert why in html.unescape(page)
    assert not Profile.objects.exists()


def test_the_planner_is_one_of_those_that_there_are(browser: Client) -> None:
    page = browser.get("/admin/workers/profile/add/").content.decode()
    refused = browser.post("/admin/workers/profile/add/", {**PROFILE, "planner": "sved"})

    assert '<select name="planner"' in page
    assert "Select a valid choice" in refused.content.decode()


def test_the_form_takes_a_host_of_one_word_and_says_what_is_wrong_with_others(browser: Client) -> None:
    save(browser, "worker", WORKER)

    refused = browser.post("/admin/workers/worker/add/", {**WORKER, "slug": "b", "base_url": "http://me:pw@vllm/v1"})

    assert "Leave names and passwords out of the address" in refused.content.decode()


def test_an_admin_who_decides_about_a_worker_that_is_away_is_heeded(browser: Client) -> None:
    save(browser, "worker", WORKER)
    worker = Worker.objects.get()
    Worker.objects.update(enabled=False, away=True)

    save(browser, "worker", WORKER, worker.pk)

    worker.refresh_from_db()
    assert (worker.enabled, worker.away) == (True, False)


# --- keys ----------------------------------------------------------------------------------------------------------


def everything_kept() -> str:
    """All that the events, the texts they name and Django's own list of changes say."""
    rows = [Event.objects.values(), Payload.objects.values(), LogEntry.objects.values(), Credential.objects.values()]
    return "".join(str(list(each)) for each in rows)


def test_a_key_is_seen_nowhere_once_it_was_entered(
    browser: Client, caplog: pytest.LogCaptureFixture, settings: LazySettings
) -> None:
    caplog.set_level(logging.DEBUG)
    pages = []
    save(browser, "credential", {"label": "Lab", "key": CANARY})
    credential = Credential.objects.get()
    save(browser, "credential", {"label": "Lab", "key": OTHER}, credential.pk)
    save(browser, "credential", {"label": "Lab 2", "key": ""}, credential.pk)
    save(browser, "worker", {**WORKER, "credential": credential.pk})
    pages += [
        browser.post("/admin/workers/credential/add/", {"label": "", "key": CANARY}),
        browser.post("/admin/workers/credential/add/", {"label": "Lab", "key": f"{CANARY}\nsecond line"}),
        browser.get("/admin/workers/credential/"),
        browser.get(f"/admin/workers/credential/{credential.pk}/change/"),
        browser.get(f"/admin/workers/credential/{credential.pk}/history/"),
        browser.get(f"/admin/workers/credential/{credential.pk}/delete/"),
        browser.get("/admin/workers/worker/"),
        browser.get("/admin/"),
    ]
    settings.READ_VAULT_KEYS = list
    pages.append(browser.post("/admin/workers/credential/add/", {"label": "Locked", "key": CANARY}))

    seen = "".join(page.content.decode() for page in pages) + caplog.text + everything_kept()
    assert [page.status_code for page in pages] == [200] * 8 + [503]
    assert CANARY not in seen
    assert OTHER not in seen
    assert credential.sealed not in str(told())
    assert [event.verb for event in told()[:3]] == ["credential.added", "credential.changed", "credential.changed"]
    assert told()[1].data == {"credential": credential.pk, "fields": ["key", "last_four", "version"]}
    assert texts(told()[1]) == {
        "before": {"last_four": "WXYZ", "version": 1},
        "after": {"last_four": "QRST", "version": 2},
    }
    assert told()[2].data["fields"] == ["label"]


def test_a_key_that_stands_in_a_parameter_is_taken_out_of_the_event(browser: Client) -> None:
    hidden = {"azure_ad_token": "plain-canary", "extra_headers": {"Authorization": "Bearer canary"}, "max_tokens": 5}
    save(browser, "worker", {**WORKER, "params": json.dumps({**hidden, "user": CANARY})})

    assert texts(told()[0])["after"]["params"] == {
        "azure_ad_token": "[removed]",
        "extra_headers": {"Authorization": "[removed]"},
        "max_tokens": 5,
        "user": "[removed]",
    }


def test_the_opening_of_a_key_is_noted_at_most_once_a_minute() -> None:
    credential = Credential(label="Lab")
    credential.keep(CANARY)
    credential.save()
    frozen = Worker.objects.create(slug="qwen", name="Qwen", model="qwen3", credential=credential).freeze()

    def used() -> Any:
        assert open_endpoint(frozen).api_key == CANARY
        credential.refresh_from_db()
        return credential.last_used_at

    first = used()
    assert first is not None
    assert used() == first
    Credential.objects.update(last_used_at=first - timedelta(seconds=61))
    assert used() > first - timedelta(seconds=1)
    assert vault.unseal(credential.sealed) == CANARY
