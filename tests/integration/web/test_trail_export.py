"""The page that exports trails, its download, and the page of the public key."""

import io
import zipfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import pytest
from asgiref.sync import async_to_sync
from django.http import StreamingHttpResponse
from django.test import Client

from apps.accounts.models import Membership, User
from apps.audit import log
from apps.audit.anchors import public_key_id, public_key_pem, seal_anchor
from apps.audit.sending import send_on
from apps.runs.models import Run
from tests.factories import NOON
from tests.integration.audit.exports import listed
from tests.unit.audit.exported import unpack, verify

PAGE = "/audit/export/"


@pytest.fixture(autouse=True)
def auditor(ada: User, run: Run) -> User:
    """Ada, who has handed a run in and reads her project's trails now."""
    Membership.objects.filter(user=ada).update(role=Membership.Role.AUDITOR)
    return ada


@pytest.fixture
def exported(browser: Client, run: Run, tmp_path: Path) -> Callable[..., Path]:
    """Send the form and unpack what comes."""

    def send(**form: Any) -> Path:
        return unpack(downloaded(browser.post(PAGE, form)), tmp_path)

    return send


def downloaded(response: Any) -> bytes:
    assert isinstance(response, StreamingHttpResponse), response.content.decode()[-2000:]

    async def read() -> bytes:
        return b"".join([piece async for piece in cast(AsyncIterator[bytes], response.streaming_content)])

    return async_to_sync(read)()


def page(response: Any) -> str:
    shown: str = response.content.decode()
    return shown


# --- the form ------------------------------------------------------------------------------------------------------


def test_the_page_offers_everything_a_time_and_a_run(browser: Client, run: Run) -> None:
    shown = page(browser.get(PAGE))

    assert 'value="all" checked' in shown
    assert 'name="since"' in shown
    assert 'name="run"' in shown
    assert 'name="texts" value="1" checked' in shown


def test_an_address_fills_the_form_in(browser: Client, run: Run) -> None:
    assert f'value="{run.code}"' in page(browser.get(f"{PAGE}?run={run.code}"))
    assert 'value="run" checked' in page(browser.get(f"{PAGE}?run={run.code}"))
    assert 'value="time" checked' in page(browser.get(f"{PAGE}?since=2026-03-01T12:00"))


def test_everything_is_downloaded_as_a_zip_that_verifies(exported: Callable[..., Path], run: Run) -> None:
    folder = exported(kind="all", project="*", texts="1")

    status, said = verify(folder, "--key", public_key_id())
    assert status == 0, said
    assert run.trail in listed(folder, "trails.jsonl", "trail")
    assert run.task in listed(folder, "payloads.jsonl", "text")


def test_the_download_is_a_file_and_nobody_keeps_it(browser: Client, run: Run) -> None:
    response = browser.post(PAGE, {"kind": "all", "project": "*"})

    assert response["Content-Type"] == "application/zip"
    assert response["Content-Disposition"].startswith('attachment; filename="conductor-export-')
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Cache-Control"] == "no-store"
    assert "Content-Length" not in response
    assert "payloads.jsonl" not in zipfile.ZipFile(io.BytesIO(downloaded(response))).namelist()


def test_a_run_is_exported_by_its_code_and_tells_of_it(
    exported: Callable[..., Path], browser: Client, ada: User, run: Run
) -> None:
    folder = exported(kind="run", run=f" {run.code} ", texts="1")

    assert verify(folder)[0] == 0
    assert listed(folder, "trails.jsonl", "trail") == [run.trail]
    assert log.read(run.trail)[-1].actor == ada.actor
    told = page(browser.get(f"/runs/{run.code}/?view=events"))
    assert "Trails exported" in told
    assert "1 event of 1 trail" in told


def test_a_time_is_taken_in_utc(exported: Callable[..., Path], run: Run) -> None:
    folder = exported(kind="time", project="*", since="2026-03-02T12:00", until="2026-03-02T12:01")

    assert verify(folder)[0] == 0
    assert listed(folder, "trails.jsonl", "trail") == [run.trail]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"kind": "time"}, "Say from when, or until when."),
        ({"kind": "time", "since": "soon"}, "“soon” is no time."),
        ({"kind": "time", "since": "0001-01-01T00:00+14:00"}, "“0001-01-01T00:00+14:00” is no time."),
        ({"kind": "time", "until": "2026-02-31"}, "“2026-02-31” is no time."),
        ({"kind": "time", "since": "2026-03-03", "until": "2026-03-01"}, "The time ends before it begins"),
        ({"kind": "time", "until": "2026-03-01"}, "There is nothing to export: project ada from"),
        ({"kind": "run"}, "Say which run, by its code."),
        ({"kind": "run", "run": "nothere"}, "There is no run nothere, or it is not yours to see."),
        ({"kind": "run", "run": "a\0"}, "There is no run"),
        ({"kind": "all", "project": "bob"}, "others are not yours to export"),
        ({"kind": "all", "project": "."}, "others are not yours to export"),
    ],
)
def test_what_cannot_be_exported_is_said_in_the_form(browser: Client, run: Run, form: dict, words: str) -> None:
    given = {"project": "*"} | form
    response = browser.post(PAGE, given)

    assert response.status_code == 422
    assert words in page(response)
    assert 'role="alert"' in page(response)
    assert "trail.exported" not in [event.verb for event in log.read(run.trail)]


