"""The pool a fresh studio has, and what an admin may enter."""

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.services import ensure_first_person
from apps.audit.log import Actor
from apps.runs.freezing import freeze
from apps.runs.services import pool_for, project_of, submit_run
from apps.simulator.models import MODELS
from apps.web.starting.choices import choices_of, offered_by
from apps.workers.models import Profile, Worker, check_base_url
from apps.workers.services import EMBEDDER, SIMULATED, ensure_simulated

pytestmark = pytest.mark.django_db

UP = Actor(kind="system", id="test", label="test")


@pytest.fixture
def admin() -> User:
    return ensure_first_person(now=timezone.now())


def test_mini_keeps_its_worker_when_another_is_added(admin: User) -> None:
    ensure_simulated(url="http://127.0.0.1:1/v1", by=UP, now=timezone.now())
    Worker.objects.create(slug="a-first", name="First", model="first")

    mini, ultra = Profile.objects.get(slug="studio-mini"), Profile.objects.get(slug="studio-ultra")

    assert [worker.slug for worker in mini.pool(project_of(admin))] == ["sim-atlas"]
    assert "a-first" in [worker.slug for worker in ultra.pool(project_of(admin))]


def test_what_an_admin_changed_is_left_alone_and_a_new_address_is_followed(admin: User) -> None:
    ensure_simulated(url="http://127.0.0.1:1/v1", by=UP, now=timezone.now())
    Worker.objects.filter(slug="sim-delta").update(enabled=False, name="Mine")

    ensure_simulated(url="http://127.0.0.1:2/v1", by=UP, now=timezone.now())

    delta = Worker.objects.get(slug="sim-delta")
    assert (delta.enabled, delta.name, delta.base_url) == (False, "Mine", "http://127.0.0.1:2/v1")


def test_a_fresh_studio_has_the_simulators_models_at_the_simulators_prices() -> None:
    served = [
        (model.id, model.name, model.strengths, model.input_usd, model.output_usd)
        for model in MODELS.values()
        if not model.conducts
    ]

    assert [*SIMULATED, EMBEDDER] == served
    assert [model.id for model in MODELS.values() if model.embeds] == [EMBEDDER[0]]


def test_an_embedding_model_is_offered_nobodys_steps(admin: User) -> None:
    ensure_simulated(url="http://127.0.0.1:1/v1", by=UP, now=timezone.now())
    ultra, mini = Profile.objects.get(slug="studio-ultra"), Profile.objects.get(slug="studio-mini")
    mini.workers.clear()
    everyone = [slug for slug, *_ in SIMULATED]
    project = project_of(admin)

    frozen = freeze(mini, project=project, seed=1)
    run = submit_run(task="Add 1 and 1.", profile=ultra, by=admin, now=timezone.now())

    assert Worker.objects.get(slug="sim-embed").embeds
    assert [worker.slug for worker in mini.pool(project)] == everyone
    assert [worker["slug"] for worker in frozen["pool"]] == everyone
    assert list(run.pool) == everyone
    assert [worker["slug"] for worker in pool_for(run)] == everyone
    assert [offered.look.slug for offered in offered_by(choices_of(project))] == everyone


@pytest.mark.parametrize("url", ["http://vllm:8000/v1", "https://api.example.com/v1", "http://[::1]:8000/v1"])
def test_an_address_may_have_a_single_word_as_host(url: str) -> None:
    check_base_url(url)


@pytest.mark.parametrize(
    "url",
    [
        *("vllm:8000", "ftp://host/v1", "http://", "http://:80/v1", "http://ho st/v1", "http://host\\@other/v1"),
        *("http://me:secret@host/v1", "http://@host/v1", "http://host/v1?key=1", "http://host/v1?", "http://host/#v1"),
        *("http://[::1/v1", "http://host:99999/v1", "http://host:port/v1", "http://host/\u202ev1", "http://h<b>/v1"),
    ],
)
def test_what_is_no_address_is_refused_in_words(url: str) -> None:
    with pytest.raises(ValidationError):
        check_base_url(url)
