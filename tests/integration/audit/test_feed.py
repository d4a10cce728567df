"""The events of all trails in commit order, with transactions that overlap."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from random import Random
from threading import Event as Signal
from time import sleep

import pytest
from django.db import connection
from django.db.transaction import atomic

from apps.audit.log import Cursor, Entry, append, since
from apps.audit.models import Event
from tests.integration.audit.trails import ADA, NOON, forgery, write

pytestmark = pytest.mark.django_db(transaction=True)
X = Entry("x")


@contextmanager
def unfinished(trail: str) -> Iterator[None]:
    """Another connection has written to `trail`, and commits at the end of the block."""
    written, go_on = Signal(), Signal()

    def write_slowly() -> None:
        try:
            with atomic():
                append(trail, [X], by=ADA, at=NOON, subject=trail, project="default")
                written.set()
                assert go_on.wait(10)
        finally:
            written.set()
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        writing: Future[None] = pool.submit(write_slowly)
        assert written.wait(10)
        try:
            yield
        finally:
            go_on.set()
            writing.result(10)


def write_and_close(trail: str) -> None:
    try:
        write(trail, X)
    finally:
        connection.close()


def subjects(events: list[Event]) -> list[str]:
    return [event.subject for event in events]


def test_events_come_in_order_page_by_page() -> None:
    for trail in ("a", "b", "a", "c"):
        write(trail, X)

    first, cursor = since(None, 3)
    rest, cursor = since(cursor, 3)

    assert subjects(first + rest) == ["a", "b", "a", "c"]
    assert since(cursor, 3) == ([], cursor)


def test_a_late_commit_is_never_skipped() -> None:
    write("before", X)
    seen, cursor = since(None, 10)

    with unfinished("late"):
        write("early", X)
        while_late, cursor = since(cursor, 10)
    write("after", X)
    then, cursor = since(cursor, 10)

    assert subjects(seen) == ["before"]
    assert subjects(while_late) == []
    assert subjects(then) == ["late", "early", "after"]
    assert since(cursor, 10)[0] == []


def test_two_transactions_that_wrote_to_one_trail_are_both_read_whichever_began_first() -> None:
    with atomic():
        write("mine", X)  # numbers this transaction before the other one
        with ThreadPoolExecutor(1) as pool:
            pool.submit(write_and_close, "shared").result(10)
        append("shared", [X], by=ADA, at=NOON, subject="shared", project="default")

    events, cursor = since(None, 10)

    assert [(event.subject, event.seq) for event in events] == [("mine", 1), ("shared", 2), ("shared", 1)]
    assert since(cursor, 10)[0] == []


def test_an_unfinished_writer_holds_up_no_other_writer() -> None:
    with unfinished("late"):
        write("early", X)

        assert Event.objects.filter(subject="early").exists()


def test_what_was_rolled_back_is_passed_over() -> None:
    forgery(X)
    write("a", X)

    assert subjects(since(None, 10)[0]) == ["a"]


def test_a_transaction_does_not_follow_itself() -> None:
    write("a", X)

    with atomic():
        append("own", [X], by=ADA, at=NOON, subject="own", project="default")
        events, cursor = since(None, 10)

    assert subjects(events) == ["a"]
    assert subjects(since(cursor, 10)[0]) == ["own"]


def restore(*trails: str) -> None:
    """Rows as a restore leaves them: with numbers of transactions of another database."""
    for number, trail in enumerate(trails):
        taken = forgery(X, trail=trail)
        for event in taken.events:
            event.tx = 10**12 - number
        taken.plant()


def test_restored_events_come_first_and_new_ones_after_them() -> None:
    restore("old-1", "old-2")
    write("new", X)

    first, cursor = since(None, 1)
    rest, cursor = since(cursor, 10)
    write("newer", X)

    assert subjects(first + rest) == ["old-1", "old-2", "new"]
    assert subjects(since(cursor, 10)[0]) == ["newer"]


def test_a_follower_from_before_a_restore_begins_again() -> None:
    restore("old")
    write("new", X)

    assert subjects(since(Cursor(tx=10**12, id=1), 10)[0]) == ["old", "new"]


def test_what_is_written_within_a_savepoint_comes_with_its_transaction() -> None:
    with atomic():
        append("outer", [X], by=ADA, at=NOON, subject="outer", project="default")
        with ThreadPoolExecutor(1) as pool:
            pool.submit(write_and_close, "between").result(10)
        with atomic():
            append("inner", [X], by=ADA, at=NOON, subject="inner", project="default")

    first, cursor = since(None, 2)
    rest, _ = since(cursor, 10)

    assert subjects(first + rest) == ["outer", "inner", "between"]


def test_a_follower_of_many_interleaved_writers_reads_each_event_once() -> None:
    """Each writer's transactions are of several trails, last for a while, and now and then are rolled back."""
    writing = Signal()

    def write_at_random(seed: int) -> None:
        draw = Random(seed)
        try:
            for _ in range(12):
                trails = sorted(draw.sample(["a", "b", "c", f"own-{seed}"], k=2))  # in one order, as everywhere
                with suppress(ZeroDivisionError), atomic():
                    for trail in trails:
                        append(trail, [X], by=ADA, at=NOON, subject=trail, project="default")
                        sleep(draw.random() / 100)
                    if draw.random() < 0.2:
                        raise ZeroDivisionError
        finally:
            connection.close()

    seen: list[tuple[str, int]] = []
    cursor: Cursor | None = None
    with ThreadPoolExecutor(5) as pool:
        writers = [pool.submit(write_at_random, seed) for seed in range(5)]
        while not writing.is_set():
            if all(writer.done() for writer in writers):
                writing.set()  # what is read once more is all there is
            events, cursor = since(cursor, 7)
            while events:
                seen += [(event.subject, event.seq) for event in events]
                events, cursor = since(cursor, 7)

    assert len(seen) > 60
    assert len(set(seen)) == len(seen)
    assert set(seen) == set(Event.objects.values_list("subject", "seq"))
    assert [writer.exception() for writer in writers] == [None] * 5
