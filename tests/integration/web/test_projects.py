"""The pages of projects: what each role finds there, and what of it can be done."""

import pytest
from django.test import Client

from apps.accounts.models import Membership, Project, User
from apps.spend.models import Budget
from apps.workers.models import Profile, Worker
from tests.factories import make_person, make_pool, make_project

Role = Membership.Role


@pytest.fixture
def lab(ada: User) -> Project:
    """Ada's project, which she administers."""
    Membership.objects.filter(user=ada).update(role=Role.ADMIN)
    return ada.memberships.get().project


def as_(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def test_the_list_says_where_one_works_and_lets_one_work_elsewhere(browser: Client, ada: User, lab: Project) -> None:
    other = make_project("other")
    Membership.objects.create(user=ada, project=other, role=Role.AUDITOR)

    before = browser.get("/projects/").content.decode()
    answer = browser.post("/projects/other/choose/")

    assert 'aria-label="Work in Other"' in before
    assert "auditor" in before
    assert answer.status_code == 302
    assert User.objects.get(pk=ada.pk).home_project == other


def test_whoever_belongs_to_none_is_told_what_to_do(db: None, redis_url: str) -> None:
    content = as_(User.objects.create_user("new")).get("/projects/").content.decode()

    assert "You belong to no project yet" in content
    assert "<b>new</b>" in content


def test_an_admin_adds_changes_and_removes_members(browser: Client, lab: Project) -> None:
    eve = make_person("eve", project=make_project("elsewhere"))

    browser.post(f"/projects/{lab.slug}/members/", {"name": "eve", "role": "analyst"})
    member = lab.memberships.get(user=eve)
    browser.post(f"/projects/{lab.slug}/members/{member.pk}/", {"role": "auditor"})

    member.refresh_from_db()
    assert member.role == Role.AUDITOR
    browser.post(f"/projects/{lab.slug}/members/{member.pk}/", {"action": "remove"})
    assert not lab.memberships.filter(user=eve).exists()


def test_a_name_that_nobody_has_is_refused_at_its_field(browser: Client, lab: Project) -> None:
    answer = browser.post(f"/projects/{lab.slug}/members/", {"name": "nobody", "role": "auditor"})

    content = answer.content.decode()
    assert answer.status_code == 422
    assert "There is nobody called nobody here." in content
    assert 'value="nobody"' in content
    assert '<option value="auditor" selected>' in content


def test_the_last_admin_has_no_button_and_is_refused(browser: Client, ada: User, lab: Project) -> None:
    mine = lab.memberships.get(user=ada)

    content = browser.get(f"/projects/{lab.slug}/").content.decode()
    answer = browser.post(f"/projects/{lab.slug}/members/{mine.pk}/", {"role": "analyst"}, follow=True)

    assert "the only one, so this stays" in content
    assert f"/members/{mine.pk}/" not in content
    assert "would have no admin any more" in answer.content.decode()
    mine.refresh_from_db()
    assert mine.role == Role.ADMIN


@pytest.mark.parametrize("role", [Role.ANALYST, Role.AUDITOR])
def test_others_see_the_members_and_have_no_buttons(ada: User, lab: Project, role: str) -> None:
    eve = make_person("eve", project=lab)
    Membership.objects.filter(user=eve).update(role=role)

    content = as_(eve).get(f"/projects/{lab.slug}/").content.decode()

    assert ">ada<" in content
    assert 'action="/projects/ada/members/' not in content
    assert ('id="keys"' in content) == (role == Role.AUDITOR)


def test_the_page_lists_what_the_project_may_use_and_nothing_of_others(browser: Client, lab: Project) -> None:
    make_pool()
    others = make_project("others")
    Worker.objects.create(slug="ours", name="Ours", model="m", project=lab)
    Worker.objects.create(slug="theirs", name="Theirs", model="m", project=others)
    Profile.objects.create(slug="their-way", name="Their way", planner="direct", project=others)
    Budget.objects.create(name="Their money", limit_usd=1, project=others)
    Budget.objects.create(name="Their worker's", limit_usd=1, worker=Worker.objects.get(slug="theirs"))
    Budget.objects.create(name="Our money", limit_usd=1, project=lab)

    content = browser.get(f"/projects/{lab.slug}/").content.decode()

    assert "Ours" in content
    assert "Our money" in content
    assert "Studio Ultra" in content
    assert "Their" not in content


def test_a_sign_in_link_is_made_by_administrators_of_the_studio_alone(browser: Client, ada: User, lab: Project) -> None:
    eve = lab.memberships.get(user=make_person("eve", project=lab))
    address = f"/projects/{lab.slug}/members/{eve.pk}/invite/"

    assert "invite" not in browser.get(f"/projects/{lab.slug}/").content.decode()
    assert browser.post(address).status_code == 403
    User.objects.filter(pk=ada.pk).update(is_superuser=True)
    answer = browser.post(address)

    assert "/sign-in/" in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]


def test_a_task_is_handed_in_to_the_project_that_is_chosen(browser: Client, ada: User) -> None:
    make_pool()
    other = make_project("other")
    Membership.objects.create(user=ada, project=other, role=Role.ANALYST)
    Profile.objects.create(slug="other-way", name="Other way", planner="direct", project=other)

    offered = browser.post("/", {"how": "project", "project": "other", "task": "Add 1 and 1."})
    answer = browser.post("/", {"project": "other", "profile": "other-way", "task": "Add 1 and 1."})

    assert "Other way" in offered.content.decode()
    assert "Add 1 and 1." in offered.content.decode()
    assert "Other way" not in browser.get("/").content.decode()
    assert answer.status_code == 302
    run = other.run_set.get()
    assert (run.profile, run.owner) == ("other-way", ada)


def test_whoever_may_only_look_is_offered_no_form(ada: User) -> None:
    make_pool()
    eve = make_person("eve", project=make_project("ada"))
    Membership.objects.filter(user=eve).update(role=Role.AUDITOR)

    content = as_(eve).get("/").content.decode()

    assert "You may look at everything in Ada, and start nothing there." in content
    assert 'class="composer"' not in content
    assert as_(eve).post("/", {"task": "Add 1 and 1.", "profile": "studio-ultra"}).status_code == 403


def test_a_task_is_handed_in_to_no_project_in_which_one_may_only_look(browser: Client, ada: User) -> None:
    make_pool()
    other = make_project("other")
    Membership.objects.create(user=ada, project=other, role=Role.AUDITOR)

    answer = browser.post("/", {"project": "other", "profile": "studio-mini", "task": "Add 1 and 1."})

    assert answer.status_code == 422
    assert "You can start no runs in that project." in answer.content.decode()
    assert not other.run_set.exists()


def test_a_project_uses_neither_workers_nor_profiles_of_another_that_one_belongs_to(browser: Client, ada: User) -> None:
    make_pool()
    other = make_project("other")
    Membership.objects.create(user=ada, project=other, role=Role.ADMIN)
    Worker.objects.create(slug="only-there", name="Only there", model="m", project=other)
    Profile.objects.create(slug="other-way", name="Other way", planner="direct", project=other)

    refused = browser.post("/", {"profile": "other-way", "task": "Add 1 and 1."})
    named = browser.post("/", {"profile": "studio-ultra", "workers": "only-there", "task": "Add 1 and 1."})
    made = browser.post("/", {"profile": "studio-ultra", "task": "Add 1 and 1."})

    assert (refused.status_code, named.status_code, made.status_code) == (422, 422, 302)
    assert "only-there" not in ada.run_set.get().pool
