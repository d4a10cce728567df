"""Handing in a task: one run, whatever is pressed; and nothing typed is lost."""

import re
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Membership, User
from apps.runs.models import Driver, Run
from apps.workers.models import Conductor, Profile, Worker
from tests.factories import make_pool


@pytest.fixture
def pool(ada: User) -> Profile:
    return make_pool()


def filled(**fields: str | list[str]) -> dict[str, Any]:
    return {"task": "What is 6 times 7?", "profile": "studio-ultra", "submit_key": "k" * 32, **fields}


def page(client: Client, path: str = "/") -> str:
    return client.get(path).content.decode()


# --- handing in ----------------------------------------------------------------------------------------------------


def test_a_task_becomes_a_run_and_its_page_opens(browser: Client, ada: User, pool: Profile) -> None:
    response = browser.post("/", filled())

    run = Run.objects.get()
    assert (response.status_code, response["Location"]) == (302, f"/runs/{run.code}/")
    assert (run.owner, run.task, run.profile, run.setup["review"]) == (ada, "What is 6 times 7?", "studio-ultra", False)


def test_pressed_twice_it_is_one_run(browser: Client, pool: Profile) -> None:
    first, second = browser.post("/", filled()), browser.post("/", filled())

    assert first["Location"] == second["Location"]
    assert Run.objects.count() == 1


def test_gone_back_to_and_changed_it_is_another_run(browser: Client, pool: Profile) -> None:
    browser.post("/", filled())
    browser.post("/", filled(task="What is 6 times 8?"))
    browser.post("/", filled(max_steps="2"))

    assert Run.objects.count() == 3


def test_limits_and_review_reach_the_run(browser: Client, pool: Profile) -> None:
    browser.post("/", filled(max_steps="3", review="1"))

    setup = Run.objects.get().setup
    assert (setup["max_steps"], setup["review"]) == (3, True)


def test_rounds_and_workers_reach_the_run_the_workers_in_the_order_of_the_list(browser: Client, pool: Profile) -> None:
    browser.post("/", filled(rounds="3", workers=["sim-birch", "sim-delta", "sim-birch"]))

    run = Run.objects.get()
    assert run.setup["rounds"] == 3
    assert list(run.pool) == ["sim-birch", "sim-delta"]


def test_where_no_worker_is_ticked_the_profile_decides(browser: Client, pool: Profile) -> None:
    browser.post("/", filled())

    setup = Run.objects.get().setup
    assert [worker["slug"] for worker in setup["pool"]] == ["sim-atlas", "sim-birch", "sim-cedar", "sim-delta"]
    assert setup["rounds"] == 1


def test_with_other_workers_or_rounds_it_is_another_run(browser: Client, pool: Profile) -> None:
    for more in ({}, {"rounds": "2"}, {"workers": ["sim-atlas"]}, {"workers": ["sim-atlas", "sim-birch"]}):
        browser.post("/", filled(**more))

    assert Run.objects.count() == 4


def test_a_profile_that_reviews_is_not_overruled_by_an_empty_box(browser: Client, pool: Profile) -> None:
    Profile.objects.filter(pk=pool.pk).update(review=True)

    browser.post("/", filled())

    assert Run.objects.get().setup["review"] is True


def test_the_most_that_it_may_cost_reaches_the_run(browser: Client, pool: Profile) -> None:
    browser.post("/", filled(limit_usd=" $0.5 "))

    assert Run.objects.get().limit_usd == Decimal("0.5")


def test_where_none_is_given_the_profiles_limit_holds_and_is_told(browser: Client, pool: Profile) -> None:
    Profile.objects.filter(pk=pool.pk).update(budget_usd=Decimal("0.75"))

    html = page(browser)
    browser.post("/", filled())

    assert "; for at most $0.750." in html
    assert "Studio Ultra allows $0.750 a run." in html
    assert "Studio Mini sets no limit of its own in USD." in html
    assert Run.objects.get().limit_usd == Decimal("0.75")


def test_with_another_limit_it_is_another_run(browser: Client, pool: Profile) -> None:
    browser.post("/", filled(limit_usd="0.5"))
    browser.post("/", filled(limit_usd="0.6"))

    assert Run.objects.count() == 2


