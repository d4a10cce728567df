"""What is said when something is missing or breaks."""

import re

import pytest
from django.db import OperationalError
from django.http import HttpRequest
from django.test import Client

from apps.core.errors import Conflict, Denied, Invalid, NotFound, StudioError, Unavailable
from apps.runs.models import Run
from apps.web import errors
from apps.web.runs import page as runs_list

HTMX = {"HX-Request": "true"}


class Broken(Client):
    """A browser where the list of runs breaks as `error` says."""

    error: Exception

    def breaks(self, *_: object) -> None:
        raise self.error


@pytest.fixture
def broken(browser: Client, monkeypatch: pytest.MonkeyPatch) -> Broken:
    """Ada's."""
    broken = Broken(raise_request_exception=False)
    broken.cookies = browser.cookies
    monkeypatch.setattr(runs_list, "visible_runs", broken.breaks)
    return broken


@pytest.mark.parametrize(
    ("kind", "status"), [(Invalid, 400), (Denied, 403), (NotFound, 404), (Conflict, 409), (Unavailable, 503)]
)
def test_a_refusal_becomes_its_status_with_its_own_words(broken: Broken, kind: type[StudioError], status: int) -> None:
    broken.error = kind("Choose <another> one.")

    page, part = broken.get("/runs/"), broken.get("/runs/", headers=HTMX)

    assert (page.status_code, part.status_code) == (status, status)
    assert "Choose &lt;another&gt; one." in page.content.decode()
    assert "Choose &lt;another&gt; one." in part.content.decode()
    assert "<html" in page.content.decode()
    assert "<html" not in part.content.decode()


def test_every_kind_of_refusal_has_a_status() -> None:
    assert set(errors.STATUS) == set(StudioError.__subclasses__())
    assert set(errors.STATUS.values()) <= set(errors.TITLES)


def test_a_mistake_of_ours_is_said_with_the_name_the_log_has_for_it(broken: Broken) -> None:
    broken.error = ZeroDivisionError()

    response = broken.get("/runs/")

    assert response.status_code == 500
    assert response["X-Request-ID"] in response.content.decode()
    assert "our mistake" in broken.get("/runs/", headers=HTMX).content.decode()


def test_the_page_for_it_asks_no_database() -> None:
    """Without the `db` fixture a query would fail the test."""
    request = HttpRequest()
    request.META["SERVER_NAME"] = "testserver"

    response = errors.server_error(request)

    assert response.status_code == 500
    assert b"Something broke on our side" in response.content


def test_a_database_that_is_away_is_named(broken: Broken) -> None:
    broken.error = OperationalError("connection refused")

    response = broken.get("/runs/")

    assert response.status_code == 503
    assert "The database does not answer" in response.content.decode()


def test_when_even_the_template_breaks_something_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> str:
        raise ValueError("no manifest")

    monkeypatch.setattr(errors, "render_to_string", broken)

    response = errors.server_error(HttpRequest())

    assert (response.status_code, response["Content-Type"]) == (500, "text/plain")


def test_an_address_nobody_knows(browser: Client, client: Client) -> None:
    page = browser.get("/no/such/page/")

    assert page.status_code == 404
    assert "There is nothing here" in page.content.decode()
    assert "Sign out" in page.content.decode()


def test_a_form_that_is_too_old_says_what_to_do(browser: Client, run: Run) -> None:
    careful = Client(enforce_csrf_checks=True)
    careful.cookies = browser.cookies

    response = careful.post("/", {"task": "x"})

    assert response.status_code == 403
    assert "This form is too old" in response.content.decode()


def test_a_request_carries_a_name_of_its_own_or_the_one_it_came_with(db: None, client: Client) -> None:
    first, second = client.get("/healthz"), client.get("/healthz")
    given = client.get("/healthz", headers={"X-Request-ID": "from-the-proxy-1"})
    odd = client.get("/healthz", headers={"X-Request-ID": "<script>alert(1)</script>"})

    assert first["X-Request-ID"] != second["X-Request-ID"]
    assert given["X-Request-ID"] == "from-the-proxy-1"
    assert "<" not in odd["X-Request-ID"]


@pytest.mark.parametrize("path", ["/sign-in/", "/nowhere", "/admin/password_change/done/"])
def test_every_page_names_its_icon(client: Client, admin_client: Client, path: str) -> None:
    page = (admin_client if path.startswith("/admin/") else client).get(path).content.decode()

    icons = [link for link in re.findall(r"<link[^>]*>", page) if 'rel="icon"' in link]
    assert len(icons) == 1
    assert 'href="/static/css/icon.svg"' in icons[0]


def test_who_looks_for_an_icon_without_a_page_is_led_to_it(client: Client) -> None:
    response = client.get("/favicon.ico")

    assert (response.status_code, response["Location"]) == (302, "/static/css/icon.svg")
