"""Links by which anybody reads one run that has ended: what they show, what they do not, and that they can be ended."""

import html
import json
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.audit import log
from apps.core.errors import Invalid
from apps.runs.models import Run, Share
from apps.runs.sharing import MOST_OPEN, NotShared, share_run
from tests.factories import Driving, chain, failure, make_run
from tests.integration.web.given import a_run, finished, nest, nesting_profile, workflow_of

SECRET = "the-host.internal said no"


@pytest.fixture
def ended(ada: User) -> Run:
    return finished(ada)


@pytest.fixture
def stranger() -> Client:
    """A browser that is not signed in."""
    return Client()


def shared(run: Run, by: User, *, hides_costs: bool = False) -> str:
    """The address of a new link."""
    _, token = share_run(run=run, by=by, now=timezone.now(), hides_costs=hides_costs)
    return reverse("shared", args=[token])


def page(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def record_in(client: Client, path: str) -> str:
    found = re.search(r'id="record">(.*?)</script>', client.get(path).content.decode(), re.DOTALL)
    assert found is not None
    return json.dumps(json.loads(found[1]))


# --- what it shows ---------------------------------------------------------------------------------------------------


def test_a_stranger_reads_task_answer_and_every_step(stranger: Client, ended: Run, ada: User) -> None:
    said = page(stranger, shared(ended, ada))

    assert ended.task in said
    assert "<strong>South</strong> grew most." in said
    for text in ("Compute the growth", "Answer the task", "South: 53 %", "Prompt", "sim-birch", "$0.0042"):
        assert text in said


def test_it_is_kept_by_nobody_and_found_by_nobody(stranger: Client, ended: Run, ada: User) -> None:
    response = stranger.get(shared(ended, ada))

    assert response["Cache-Control"] == "no-store"
    assert "noindex" in response["X-Robots-Tag"]
    assert response["Referrer-Policy"] == "no-referrer"
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert not response.cookies


def test_it_names_no_person_no_other_run_and_no_way_into_the_studio(stranger: Client, ada: User) -> None:
    parent = finished(ada)
    child = Driving(make_run(by=ada, submit_key="child"))
    child.plan(chain("Compute the growth"))
    run = child.carry({"s1": "53 %"})
    Run.objects.filter(pk=run.pk).update(parent=parent, root=parent)
    ada.first_name, ada.last_name = "Augusta", "Lovelace"
    ada.save()

    address = shared(run, ada)
    said = page(stranger, address)

    for private in (
        "ada",
        "Augusta",
        parent.code,
        run.code,
        "driver-of-the-tests",
        'href="/runs/',
        "/ws/",
        "studio-ultra",
    ):
        assert private not in said.replace(address, "")


def test_workers_that_were_not_asked_are_not_named(stranger: Client, ended: Run, ada: User) -> None:
    address = shared(ended, ada)

    assert "sim-delta" in ended.pool
    assert "delta" not in page(stranger, address).lower().replace(address.lower(), "")
    assert json.loads(record_in(stranger, address))["workers"].keys() == {"sim-birch"}


def test_costs_are_hidden_if_asked_also_in_what_the_graph_is_drawn_from(
    stranger: Client, ended: Run, ada: User
) -> None:
    address = shared(ended, ada, hides_costs=True)

    assert "$" not in page(stranger, address)
    assert "0.0042" not in page(stranger, address)
    assert "0.0042" not in stranger.get(f"{address}replay/").content.decode().split('id="record">')[1][:50_000]
    assert "0.0042" in record_in(stranger, shared(ended, ada))


def test_what_endpoints_said_stays_in_the_studio(stranger: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Compute the growth"))
    driving.fail("s1", failure(SECRET, retryable=False))
    run = driving.give_up(f"Step 1 failed: {SECRET}", step="s1", code="server")
    address = shared(run, ada)

    assert SECRET not in page(stranger, address)
    assert SECRET not in record_in(stranger, address)
    assert "Step 1 failed." in page(stranger, address)


def test_a_run_within_a_step_is_told_with_it_and_by_no_code(stranger: Client, ada: User) -> None:
    outer = Driving(make_run(by=ada, profile=nesting_profile()))
    steps = workflow_of(("s1", "", []), ("s2", "", ["s1"]))
    given = steps.steps[1].model_copy(update={"worker": "sim-conductor"})
    outer.plan(steps.model_copy(update={"steps": (steps.steps[0], given)}))
    outer.finish("s1", "52 more")
    inner = nest(outer, "s2")
    inner.plan(workflow_of(("s1", "", []), ("s2", "", ["s1"])))
    inner.finish("s1", "deep result")
    Run.objects.filter(pk=outer.run.pk).update(status="cancelled", finished_at=timezone.now())
    run = Run.objects.get(pk=outer.run.pk)

    address = shared(run, ada)
    said = page(stranger, address)

    assert "deep result" in said
    assert 'data-key="s2/s1"' in said
    assert inner.run.code not in said
    assert json.loads(record_in(stranger, address))["runs"].keys() == {"", "nested-1"}


def test_it_can_be_downloaded_too(stranger: Client, ended: Run, ada: User) -> None:
    address = shared(ended, ada)

    assert f'href="{address}replay/" download' in page(stranger, address)
    response = stranger.get(f"{address}replay/")
    assert response["Content-Disposition"].startswith("attachment;")
    assert ended.code not in response.content.decode()


# --- making and ending -----------------------------------------------------------------------------------------------


def test_a_link_is_made_shown_once_and_kept_as_a_digest(browser: Client, stranger: Client, ended: Run) -> None:
    response = browser.post(f"/runs/{ended.code}/share/", {"expires": "7", "hide_costs": "1"})
    found = re.search(r'value="http://testserver(/shared/([\w-]{43})/)"', response.content.decode())
    assert found is not None
    address, token = found[1], found[2]
    share = Share.objects.get()

    assert stranger.get(address).status_code == 200
    assert token not in browser.get(f"/runs/{ended.code}/share/").content.decode()
    assert token not in json.dumps([str(value) for value in Share.objects.values_list()[0]])
    assert response["Cache-Control"] == "no-store"
    assert share.hides_costs
    assert share.expires_at is not None
    assert timedelta(days=6) < share.expires_at - timezone.now() < timedelta(days=8)


def test_the_runs_page_of_links_says_who_made_each_and_when_it_was_opened(
    browser: Client, stranger: Client, ended: Run, ada: User
) -> None:
    address = shared(ended, ada)
    before = page(browser, f"/runs/{ended.code}/share/")
    stranger.get(address)
    after = page(browser, f"/runs/{ended.code}/share/")

    assert "ada, just now" in before
    assert ">never</td>" in before
    assert ">never</td>" not in after


def test_a_link_that_is_revoked_opens_nothing_any_more(
    browser: Client, stranger: Client, ended: Run, ada: User
) -> None:
    address = shared(ended, ada)
    stranger.get(address)

    browser.post(f"/runs/{ended.code}/share/{Share.objects.get().pk}/revoke/")

    for path in (address, f"{address}replay/"):
        response = stranger.get(path)
        assert response.status_code == 404
        assert "This link opens nothing" in response.content.decode()
        assert ended.title not in response.content.decode()


def test_revoked_expired_and_unknown_are_told_apart_by_nobody(stranger: Client, ended: Run, ada: User) -> None:
    revoked, expired = shared(ended, ada), shared(ended, ada)
    first, second = Share.objects.order_by("pk")
    Share.objects.filter(pk=first.pk).update(revoked_at=timezone.now())
    Share.objects.filter(pk=second.pk).update(expires_at=timezone.now())

    seen = [stranger.get(path) for path in (revoked, expired, f"/shared/{'x' * 43}/", "/shared/x/", "/shared/a%00b/")]

    assert {(response.status_code, response.content) for response in seen} == {(404, seen[0].content)}
    assert {response["Cache-Control"] for response in seen} == {"no-store"}


def test_making_and_revoking_stand_in_the_runs_trail(browser: Client, ended: Run, ada: User) -> None:
    browser.post(f"/runs/{ended.code}/share/", {"expires": ""})
    share = Share.objects.get()
    for _ in range(2):
        browser.post(f"/runs/{ended.code}/share/{share.pk}/revoke/")

    told = [event for event in log.read(ended.trail) if "shared" in event.verb]
    assert [event.verb for event in told] == ["run.shared", "run.unshared"]
    assert told[0].data == {"share": share.pk, "begins": share.begins, "expires_at": None, "hides_costs": False}
    assert told[0].actor.label == "ada"


def test_the_events_of_the_run_say_it_in_words(browser: Client, ended: Run) -> None:
    browser.post(f"/runs/{ended.code}/share/", {"expires": "", "hide_costs": "1"})
    share = Share.objects.get()
    browser.post(f"/runs/{ended.code}/share/{share.pk}/revoke/")
    browser.get(f"/runs/{ended.code}/replay/")

    said = page(browser, f"/runs/{ended.code}/?view=events")
    assert f"by the link {share.begins}… · until it is revoked · its costs hidden" in said
    assert f"the link {share.begins}… opens nothing any more" in said
    assert "as a page that replays" in said


@pytest.mark.parametrize("status", ["queued", "held", "running"])
def test_a_run_that_goes_on_is_not_shared(browser: Client, ada: User, status: str) -> None:
    run = a_run(ada, status=status)

    response = browser.post(f"/runs/{run.code}/share/", {"expires": "7"})

    assert response.status_code == 422
    assert not Share.objects.exists()
    assert "It can be shared once it has ended" in page(browser, f"/runs/{run.code}/share/")


def test_links_end_in_the_future_and_are_not_without_number(ended: Run, ada: User) -> None:
    now = timezone.now()
    with pytest.raises(Invalid, match="end before it begins"):
        share_run(run=ended, by=ada, now=now, expires_at=now)
    for _ in range(MOST_OPEN):
        shared(ended, ada)
    with pytest.raises(NotShared, match="Revoke one first"):
        shared(ended, ada)


def test_a_link_is_revoked_only_by_who_may_see_its_run(
    browser: Client, other_browser: Client, ended: Run, ada: User
) -> None:
    shared(ended, ada)
    share = Share.objects.get()
    other = finished(ada)

    assert other_browser.post(f"/runs/{ended.code}/share/{share.pk}/revoke/").status_code == 404
    assert browser.post(f"/runs/{other.code}/share/{share.pk}/revoke/").status_code == 404
    share.refresh_from_db()
    assert share.revoked_at is None


def test_what_was_shared_does_not_change(browser: Client, stranger: Client, ended: Run, ada: User) -> None:
    address = shared(ended, ada)
    before = record_in(stranger, address)

    browser.post(f"/runs/{ended.code}/rerun/", {"mode": "fresh", "submit_key": "k"})
    browser.get(f"/runs/{ended.code}/export/?as=json")

    assert record_in(stranger, address) == before
    assert Run.objects.count() == 2