def test_an_unknown_price_is_asked_about_at_its_place_and_all_that_was_typed_is_kept(
    browser: Client, pool: Profile
) -> None:
    Worker.objects.filter(slug="sim-delta").update(output_price_usd=None)
    sent = filled(task="Keep <this>.", max_steps="4", limit_usd="0.25", review="1")

    refused = browser.post("/", sent)
    html = refused.content.decode()
    agreed = browser.post("/", sent | {"unknown_price": "1"})

    assert refused.status_code == 422
    assert "The price of Delta is unknown" in html
    assert re.search(r'name="unknown_price" value="1" aria-describedby="price-error" autofocus', html)
    assert "Run all the same: its cost will be unknown" in html
    assert "Keep &lt;this&gt;." in html
    assert 'value="0.25"' in html
    assert agreed.status_code == 302
    assert Run.objects.get().limit_usd == Decimal("0.25")


def test_what_was_agreed_to_stays_agreed_to_when_something_else_is_wrong(browser: Client, pool: Profile) -> None:
    html = browser.post("/", filled(task="", unknown_price="1")).content.decode()

    assert 'name="unknown_price" value="1" checked' in html


def test_nobody_is_asked_about_prices_that_are_known(browser: Client, pool: Profile) -> None:
    assert "unknown_price" not in page(browser)


# --- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"task": "  \n "}, "Write a task first."),
        ({"task": "\0\0"}, "Write a task first."),
        ({"task": "ä" * 200_000}, "This task has 200,000 characters"),
        ({"profile": "no-such"}, "There is no such profile any more."),
        ({"profile": "\0"}, "There is no such profile any more."),
        ({"max_steps": "0"}, "Give a number of steps"),
        ({"max_steps": "many"}, "Give a number of steps"),
        ({"max_steps": "٣"}, "Give a number of steps"),
        ({"max_steps": "9" * 5_000}, "Give a number of steps"),
        ({"rounds": "0"}, "Give a number of rounds from 1 to 5"),
        ({"rounds": "6"}, "Give a number of rounds from 1 to 5"),
        ({"rounds": "-1"}, "Give a number of rounds from 1 to 5"),
        ({"limit_usd": "much"}, "Give a sum in USD such as 0.50"),
        ({"limit_usd": "0,50"}, "Give a sum in USD such as 0.50"),
        ({"limit_usd": "-1"}, "Give a sum in USD such as 0.50"),
        ({"limit_usd": "0.00001"}, "Give a sum in USD such as 0.50"),
        ({"limit_usd": "Infinity"}, "Give a sum in USD such as 0.50"),
        ({"workers": ["sim-atlas", "nobody"]}, "“nobody” is no worker that “Studio Ultra” offers."),
        ({"workers": ["\0<b>"]}, "is no worker that"),
    ],
)
def test_a_refusal_stands_beside_its_field_and_all_that_was_typed_is_kept(
    browser: Client, pool: Profile, given: dict[str, Any], said: str
) -> None:
    limits: dict[str, Any] = {"max_steps": "4", "rounds": "2", "limit_usd": "0.25", "workers": ["sim-cedar"]}
    sent = filled(review="1", **(limits | given))

    response = browser.post("/", sent)

    html = response.content.decode()
    assert response.status_code == 422
    assert said in html
    assert sent["task"].replace("\0", "") in html.replace("\0", "")
    assert 'name="review" value="1" checked' in html
    assert f'name="max_steps" inputmode="numeric" min="1" max="150" value="{sent["max_steps"]}"' in html
    assert f'name="rounds" inputmode="numeric" min="1" max="5" value="{sent["rounds"]}"' in html
    assert f'maxlength="20" autocomplete="off" value="{sent["limit_usd"]}"' in html
    ticked = re.findall(r'name="workers" value="([^"]+)" checked', html)
    assert ticked == [worker for worker in sent["workers"] if worker.startswith("sim-")]
    assert '<details class="limits" open>' in html
    assert f'value="{sent["submit_key"]}"' in html
    assert Run.objects.count() == 0


