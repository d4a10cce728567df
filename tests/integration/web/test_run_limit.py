"""A run held at a limit of money: what its page says of that, and what lets it go on."""

import html
import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from apps.accounts.models import User
from apps.audit import log
from apps.runs.models import Run
from apps.runs.services import go_on
from apps.spend.models import Account, Budget
from apps.spend.services import raise_budget
from apps.workers.models import Worker
from tests.factories import NOON, Driving, chain, make_pool, make_run
from tests.integration.web.given import hold_at, let_stand_in

LIMIT = Decimal("0.0100")


@pytest.fixture
def held(ada: User) -> Driving:
    """A run of two steps whose second call could cross the run's own limit."""
    driving = Driving(make_run(by=ada, limit_usd=LIMIT))
    driving.plan(chain("Compute the growth", "Answer the task"))
    # The first could, too: its worst case is set aside under a limit that is then lowered to the run's.
    Account.objects.update(limit_usd=None)
    driving.finish("s1", "53 %")
    Account.objects.update(limit_usd=LIMIT)
    hold_at(driving, "s2")
    return driving


def words(page: bytes) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page.decode())).split())


def page(client: Client, run: Run, part: str = "") -> str:
    answer = client.get(f"/runs/{run.code}/{part}")
    assert answer.status_code == 200
    return words(answer.content)


def told(answer: Any) -> list[str]:
    return [str(message) for message in get_messages(answer.wsgi_request)]


def post(client: Client, run: Run, **fields: str) -> Any:
    return client.post(f"/runs/{run.code}/go-on/", fields)


# --- what is said --------------------------------------------------------------------------------------------------


def test_the_head_says_what_is_spent_and_what_may_be(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada, limit_usd=Decimal("0.5")))
    driving.plan(chain("Answer the task"))
    driving.finish("s1", "53 %")

    assert "Spent $0.0042 / $0.500" in page(browser, driving.run)
    assert "Spent $0.0042 / $0.500" in page(browser, driving.run, "head/")


def test_without_a_limit_none_is_told(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))

    assert "/ $" not in page(browser, driving.run, "head/")


def test_the_page_of_a_held_run_says_which_limit_and_what_the_call_could_cost(browser: Client, held: Driving) -> None:
    shown = page(browser, held.run)

    needed = Decimal(held.told().held_by["needed_usd"])
    assert "Held: limit" in shown
    assert "Held at the limit of this run: $0.010." in shown
    assert "The next call, for step 2 , could cost up to $0.0" in shown
    assert "$0.0042 is spent" in shown
    assert "Birch’s longest reply, 4,096 tokens at $4.00 a million, is $0.016;" in shown
    assert Decimal("0.016") < needed < Decimal("0.02")
    assert "New limit in USD" in shown
    assert "Comes once the run goes on: a limit of money holds it." in shown
    assert "Stop" in shown
    for wrong in ("approv", "Discard"):
        assert wrong not in shown.replace("held: for approval, or at a limit", "")


def test_the_limit_that_is_offered_is_enough_for_the_call(browser: Client, held: Driving) -> None:
    content = browser.get(f"/runs/{held.run.code}/").content.decode()

    found = re.search(r'name="limit_usd"[^>]*value="([0-9.]+)"', content)
    assert found is not None
    account = Account.objects.get()
    assert Decimal(found[1]) >= account.spent_usd + Decimal(held.told().held_by["needed_usd"])
    assert Decimal(found[1]) < Decimal("0.03")


def test_a_step_that_is_held_says_so_in_outline_panel_and_list(browser: Client, held: Driving) -> None:
    assert "held: limit" in page(browser, held.run, "outline/")
    assert "Not run yet: its call could cross a limit, which holds the run." in page(browser, held.run, "steps/s2/")
    assert "held: limit" in words(browser.get("/runs/?state=held").content)


def test_of_several_who_may_stand_in_nobody_is_named(browser: Client, ada: User) -> None:
    make_pool()
    let_stand_in("sim-birch", "sim-cedar")
    driving = Driving(make_run(by=ada, limit_usd=Decimal("0.0001")))
    driving.plan(chain("Answer the task"))
    hold_at(driving, "s1")

    assert "could cost up to" in page(browser, driving.run)
    assert "longest reply" not in page(browser, driving.run)


# --- going on ------------------------------------------------------------------------------------------------------


def test_a_raise_lets_it_go_on_and_is_kept_with_its_reason(browser: Client, held: Driving) -> None:
    answer = post(browser, held.run, limit_usd="$1.50", reason="worth it")

    run = held.told()
    assert (answer.status_code, answer["Location"]) == (302, f"/runs/{run.code}/")
    assert (run.status, run.hold, run.limit_usd) == (Run.Status.QUEUED, "", Decimal("1.5"))
    event = log.read(run.trail)[-1]
    assert (event.verb, event.texts) == ("run.resumed", {"reason": "worth it"})
    assert "limit of the run: $1.50" in words(browser.get(f"/runs/{run.code}/?view=events").content)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("0.0001", "Give a limit above the present one of 0.01 USD."),
        ("0.01", "Give a limit above the present one of 0.01 USD."),
        ("1,50", "Give a sum in USD such as 0.50"),
        ("-1", "Give a sum in USD such as 0.50"),
        ("NaN", "Give a sum in USD such as 0.50"),
        ("1e9", "Give a sum in USD such as 0.50"),
        ("٣", "Give a sum in USD such as 0.50"),
        ("9" * 40, "Give a sum in USD such as 0.50"),
        ("\0", "Give a sum in USD such as 0.50"),
    ],
)
@pytest.mark.parametrize("htmx", [False, True], ids=["form", "htmx"])
def test_what_is_no_higher_limit_is_told_at_the_field_and_nothing_typed_is_lost(
    browser: Client, held: Driving, given: str, said: str, htmx: bool
) -> None:
    headers = {"HX-Request": "true"} if htmx else {}

    fields = {"limit_usd": given, "reason": "because <b>"}
    answer = browser.post(f"/runs/{held.run.code}/go-on/", fields, headers=headers)

    content = answer.content.decode()
    assert answer.status_code == 422
    assert said in words(answer.content)
    assert 'aria-invalid="true"' in content
    assert f'value="{given[:40]}"' in content
    assert "because &lt;b&gt;" in content
    assert ("<html" in content) is not htmx
    assert held.told().status == Run.Status.HELD
    assert held.told().limit_usd == LIMIT


