"""What the forms of the pool refuse, at the field; and what another price does."""

import socket
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services import ensure_first_person
from apps.workers.models import Conductor, Credential, Fallback, Worker
from tests.echoing import Echo, echoing
from tests.integration.workers.test_admin import WORKER

pytestmark = pytest.mark.django_db

ADD = "/admin/workers/worker/add/"


@pytest.fixture
def browser(db: None, client: Client) -> Client:
    admin: User = ensure_first_person(now=timezone.now())
    client.force_login(admin)
    return client


@pytest.fixture
def echo() -> Iterator[Echo]:
    with echoing() as server:
        yield server


def wrong(browser: Client, **given: Any) -> dict[str, str]:
    """What a form for a new worker says, by field."""
    answer = browser.post(ADD, {**WORKER, **given})
    assert answer.status_code == 200, "it was taken"
    return {name: " ".join(errors) for name, errors in answer.context["adminform"].form.errors.items()}


def make(slug: str, **more: Any) -> Worker:
    return Worker.objects.create(slug=slug, name=slug, model=slug, base_url="http://vllm:8000/v1", **more)


@pytest.mark.parametrize(
    ("field", "given", "why"),
    [
        ("input_price_usd", "-1", "greater than or equal to 0"),
        ("cached_price_usd", "-0.01", "greater than or equal to 0"),
        ("output_price_usd", "much", "Enter a number"),
        ("concurrency", "0", "greater than or equal to 1"),
        ("concurrency", "-3", "greater than or equal to"),
        ("base_url", "", "give the endpoint's address"),
        ("base_url", "not an address", "such as http://vllm:8000/v1"),
        ("base_url", "file:///etc/passwd", "such as http://vllm:8000/v1"),
        ("base_url", "http://169.254.169.254/v1", "always refused"),
        ("base_url", "http://[fe80::1]/v1", "always refused"),
        ("base_url", "http://192.168.1.10/v1", "add its network, such as 192.168.1.10/32, to STUDIO_ENDPOINT_NETWORKS"),
        ("base_url", "http://[::ffff:10.0.0.1]/v1", "STUDIO_ENDPOINT_NETWORKS"),
        ("params", "[1]", "Give the parameters by name"),
        ("params", '{"base_url": "http://169.254.169.254"}', "said elsewhere in this form"),
        ("params", '{"api_key": "sk-0123456789"}', "said elsewhere in this form"),
        ("slug", "No Spaces", "lower-case letters"),
    ],
)
def test_what_could_not_be_called_is_refused_at_its_field(browser: Client, field: str, given: str, why: str) -> None:
    errors = wrong(browser, **{field: given})

    assert why in errors[field]
    assert not Worker.objects.exists()


def test_a_name_that_stands_for_a_private_address_is_refused(
    browser: Client, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *more, **given: real("10.1.2.3", *more, **given))

    assert "10.1.2.3" in wrong(browser, base_url="http://intranet.example.org/v1")["base_url"]
    settings.ENDPOINT_NETWORKS = ["10.1.0.0/16"]
    assert browser.post(ADD, {**WORKER, "base_url": "http://intranet.example.org/v1"}).status_code == 302


def test_a_worker_whose_address_is_no_longer_allowed_can_still_be_switched_off(browser: Client) -> None:
    worker = make("old")
    Worker.objects.update(base_url="http://10.0.0.1/v1")

    given = {**WORKER, "slug": "old", "name": "old", "model": "old", "base_url": "http://10.0.0.1/v1"}
    answer = browser.post(
        f"/admin/workers/worker/{worker.pk}/change/", {k: v for k, v in given.items() if k != "enabled"}
    )

    assert answer.status_code == 302
    worker.refresh_from_db()
    assert worker.enabled is False


def test_a_model_that_its_endpoint_does_not_serve_is_refused_with_those_it_does(browser: Client, echo: Echo) -> None:
    echo.models = ["qwen3", "llama:latest"]

    assert "It serves qwen3, llama:latest." in wrong(browser, base_url=echo.base_url, model="gpt")["model"]
    for number, model in enumerate(("qwen3", "qwen3:ttft=0", "llama")):
        given = {**WORKER, "slug": f"w{number}", "base_url": echo.base_url, "model": model}
        assert browser.post(ADD, given).status_code == 302, model


def test_an_endpoint_that_does_not_say_what_it_serves_is_believed(browser: Client, echo: Echo) -> None:
    assert browser.post(ADD, {**WORKER, "base_url": echo.base_url}).status_code == 302


def test_with_a_key_the_page_asks_nobody(browser: Client, echo: Echo) -> None:
    credential = Credential(label="Lab")
    credential.keep("sk-0123456789abcdef")
    credential.save()

    given = {**WORKER, "base_url": echo.base_url, "credential": credential.pk}
    assert browser.post(ADD, given).status_code == 302
    assert echo.headers == []