def test_every_field_that_is_wrong_is_told_at_once_and_the_first_has_the_cursor(browser: Client, pool: Profile) -> None:
    html = browser.post("/", filled(task="", max_steps="many")).content.decode()
    second = browser.post("/", filled(max_steps="many")).content.decode()

    assert "Write a task first." in html
    assert "Give a number of steps" in html
    assert re.search(r'<textarea id="task"[^>]* autofocus', html)
    assert re.search(r'name="max_steps"[^>]* autofocus', second)
    assert second.count(" autofocus") == 1


@pytest.mark.parametrize("field", ["rounds", "workers"])
def test_a_limit_that_is_wrong_is_told_where_it_is_given_and_has_the_cursor(
    browser: Client, pool: Profile, field: str
) -> None:
    html = browser.post("/", filled(**{field: "nonsense"})).content.decode()

    assert f'id="{field}-error" role="alert"' in html
    assert html.count(" autofocus") == 1
    assert re.search(rf'<input [^>]*name="{field}"[^>]* autofocus', html)


def test_what_no_field_is_to_blame_for_is_said_at_the_profile(browser: Client, pool: Profile) -> None:
    Profile.objects.filter(pk=pool.pk).update(planner="untrained", options={"worker": "nobody"})

    response = browser.post("/", filled())

    assert response.status_code == 422
    assert re.search(r'<p class="error" role="alert">“nobody”, who is to write', response.content.decode())


def test_what_was_typed_is_shown_as_text(browser: Client, pool: Profile) -> None:
    html = browser.post("/", filled(task="</textarea><script>alert(1)</script>", max_steps='"><b>')).content.decode()

    assert "<script>alert" not in html
    assert "&lt;/textarea&gt;&lt;script&gt;" in html
    assert "&quot;&gt;&lt;b&gt;" in html


def test_control_characters_do_no_harm(browser: Client, pool: Profile) -> None:
    browser.post("/", filled(task="a\0b\x07\u202ec\r\nd"))

    assert Run.objects.get().task == "ab\x07\u202ec\nd"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"task=Gr\xfc\xdfe&profile=studio-ultra", "application/x-www-form-urlencoded"),
        (b"task=Gr%FC%DFe&profile=studio-ultra", "application/x-www-form-urlencoded"),
        (
            b'--b\r\nContent-Disposition: form-data; name="task"\r\n\r\nGr\xfc\xdfe\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
        ),
    ],
    ids=["raw", "percent", "multipart"],
)
def test_a_body_that_is_not_utf8_is_refused_in_words(
    browser: Client, pool: Profile, body: bytes, content_type: str
) -> None:
    response = browser.generic("POST", "/", body, content_type=content_type)

    assert response.status_code == 400
    assert "not UTF-8" in response.content.decode()
    assert Run.objects.count() == 0


def test_a_body_that_is_too_large_is_refused_in_words(browser: Client, pool: Profile) -> None:
    response = browser.post("/", filled(task="x" * 5_000_000))

    assert response.status_code == 400
    assert "more than the studio takes at once" in response.content.decode()


# --- the page ------------------------------------------------------------------------------------------------------


def test_the_cursor_is_in_the_task_and_keys_submit(browser: Client, pool: Profile) -> None:
    html = page(browser)

    assert re.search(r'<textarea id="task"[^>]* autofocus', html)
    assert "data-submit-keys" in html


def test_an_example_fills_the_box(browser: Client, pool: Profile) -> None:
    assert "reach 372" in re.findall(r"<textarea.*?</textarea>", page(browser, "/?example=2"), re.S)[0]
    assert "reach 372" not in re.findall(r"<textarea.*?</textarea>", page(browser, "/?example=99"), re.S)[0]
    assert re.search(r'href="/\?example=2" data-example="[^"]*reach 372', page(browser))


def test_before_the_first_run_it_says_what_will_happen(browser: Client, pool: Profile) -> None:
    assert "What will happen" in page(browser)

    browser.post("/", filled())

    assert "What will happen" not in page(browser)
    assert "Recent runs" in page(browser)


