"""The admin panel: what stands in its menu, what its pages may run, and what is said before something is deleted."""

import html
import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Membership, Project, User
from apps.accounts.services import ensure_first_person
from apps.workers.models import Conductor, Credential, Fallback, Profile, Worker
from tests.factories import make_person, make_project, make_run

STRICT = ("script-src 'self'", "style-src 'self'", "default-src 'none'", "frame-ancestors 'none'")


@pytest.fixture
def admin(db: None, redis_url: str) -> User:
    return ensure_first_person(now=timezone.now())


@pytest.fixture
def browser(admin: User, client: Client) -> Client:
    client.force_login(admin)
    return client


def policy_of(response: Any) -> list[str]:
    return [part.strip() for part in response["Content-Security-Policy"].split(";")]


def said(response: Any) -> str:
    """The words of a page, without its tags."""
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", response.content.decode(), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split()).replace(" ,", ",").replace(" .", ".")


def worker(slug: str, **more: Any) -> Worker:
    return Worker.objects.create(slug=slug, name=slug.title(), model=slug, base_url="http://127.0.0.1:9/v1", **more)


# --- menu and policy -----------------------------------------------------------------------------------------------


def test_the_menu_is_grouped_by_noun_and_leads_back_to_the_studio(browser: Client) -> None:
    page = browser.get("/admin/").content.decode()

    menu = page[page.index('id="nav-sidebar-apps"') : page.index("Submit a task")]
    places = [menu.index(title) for title in ("Pool", "Workers", "Credentials", "Money", "People", "API keys")]
    assert places == sorted(places)
    assert 'href="/runs/"' in page
    assert "Conductor Studio" in page


def test_who_may_see_workers_alone_is_shown_no_people(browser: Client) -> None:
    helper = User.objects.create_user("helper", is_staff=True)
    helper.user_permissions.add(Permission.objects.get(codename="view_worker"))
    browser.force_login(helper)

    page = browser.get("/admin/").content.decode()

    assert "/admin/workers/worker/" in page
    assert "/admin/accounts/user/" not in page
    assert "/admin/workers/credential/" not in page


def test_the_admin_pages_alone_may_evaluate_and_set_styles(browser: Client) -> None:
    admin_pages = [browser.get(path) for path in ("/admin/", "/admin/workers/worker/", "/admin/no-such-page/")]
    others = [
        browser.get(path) for path in ("/", "/runs/", "/account/", "/conductors/", "/no-such-page/", "/administer/")
    ]
    signed_out = Client().get("/sign-in/")

    for page in admin_pages:
        assert "script-src 'self' 'unsafe-eval'" in policy_of(page)
        assert "default-src 'none'" in policy_of(page)
        assert "frame-ancestors 'none'" in policy_of(page)
    for page in [*others, signed_out]:
        assert set(STRICT) <= set(policy_of(page))
        assert "unsafe" not in page["Content-Security-Policy"]


# --- before something is deleted -----------------------------------------------------------------------------------


def test_before_a_person_is_deleted_it_says_what_ends_with_them(browser: Client) -> None:
    ada = User.objects.create_user("ada")
    Membership.objects.create(user=ada, project=Project.objects.get())

    text = said(browser.get(f"/admin/accounts/user/{ada.pk}/delete/"))

    assert "Delete the person “ada”?" in text
    assert "1 membership will end: ada in Default: analyst." in text
    assert "What they did stays in the trails" in text
    assert "Instead: Take “Active” away" in text


def test_a_person_with_runs_cannot_be_deleted_and_is_told_apart(browser: Client) -> None:
    ada = make_person("ada", project=make_project("lab"))
    make_run(by=ada)

    asked = browser.get(f"/admin/accounts/user/{ada.pk}/delete/")
    forced = browser.post(f"/admin/accounts/user/{ada.pk}/delete/", {"post": "yes"})

    for page in (asked, forced):
        assert "cannot be deleted yet" in said(page)
        assert "They have 1 run, and runs are kept" in said(page)
    assert User.objects.filter(username="ada").exists()


def test_before_a_worker_is_deleted_it_says_who_offers_it(browser: Client) -> None:
    one, other = worker("one"), worker("other")
    both = Profile.objects.create(slug="both", name="Both", planner="direct")
    both.workers.set([one, other])
    alone = Profile.objects.create(slug="alone", name="Alone", planner="direct")
    alone.workers.set([one])

    text = said(browser.get(f"/admin/workers/worker/{one.pk}/delete/"))

    assert "2 profiles offer it and will no longer: Both, Alone" in text
    assert "“Alone” offers nothing else: with no worker chosen it will offer every enabled worker" in text
    assert "Runs that used it stay readable" in text


def test_a_worker_that_stands_in_for_others_is_not_deleted(browser: Client) -> None:
    one, other = worker("one"), worker("other")
    Fallback.objects.create(worker=one, instead=other)

    text = said(browser.get(f"/admin/workers/worker/{other.pk}/delete/"))
    browser.post(f"/admin/workers/worker/{other.pk}/delete/", {"post": "yes"})

    assert "It stands in for others in 1 fallback (take it out there first): other for one" in text
    assert Worker.objects.count() == 2


def test_a_credential_in_use_names_who_uses_it(browser: Client) -> None:
    credential = Credential(label="Lab")
    credential.keep("sk-0123456789abcdef")
    credential.save()
    worker("one", credential=credential)
    Conductor.objects.create(slug="plans", name="Plans", model="plans", credential=credential)

    text = said(browser.get(f"/admin/workers/credential/{credential.pk}/delete/"))

    assert "cannot be deleted yet" in text
    assert "Used by 1 worker (give each another key first): one" in text
    assert "Used by 1 conductor (give each another key first): plans" in text


def test_several_at_once_are_spoken_of_together_and_go_only_after_a_yes(browser: Client) -> None:
    chosen = [str(worker(slug).pk) for slug in ("one", "two")]
    act = {"action": "delete_selected", "_selected_action": chosen}

    asked = browser.post("/admin/workers/worker/", act)

    assert "Delete 2 workers?" in said(asked)
    assert Worker.objects.count() == 2
    for pk in chosen:
        assert f'name="_selected_action" value="{pk}"' in asked.content.decode()
    browser.post("/admin/workers/worker/", act | {"post": "yes"})
    assert not Worker.objects.exists()
