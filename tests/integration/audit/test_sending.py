"""Sending anchors on, to a real file and a real server."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from apps.audit import outside
from apps.audit.anchors import anchors_of, seal_anchor
from apps.audit.log import Entry, read
from apps.audit.models import Sending
from apps.audit.pinned import read as read_anchor
from apps.audit.sending import send_on, sendings
from tests.integration.audit.trails import NOON, write

pytestmark = pytest.mark.django_db(transaction=True)


def seal(*trails: str) -> None:
    for trail in trails:
        write(trail, Entry("x"))
        seal_anchor(now=NOON)


@pytest.fixture
def file(settings: Any, tmp_path: Path) -> Path:
    settings.ANCHOR_FILE, settings.ANCHOR_WEBHOOK = str(tmp_path / "anchors.jsonl"), ""
    return tmp_path / "anchors.jsonl"


@dataclass
class Keeper:
    """A server that keeps what it is sent, and answers as it is told to."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    asked: int = 0
    kept: list[dict[str, Any]] = field(default_factory=list)


@pytest.fixture
def keeper(settings: Any) -> Iterator[Keeper]:
    keeper = Keeper()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            keeper.asked += 1
            status = keeper.answers.pop(0) if keeper.answers else 204
            if status < 300:
                keeper.kept += body["anchors"]
            self.send_response(status)
            self.send_header("Location", "http://127.0.0.1:1/")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    keeper.url = f"http://ada:secret-word@127.0.0.1:{server.server_port}/hook?token=secret-word"
    settings.ANCHOR_FILE, settings.ANCHOR_WEBHOOK = "", keeper.url
    yield keeper
    server.shutdown()
    thread.join()
    server.server_close()


def sent() -> Sending:
    return Sending.objects.get()


def told() -> list[str]:
    return [event.verb for event in read("checks")]


# --- a file --------------------------------------------------------------------------------------------------------


def test_each_anchor_is_a_line_of_the_file_once(file: Path) -> None:
    seal("a", "b")
    send_on(now=NOON)
    seal("c")
    send_on(now=NOON)
    send_on(now=NOON)

    assert [read_anchor(line) for line in file.read_text().splitlines()] == list(anchors_of())
    assert (sent().sent_seq, sent().error, told()) == (3, "", [])


def test_a_file_that_is_not_there_any_more_is_written_from_the_first_anchor(file: Path) -> None:
    seal("a")
    send_on(now=NOON)
    file.unlink()
    seal("b")

    send_on(now=NOON)

    assert [read_anchor(line).seq for line in file.read_text().splitlines()] == [1, 2]


def test_a_line_that_was_torn_spoils_no_other(file: Path) -> None:
    seal("a", "b")
    send_on(now=NOON)
    file.write_text(file.read_text()[:-40])
    seal("c")

    send_on(now=NOON)

    first, torn, last = file.read_text().splitlines()
    assert (read_anchor(first).seq, read_anchor(last).seq) == (1, 3)
    with pytest.raises(ValueError):
        read_anchor(torn)


def test_a_place_that_cannot_be_written_is_told_once_and_tried_again(settings: Any, tmp_path: Path) -> None:
    path = tmp_path / "away" / "anchors.jsonl"
    settings.ANCHOR_FILE, settings.ANCHOR_WEBHOOK = str(path), ""
    seal("a")

    send_on(now=NOON)
    send_on(now=NOON + timedelta(minutes=1))

    assert (sent().failing_since, sent().error) == (NOON, "No such file or directory")
    assert told() == ["anchors.not_sent"]

    path.parent.mkdir()
    send_on(now=NOON + timedelta(minutes=2))

    assert (sent().failing_since, sent().error, sent().sent_seq) == (None, "", 1)
    assert told() == ["anchors.not_sent", "anchors.sent_again"]
    assert len(path.read_text().splitlines()) == 1


# --- a web hook ----------------------------------------------------------------------------------------------------


def test_anchors_are_posted_in_order(keeper: Keeper) -> None:
    seal("a", "b", "c")

    send_on(now=NOON)
    send_on(now=NOON)

    assert [read_anchor(json.dumps(each)) for each in keeper.kept] == list(anchors_of())
    assert keeper.asked == 1


def test_a_server_that_is_busy_for_a_moment_is_asked_again(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper.answers += [503, 429]
    seal("a")

    send_on(now=NOON)

    assert (keeper.asked, sent().sent_seq, told()) == (3, 1, [])


@pytest.mark.parametrize(("status", "asked"), [(500, outside.TRIES), (404, 1), (302, 1)])
def test_a_server_that_refuses_is_told_and_sent_the_same_the_next_time(keeper: Keeper, status: int, asked: int) -> None:
    keeper.answers += [status] * asked
    seal("a")

    send_on(now=NOON)

    assert (keeper.asked, sent().error, sent().sent_seq) == (asked, f"it answered {status}", 0)
    seal("b")
    send_on(now=NOON)
    assert [each["seq"] for each in keeper.kept] == [1, 2, 3]  # the failure itself was anchored, too


def test_an_address_is_kept_and_told_nowhere(settings: Any) -> None:
    settings.ANCHOR_FILE = ""
    settings.ANCHOR_WEBHOOK = "http://ada:secret-word@127.0.0.1:1/hook?token=secret-word"
    seal("a")

    send_on(now=NOON)

    row = sent()
    assert row.error.startswith("no answer: ")
    assert "secret-word" not in f"{row.label} {row.place} {row.error} {read('checks')}"


@pytest.mark.parametrize("address", ["no address", "ftp://example.org/", "http://"])
def test_what_is_no_address_is_told(settings: Any, address: str) -> None:
    settings.ANCHOR_FILE, settings.ANCHOR_WEBHOOK = "", address
    seal("a")

    send_on(now=NOON)

    assert sent().error


def test_a_place_that_was_changed_begins_with_the_first_anchor(keeper: Keeper, settings: Any) -> None:
    seal("a", "b")
    send_on(now=NOON)

    settings.ANCHOR_WEBHOOK = keeper.url + "2"
    send_on(now=NOON)

    assert [each["seq"] for each in keeper.kept] == [1, 2, 1, 2]
    assert [row.sent_seq for _, row in sendings() if row] == [2]


def test_where_no_place_is_set_nothing_is_sent(settings: Any) -> None:
    settings.ANCHOR_FILE, settings.ANCHOR_WEBHOOK = "", ""
    seal("a")

    send_on(now=NOON)

    assert (list(Sending.objects.all()), sendings()) == ([], [])