# --- fallbacks -----------------------------------------------------------------------------------------------------


def rows(*instead: Worker, known: int = 0, **more: Any) -> dict[str, Any]:
    """The inline's part of a form: who stands in, in order."""
    given: dict[str, Any] = {"fallbacks-TOTAL_FORMS": len(instead), "fallbacks-INITIAL_FORMS": known}
    for number, worker in enumerate(instead):
        given |= {f"fallbacks-{number}-instead": worker.pk, f"fallbacks-{number}-position": number}
    return given | more


def change(browser: Client, worker: Worker, given: Mapping[str, Any]) -> Any:
    named = {"slug": worker.slug, "name": worker.name, "model": worker.model}
    return browser.post(f"/admin/workers/worker/{worker.pk}/change/", {**WORKER, **named, **given})


def faults(answer: Any) -> str:
    [formset] = [each.formset for each in answer.context["inline_admin_formsets"]]
    return str(formset.errors) + str(formset.non_form_errors())


def test_who_stands_in_is_kept_in_order(browser: Client) -> None:
    a, b, c = make("a"), make("b"), make("c")

    assert change(browser, a, rows(c, b)).status_code == 302

    assert list(a.fallbacks.values_list("instead__slug", flat=True)) == ["c", "b"]


def test_nobody_stands_in_for_themselves_not_even_by_way_of_others(browser: Client) -> None:
    a, b, c = make("a"), make("b"), make("c")
    Fallback.objects.create(worker=b, instead=c)
    Fallback.objects.create(worker=c, instead=a)

    assert "would stand in for itself" in faults(change(browser, a, rows(b)))
    assert "would stand in for itself" in faults(change(browser, a, rows(a)))
    assert not a.fallbacks.exists()


def test_a_cycle_that_the_same_form_takes_apart_is_none(browser: Client) -> None:
    a, b, c = make("a"), make("b"), make("c")
    known = Fallback.objects.create(worker=a, instead=b)

    given = rows(c, known=1) | {"fallbacks-0-id": known.pk, "fallbacks-0-worker": a.pk}
    assert change(browser, a, given).status_code == 302
    assert change(browser, b, rows(a)).status_code == 302


def test_the_same_worker_stands_in_once(browser: Client) -> None:
    a, b = make("a"), make("b")

    assert "duplicate" in faults(change(browser, a, rows(b, b)))


def test_an_embedding_model_stands_in_for_nobody(browser: Client) -> None:
    a, vectors = make("a"), make("vectors", embeds=True)

    assert "valid choice" in faults(change(browser, a, rows(vectors)))


# --- prices --------------------------------------------------------------------------------------------------------


def test_another_price_is_another_version_and_nothing_else_is(browser: Client) -> None:
    browser.post(ADD, {**WORKER, "input_price_usd": "1", "output_price_usd": "2"})
    worker = Worker.objects.get()
    assert (worker.price_version, worker.price_from) == (1, "entered by admin")

    same = {**WORKER, "input_price_usd": "1.0", "output_price_usd": "2.000000"}
    steps = [
        (same, 1),
        ({**same, "name": "Other"}, 1),
        ({**same, "output_price_usd": "3"}, 2),
        ({**same, "free": "on"}, 3),
    ]
    for given, version in steps:
        assert browser.post(f"/admin/workers/worker/{worker.pk}/change/", given).status_code == 302
        worker.refresh_from_db()
        assert worker.price_version == version


def test_the_price_of_a_known_model_is_said_to_be_the_catalogue_s_and_differences_are_shown(browser: Client) -> None:
    given = {**WORKER, "transport": "litellm", "base_url": "", "model": "openai/gpt-4o-mini"}
    listed = {"input_price_usd": "0.15", "cached_price_usd": "0.075", "output_price_usd": "0.6"}
    browser.post(ADD, given | listed)
    worker = Worker.objects.get()
    assert worker.price_from == "litellm's catalogue"

    browser.post(f"/admin/workers/worker/{worker.pk}/change/", given | listed | {"output_price_usd": "0.7"})
    page = browser.get(f"/admin/workers/worker/{worker.pk}/change/").content.decode()

    assert "entered by admin, version 2" in page
    assert "says $0.15 in, $0.075 cached, $0.60 out" in page


def test_an_unknown_price_stays_unknown(browser: Client) -> None:
    browser.post(ADD, WORKER)

    assert Worker.objects.get().price_from == ""
    assert "unknown" in browser.get("/admin/workers/worker/").content.decode()


def test_a_conductor_s_form_checks_the_same(browser: Client) -> None:
    fields = {"encoding": "lists", "attempts": 3, "examples": "general", "prompt_version": "1"}

    answer = browser.post(
        "/admin/workers/conductor/add/", {**WORKER, **fields, "base_url": "http://169.254.169.254/v1"}
    )

    assert "always refused" in str(answer.context["adminform"].form.errors["base_url"])
    assert not Conductor.objects.exists()
