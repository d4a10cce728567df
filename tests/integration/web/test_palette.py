"""The command palette's choices, a look at one run, saved views as forms, and two runs picked in the list."""

from django.test import Client

from apps.accounts.models import User
from apps.runs.models import Run, SavedView, Step
from tests.integration.web.given import a_run, finished


def choices(client: Client, typed: str = "") -> str:
    return client.get("/palette/", {"q": typed}).content.decode()


def test_without_text_it_offers_pages_and_the_latest_runs(browser: Client, ada: User, bob: User) -> None:
    run = a_run(ada, "Mine")
    a_run(bob, "Not for Ada")

    html = choices(browser)

    assert 'href="/workers/"' in html
    assert f'href="/runs/{run.code}/"' in html
    assert "Not for Ada" not in html


def test_text_finds_pages_views_and_runs(browser: Client, ada: User) -> None:
    a_run(ada, "Look at tariffs")
    a_run(ada, "Something else")
    SavedView.objects.create(
        person=ada, name="Tariffs of 2026", text="tariff after:2026-01-01", created_at="2026-11-21T00:00Z"
    )

    html = choices(browser, "tariff")

    assert "Look at tariffs" in html
    assert "Something else" not in html
    assert "View: Tariffs of 2026" in html
    assert 'href="/runs/?q=tariff"' in html
    assert 'href="/workers/"' not in html
    assert 'href="/workers/"' in choices(browser, "WORK")


def test_it_takes_the_filter_of_the_list_and_bad_ones_find_no_run(browser: Client, ada: User) -> None:
    a_run(ada, "Goes on", status="running")

    assert "Goes on" in choices(browser, "status:live")
    assert "Goes on" not in choices(browser, "status:fialed")
    assert choices(browser, "\0 %").strip() == ""


def test_only_an_admin_is_led_to_the_admin_pages(browser: Client, ada: User) -> None:
    assert 'href="/admin/"' not in choices(browser)
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    assert 'href="/admin/"' in choices(browser)


def test_a_look_at_a_run_tells_how_its_answer_begins_and_its_steps(browser: Client, ada: User) -> None:
    run = finished(ada)

    html = browser.get(f"/runs/{run.code}/peek/").content.decode()

    assert "<html" not in html
    assert "**South** grew most." in html
    assert f'href="/runs/{run.code}/?step=s2"' in html
    assert html.count("<li>") == 2


def test_a_look_at_a_run_is_short_however_long_the_run_is(browser: Client, ada: User) -> None:
    run = a_run(
        ada, "x" * 50_000, status="failed", finished_at="2026-11-21T00:00Z", answer="y" * 50_000, error="z" * 50_000
    )
    Step.objects.bulk_create(
        Step(run=run, key=f"s{number}", position=number, worker="sim-cedar", instruction="Do it. " * 3_000)
        for number in range(40)
    )

    html = browser.get(f"/runs/{run.code}/peek/").content.decode()

    assert len(html) < 12_000
    assert "and 28 more steps" in html


def test_a_run_of_others_is_not_looked_at(other_browser: Client, run: Run) -> None:
    assert other_browser.get(f"/runs/{run.code}/peek/").status_code == 404


def test_two_that_were_picked_are_compared_the_older_one_first(browser: Client, ada: User) -> None:
    older, newer = finished(ada), finished(ada)

    page = browser.get(f"/compare/?pick={newer.code}&pick={older.code}")

    assert page.context["asked"].a == older.code
    assert page.context["asked"].b == newer.code
    assert browser.get(f"/compare/?pick={newer.code}").context["given"] == newer


def test_a_view_is_saved_shown_renamed_and_deleted(browser: Client, ada: User) -> None:
    assert "Save view…" in browser.get("/runs/?q=status:failed+tariff").content.decode()

    saved = browser.post("/runs/views/", {"name": "Broken tariffs", "q": "is:failed tariff"})
    view = SavedView.objects.get()
    shown = browser.get("/runs/?q=tariff+status:failed").content.decode()
    current = browser.get(saved["Location"]).content.decode()

    assert saved["Location"] == "/runs/?q=status:failed+tariff"
    assert ">Broken tariffs</a>" in shown
    assert 'title="status:failed tariff" aria-current="true">Broken tariffs</a>' in current

    browser.post(f"/runs/views/{view.pk}/", {"name": "Tariffs"})
    assert SavedView.objects.get().name == "Tariffs"
    browser.post(f"/runs/views/{view.pk}/", {"action": "delete"})
    assert not SavedView.objects.exists()


def test_what_cannot_be_saved_is_said_on_the_list(browser: Client, ada: User) -> None:
    SavedView.objects.create(person=ada, name="Taken", text="status:failed", created_at="2026-11-21T00:00Z")

    answer = browser.post("/runs/views/", {"name": "Taken", "q": "tariff"}, follow=True)

    assert answer.redirect_chain == [("/runs/?q=tariff", 302)]
    assert "You have a view called “Taken” already." in answer.content.decode()


def test_views_are_their_owners_alone(browser: Client, other_browser: Client, bob: User, ada: User) -> None:
    view = SavedView.objects.create(person=bob, name="His", text="status:failed", created_at="2026-11-21T00:00Z")

    assert ">His<" not in browser.get("/runs/").content.decode()
    assert browser.post(f"/runs/views/{view.pk}/", {"action": "delete"}).status_code == 404
    assert other_browser.get("/runs/").content.decode().count(">His</a>") == 1
