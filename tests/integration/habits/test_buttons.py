"""No page offers what its reader may not do: neither a button nor a way to a page that would refuse them."""

import html
import re
from collections.abc import Iterator

import pytest
from django.urls import Resolver404, resolve

from tests.integration.habits.addresses import ADDRESSES, OPEN
from tests.integration.habits.test_addresses import NAMES, is_let
from tests.integration.habits.visiting import visit
from tests.integration.habits.world import World

BUTTON = re.compile(r'<form\b[^>]*\bmethod="post"[^>]*\baction="([^"]*)"|\bhx-post="([^"]*)"')
WAY = re.compile(r'<a\b[^>]*\bhref="([^"]*)"')

# Shown to whoever reads, and refused or left out behind it: to ask for them is no mistake.
OFFERED_TO_ALL = {"worker-test", "audit-export"}
PAGES = [name for name in NAMES if ADDRESSES[name].get not in (None, OPEN)]


def named(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    """The names of the addresses that a page leads to."""
    for found in pattern.finditer(text):
        path = html.unescape(next(filter(None, found.groups()), "")).partition("?")[0].partition("#")[0]
        if path.startswith("/"):
            try:
                yield str(resolve(path).url_name)
            except Resolver404:
                continue


@pytest.mark.parametrize("who", ["analyst", "auditor"])
@pytest.mark.parametrize("name", PAGES)
def test_no_page_offers_what_its_reader_may_not_do(world: World, name: str, who: str) -> None:
    if not is_let(ADDRESSES[name], "get", who):
        return
    text = visit(world, name, ADDRESSES[name], who=who, method="get", is_raw=True).text

    pressed = {found for found in named(BUTTON, text) if found in ADDRESSES}
    gone_to = {found for found in named(WAY, text) if found in ADDRESSES and ADDRESSES[found].get is not None}

    assert {found for found in pressed if not is_let(ADDRESSES[found], "post", who)} - OFFERED_TO_ALL == set()
    assert {found for found in gone_to if not is_let(ADDRESSES[found], "get", who)} - OFFERED_TO_ALL == set()
