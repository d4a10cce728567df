"""Finding events: what a filter means, in which order they come, where a page goes on, and that it stays bounded."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Event as Signal
from threading import Thread

import psycopg
import pytest
from django.db import connection, transaction

from apps.audit import finding, log, searching
from apps.audit.conditions import conditions_of
from apps.audit.filters import parse
from apps.audit.finding import Found, find, frontier, news
from apps.audit.log import Actor, Entry
from apps.audit.models import Event, EventWords
from apps.audit.places import Place
from studio.embedded.postgres import OWNER, Postgres
from tests.integration.audit.trails import ADA, NOON, write

pytestmark = pytest.mark.usefixtures("committed_db")

GRACE = Actor(kind="person", id="2", label="Grace Hopper")
DRIVER = Actor(kind="driver", id="d1", label="driver-1")
PROJECTS = ("default",)


def tell(
    verb: str,
    *,
    trail: str = "run:abcd2345",
    by: Actor = ADA,
    at: datetime = NOON,
    project: str = "default",
    subject: str = "",
    worker: str = "",
    **texts: str,
) -> int:
    """One event in a transaction of its own; its id."""
    entry = Entry(verb, {"worker": worker} if worker else {}, texts)
    with transaction.atomic():
        [event] = log.append(trail, [entry], by=by, at=at, subject=subject or trail, project=project)
    return event.pk


def look(text: str, *, limit: int = 50, after: Place | None = None, projects: tuple[str, ...] = PROJECTS) -> Found:
    asked = parse(text)
    assert asked.faults == ()
    conditions = conditions_of(asked, projects=projects, names={"ghopper": ["Grace Hopper"]}, now=NOON)
    return find(conditions, limit=limit, after=after)


def found(text: str, *, projects: tuple[str, ...] = PROJECTS) -> list[int]:
    return list(look(text, projects=projects).ids)


@pytest.fixture
def owner(postgres: Postgres) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.url(OWNER), autocommit=True) as owner:
        yield owner


@contextmanager
def unfinished(verb: str) -> Iterator[None]:
    """An event of a transaction that goes on until the block is left."""
    written, over = Signal(), Signal()

    def go_on() -> None:
        with transaction.atomic():
            tell(verb, trail="run:slow")
            written.set()
            over.wait(10)
        connection.close()

    thread = Thread(target=go_on)
    thread.start()
    assert written.wait(10)
    try:
        yield
    finally:
        over.set()
        thread.join()


# --- what a filter means -------------------------------------------------------------------------------------------


@pytest.fixture
def some() -> dict[str, int]:
    """Events of several kinds, by a name."""
    return {
        "asked": tell("run.submitted", by=ADA, task="Which region's tariffs grew most?"),
        "began": tell("step.started", by=DRIVER, worker="sim-birch", request="Tariffs as sent"),
        "broke": tell("step.failed", by=DRIVER, worker="sim-birch", error="The provider was away"),
        "other": tell("step.succeeded", by=DRIVER, worker="sim-cedar", trail="run:wxyz6789", result="Grew by half"),
        "person": tell("person.changed", by=GRACE, trail="accounts", subject="person:5", at=NOON - timedelta(days=3)),
        "theirs": tell("run.submitted", by=GRACE, trail="run:zzzz2222", project="others", task="Tariffs of others"),
        "no one's": tell("worker.added", by=GRACE, trail="pool", subject="pool", project="", worker="sim-cedar"),
    }


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", {"asked", "began", "broke", "other", "person"}),
        ("verb:step.failed", {"broke"}),
        ("verb:step", {"began", "broke", "other"}),
        ("verb:nothing", set()),
        ("-verb:step", {"asked", "person"}),
        ("actor:ada", {"asked"}),
        ("actor:GRACE", {"person"}),
        ("actor:ghopper", {"person"}),
        ("is:driver", {"began", "broke", "other"}),
        ("is:person -actor:ada", {"person"}),
        ("worker:birch", {"began", "broke"}),
        ("-worker:birch", {"asked", "other", "person"}),
        ("outcome:failed", {"broke"}),
        ("outcome:done", {"asked", "began", "other", "person"}),
        ("-outcome:done", {"broke"}),
        ("object:person:5", {"person"}),
        ("object:person", {"person"}),
        ("object:per_on", set()),
        ("run:abcd", {"asked", "began", "broke"}),
        ("run:WXYZ6789", {"other"}),
        ("after:2026-03-01", {"asked", "began", "broke", "other"}),
        ("before:2026-03-01", {"person"}),
        ("after:7d before:2d", {"person"}),
        ("-after:2026-03-01", {"person"}),
        ("project:default is:person", {"asked", "person"}),
        ("project:others", set()),
        ("tariff", {"asked"}),
        ("grew", {"asked", "other"}),
        ('"grew most"', {"asked"}),
        ('"most grew"', set()),
        ("grew -region", {"other"}),
        ("provider worker:birch", {"broke"}),
        ("nowhere", set()),
    ],
)
def test_a_filter_finds_what_it_says(some: dict[str, int], text: str, names: set[str]) -> None:
    searching.keep_words()

    assert set(found(text)) == {some[name] for name in names}


def test_every_way_of_reading_finds_the_same(some: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    searching.keep_words()
    texts = ["verb:step", "worker:birch grew -tariff", "is:driver", "tariff", "after:2026-02-01 actor:driver", "grew"]
    before = [found(text) for text in texts]

    monkeypatch.setattr(finding, "FEW", -1)  # nothing is few: the log is walked
    walked = [found(text) for text in texts]
    monkeypatch.setattr(finding, "WALK_FOR_WORDS", 1)  # and for words not far: their index is asked

    assert walked == before
    assert [found(text) for text in texts] == before


def test_events_of_no_project_are_for_who_may_see_those(some: dict[str, int]) -> None:
    assert found("worker:cedar", projects=("", "default")) == [some["no one's"], some["other"]]
    assert found("", projects=("",)) == [some["no one's"]]
    assert found("", projects=()) == []


def test_a_search_never_takes_a_sign_for_a_command(some: dict[str, int]) -> None:
    for text in (
        "x'; DROP TABLE audit_event; a--",
        "object:%",
        'actor:"%s"',
        "worker:%(oldest)s",
        '"{limit}"',
        "a{0}b",
    ):
        assert found(text) == [], text
    assert Event.objects.count() == len(some)


# --- in which order, and where a page goes on ----------------------------------------------------------------------


def pages(text: str, *, limit: int = 2) -> list[list[int]]:
    """All pages of what a filter finds, each begun where the one before it ended."""
    turned: list[list[int]] = []
    after: Place | None = None
    while len(turned) < 20:
        page = look(text, limit=limit, after=after and Place.read(str(after)))
        turned.append(list(page.ids))
        if page.next is None:
            return turned
        after = page.next
    raise AssertionError("the pages do not end")


def test_pages_go_on_where_the_one_before_ended() -> None:
    ids = [tell("step.started", at=NOON + timedelta(seconds=number)) for number in range(5)]

    for text in ("", "verb:step", "after:2026-02-01", "actor:ada after:2026-02-01"):
        assert pages(text) == [[ids[4], ids[3]], [ids[2], ids[1]], [ids[0]]], text


def test_a_late_commit_is_never_behind_a_reader() -> None:
    """What a transaction that goes on wrote is not in the list, and neither is what came after: no page skips it."""
    first = tell("run.submitted")
    with unfinished("run.stopped"):
        tell("run.approved", trail="run:quick")
        seen, since = found(""), frontier()
    last = found("")

    assert seen == [first]
    assert last[-1] == first
    assert len(last) == 3
    assert news(conditions_of(parse(""), projects=PROJECTS, names={}, now=NOON), since=since, most=10) == 2


def test_a_time_orders_by_time() -> None:
    late = tell("run.submitted", at=NOON + timedelta(hours=1))
    early = tell("run.submitted", at=NOON - timedelta(hours=1))

    assert found("") == [early, late]
    assert found("after:2026-02-01") == [late, early]


def test_what_a_restore_brought_stands_behind_all_others(owner: psycopg.Connection) -> None:
    """Rows with numbers that this database has not reached."""
    ids = [tell("run.submitted") for _ in range(5)]
    owner.execute("ALTER TABLE audit_event DISABLE TRIGGER event_sealed")
    owner.execute("UPDATE audit_event SET tx = tx + 1000000000 WHERE id = ANY(%s)", [ids[:3]])
    owner.execute("ALTER TABLE audit_event ENABLE ALWAYS TRIGGER event_sealed")

    assert pages("") == [[ids[4], ids[3]], [ids[2], ids[1]], [ids[0]]]
    assert pages("", limit=3) == [[ids[4], ids[3], ids[2]], [ids[1], ids[0]]]


def test_a_walk_ends_somewhere_and_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = tell("run.submitted", by=GRACE)
    others = [tell("step.started", at=NOON + timedelta(seconds=number)) for number in range(6)]
    monkeypatch.setattr(finding, "FEW", -1)
    monkeypatch.setattr(finding, "WALK", 4)

    page = look("is:person -actor:ada")
    further = look("is:person -actor:ada", after=page.next)

    assert page.ids == []
    assert page.looked_until == Event.objects.get(pk=others[2]).at
    assert (further.ids, further.next) == ([wanted], None)


@pytest.mark.parametrize("text", ["", "c", "c1", "c1.", "x1.2", "c1.2.3", "c-1.2", "c٣.1", f"c{10**20}.1", "c1.2 "])
def test_a_place_that_is_none_is_none(text: str) -> None:
    assert Place.read(text) is None


def test_news_are_counted_as_far_as_it_matters() -> None:
    since = frontier()
    for _ in range(4):
        tell("run.submitted")
    tell("step.failed")
    asked = conditions_of(parse("verb:run.submitted"), projects=PROJECTS, names={}, now=NOON)

    assert news(asked, since=since, most=10) == 4
    assert news(asked, since=since, most=3) == 3
    assert news(asked, since=frontier(), most=3) == 0


# --- words of texts ------------------------------------------------------------------------------------------------


def test_words_are_kept_in_the_order_of_commits_and_once() -> None:
    tell("run.submitted", task="alpha")
    with unfinished("run.stopped"):
        tell("run.submitted", trail="run:quick", task="beta")
        assert searching.keep_words() == 1
        assert len(found("beta")) == 0

    assert searching.keep_words() == 2
    assert searching.keep_words() == 0
    assert EventWords.objects.count() == 2  # one of the three has no text
    assert not searching.is_behind()


def test_what_was_sent_to_a_model_is_not_searched(some: dict[str, int]) -> None:
    searching.keep_words()

    assert found('"as sent"') == []


def test_what_is_erased_is_not_found_any_more(some: dict[str, int]) -> None:
    searching.keep_words()
    with transaction.atomic():
        erased = log.erase("run:abcd2345", at=NOON)

    assert erased == 3
    assert found("tariff") == []
    assert found("grew") == [some["other"]]
    assert not EventWords.objects.filter(event__trail__name="run:abcd2345").exists()


def test_what_was_erased_before_its_words_were_kept_leaves_none(some: dict[str, int]) -> None:
    with transaction.atomic():
        log.erase("run:abcd2345", at=NOON)

    searching.keep_words()

    assert found("tariff") == []
    assert set(EventWords.objects.values_list("event", flat=True)) == {some["other"], some["theirs"]}


def test_the_worker_beside_an_event_is_the_one_in_its_line(owner: psycopg.Connection) -> None:
    pk = tell("step.started", worker="sim-birch")
    none = tell("run.submitted")

    assert Event.objects.get(pk=pk).worker == "sim-birch"
    assert Event.objects.get(pk=none).worker is None
    owner.execute("ALTER TABLE audit_event DISABLE TRIGGER event_sealed")
    with pytest.raises(psycopg.errors.GeneratedAlways):
        owner.execute("UPDATE audit_event SET worker = 'another'")
    owner.execute("UPDATE audit_event SET line = 'no event' WHERE id = %s", [pk])
    owner.execute("ALTER TABLE audit_event ENABLE ALWAYS TRIGGER event_sealed")
    assert Event.objects.get(pk=pk).worker is None


def test_several_events_of_one_transaction_have_an_order() -> None:
    events = write("run:abcd2345", *(Entry("step.started") for _ in range(3)))

    assert pages("", limit=1) == [[event.pk] for event in reversed(events)]
