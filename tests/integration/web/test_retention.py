"""Pages about how long texts are kept: what they say to whom, and what an erased run shows wherever it stands."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Membership, Project, User
from apps.runs.models import LegalHold, Policy, Run
from apps.runs.retention.erasing import erase_run
from apps.runs.retention.holds import place_hold
from apps.runs.retention.policies import set_policy
from apps.runs.services import fork_run
from apps.runs.templates import keep_template
from tests.factories import Driving, chain, failure, make_run
from tests.integration.retention.planted import nested_run
from tests.integration.web.given import finished

WHY = "The client asked for it."


@pytest.fixture
def project(ada: User) -> Project:
    assert ada.home_project is not None
    return ada.home_project


@pytest.fixture
def admin(ada: User) -> User:
    Membership.objects.filter(user=ada).update(role=Membership.Role.ADMIN)
    return ada


def as_a(role: Membership.Role, person: User) -> None:
    Membership.objects.filter(user=person).update(role=role)


def over(by: User, *, days_ago: int = 40) -> Run:
    run = finished(by)
    ended = timezone.now() - timedelta(days=days_ago)
    Run.objects.filter(pk=run.pk).update(finished_at=ended, heart_at=ended)
    return Run.objects.get(pk=run.pk)


def erased(by: User) -> Run:
    run = over(by)
    erase_run(run=run, reason=WHY, by=by, now=timezone.now())
    return Run.objects.get(pk=run.pk)


def seen(browser: Client, path: str, status: int = 200) -> str:
    response = browser.get(path)
    assert response.status_code == status, response.content.decode()[:2000]
    return response.content.decode()


class TestTheProjectsPage:
    def test_it_says_that_nothing_is_set(self, browser: Client, project: Project) -> None:
        page = seen(browser, f"/projects/{project.slug}/retention/")

        assert "everything is kept for ever" in page
        assert "Set a policy" not in page, "an analyst only reads it"

    def test_a_policy_is_tried_set_and_taken_away(self, browser: Client, project: Project, admin: User) -> None:
        run = over(admin)
        here = f"/projects/{project.slug}/retention/"

        tried = seen(browser, f"{here}?profile=&days=30")
        assert "What would go if every profile without its own were kept for 30 days" in tried
        assert run.code in tried
        assert not Policy.objects.exists()

        answer = browser.post(f"{here}set/", {"profile": "", "days": "30", "reason": WHY}, follow=True)
        page = answer.content.decode()
        assert "for 30 days" in page
        assert run.code in page
        policy = Policy.objects.get()

        browser.post(f"{here}{policy.pk}/drop/", {"reason": "Not any more"})
        assert not Policy.objects.exists()

    @pytest.mark.parametrize(
        ("given", "wrong"),
        [
            ({"days": "soon", "reason": WHY}, "Give a number of days"),
            ({"days": "0", "reason": WHY}, "from 1 to 36,500"),
            ({"days": "30", "reason": " "}, "Say why"),
            ({"days": "30", "reason": WHY, "profile": "nobody"}, "no profile “nobody”"),
        ],
    )
    def test_what_is_wrong_is_said_where_it_is(
        self, browser: Client, project: Project, admin: User, given: dict[str, str], wrong: str
    ) -> None:
        answer = browser.post(f"/projects/{project.slug}/retention/set/", given)

        assert answer.status_code == 422
        assert wrong in answer.content.decode()
        assert not Policy.objects.exists()

    def test_a_hold_on_all_of_it_is_placed_and_lifted(self, browser: Client, project: Project, admin: User) -> None:
        browser.post(f"/projects/{project.slug}/holds/", {"reason": "Case 4711"})
        hold = LegalHold.objects.get()
        page = seen(browser, f"/projects/{project.slug}/retention/")
        assert "Case 4711" in page
        assert "the whole project" in page

        browser.post(f"/projects/{project.slug}/holds/{hold.pk}/lift/", {"reason": "Settled"})
        assert "lifted by ada" in seen(browser, f"/projects/{project.slug}/retention/")

    @pytest.mark.parametrize("role", [Membership.Role.ANALYST, Membership.Role.AUDITOR])
    def test_nobody_but_an_admin_changes_anything(
        self, browser: Client, ada: User, project: Project, role: Membership.Role
    ) -> None:
        as_a(Membership.Role.ADMIN, ada)
        policy = set_policy(project=project, profile="", keep_days=9, reason=WHY, by=ada, now=timezone.now())
        hold = place_hold(project=project, reason=WHY, by=ada, now=timezone.now())
        as_a(role, ada)
        here = f"/projects/{project.slug}"

        for path in (
            f"{here}/retention/set/",
            f"{here}/retention/{policy.pk}/drop/",
            f"{here}/holds/",
            f"{here}/holds/{hold.pk}/lift/",
        ):
            answer = browser.post(path, {"days": "1", "reason": WHY})
            assert answer.status_code == 403, path
        assert Policy.objects.get().keep_days == 9
        assert LegalHold.objects.get().lifted_at is None

    def test_others_projects_are_not_there(self, other_browser: Client, project: Project, admin: User) -> None:
        hold = place_hold(project=project, reason=WHY, by=admin, now=timezone.now())
        here = f"/projects/{project.slug}"

        assert other_browser.get(f"{here}/retention/").status_code == 404
        assert other_browser.post(f"{here}/holds/{hold.pk}/lift/", {"reason": WHY}).status_code == 404
        assert other_browser.post(f"/projects/bob/holds/{hold.pk}/lift/", {"reason": WHY}).status_code == 404

    @pytest.mark.parametrize("id", ["0", "x", "99999999999999999999", "²"])
    def test_an_id_of_nothing_is_not_found(self, browser: Client, project: Project, admin: User, id: str) -> None:
        for path in (f"/projects/{project.slug}/retention/{id}/drop/", f"/projects/{project.slug}/holds/{id}/lift/"):
            assert browser.post(path, {"reason": WHY}).status_code == 404, path


class TestTheRunsPage:
    def test_it_says_until_when_it_is_kept(self, browser: Client, project: Project, admin: User) -> None:
        run = over(admin, days_ago=0)
        set_policy(project=project, profile="", keep_days=30, reason=WHY, by=admin, now=timezone.now())
        assert run.finished_at is not None

        page = seen(browser, f"/runs/{run.code}/retention/")

        assert f"until {run.finished_at + timedelta(days=30):%-d %b %Y}" in page

    def test_an_admin_erases_it_and_says_why(self, browser: Client, admin: User) -> None:
        run = over(admin)
        refused = browser.post(f"/runs/{run.code}/erase/", {"reason": ""})
        assert refused.status_code == 422
        assert "Say why" in refused.content.decode()

        page = browser.post(f"/runs/{run.code}/erase/", {"reason": WHY}, follow=True).content.decode()

        assert f"The texts of run {run.code} are erased" in page
        assert WHY in page
        assert Run.objects.get(pk=run.pk).is_erased

    def test_one_under_a_hold_offers_no_erasing_and_refuses_it(self, browser: Client, admin: User) -> None:
        run = over(admin)
        browser.post(f"/runs/{run.code}/hold/", {"reason": "Case 4711"})

        page = seen(browser, f"/runs/{run.code}/retention/")
        assert "Case 4711" in page
        assert "Erase its texts now" not in page
        answer = browser.post(f"/runs/{run.code}/erase/", {"reason": WHY})
        assert answer.status_code == 409
        assert "A legal hold is on run" in answer.content.decode()

    def test_copies_are_named_and_go_where_that_is_asked(self, browser: Client, admin: User) -> None:
        from apps.runs import services

        run = over(admin)
        assert run.workflow is not None
        fork = services.fork_run(parent=run, workflow=run.workflow, by=admin, now=timezone.now())
        services.stop_run(run=fork, by=admin, now=timezone.now())
        assert fork.code in seen(browser, f"/runs/{run.code}/retention/")

        browser.post(f"/runs/{run.code}/erase/", {"reason": WHY, "copies": "1"})

        assert Run.objects.get(pk=fork.pk).is_erased

    def test_what_was_made_of_runs_within_it_is_named_too(self, browser: Client, admin: User) -> None:
        outer, nested = nested_run(admin)
        assert nested.workflow is not None
        fork = fork_run(parent=nested, workflow=nested.workflow, by=admin, now=timezone.now())
        made = keep_template(
            name="Weighing", task="Weigh", workflow=nested.workflow, source=nested, by=admin, now=timezone.now()
        )

        page = seen(browser, f"/runs/{outer.code}/retention/")

        assert f'href="/runs/{fork.code}/retention/"' in page
        assert f'href="/workflows/{made.pk}/"' in page
        assert "made from it stays whatever becomes of it, until somebody deletes it" in page

    @pytest.mark.parametrize("role", [Membership.Role.ANALYST, Membership.Role.AUDITOR])
    def test_nobody_but_an_admin_erases_or_holds(self, browser: Client, ada: User, role: Membership.Role) -> None:
        run = over(ada)
        as_a(role, ada)

        assert "Erase its texts now" not in seen(browser, f"/runs/{run.code}/retention/")
        for path in (f"/runs/{run.code}/erase/", f"/runs/{run.code}/hold/"):
            assert browser.post(path, {"reason": WHY}).status_code == 403
        assert not Run.objects.get(pk=run.pk).is_erased


class TestAnErasedRun:
    """Wherever it is met, it says what became of it."""

    def test_its_page_says_when_by_whom_and_why(self, browser: Client, admin: User) -> None:
        run = erased(admin)

        page = seen(browser, f"/runs/{run.code}/")

        assert "Its texts were erased on" in page
        assert WHY in page
        assert "It was erased, with all that was written in this run." in page
        assert f"/runs/{run.code}/edit/" not in page
        assert f"/runs/{run.code}/rerun/" not in page
        assert f"/runs/{run.code}/retention/" in page

    def test_a_failed_one_shows_no_trouble_that_nobody_can_read(self, browser: Client, admin: User) -> None:
        driving = Driving(make_run(by=admin))
        driving.plan(chain("One"))
        driving.fail("s1", failure("Out of memory."))
        run = driving.give_up("Step 1 failed.", step="s1", code="step")
        erase_run(run=run, reason=WHY, by=admin, now=timezone.now())

        page = seen(browser, f"/runs/{run.code}/")

        assert "Its texts were erased on" in page
        assert "Out of memory" not in page

    @pytest.mark.parametrize("view", ["graph", "timeline", "matrix", "events"])
    def test_every_view_of_it_still_stands(self, browser: Client, admin: User, view: str) -> None:
        run = erased(admin)

        assert run.code in seen(browser, f"/runs/{run.code}/?view={view}")

    def test_its_events_say_how_many_texts_went_and_how(self, browser: Client, admin: User) -> None:
        run = erased(admin)

        events = seen(browser, f"/runs/{run.code}/?view=events")

        assert "Run erased" in events
        assert re.search(r"\d+ texts · by hand", events)

    def test_its_matrix_says_of_what_passed_that_it_is_erased(self, browser: Client, admin: User) -> None:
        run = erased(admin)

        matrix = seen(browser, f"/runs/{run.code}/?view=matrix")

        assert "Step 2, of step 1: may read it, what passed was erased" in matrix
        assert "its result is empty" not in matrix

    @pytest.mark.parametrize("tab", ["result", "prompt", "context", "attempts", "request"])
    def test_every_tab_of_a_step_says_so(self, browser: Client, admin: User, tab: str) -> None:
        run = erased(admin)

        panel = seen(browser, f"/runs/{run.code}/steps/s1/?tab={tab}")

        assert ("What was written here was erased." in panel) == (tab != "attempts")
        assert "differs from what was sent" not in panel

    def test_the_list_and_the_look_beside_it_say_so(self, browser: Client, admin: User) -> None:
        run = erased(admin)

        assert run.title in seen(browser, "/runs/")
        assert run.title in seen(browser, "/runs/?q=is:erased")
        assert "was erased on" in seen(browser, f"/runs/{run.code}/peek/")

    @pytest.mark.parametrize(
        "path",
        ["export/", "export/?as=json", "replay/", "edit/", "template/", "again/"],
    )
    def test_nothing_can_be_taken_or_made_from_it(self, browser: Client, admin: User, path: str) -> None:
        run = erased(admin)

        said = seen(browser, f"/runs/{run.code}/{path}", status=409)

        assert f"The texts of run {run.code} were erased" in said

    def test_it_is_compared_with_nothing(self, browser: Client, admin: User) -> None:
        run, other = erased(admin), over(admin)

        assert "were erased" in seen(browser, f"/compare/?a={run.code}&b={other.code}", status=409)

    @pytest.mark.parametrize("mode", ["reuse", "fresh", "plan"])
    def test_it_is_not_run_again(self, browser: Client, admin: User, mode: str) -> None:
        run = erased(admin)

        page = browser.post(f"/runs/{run.code}/rerun/", {"mode": mode}, follow=True).content.decode()

        assert "nothing can be made from it any more" in page
        assert Run.objects.count() == 1

    def test_its_links_are_closed_and_no_more_are_made(self, browser: Client, admin: User) -> None:
        run = over(admin)
        made = browser.post(f"/runs/{run.code}/share/", {"expires": ""}).content.decode()
        found = re.search(r'value="http://testserver(/shared/[^"]+)"', made)
        assert found is not None
        address = found[1]
        assert browser.get(address).status_code == 200
        erase_run(run=run, reason=WHY, by=admin, now=timezone.now())

        assert browser.get(address).status_code == 404
        assert "were erased" in seen(browser, f"/runs/{run.code}/share/")
        assert browser.post(f"/runs/{run.code}/share/", {"expires": ""}).status_code == 422

    def test_other_pages_of_it_still_stand(self, browser: Client, admin: User) -> None:
        run = erased(admin)

        for path in ("head/", "outline/", "answer/", "panel/", "ledger/", "edges/", "plans/", "retention/"):
            assert browser.get(f"/runs/{run.code}/{path}").status_code in (200, 409), path
