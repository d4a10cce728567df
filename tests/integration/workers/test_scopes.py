"""What is a project's own in the pool stays its own: runs of others neither use it nor find it."""

import pytest
from django.core.exceptions import ValidationError

from apps.core.errors import Invalid
from apps.runs.freezing import freeze
from apps.workers.models import Conductor, Credential, Fallback, Profile, Worker
from tests.factories import make_pool, make_project

pytestmark = pytest.mark.django_db


def a_key() -> Credential:
    key = Credential(label="lab key", project=make_project("lab"))
    key.keep("sk-one-that-is-long-enough")
    key.save()
    return key


@pytest.mark.parametrize("slug", [None, "others"])
def test_a_projects_key_opens_nothing_for_others(slug: str | None) -> None:
    project = make_project(slug) if slug else None
    worker = Worker(slug="w", name="W", model="m", credential=a_key(), project=project)

    with pytest.raises(ValidationError, match="This key is the project Lab's own"):
        worker.clean()
    Worker(slug="w", name="W", model="m", credential=a_key(), project=make_project("lab")).clean()


@pytest.mark.parametrize("field", ["conductor", "fallback_conductor"])
def test_a_projects_conductor_plans_for_no_others(field: str) -> None:
    own = Conductor.objects.create(slug="c", name="C", model="m", project=make_project("lab"))

    with pytest.raises(ValidationError, match="This conductor is the project Lab's own"):
        Profile(slug="p", name="P", **{field: own}).clean()
    Profile(slug="p", name="P", conductor=own, project=make_project("lab")).clean()


def test_a_run_takes_over_nothing_of_another_project_whatever_a_profile_says() -> None:
    everybodys = make_pool()
    lab, others = make_project("lab"), make_project("others")
    theirs = Worker.objects.create(slug="theirs", name="T", model="m", project=others)
    Fallback.objects.create(worker=Worker.objects.get(slug="sim-atlas"), instead=theirs)
    conducts = Conductor.objects.create(slug="c", name="C", model="m", project=others)

    setup = freeze(everybodys, project=lab, seed=1)

    assert "theirs" not in [worker["slug"] for worker in setup["pool"]]
    assert all(worker["fallbacks"] == [] for worker in setup["pool"])
    everybodys.conductor = conducts
    with pytest.raises(Invalid, match="has no enabled conductor"):
        freeze(everybodys, project=lab, seed=1)
    everybodys.project = others
    with pytest.raises(Invalid, match="There is no profile “studio-ultra” in Lab"):
        freeze(everybodys, project=lab, seed=1)
