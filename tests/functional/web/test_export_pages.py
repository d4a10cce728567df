"""Exporting trails in a real browser: the form from the keyboard, the zip as it streams, and who may be kept out."""

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from apps.accounts.models import Membership, User
from apps.audit import log
from apps.audit.anchors import public_key_id
from apps.runs.models import Run
from tests.factories import Driving, chain, make_run
from tests.functional.web.browsing import (
    HOSTILE,
    Server,
    check_nobody_is_kept_out,
    check_nothing_runs,
    elsewhere,
    signed_in,
)
from tests.unit.audit.exported import rows, verify

pytestmark = pytest.mark.browser


@pytest.fixture
def run(ada: User) -> Run:
    """A run of Ada's that has ended, every text of which wants to be a script. She audits her project since."""
    driving = Driving(make_run(by=ada, task=HOSTILE))
    driving.plan(chain(f"Compute it {HOSTILE}", HOSTILE))
    ended = driving.carry({"s1": HOSTILE, "s2": f"**South** {HOSTILE}"})
    Membership.objects.filter(user=ada).update(role=Membership.Role.AUDITOR)
    return ended


@pytest.fixture
def studios_admin(ada: User, run: Run) -> User:
    User.objects.filter(pk=ada.pk).update(is_superuser=True, is_staff=True)
    return ada


def pages(run: Run) -> Iterator[tuple[str, str]]:
    yield "/audit/export/", "#checking"
    yield "/audit/export/?since=2026-03-01T12:00&until=2026-03-02", "#until"
    yield f"/audit/export/?run={run.code}", "#run"
    yield "/audit/key/", "#pem"


def test_a_run_is_exported_from_the_keyboard_and_verifies_elsewhere(
    run: Run, server: Server, opened: Callable[[], Any], tmp_path: Path
) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/audit/export/")
        page.get_by_role("radio", name="Everything").focus()
        page.keyboard.press("ArrowDown")
        expect(page.get_by_label("From", exact=True)).to_be_visible()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Tab")
        expect(page.get_by_label("Its code")).to_be_focused()
        page.keyboard.type(run.code)
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        with zipfile.ZipFile(download.value.path()) as file:
            file.extractall(tmp_path)
        assert download.value.suggested_filename.endswith(".zip")

    status, said = verify(tmp_path, "--key", public_key_id())
    assert status == 0, said
    assert HOSTILE in [row["text"] for row in rows(tmp_path, "payloads.jsonl")]
    assert elsewhere(log.read, run.trail)[-1].verb == "trail.exported"


def test_what_is_wrong_is_said_beside_it_and_focused(run: Run, server: Server, opened: Callable[[], Any]) -> None:
    with signed_in(server, opened) as page:
        page.goto(f"{server.url}/audit/export/?run=nothere")
        page.get_by_role("button", name="Export", exact=True).click()

        expect(page.get_by_role("alert").filter(has_text="There is no run nothere")).to_be_visible()
        expect(page.get_by_label("Its code")).to_be_focused()
        expect(page.get_by_label("Its code")).to_have_value("nothere")


def test_nothing_runs_on_the_pages(run: Run, studios_admin: User, server: Server, opened: Callable[[], Any]) -> None:
    check_nothing_runs(server, opened, pages(run))


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_nobody_is_kept_out(
    run: Run, studios_admin: User, server: Server, opened: Callable[[], Any], scheme: str, width: int
) -> None:
    check_nobody_is_kept_out(server, opened, pages(run), scheme=scheme, width=width)
