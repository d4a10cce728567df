"""What a form or an address names of another project is not found either: it is neither shown nor used nor changed."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.audit.models import Event
from tests.integration.habits.tables import changed, contents
from tests.integration.habits.world import WORD, World

# Where somebody asks for a thing of others: a name of an address, and what is asked there.
ASKED: list[tuple[str, Mapping[str, Any]]] = [
    ("compare", {"a": "@done"}),
    ("compare", {"a": "@done", "b": "@failed"}),
    ("runs", {"keep": "@done"}),
    ("runs", {"q": "project:heliotrope"}),
    ("runs", {"q": "worker:heliotrope-worker"}),
    ("workflows", {"after": "@template"}),
    ("reviews", {"show": "all"}),
    ("audit", {"q": "run:@done"}),
    ("audit", {"q": "project:heliotrope"}),
    ("audit-export", {"run": "@done"}),
    ("audit-export", {"project": "@project"}),
    ("workers", {"q": "grew"}),
    ("palette", {"q": "grew"}),
]

# And where they send one along with something of their own.
SENT: list[tuple[str, Mapping[str, Any]]] = [
    ("compose", {"task": "Add 1 and 1.", "project": "@project", "profile": "studio-ultra"}),
    ("compose", {"task": "Add 1 and 1.", "profile": "heliotrope-profile"}),
    ("compose", {"task": "Add 1 and 1.", "profile": "studio-ultra", "workers": "heliotrope-worker"}),
    ("audit-export", {"kind": "all", "project": "@project"}),
    ("audit-export", {"kind": "run", "run": "@done"}),
    ("audit-verify", {"project": "@project"}),
    ("new-key", {"name": "Mine", "project": "@project's id", "scopes": ["read"], "rate_per_minute": "60"}),
    ("project-choose", {}),
]


def of(world: World, given: Mapping[str, Any]) -> dict[str, Any]:
    filled = {name: world.filled(each) for name, each in given.items()}
    return {
        name: each.replace("@done", world["done"]) if isinstance(each, str) else each for name, each in filled.items()
    }


@pytest.mark.parametrize("who", ["stranger", "far"])
@pytest.mark.parametrize(("name", "given"), ASKED, ids=str)
def test_nothing_of_others_is_told_to_whoever_asks_for_it(
    world: World, name: str, given: Mapping[str, Any], who: str
) -> None:
    client, asked = Client(), of(world, given)
    client.force_login(world.people[who])

    response = client.get(reverse(name), asked)

    text = response.content.decode()
    for said in asked.values():
        text = text.replace(str(said), "")
    assert WORD not in text.lower()
    assert response.status_code < 500


@pytest.mark.parametrize(("name", "given"), SENT, ids=str)
def test_nothing_of_others_is_used_by_whoever_names_it(world: World, name: str, given: Mapping[str, Any]) -> None:
    client = Client()
    client.force_login(world.people["stranger"])
    slug = {"slug": world["project"]} if name == "project-choose" else {}

    response = client.post(reverse(name, kwargs=slug), of(world, given))

    assert response.status_code in (403, 404, 422)
    assert changed(world.contents, contents()) == set()
    assert not Event.objects.filter(actor_label="stranger").exists()