def test_a_run_of_others_is_not_there(other_browser: Client, bob: User, run: Run) -> None:
    Membership.objects.filter(user=bob).update(role=Membership.Role.ADMIN)

    response = other_browser.post(PAGE, {"kind": "run", "run": run.code})

    assert response.status_code == 422
    assert f"There is no run {run.code}, or it is not yours to see." in page(response)


def test_an_analyst_exports_no_trails(browser: Client, ada: User, run: Run) -> None:
    Membership.objects.filter(user=ada).update(role=Membership.Role.ANALYST)

    assert browser.get(PAGE).status_code == 403
    assert browser.post(PAGE, {"kind": "run", "run": run.code}).status_code == 403
    assert "auditors and admins" in page(browser.get(PAGE))


def test_an_admin_of_the_studio_chooses_between_all_a_project_and_the_studio(
    browser: Client, ada: User, run: Run, tmp_path: Path
) -> None:
    User.objects.filter(pk=ada.pk).update(is_superuser=True)

    shown = page(browser.get(PAGE))
    assert "All that you may audit" in shown
    assert "The studio itself" in shown
    folder = unpack(downloaded(browser.post(PAGE, {"kind": "all", "project": "."})), tmp_path)

    assert verify(folder)[0] == 0
    assert "pool" in listed(folder, "trails.jsonl", "trail")
    assert run.trail not in listed(folder, "trails.jsonl", "trail")


def test_the_way_from_a_run_is_there_for_who_may_go_it(browser: Client, ada: User, run: Run) -> None:
    way = f"{PAGE}?run={run.code}"

    assert way in page(browser.get(f"/runs/{run.code}/"))
    Membership.objects.filter(user=ada).update(role=Membership.Role.ANALYST)
    assert way not in page(browser.get(f"/runs/{run.code}/"))


# --- the public key ------------------------------------------------------------------------------------------------


def test_the_public_key_is_shown_and_downloaded(browser: Client) -> None:
    shown = page(browser.get("/audit/key/"))
    file = browser.get("/audit/key/?as=pem")

    assert public_key_id() in shown
    assert file.content.decode() == public_key_pem()
    assert file["Content-Disposition"].startswith("attachment")
    assert "BEGIN PUBLIC KEY" in shown
    assert "PRIVATE" not in shown


def test_the_page_of_the_key_says_what_was_anchored_and_where_it_was_sent(
    browser: Client, run: Run, settings: Any, tmp_path: Path
) -> None:
    shown = page(browser.get("/audit/key/"))
    assert "None yet" in shown
    assert "STUDIO_ANCHOR_FILE" in shown

    settings.ANCHOR_FILE = str(tmp_path / "kept.jsonl")
    newest = seal_anchor(now=NOON)[-1]
    assert "nothing was sent yet" in page(browser.get("/audit/key/"))
    send_on(now=NOON)
    shown = page(browser.get("/audit/key/"))

    assert newest.hash in shown
    assert f"{tmp_path / 'kept.jsonl'}: number {newest.seq} was sent" in shown
    assert "STUDIO_ANCHOR_FILE" not in shown


def test_a_place_that_takes_no_anchors_is_told(browser: Client, run: Run, settings: Any, tmp_path: Path) -> None:
    settings.ANCHOR_FILE = str(tmp_path / "no folder" / "kept.jsonl")
    seal_anchor(now=NOON)
    send_on(now=NOON)

    assert "not reached since 2 Mar 2026 12:00 UTC" in page(browser.get("/audit/key/"))


def test_without_a_key_the_page_says_what_to_set(browser: Client, settings: Any) -> None:
    settings.READ_SIGNING_KEYS = list

    response = browser.get("/audit/key/")

    assert response.status_code == 503
    assert "SIGNING_KEY" in page(response)