def test_simulated_models_are_labelled(browser: Client, pool: Profile) -> None:
    assert "simulated" in page(browser)

    Worker.objects.update(simulated=False)
    Conductor.objects.update(simulated=False)

    assert 'class="tag simulated"' not in page(browser)


def test_each_profile_says_in_one_sentence_what_it_does(browser: Client, pool: Profile) -> None:
    changes = {"rounds": 2, "nesting": 2, "fallback": "direct", "pool_size": 3, "max_steps": 1}
    Profile.objects.filter(pk=pool.pk).update(**changes)
    Profile.objects.filter(slug="studio-mini").update(planner="moa")

    html = page(browser)

    assert (
        "Conductor: a model writes the workflow, in up to 2 rounds of at most 1 step; a step may become a workflow of "
        "its own, 2 deep; any 3 of the workers take part; if that fails, direct stands in." in html
    )
    assert "Mixture of agents: every worker answers, one of them sums up." in html


def test_each_worker_says_which_profiles_offer_it(browser: Client, pool: Profile) -> None:
    Profile.objects.get(slug="studio-mini").workers.set([Worker.objects.get(slug="sim-birch")])
    Worker.objects.filter(slug="sim-delta").update(embeds=True)

    found = re.findall(r'data-of="([^"]*)"><input type="checkbox" name="workers" value="([^"]*)"', page(browser))

    # What turns texts into vectors is given no step.
    assert {worker: set(profiles.split()) for profiles, worker in found} == {
        "sim-atlas": {"studio-ultra"},
        "sim-birch": {"studio-ultra", "studio-mini"},
        "sim-cedar": {"studio-ultra"},
    }


def test_without_workers_it_says_what_to_do(browser: Client, ada: User, pool: Profile) -> None:
    Worker.objects.update(enabled=False)

    shown = page(browser)
    assert "Ask an admin to add or enable one" in shown
    assert re.search(r'id="cannot">There is nobody to do the work</span>\s*<button [^>]*disabled', shown)
    ada.is_staff = True
    ada.save()
    assert '<a href="/admin/workers/">' in page(browser)
    refused = browser.post("/", filled())
    assert "has no enabled worker" in refused.content.decode()


def test_without_a_project_it_says_what_to_do(browser: Client, ada: User, pool: Profile) -> None:
    Membership.objects.all().delete()
    ada.home_project = None
    ada.save()

    assert "You do not belong to a project yet" in page(browser)
    assert browser.post("/", filled()).status_code == 403


def test_without_a_driver_it_says_that_tasks_wait(browser: Client, pool: Profile) -> None:
    assert "No driver is running" in page(browser)

    now = timezone.now()
    Driver.objects.create(name="d", pid=1, threads=1, started_at=now, seen_at=now)

    assert "No driver is running" not in page(browser)


def test_many_profiles_become_a_list(browser: Client, pool: Profile) -> None:
    for number in range(5):
        Profile.objects.create(slug=f"p{number}", name=f"Profile {number}", planner="direct")

    html = page(browser)

    assert '<select id="profile"' in html
    assert 'type="radio"' not in html


def test_htmx_gets_the_recent_runs_alone(browser: Client, pool: Profile) -> None:
    browser.post("/", filled())

    part = browser.get("/", headers={"HX-Request": "true"}).content.decode()
    restored = browser.get("/", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"}).content.decode()

    assert "What is 6 times 7?" in part
    assert "<html" not in part
    assert "<html" in restored


def test_keys_in_the_environment_are_offered_to_those_who_may_add_workers(
    browser: Client, other_browser: Client, ada: User, settings: Any
) -> None:
    settings.READ_PROVIDER_KEY = {"OPENAI_API_KEY": "sk-found-it"}.get
    ada.is_staff = ada.is_superuser = True
    ada.save()

    offered, other = browser.get("/").content.decode(), other_browser.get("/").content.decode()

    assert "A key is in the environment:" in offered
    assert 'href="/admin/workers/worker/new/"' in offered
    assert "sk-found-it" not in offered
    assert "in the environment" not in other
