"""Sealing anchors: which heads they name, how they are signed, and that they cost little where nothing happened."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from threading import Barrier, Thread
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from apps.audit import anchors, log, sending, signing, tasks
from apps.audit.anchored import fault_of
from apps.audit.anchors import SealedOtherwise, anchors_of, public_key_id, public_key_pem, seal_anchor
from apps.audit.log import Entry, verify
from apps.audit.models import Anchor, AnchoredHead, Event, Trail
from apps.audit.pinned import read
from apps.audit.signing import NoSigningKey
from studio.embedded.postgres import OWNER, Postgres
from tests.integration.audit.test_feed import unfinished
from tests.integration.audit.trails import ADA, NOON, forgery, write

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


def test_a_project_s_anchors_name_no_trail_of_another_project() -> None:
    for project in ("beta", "alpha"):
        with transaction.atomic():
            log.append(f"run:{project}", [X], by=ADA, at=NOON, subject="run", project=project)
    write("accounts", X)

    sealed = seal_anchor(now=NOON)

    assert [(anchor.project, named(anchor)) for anchor in sealed] == [
        ("alpha", [("run:alpha", 1)]),
        ("beta", [("run:beta", 1)]),
        ("default", [("accounts", 1)]),
    ]
    assert [pinned.seq for pinned in anchors_of(["run:beta"])] == [2]
    events = Event.objects.filter(trail__name="anchors").order_by("seq")
    assert [event.project for event in events] == ["alpha", "beta", "default"]


def test_many_trails_are_named_by_several_anchors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anchors, "HEADS_IN_ONE", 3)
    monkeypatch.setattr(anchors, "ANCHORS_AT_ONCE", 2)
    for number in range(10):
        write(f"run:{number}", X)

    sealed = seal_anchor(now=NOON)

    assert [len(named(anchor)) for anchor in sealed] == [3, 3, 3, 1]
    assert AnchoredHead.objects.count() == 10
    assert [pinned.seq for pinned in anchors_of()] == [1, 2, 3, 4]
    assert [pinned.seq for pinned in anchors_of(after=2)] == [3, 4]
    assert verify("anchors").first_break is None


def test_each_line_that_is_kept_elsewhere_is_whole_by_itself() -> None:
    for trail in ("a", "b", "c"):
        write(trail, X)
        seal_anchor(now=NOON)

    lines = [pinned.written() for pinned in anchors_of()]

    assert all("\n" not in line and read(line).is_whole for line in lines)
    assert [read(line).prev for line in lines][1:] == [read(line).hash for line in lines][:-1]
    assert read(lines[2]).heads[0].trail == "c"


def test_what_commits_while_an_anchor_is_sealed_is_in_the_next_one() -> None:
    with unfinished("late"):
        write("early", X)
        [first] = seal_anchor(now=NOON)
    [second] = seal_anchor(now=NOON)

    assert (named(first), named(second)) == ([("early", 1)], [("late", 1)])


def test_of_two_that_seal_at_once_each_head_is_anchored_once() -> None:
    for number in range(20):
        write(f"run:{number}", X)
    gate = Barrier(3)

    def seal() -> None:
        gate.wait()
        seal_anchor(now=NOON)
        connection.close()

    sealing = [Thread(target=seal) for _ in range(3)]
    for each in sealing:
        each.start()
    for each in sealing:
        each.join()

    assert AnchoredHead.objects.count() == 20
    assert verify("anchors").first_break is None


def test_restored_trails_are_anchored_though_their_transactions_are_of_another_database() -> None:
    write("a", X)
    seal_anchor(now=NOON)
    taken = forgery(X, trail="run:restored")
    taken.events[0].tx = 10**12
    taken.plant()

    [anchor] = seal_anchor(now=NOON)

    assert named(anchor) == [("run:restored", 1)]


def test_after_a_restore_into_a_younger_database_nothing_is_passed_over() -> None:
    write("a", X)
    with transaction.atomic():
        [event] = log.append("anchors", [Entry("x")], by=ADA, at=NOON, subject="anchors", project="")
        Anchor.objects.create(seq=event.seq, hash=event.hash, key_id="k", signature="s", at=NOON, horizon=10**12)

    [anchor] = seal_anchor(now=NOON)

    assert named(anchor) == [("a", 1)]


def test_without_a_key_nothing_is_sealed(settings: Any) -> None:
    settings.READ_SIGNING_KEYS = list
    write("a", X)

    with pytest.raises(NoSigningKey, match="SIGNING_KEY"):
        seal_anchor(now=NOON)

    assert not Anchor.objects.exists()


def test_an_old_key_still_vouches_for_what_it_signed(settings: Any) -> None:
    write("a", X)
    seal_anchor(now=NOON)
    old = settings.READ_SIGNING_KEYS()
    settings.READ_SIGNING_KEYS = lambda: ["11" * 32, *old]
    write("a", X)
    seal_anchor(now=NOON)

    assert [anchor.key_id == public_key_id() for anchor in Anchor.objects.order_by("seq")] == [False, True]
    assert verify("a").first_break is None

    settings.READ_SIGNING_KEYS = lambda: ["11" * 32]
    found = verify("a").first_break
    assert found is not None
    assert found.reason == "anchor 1, which names event 1, is signed with a key that is not the studio's"


# --- where the owner of the database has it seal otherwise ----------------------------------------------------------


@pytest.fixture
def sealed_by(postgres: Postgres) -> Iterator[Callable[[str, str], None]]:
    """Has the database seal with another function, in which a part of it was replaced."""
    with psycopg.connect(postgres.url(OWNER), autocommit=True) as owner:
        [[honest]] = owner.execute("SELECT pg_get_functiondef('audit_seal'::regproc)").fetchall()

        def replace(part: str, other: str) -> None:
            assert part in honest
            owner.execute(honest.replace(part, other))

        yield replace
        owner.execute(honest)


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("sealed || line_now", "sealed || line_now || ' '"),
        ("sealed || line_now", "repeat('0', 64) || line_now"),
        ("place := place + 1", "place := place + 2"),
    ],
)
def test_a_hash_that_is_not_of_our_line_is_not_signed(
    sealed_by: Callable[[str, str], None], part: str, other: str
) -> None:
    write("a", X)
    seal_anchor(now=NOON)
    write("b", X)
    sealed_by(part, other)

    with pytest.raises(SealedOtherwise, match="nothing was signed"):
        seal_anchor(now=NOON)

    assert Anchor.objects.count() == 1
    assert not AnchoredHead.objects.filter(trail="b").exists()


def test_what_is_not_signed_holds_nothing_else_up(
    sealed_by: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(sending, "send_on", lambda *, now: sent.append(now))
    write("a", X)
    sealed_by("sealed || line_now", "line_now || sealed")

    tasks.seal_anchors()

    assert len(sent) == 1
