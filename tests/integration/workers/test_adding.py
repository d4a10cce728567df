"""Adding a worker: from the catalogue, by an address, with a key of the environment; nothing of which shows a key."""

import html
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services import ensure_first_person
from apps.audit.log import read
from apps.workers import catalogue, listing, offers, tasks
from apps.workers.models import CalledModel, Credential, Worker
from apps.workers.services import TRAIL, open_endpoint
from studio import env
from tests.echoing import Echo, echoing
from tests.simulators import Simulator

pytestmark = pytest.mark.django_db

NEW = "/admin/workers/worker/new/"
CANARY = "sk-canary-0123456789abcdefWXYZ"


@pytest.fixture
def admin(db: None, redis_url: str) -> User:
    listing._client.cache_clear()
    return ensure_first_person(now=timezone.now())


@pytest.fixture
def browser(admin: User, client: Client) -> Client:
    client.force_login(admin)
    return client


@pytest.fixture
def echo() -> Iterator[Echo]:
    with echoing() as server:
        yield server


@pytest.fixture
def keys(settings: LazySettings) -> dict[str, str]:
    """What the environment holds."""
    held: dict[str, str] = {}
    settings.READ_PROVIDER_KEY = held.get
    return held


def shown(response: Any) -> dict[str, Any]:
    """The fields of a form as they are filled in."""
    form = response.context["form"]
    return {name: form[name].value() for name in form.fields}


def agreed(response: Any, **changes: Any) -> dict[str, Any]:
    """What a browser sends that changes nothing but `changes`."""
    return {name: value for name, value in (shown(response) | changes).items() if value not in (None, False)}


def words(response: Any) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode())).split())


# --- from the catalogue --------------------------------------------------------------------------------------------


def test_a_model_of_the_catalogue_is_found_filled_in_and_added(browser: Client) -> None:
    found = browser.get(NEW + "models/", {"q": "gpt-4o", "provider": "openai"})
    assert "?catalogue=gpt-4o-mini" in found.content.decode()

    form = browser.get(NEW + "worker/", {"catalogue": "gpt-4o-mini"})
    entry = catalogue.entries()["gpt-4o-mini"]
    assert shown(form)["base_url"] == "https://api.openai.com/v1"
    assert shown(form)["input_price_usd"] == entry.price.input_usd
    assert (shown(form)["context_window"], shown(form)["max_output_tokens"]) == (entry.window, entry.longest_reply)

    answer = browser.post(NEW + "worker/", agreed(form, strengths="quick", key=CANARY, label="Lab"))

    worker = Worker.objects.get()
    assert answer["Location"] == f"/admin/workers/worker/{worker.pk}/change/"
    assert (worker.slug, worker.transport, worker.model) == ("gpt-4o-mini", "wire", "gpt-4o-mini")
    assert (worker.price_from, worker.price_version, worker.strengths) == (offers.FROM_CATALOGUE, 1, "quick")
    assert worker.credential is not None
    assert open_endpoint(worker.freeze()).api_key == CANARY
    assert [event.verb for event in read(TRAIL)] == ["credential.added", "worker.added"]
    assert CANARY not in str(read(TRAIL))


def test_a_provider_that_does_not_speak_the_protocol_is_called_through_litellm(browser: Client) -> None:
    form = browser.get(NEW + "worker/", {"catalogue": "claude-haiku-4-5"})

    assert shown(form)["transport"] == "litellm"
    assert shown(form)["model"] == "anthropic/claude-haiku-4-5"
    assert shown(form)["base_url"] == ""


def test_another_price_than_the_catalogue_s_says_who_entered_it(browser: Client) -> None:
    form = browser.get(NEW + "worker/", {"catalogue": "claude-haiku-4-5"})

    browser.post(NEW + "worker/", agreed(form, input_price_usd="0.9"))

    worker = Worker.objects.get()
    assert (worker.input_price_usd, worker.price_from) == (Decimal("0.9"), "entered by admin")


def test_a_second_worker_of_a_model_gets_a_short_name_of_its_own(browser: Client) -> None:
    for _ in range(3):
        browser.post(NEW + "worker/", agreed(browser.get(NEW + "worker/", {"catalogue": "claude-haiku-4-5"})))

    assert sorted(Worker.objects.values_list("slug", flat=True)) == [
        "claude-haiku-4-5",
        "claude-haiku-4-5-2",
        "claude-haiku-4-5-3",
    ]


