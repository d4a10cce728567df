"""Sealing anchors: which heads they name, how they are signed, and that they cost little where nothing happened."""

from datetime import timedelta

import pytest

from apps.audit import signing
from apps.audit.anchored import fault_of
from apps.audit.anchors import anchors_of, public_key_id, public_key_pem, seal_anchor
from apps.audit.log import Entry, verify
from apps.audit.models import Anchor, AnchoredHead, Event, Trail
from tests.integration.audit.trails import NOON, write

pytestmark = pytest.mark.django_db(transaction=True)
X = Entry("x")


def named(anchor: Anchor) -> list[tuple[str, int]]:
    event = Event.objects.get(trail__name="anchors", seq=anchor.seq)
    return [(trail, seq) for trail, seq, _ in event.data["heads"]]


def test_an_anchor_names_the_heads_that_moved() -> None:
    write("a", X, X)
    write("b", X)

    [anchor] = seal_anchor(now=NOON)

    assert named(anchor) == [("a", 2), ("b", 1)]
    heads = dict(Trail.objects.exclude(name="anchors").values_list("name", "head_hash"))
    assert dict(AnchoredHead.objects.values_list("trail", "hash")) == heads
    assert verify("anchors").first_break is None


def test_the_next_one_names_only_what_moved_since() -> None:
    write("a", X)
    write("b", X)
    seal_anchor(now=NOON)

    write("b", X)
    [anchor] = seal_anchor(now=NOON)

    assert named(anchor) == [("b", 2)]


def test_nothing_is_sealed_where_nothing_moved() -> None:
    write("a", X)
    seal_anchor(now=NOON)
    before = Event.objects.count()

    assert seal_anchor(now=NOON + timedelta(minutes=1)) == []
    assert Event.objects.count() == before


def test_an_anchor_bears_a_signature_that_whoever_knows_the_public_key_can_check() -> None:
    write("a", X)
    seal_anchor(now=NOON)

    [pinned] = anchors_of(["a"])

    key = signing.read_pem(public_key_pem())
    assert pinned.key == public_key_id() == signing.fingerprint(key)
    assert pinned.is_whole
    key.verify(bytes.fromhex(pinned.signature), f"conductor-studio/anchor/v1\n{pinned.hash}".encode())
    assert fault_of(pinned, {pinned.key: key}) == ""
