"""Habits of every address: each is tried as nobody, as strangers to the project and in every role, by every method.

A new address fails the first of these until it stands in the table, with who may come to it.
"""

import pytest
from django.urls import URLPattern

from apps.accounts.roles import MAY
from apps.web.urls import urlpatterns
from tests.integration.habits.addresses import ADDRESSES, ANYBODY, OPEN, SIGNING_IN, Address
from tests.integration.habits.tables import untold
from tests.integration.habits.visiting import NOBODY, Visit, visit
from tests.integration.habits.world import ROLES, WORD, World

NAMES = [str(pattern.name) for pattern in urlpatterns if pattern.name in ADDRESSES]
METHODS = ("get", "post")
DONE = (200, 204, 302, 503)  # the last: that no driver is there, as `readyz` says


def is_of_signing_in(pattern: URLPattern) -> bool:
    return str(pattern.name).startswith(SIGNING_IN)


def needed(address: Address, method: str) -> str | None:
    return address.get if method == "get" else address.post


def is_let(address: Address, method: str, who: str) -> bool:
    """Whether somebody of the project may do what the address is there for."""
    need = needed(address, method)
    if address.whoever and method == "post":
        return who == address.whoever
    return need in (OPEN, ANYBODY) or need in MAY[who]


def test_every_address_says_who_may_come_to_it() -> None:
    known = {str(pattern.name) for pattern in urlpatterns if not is_of_signing_in(pattern)}

    assert known - set(ADDRESSES) == set(), "enter them in `addresses`, with who may come there"
    assert set(ADDRESSES) - known == set(), "no address has this name any more"


@pytest.mark.parametrize("name", NAMES)
def test_nobody_comes_further_than_the_way_in(world: World, name: str) -> None:
    address = ADDRESSES[name]

    for method in METHODS:
        seen = visit(world, name, address, who=NOBODY, method=method)

        if OPEN in (address.get, address.post):
            assert seen.status in (*DONE, 404, 405), (method, seen.status)
            assert not seen.is_sent_to_sign_in
        else:
            assert seen.is_sent_to_sign_in, (method, seen.status)
            assert seen.changed == set()


@pytest.mark.parametrize("who", ["stranger", "far"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_of_others_is_not_there_whatever_one_is_elsewhere(world: World, name: str, who: str) -> None:
    address = ADDRESSES[name]

    for method in METHODS:
        seen = visit(world, name, address, who=who, method=method)

        if OPEN not in (address.get, address.post):
            assert WORD not in seen.text.lower(), method
        if address.given and OPEN not in (address.get, address.post):
            assert seen.status == (404 if needed(address, method) else 405), method
            assert (seen.changed, seen.verbs) == (set(), []), method


@pytest.mark.parametrize("who", ROLES)
@pytest.mark.parametrize("name", NAMES)
def test_each_role_may_do_what_it_may_and_is_refused_all_else(world: World, name: str, who: str) -> None:
    address = ADDRESSES[name]

    for method in METHODS:
        seen = visit(world, name, address, who=who, method=method)

        if needed(address, method) is None:
            assert seen.status == 405, method
        elif is_let(address, method, who):
            assert seen.status in DONE, (method, seen.status, seen.text[:2000])
            assert not seen.is_sent_to_sign_in
        else:
            assert seen.status == (404 if address.is_hidden else 403), (method, seen.status)
        check_told(seen)


@pytest.mark.parametrize("name", NAMES)
def test_no_address_knows_other_methods(world: World, name: str) -> None:
    for method in ("put", "patch", "delete"):
        seen = visit(world, name, ADDRESSES[name], who="admin", method=method)

        assert seen.status in (403, 404, 405), (method, seen.status)
        assert seen.changed == set()


def check_told(seen: Visit) -> None:
    """What was refused changed nothing; of what was changed, an event tells."""
    if seen.is_refused:
        assert (seen.changed, seen.verbs) == (set(), [])
    assert untold(seen.changed, seen.verbs) == set(), (seen.changed, seen.verbs)


@pytest.mark.parametrize("name", [name for name in NAMES if ADDRESSES[name].post not in (None, OPEN)])
def test_whatever_is_posted_where_it_is_allowed_leaves_its_event(world: World, name: str) -> None:
    """So that the table of addresses holds posts that do something, and not such as a page shrugs off."""
    address = ADDRESSES[name]
    who = address.whoever or next(role for role in ROLES if is_let(address, "post", role))

    seen = visit(world, name, address, who=who, method="post")

    assert seen.verbs or (seen.changed == set() and name in QUIET), (seen.status, seen.text[:1500])
    assert not seen.verbs or "audit_event" in seen.changed, "an event was written, and the tables do not show it"


QUIET = {"run-edit"}  # a draft is no act upon the run: what is started from it is