def test_htmx_gets_the_part_and_a_browser_without_it_the_page(browser: Client) -> None:
    part = browser.get(NEW + "models/", {"q": "gpt-4o"}, headers={"HX-Request": "true"})
    page = browser.get(NEW + "models/", {"q": "gpt-4o"})

    assert "<html" not in part.content.decode()
    assert "<html" in page.content.decode()
    assert "gpt-4o-mini" in part.content.decode()
    assert "no such model" in words(browser.get(NEW + "models/", {"q": "no\0such-thing"}))


@pytest.mark.parametrize("entry", [catalogue.entries()[name] for name in ("gpt-4o", "gemini/gemini-2.5-flash")])
def test_every_offer_is_a_worker_that_could_be_saved(db: None, entry: catalogue.Entry) -> None:
    Worker(**offers.from_catalogue(entry)).full_clean()


def test_most_of_the_catalogue_makes_sound_workers(db: None) -> None:
    for entry in list(catalogue.entries().values())[::15]:
        Worker(**offers.from_catalogue(entry)).full_clean()


# --- by an address -------------------------------------------------------------------------------------------------


def test_an_endpoint_without_a_key_is_asked_at_once_and_its_model_added(browser: Client, simulator: Simulator) -> None:
    asked = browser.post(NEW + "address/", {"base_url": simulator.base_url + "/"})
    page = browser.get(asked["Location"])
    assert "It serves" in words(page)
    [chosen] = re.findall(r'href="([^"]+model=sim-birch)"', page.content.decode())

    form = browser.get(html.unescape(chosen))
    assert shown(form)["free"] is True
    browser.post(html.unescape(chosen), agreed(form))

    worker = Worker.objects.get()
    assert (worker.slug, worker.base_url, worker.free, worker.credential) == (
        "sim-birch",
        simulator.base_url,
        True,
        None,
    )


def test_where_a_key_is_wanted_a_driver_asks_and_the_message_names_the_asking_alone(
    browser: Client, echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    credential = Credential(label="Lab")
    credential.keep(CANARY)
    credential.save()
    sent: list[tuple[Any, ...]] = []
    monkeypatch.setattr(tasks.list_models, "delay", lambda *given: sent.append(given))
    echo.models = ["qwen3", f"echoes {CANARY}"]

    asked = browser.post(NEW + "address/", {"base_url": echo.base_url, "credential": credential.pk})
    waiting = browser.get(asked["Location"])
    assert "A driver asks" in words(waiting)
    assert "hx-get" in waiting.content.decode()
    assert echo.headers == []
    [(code,)] = sent
    tasks.list_models(code)
    page = browser.get(asked["Location"])

    assert echo.keys == [f"Bearer {CANARY}"]
    assert f"model=qwen3&amp;credential={credential.pk}" in page.content.decode()
    kept = listing._client().get(f"studio:listing:{code}")
    assert CANARY not in page.content.decode() + str(kept) + str(sent)


def test_an_endpoint_that_refuses_says_so_without_the_key(browser: Client, echo: Echo) -> None:
    credential = Credential(label="Lab")
    credential.keep(CANARY)
    credential.save()
    code = listing.ask(echo.base_url, credential.pk)

    listing.carry_out(code)
    page = browser.get(f"{NEW}listing/{code}/")

    assert "It did not say: HTTP 401" in words(page)
    assert "[removed]" in words(page)
    assert CANARY not in page.content.decode()


def test_a_listing_nobody_asked_for_leads_back(browser: Client) -> None:
    answer = browser.get(f"{NEW}listing/no-such-code/", follow=True)

    assert "no longer kept" in words(answer)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://169.254.169.254/v1", "always refused"),
        ("http://10.0.0.1/v1", "STUDIO_ENDPOINT_NETWORKS"),
        ("ftp://example.org", "such as http://vllm:8000/v1"),
        ("http://user:pw@example.org/v1", "Leave names and passwords out"),
    ],
)
def test_an_address_where_no_model_may_be_asked_is_refused_at_the_field(browser: Client, url: str, why: str) -> None:
    for path, given in (("address/", {}), ("worker/", {"name": "a", "slug": "a", "model": "m", "transport": "wire"})):
        answer = browser.post(NEW + path, {"base_url": url, **given})
        form = answer.context["address" if path == "address/" else "form"]
        assert why in str(form.errors["base_url"]), path
    assert not Worker.objects.exists()


