"""The audit page: whose events it shows, how it is narrowed, what an event says when it is opened, and the banner."""

import html as markup
import re
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from django.db import transaction
from django.http import QueryDict
from django.test import Client
from django.utils import timezone

from apps.accounts.changes import changed
from apps.accounts.models import Membership, Project, User
from apps.audit import finding, log, searching
from apps.audit.log import Entry
from apps.audit.models import Check, Event
from apps.web.audit import page as audit_page
from apps.web.audit.asked import Asked, from_form
from studio.embedded.postgres import OWNER, Postgres
from tests.factories import NOON, make_person, make_project
from tests.integration.web.given import finished

pytestmark = pytest.mark.usefixtures("committed_db")


def words(page: str) -> str:
    """What is read, without the marks around it."""
    return " ".join(markup.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def events(page: str) -> list[int]:
    return [int(pk) for pk in re.findall(r'data-event="(\d+)"', page)]


def look(client: Client, query: str = "", **headers: str) -> str:
    answer = client.get(f"/audit/{query}", headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def narrowed(client: Client, text: str) -> list[int]:
    return events(look(client, f"?q={quote(text)}"))


def tell(verb: str, *, by: User, project: str = "default", data: dict[str, Any] | None = None, **texts: str) -> int:
    entry = Entry(verb, data or {}, texts)
    with transaction.atomic():
        [event] = log.append(
            f"of:{project}", [entry], by=by.actor, at=timezone.now(), subject=f"person:{by.pk}", project=project
        )
    return event.pk


def auditor(name: str = "olga", role: str = Membership.Role.AUDITOR, *, project: Project | None = None) -> User:
    person = make_person(name, project=project)
    Membership.objects.filter(user=person).update(role=role)
    return person


def signed_in(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def olga() -> User:
    """An auditor of the project `default`."""
    return auditor()


@pytest.fixture
def browser(olga: User) -> Client:
    return signed_in(olga)


# --- whose events --------------------------------------------------------------------------------------------------


def test_an_auditor_sees_their_projects_events_the_newest_first(browser: Client, olga: User) -> None:
    first, second = tell("run.submitted", by=olga), tell("run.stopped", by=olga)
    tell("run.submitted", by=olga, project="others")
    tell("worker.added", by=olga, project="")

    assert events(look(browser)) == [second, first]


def test_an_analyst_is_told_who_may(olga: User) -> None:
    page = signed_in(make_person("ada")).get("/audit/")

    assert page.status_code == 403
    assert "Trails are read by auditors and admins of a project." in words(page.content.decode())
    for path in ("news/", "standing/"):
        assert signed_in(make_person()).get(f"/audit/{path}").status_code == 403


def test_who_runs_the_studio_sees_what_belongs_to_no_project_too() -> None:
    root = auditor("root", Membership.Role.ADMIN)
    User.objects.filter(pk=root.pk).update(is_superuser=True)
    mine, pool = tell("run.submitted", by=root), tell("worker.added", by=root, project="")
    tell("run.submitted", by=root, project="others")

    assert events(look(signed_in(root))) == [pool, mine]


def test_the_way_to_it_is_shown_to_those_who_may(browser: Client) -> None:
    analyst = signed_in(make_person("ada"))

    assert '<a class="roomy" href="/audit/"' in browser.get("/runs/").content.decode()
    assert 'href="/audit/"' not in analyst.get("/runs/").content.decode()
    assert 'href="/audit/"' in browser.get("/palette/?q=audit").content.decode()
    assert 'href="/audit/"' not in analyst.get("/palette/?q=audit").content.decode()


# --- narrowing -----------------------------------------------------------------------------------------------------


def test_it_is_narrowed_by_the_address(browser: Client, olga: User) -> None:
    asked = tell("run.submitted", by=olga, task="Which tariffs grew?")
    broke = tell("step.failed", by=olga, data={"worker": "sim-birch"}, error="away")
    searching.keep_words()

    assert narrowed(browser, "verb:run") == [asked]
    assert narrowed(browser, "outcome:failed") == [broke]
    assert narrowed(browser, "actor:OLG worker:birch") == [broke]
    assert narrowed(browser, "tarif") == [asked]
    assert narrowed(browser, "after:1h -tarif") == [broke]
    assert "No event fits" in look(browser, "?q=verb:nothing")


def test_people_are_found_by_their_user_name(browser: Client, olga: User) -> None:
    User.objects.filter(pk=olga.pk).update(first_name="Olga", last_name="Ladyzhenskaya")
    olga.refresh_from_db()
    event = tell("run.submitted", by=olga)

    assert narrowed(browser, "actor:olga") == [event]
    assert narrowed(browser, "actor:lady") == [event]
    User.objects.filter(pk=olga.pk).update(username="ol")
    assert narrowed(browser, "actor:ol") == [event]


def test_what_is_not_understood_is_said_beside_what_is(browser: Client, olga: User) -> None:
    tell("run.submitted", by=olga)

    page = words(look(browser, "?q=verb:run+outcome:wrong"))

    assert "Character 10, outcome:wrong : “wrong” is none of failed, stopped, refused, done." in page
    assert "Understood, and shown: verb:run" in page


def test_the_form_says_the_same_in_the_address(browser: Client, olga: User) -> None:
    answer = browser.get("/audit/", {"form": "1", "actor": "Olga  L", "verb": "run", "after": "7d", "text": "-tariff"})

    assert answer.status_code == 302
    assert answer["Location"] == "/audit/?q=actor:%22Olga+L%22+verb:run+after:7d+-tariff"


@pytest.mark.parametrize(
    "text", ["", "verb:run actor:ada", 'actor:"Ada L" after:7d tariff', "verb:run verb:step -is:person", '"a b"']
)
def test_a_form_that_is_filled_in_says_what_was_asked(text: str) -> None:
    asked = Asked(text)
    given = QueryDict(mutable=True)
    given.update(asked.form)

    assert set(Asked(from_form(given)).filter.terms) == set(asked.filter.terms)


@pytest.mark.parametrize("query", ["?from=x", "?from=c1", "?q=%00", "?from=t99999999999999999.1", "?q=%22"])
def test_an_address_of_nonsense_shows_the_list(browser: Client, olga: User, query: str) -> None:
    event = tell("run.submitted", by=olga)

    assert events(look(browser, query)) in ([event], [])


def test_pages_end_at_an_event_and_go_on_after_it(browser: Client, olga: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_page, "PAGE", 2)
    told = [tell("run.submitted", by=olga) for _ in range(5)]

    turned, query = [], "?q=verb:run"
    for _ in range(3):
        page = look(browser, query)
        turned.append(events(page))
        tell("run.submitted", by=olga)  # which moves nothing that was read
        found = re.search(r'href="/audit/(\?[^"]*from=[^"]*)"', page)
        query = markup.unescape(found[1]) if found else ""

    assert turned == [[told[4], told[3]], [told[2], told[1]], [told[0]]]
    assert query == ""


def test_a_search_that_ends_in_the_middle_says_how_far_it_came(
    browser: Client, olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(6):
        tell("run.submitted", by=olga)
    monkeypatch.setattr(finding, "FEW", -1)
    monkeypatch.setattr(finding, "WALK", 4)

    page = look(browser, "?q=-is:person")

    assert "Looked back as far as" in words(page)
    assert "and nothing fits so far" in words(page)
    assert "Look further" in page


# --- what is new ---------------------------------------------------------------------------------------------------


def test_what_has_come_since_is_counted_and_moves_nothing(browser: Client, olga: User) -> None:
    tell("run.submitted", by=olga)
    since = re.search(r'name="since" value="(\d+)"', look(browser))
    assert since
    tell("run.stopped", by=olga)
    tell("step.failed", by=olga)
    tell("run.stopped", by=olga, project="others")

    news = browser.get("/audit/news/", {"since": since[1]}).content.decode()
    fitting = browser.get("/audit/news/", {"since": since[1], "q": "verb:step"}).content.decode()

    assert words(news) == "↑ 2 new"
    assert words(fitting) == "↑ 1 new"
    assert 'href="/audit/?q=verb%3Astep"' in fitting
    assert browser.get("/audit/news/", {"since": "x"}).content.strip() == b""


def test_htmx_is_given_the_list_alone(browser: Client, olga: User) -> None:
    tell("run.submitted", by=olga)

    part = look(browser, **{"HX-Request": "true"})

    assert "<html" not in part
    assert len(events(part)) == 1


# --- an event opened -----------------------------------------------------------------------------------------------


def test_an_opened_event_shows_what_was_and_what_is(browser: Client, olga: User) -> None:
    entry = changed("worker", {"worker": "sim-birch"}, fields=["name"], before={"name": "Birch"}, after={"name": "Oak"})
    pk = tell(entry.verb, by=olga, data=dict(entry.data), **entry.texts)

    page = browser.get(f"/audit/events/{pk}/").content.decode()

    assert "<del>Birch</del><ins>Oak</ins>" in page
    assert "worker sim-birch" in words(page)
    assert "What was written" not in page


def test_an_opened_event_shows_its_line_as_it_is_sealed_and_both_hashes(browser: Client, olga: User) -> None:
    first = tell("run.submitted", by=olga, task="Which <b>tariffs</b> grew?")
    pk = tell("run.stopped", by=olga)
    event, before = Event.objects.get(pk=pk), Event.objects.get(pk=first)

    page = browser.get(f"/audit/events/{pk}/").content.decode()
    other = browser.get(f"/audit/events/{first}/").content.decode()

    assert event.line in markup.unescape(page)
    assert event.hash in page
    assert before.hash in page
    assert "✓ the same" in page
    assert "0" * 64 in other
    assert "Which &lt;b&gt;tariffs&lt;/b&gt; grew?" in other


def test_an_erased_text_leaves_its_digest(browser: Client, olga: User) -> None:
    pk = tell("run.submitted", by=olga, task="A secret")
    with transaction.atomic():
        log.erase("of:default", at=NOON)

    page = browser.get(f"/audit/events/{pk}/").content.decode()

    assert "A secret" not in page
    assert "Erased. What stays is its digest" in page
    assert Event.objects.get(pk=pk).texts["task"][:16] in page


def test_htmx_opens_and_closes_a_row_in_its_place(browser: Client, olga: User) -> None:
    pk = tell("run.submitted", by=olga, task="Which tariffs grew?")

    opened = browser.get(f"/audit/events/{pk}/", headers={"HX-Request": "true"}).content.decode()
    closed = browser.get(f"/audit/events/{pk}/?closed", headers={"HX-Request": "true"}).content.decode()

    assert "<html" not in opened
    assert f'<tbody id="event-{pk}"' in opened
    assert 'aria-expanded="true"' in opened
    assert f'hx-get="/audit/events/{pk}/?closed&amp;"' in opened
    assert 'aria-expanded="false"' in closed
    assert closed.strip() in look(browser)


def test_events_of_others_cannot_be_opened(browser: Client, olga: User) -> None:
    theirs = tell("run.submitted", by=olga, project="others")
    studio = tell("worker.added", by=olga, project="")

    assert browser.get(f"/audit/events/{theirs}/").status_code == 404
    assert browser.get(f"/audit/events/{studio}/").status_code == 404
    assert browser.get("/audit/events/999999/").status_code == 404
    assert browser.get(f"/audit/events/{2**70}/").status_code == 404


def test_who_sees_a_run_opens_its_events_and_no_others(olga: User) -> None:
    ada = make_person("ada")
    run, other = finished(ada), tell("person.changed", by=olga)
    submitted = Event.objects.get(trail__name=run.trail, seq=1)

    assert signed_in(ada).get(f"/audit/events/{submitted.pk}/").status_code == 200
    assert signed_in(ada).get(f"/audit/events/{other}/").status_code == 404
    stranger = make_person("eve", project=make_project("others"))
    assert signed_in(stranger).get(f"/audit/events/{submitted.pk}/").status_code == 404


def test_a_runs_events_are_rows_of_the_same_kind(olga: User) -> None:
    run = finished(make_person("ada"))

    page = signed_in(olga).get(f"/runs/{run.code}/?view=events").content.decode()

    assert events(page) == list(
        Event.objects.filter(trail__name=run.trail).order_by("seq").values_list("pk", flat=True)
    )
    assert "Step succeeded s1 Birch" in words(page)


def test_a_row_says_the_same_open_and_closed(olga: User) -> None:
    run = finished(make_person("ada"))
    done = Event.objects.filter(trail__name=run.trail, verb="step.succeeded").order_by("-seq").first()
    assert done is not None
    browser = signed_in(olga)
    listed = browser.get(f"/audit/?q=run:{run.code}+verb:step.succeeded")
    alone, in_run = (
        browser.get(f"/audit/events/{done.pk}/?{where}", headers={"HX-Request": "true"}) for where in ("", "in_run")
    )

    assert listed.context["page"].rows[0].facts == alone.context["row"].facts
    assert in_run.context["row"].facts != alone.context["row"].facts


@pytest.mark.parametrize("line", ["no json", "[]", "{}", '{"trail": 5}', "[" * 5000 + "]" * 5000], ids=len)
def test_a_line_that_somebody_changed_is_shown_as_such_and_keeps_no_page_from_opening(
    olga: User, postgres: Postgres, line: str
) -> None:
    run = finished(make_person("ada"))
    changed = Event.objects.get(trail__name=run.trail, seq=2)
    with psycopg.connect(postgres.url(OWNER), autocommit=True) as owner:
        owner.execute("ALTER TABLE audit_event DISABLE TRIGGER event_sealed")
        owner.execute("UPDATE audit_event SET line = %s WHERE id = %s", [line, changed.pk])
        owner.execute("ALTER TABLE audit_event ENABLE ALWAYS TRIGGER event_sealed")
    browser = signed_in(olga)

    assert "no event any more" in words(look(browser))
    assert "not what was sealed" in words(browser.get(f"/audit/events/{changed.pk}/").content.decode())
    for view in ("graph", "events", "timeline", "matrix"):
        assert browser.get(f"/runs/{run.code}/?view={view}").status_code == 200
    assert browser.get(f"/runs/{run.code}/review/").status_code == 200
    assert changed.seq not in [event.seq for event in log.read(run.trail)]


# --- how the chains stand ------------------------------------------------------------------------------------------


def check(status: str, **more: Any) -> Check:
    given: dict[str, Any] = {"project": "default", "by_kind": "person", "by_id": "1", "by_label": "Olga"}
    given |= {"started_at": NOON, "seen_at": NOON, "finished_at": NOON + timedelta(minutes=1)}
    return Check.objects.create(status=status, **(given | more))


def test_the_banner_says_how_far_the_chain_was_verified(browser: Client) -> None:
    assert "Not verified yet." in words(look(browser))
    check("holds", events=48_211, head="9f3c" * 16, anchor=7)

    page = words(look(browser))

    assert "Default: Chain verified to event 48,211 at 2026-03-02 12:01 UTC , head 9f3c9f3c…" in page
    assert "Verify now" in page


def test_a_break_is_an_alarm_that_names_it(browser: Client) -> None:
    reason = "event 3 is not what was sealed: its text or its hash was changed"
    check("broken", broken=2, breaks=[{"trail": "run:abcd2345", "seq": 3, "reason": reason}])

    page = look(browser)

    assert 'data-kind="error"' in page
    assert f"Default: The log does not hold. 2 trails broken. First, in the trail run:abcd2345 : {reason}." in words(
        page
    )
    assert 'href="/audit/?q=run:abcd2345"' in page


def test_verify_now_asks_for_a_check_and_shows_how_far_it_is(browser: Client, olga: User) -> None:
    answer = browser.post("/audit/verify/", {"project": "default", "q": "verb:run"})
    asked = Check.objects.get()
    Check.objects.update(status="running", events=250, events_expected=1000)

    page = browser.get("/audit/standing/").content.decode()

    assert answer["Location"] == "/audit/?q=verb:run"
    assert (asked.project, asked.by_label, asked.is_open) == ("default", olga.label, True)
    assert 'value="25"' in page
    assert "checking, 250 of 1,000 events" in words(page)
    assert 'hx-trigger="every 2s"' in page
    assert "Verify now" not in page


@pytest.mark.parametrize("project", ["", "others", "nowhere"])
def test_nobody_has_trails_checked_that_are_not_theirs(browser: Client, project: str) -> None:
    make_project("others")

    assert browser.post("/audit/verify/", {"project": project}).status_code == 403
    assert not Check.objects.exists()


def test_a_page_costs_as_many_queries_for_fifty_events_as_for_two(
    browser: Client, olga: User, django_assert_max_num_queries: Any
) -> None:
    tell("run.submitted", by=olga)
    look(browser)
    for number in range(60):
        tell("run.submitted", by=olga, task=f"task {number}")

    with django_assert_max_num_queries(16):
        assert len(events(look(browser))) == 50