def test_as_htmx_the_form_gives_way_to_other_buttons(browser: Client, held: Driving) -> None:
    answer = browser.post(f"/runs/{held.run.code}/go-on/", {"limit_usd": "1"}, headers={"HX-Request": "true"})

    content = answer.content.decode()
    assert answer.status_code == 200
    assert '<div id="hold">' in content
    assert 'id="actions" hx-swap-oob="true"' in content
    assert "limit_usd" not in content


def test_what_goes_on_already_is_told_and_not_raised_twice(browser: Client, held: Driving, ada: User) -> None:
    go_on(run=held.told(), by=ada, now=NOON + timedelta(hours=1), limit_usd=Decimal(1))

    answer = post(browser, held.run, limit_usd="2")

    assert answer.status_code == 302
    assert told(answer) == [f"Run {held.run.code} is neither held at a limit nor paused any more."]
    assert held.told().limit_usd == 1
    assert browser.post(f"/runs/{held.run.code}/go-on/", headers={"HX-Request": "true"}).status_code == 409


def test_a_run_that_waits_for_review_is_not_let_go_on_by_this(browser: Client, ada: User) -> None:
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Answer"), hold=True)

    assert "neither held at a limit nor paused" in told(post(browser, driving.run))[0]
    assert driving.told().status == Run.Status.HELD


def test_it_can_be_stopped_instead(browser: Client, held: Driving) -> None:
    browser.post(f"/runs/{held.run.code}/stop/")

    assert held.told().status == Run.Status.CANCELLED


def test_planned_anew_it_keeps_its_limit_and_what_was_said_of_unknown_prices(browser: Client, ada: User) -> None:
    make_pool()
    Worker.objects.filter(slug="sim-delta").update(output_price_usd=None)
    run = make_run(by=ada, limit_usd=Decimal("0.3"), unknown_price_ok=True)

    browser.post(f"/runs/{run.code}/rerun/", {"mode": "plan"})

    again = Run.objects.exclude(pk=run.pk).get()
    assert again.limit_usd == Decimal("0.3")


# --- budgets -------------------------------------------------------------------------------------------------------


@pytest.fixture
def budgeted(ada: User) -> Driving:
    """A run that an admin's budget holds."""
    make_pool()
    birch = Worker.objects.get(slug="sim-birch")
    total = Budget.Period.TOTAL
    Budget.objects.create(name="Birch in all", worker=birch, limit_usd=Decimal("0.0050"), period=total)
    driving = Driving(make_run(by=ada))
    driving.plan(chain("Answer the task"))
    hold_at(driving, "s1")
    return driving


def test_a_budget_is_named_and_who_can_raise_it(browser: Client, budgeted: Driving) -> None:
    shown = page(browser, budgeted.run)

    assert "Held at the budget “Birch in all”: $0.0050, for good." in shown
    assert "An admin can raise it." in shown
    assert "New limit in USD" not in shown
    assert "/admin/" not in browser.get(f"/runs/{budgeted.run.code}/head/").content.decode()


def test_an_admin_is_shown_the_way(budgeted: Driving, ada: User, browser: Client) -> None:
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)

    content = browser.get(f"/runs/{budgeted.run.code}/").content.decode()

    assert f"/admin/spend/budget/{Budget.objects.get().pk}/change/" in content


def test_once_it_is_raised_the_page_says_so_and_the_run_goes_on(browser: Client, budgeted: Driving, ada: User) -> None:
    assert budgeted.at is not None
    budget = Budget.objects.get()
    raise_budget(budget=budget, to=Decimal(1), by=ada.actor, reason="", now=budgeted.at)

    content = page(browser, budgeted.run)
    post(browser, budgeted.run)

    assert "the run can go on" in content
    assert budgeted.told().status == Run.Status.QUEUED


def test_a_day_that_is_over_holds_nobody_any_more(browser: Client, ada: User) -> None:
    make_pool()
    Budget.objects.create(name="A day", limit_usd=Decimal("0.0050"))
    driving = Driving(make_run(by=ada, now=NOON))
    driving.plan(chain("Answer the task"))
    hold_at(driving, "s1")

    assert "The time that the budget counts by has begun anew: the run can go on." in page(browser, driving.run)


def test_a_limit_of_its_own_that_it_has_not_cannot_be_raised(browser: Client, budgeted: Driving) -> None:
    answer = post(browser, budgeted.run, limit_usd="5")

    assert answer.status_code == 422
    assert "This run has no limit of its own." in words(answer.content)