def test_redis_away_is_said(browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> str:
        raise OSError("connection refused")

    monkeypatch.setattr(listing, "ask", away)

    answer = browser.post(NEW + "address/", {"base_url": "http://127.0.0.1:9/v1"}, follow=True)

    assert "Redis does not answer" in words(answer)


# --- with a key of the environment ---------------------------------------------------------------------------------


def test_a_key_of_the_environment_becomes_a_credential_and_workers_with_one_yes(
    browser: Client, keys: dict[str, str]
) -> None:
    keys["OPENAI_API_KEY"] = CANARY
    page = browser.get(NEW)
    models = re.findall(r'name="model" value="([^"]+)"', page.content.decode())
    assert "Your OpenAI key is here" in words(page)
    assert 1 <= len(models) <= 3

    browser.post(NEW + "keys/OPENAI_API_KEY/", {"model": models[:2]})

    credential = Credential.objects.get()
    assert credential.label == "OpenAI, from OPENAI_API_KEY"
    assert sorted(Worker.objects.values_list("model", flat=True)) == sorted(models[:2])
    for worker in Worker.objects.all():
        assert open_endpoint(worker.freeze()).api_key == CANARY
        assert worker.price_from == offers.FROM_CATALOGUE
    again = browser.get(NEW)
    assert "Your OpenAI key is here" not in words(again)
    dashboard = browser.get("/admin/")
    assert CANARY not in page.content.decode() + again.content.decode() + dashboard.content.decode() + str(read(TRAIL))


def test_a_provider_without_models_in_the_catalogue_is_asked_for_them(
    browser: Client, keys: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(tasks.list_models, "delay", sent.append)
    keys["OPENROUTER_API_KEY"] = CANARY

    answer = browser.post(NEW + "keys/OPENROUTER_API_KEY/")

    assert "/new/listing/" in answer["Location"]
    assert listing.read(sent[0]).credential == Credential.objects.get().pk


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "SECRET_KEY", "PATH"])
def test_no_other_variable_is_ever_read(browser: Client, keys: dict[str, str], variable: str) -> None:
    keys.update({"SECRET_KEY": "a-secret-of-the-studio", "PATH": "/usr/bin:/usr/sbin"})

    browser.post(f"{NEW}keys/{variable}/", {"model": ["gpt-4o"]})

    assert not Credential.objects.exists()
    assert not Worker.objects.exists()


def test_keys_are_found_in_variables_and_in_files(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    kept = tmp_path / "key"
    kept.write_text(f"{CANARY}\n")
    monkeypatch.setenv("OPENAI_API_KEY_FILE", str(kept))
    assert env.provider_key("OPENAI_API_KEY") == CANARY

    for nothing in ("changeme", "two\nlines of a key", "schlüssel-mit-umlaut", " " * 20):
        kept.write_text(nothing)
        assert env.provider_key("OPENAI_API_KEY") is None
    monkeypatch.setenv("OPENAI_API_KEY_FILE", str(tmp_path / "gone"))
    assert env.provider_key("OPENAI_API_KEY") is None


# --- who may -------------------------------------------------------------------------------------------------------


def test_who_may_add_workers_but_no_keys_is_offered_none(admin: User, client: Client, keys: dict[str, str]) -> None:
    keys["OPENAI_API_KEY"] = CANARY
    helper = User.objects.create_user("helper", is_staff=True)
    helper.user_permissions.add(Permission.objects.get(codename="add_worker"))
    client.force_login(helper)

    assert "key is here" not in words(client.get(NEW))
    form = client.get(NEW + "worker/", {"catalogue": "claude-haiku-4-5"})
    assert "key" not in form.context["form"].fields
    assert client.post(NEW + "keys/OPENAI_API_KEY/").status_code == 403


@pytest.mark.parametrize("path", ["", "models/", "address/", "listing/x/", "worker/", "keys/OPENAI_API_KEY/"])
def test_others_are_sent_away(admin: User, client: Client, path: str) -> None:
    helper = User.objects.create_user("helper", is_staff=True)
    client.force_login(helper)

    assert client.get(NEW + path).status_code == 403


def test_a_slug_is_made_of_any_name(db: None) -> None:
    Worker.objects.create(slug="gpt-oss-120b", name="x", model="x", transport=CalledModel.Transport.LITELLM)

    assert offers.free_slug("openai/GPT-OSS 120B") == "gpt-oss-120b-2"
    assert offers.free_slug("模型") == "worker"
    assert len(offers.free_slug("x" * 300)) <= 63
