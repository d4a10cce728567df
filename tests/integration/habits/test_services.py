"""Habits of every service: it asks who may, and leaves its event in the transaction of what it changes."""

import pytest
from django.utils import timezone

from apps.audit.models import Event
from apps.core.errors import Denied
from tests.integration.habits.calling import of
from tests.integration.habits.calls import CALLS, OTHERS
from tests.integration.habits.services import services
from tests.integration.habits.tables import UNTOLD, changed, contents, untold
from tests.integration.habits.world import World
from tests.integration.habits.writing import watched

# Written in a transaction of its own: a sending of anchors and a look at a key are no acts of anybody's.
APART = UNTOLD | {"audit_sending"}


def test_every_service_is_called_here_or_says_why_not() -> None:
    known = set(services())

    assert known - set(CALLS) - set(OTHERS) == set(), "enter them in `calls`"
    assert (set(CALLS) | set(OTHERS)) - known == set(), "there is no such service any more"
    assert set(CALLS) & set(OTHERS) == set()


@pytest.mark.parametrize("name", CALLS)
def test_every_service_leaves_its_event_in_the_transaction_of_its_change(world: World, name: str) -> None:
    call, things, now = CALLS[name], of(world), timezone.now()
    by = world.people[call.by]
    if call.prepared:
        call.prepared(things, by, now)
    before, last = contents(), Event.objects.latest("pk").pk

    with watched() as written:
        call.do(things, by, now)

    verbs = list(Event.objects.filter(pk__gt=last).values_list("verb", flat=True))
    tables = changed(before, contents())
    assert verbs, "no event came"
    assert untold(tables, verbs) == set(), (tables, verbs)
    assert written.without_event(APART) == set()


@pytest.mark.parametrize("name", [name for name, call in CALLS.items() if call.not_by])
def test_every_service_refuses_whoever_may_not(world: World, name: str) -> None:
    call, things, now = CALLS[name], of(world), timezone.now()
    if call.prepared:
        call.prepared(things, world.people[call.by], now)

    for who in (call.not_by, "stranger", "far"):
        before = contents()

        with pytest.raises(Denied):
            call.do(things, world.people[who], now)

        assert changed(before, contents()) == set(), who
