"""Writing and reading the log."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from decimal import Decimal
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.db.transaction import TransactionManagementError, atomic

from apps.audit.log import Actor, Entry, Read, append, read, text, verify
from apps.audit.models import Event, Payload, Trail
from tests.integration.audit.trails import ADA, NOON, write

Counted = Callable[..., AbstractContextManager[Any]]
SUBMITTED = Entry("run.submitted", {"steps": 3, "cost_usd": Decimal("0.10")}, {"task": "Compare A and B."})


@pytest.mark.django_db
def test_what_was_written_is_read_back_in_order() -> None:
    write("run:a", SUBMITTED, Entry("run.approved"))

    assert read("run:a") == [
        Read(1, NOON, "run.submitted", ADA, {"steps": 3, "cost_usd": "0.10"}, {"task": "Compare A and B."}),
        Read(2, NOON, "run.approved", ADA, {}, {}),
    ]
    assert verify("run:a").first_break is None


@pytest.mark.django_db
def test_a_text_is_a_payload_and_stands_in_no_line() -> None:
    [event] = write("run:a", SUBMITTED)

    assert "Compare" not in event.line
    assert text(event.texts["task"]) == "Compare A and B."
    assert text("no such digest") is None


@pytest.mark.django_db
def test_reading_goes_on_after_a_place_and_stops_at_the_limit() -> None:
    write("run:a", *[Entry(f"step.{number}") for number in range(1, 6)])

    assert [event.seq for event in read("run:a", after=1, limit=3)] == [2, 3, 4]
    assert read("run:a", after=5) == []
    assert read("run:nobody-wrote-to") == []


@pytest.mark.django_db
def test_long_texts_are_cut_where_a_limit_is_given() -> None:
    write("run:a", Entry("x", texts={"long": "äöü😀5", "fits": "äöü😀"}))

    [event] = read("run:a", texts_limit=4)

    assert event.texts == {"long": "äöü😀…", "fits": "äöü😀"}


@pytest.mark.django_db
def test_an_erased_text_is_read_as_none_and_the_trail_still_holds() -> None:
    [event] = write("run:a", SUBMITTED)

    Payload.objects.filter(digest=event.texts["task"]).update(text=None, salt=None, erased_at=NOON)
    write("run:a", Entry("run.erased"))

    assert read("run:a")[0].texts == {"task": None}
    assert verify("run:a").first_break is None


@pytest.mark.django_db
def test_the_columns_for_filters_say_what_the_line_says() -> None:
    driver = Actor(kind="driver", id="d7", label="driver d7")
    with atomic():
        [event] = append("run:a", [Entry("run.claimed")], by=driver, at=NOON, subject="run:a", project="default")

    row = Event.objects.get(pk=event.pk)
    assert (row.verb, row.actor_kind, row.actor_id, row.actor_label) == ("run.claimed", "driver", "d7", "driver d7")
    assert (row.subject, row.project, row.at) == ("run:a", "default", NOON)
    assert str(row.tx).isdigit()


@pytest.mark.django_db
@pytest.mark.parametrize("entries", [1, 50])
def test_one_statement_writes_any_number_of_events(entries: int, django_assert_num_queries: Counted) -> None:
    with atomic():
        for _first_and_later in range(2):
            with django_assert_num_queries(1):
                append("run:a", [SUBMITTED] * entries, by=ADA, at=NOON, subject="run:a", project="default")


@pytest.mark.django_db
def test_the_rows_that_come_back_are_the_rows_that_were_written() -> None:
    write("run:a", SUBMITTED)
    written = write("run:a", SUBMITTED, Entry("run.approved"))

    rows = list(Event.objects.filter(seq__gt=1).order_by("id"))

    assert written == rows
    assert [(row.seq, row.tx, row.line, row.hash) for row in written] == [
        (row.seq, row.tx, row.line, row.hash) for row in rows
    ]


@pytest.mark.django_db
def test_one_statement_reads_any_number_of_events_with_their_texts(django_assert_num_queries: Counted) -> None:
    write("run:a", *[SUBMITTED] * 50)

    with django_assert_num_queries(1):
        assert len(read("run:a")) == 50


@pytest.mark.django_db
def test_nothing_to_say_writes_nothing(django_assert_num_queries: Counted) -> None:
    with django_assert_num_queries(0):
        assert append("run:a", [], by=ADA, at=NOON, subject="run:a", project="default") == []


@pytest.mark.django_db(transaction=True)
def test_an_event_outside_a_transaction_is_refused() -> None:
    with pytest.raises(TransactionManagementError):
        append("run:a", [SUBMITTED], by=ADA, at=NOON, subject="run:a", project="default")

    assert not Trail.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("project", ["other", ""])
def test_a_project_s_trail_takes_no_event_of_another(project: str) -> None:
    write("run:a", SUBMITTED)

    with pytest.raises(IntegrityError, match="takes no event"), atomic():
        append("run:a", [SUBMITTED], by=ADA, at=NOON, subject="run:a", project=project)

    assert Event.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "entry", [Entry("x", {"a": "\0"}), Entry("x", texts={"a": "\0"}), Entry("\0"), Entry("x", {"\0": 1})]
)
def test_a_nul_is_refused_before_the_database_is_asked(entry: Entry, django_assert_num_queries: Counted) -> None:
    with pytest.raises(ValueError, match="NUL"), atomic(), django_assert_num_queries(0):
        append("run:a", [entry], by=ADA, at=NOON, subject="run:a", project="default")


@pytest.mark.django_db(transaction=True)
def test_an_event_goes_with_the_change_it_explains() -> None:
    @atomic
    def change_and_fail() -> None:
        append("run:a", [SUBMITTED], by=ADA, at=NOON, subject="run:a", project="default")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change_and_fail()

    assert not Event.objects.exists()
    assert not Payload.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_writers_at_the_same_time_make_one_chain_without_gaps() -> None:
    together = Barrier(4)

    def write_much() -> None:
        together.wait()
        for _ in range(25):
            write("run:a", SUBMITTED, Entry("run.approved"))
        connection.close()

    writers = [Thread(target=write_much) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert [event.seq for event in read("run:a")] == list(range(1, 201))
    verified = verify("run:a")
    assert (verified.events, verified.first_break) == (200, None)
    assert verified.head == Trail.objects.get(name="run:a").head_hash
