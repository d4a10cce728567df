"""Habits of every address: it asks who you are, and what belongs to others is not there."""

import pytest
from django.test import Client
from django.urls import URLPattern, resolve, reverse

from apps.runs.models import Run
from apps.web.urls import urlpatterns

OPEN = {"favicon", "shared", "shared-replay", "healthz", "readyz"} | {
    "account_login",
    "mfa_authenticate",
    "mfa_login_webauthn",
    "openid_connect_login",
    "openid_connect_callback",
    "sign-in-by-link",
    "sign-out",
}
GIVEN = {
    "token": "t",
    "provider_id": "oidc",
    "code": "aaaaaaaa",
    "key": "s1",
    "id": "1",
    "pk": "1",
    "number": "1",
    "slug": "sim-conductor",
}


def address(pattern: URLPattern, **given: str) -> str:
    names = pattern.pattern.converters
    return reverse(pattern.name or "", kwargs={name: (GIVEN | given)[name] for name in names})


def named(pattern: URLPattern) -> str:
    return str(pattern.name)


@pytest.mark.parametrize("pattern", urlpatterns, ids=named)
@pytest.mark.parametrize("method", ["get", "post"])
def test_every_page_asks_who_you_are(
    db: None, redis_url: str, client: Client, pattern: URLPattern, method: str
) -> None:
    if pattern.name in OPEN:
        return

    response = getattr(client, method)(address(pattern))

    assert response.status_code == 302
    assert response["Location"].startswith("/sign-in/?next=")


@pytest.mark.parametrize("pattern", [p for p in urlpatterns if "code" in p.pattern.converters], ids=named)
@pytest.mark.parametrize("htmx", [False, True], ids=["page", "htmx"])
def test_what_belongs_to_others_is_not_there(run: Run, other_browser: Client, pattern: URLPattern, htmx: bool) -> None:
    url = address(pattern, code=run.code)
    headers = {"HX-Request": "true"} if htmx else {}

    seen = {getattr(other_browser, method)(url, headers=headers).status_code for method in ("get", "post")}

    assert seen <= {404, 405}
    assert 404 in seen
    assert Run.objects.get().status == Run.Status.QUEUED


@pytest.mark.parametrize("pattern", [p for p in urlpatterns if "code" in p.pattern.converters], ids=named)
def test_an_address_with_a_nul_in_it_names_nothing(browser: Client, pattern: URLPattern) -> None:
    url = address(pattern, code="a\0b", key="s\0")

    assert {getattr(browser, method)(url).status_code for method in ("get", "post")} <= {404, 405}


def test_every_page_has_a_name_of_its_own() -> None:
    names = [pattern.name for pattern in urlpatterns]

    assert len(set(names)) == len(names)
    assert None not in names


def test_the_open_pages_are_the_way_in_and_the_signs_of_life() -> None:
    open_pages = {
        pattern.name for pattern in urlpatterns if not getattr(resolve(address(pattern)).func, "login_required", True)
    }

    assert open_pages == OPEN


def test_a_part_of_a_page_sends_the_whole_page_to_the_way_in(db: None, client: Client) -> None:
    here = {"HX-Request": "true", "HX-Current-URL": "http://testserver/runs/?state=failed"}

    response = client.get("/runs/", headers=here)

    assert response["HX-Redirect"] == "/sign-in/?next=%2Fruns%2F%3Fstate%3Dfailed"


@pytest.mark.parametrize("path", ["/", "/runs/", "/account/"])
def test_no_page_holds_a_script_or_a_style_of_its_own(browser: Client, run: Run, path: str) -> None:
    response = browser.get(path)

    page = response.content.decode()
    assert response.status_code == 200
    assert " style=" not in page
    assert "<style" not in page
    assert " onclick=" not in page
    code = [script for script in page.split("<script")[1:] if 'type="application/json"' not in script.split(">")[0]]
    assert all("src=" in script for script in code)
    assert "script-src 'self'" in response["Content-Security-Policy"]
