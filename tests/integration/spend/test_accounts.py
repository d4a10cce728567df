"""Which accounts a call is charged to, and how their limits are raised."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from threading import Barrier
from typing import Any

import pytest

from apps.accounts.models import User
from apps.audit.log import Actor, read, verify
from apps.audit.models import Event
from apps.spend.models import Account, Budget
from apps.spend.services import TRAIL, NoLimit, NotRaised, accounts_for, raise_budget, raise_limit
from apps.workers.models import Profile, Worker
from tests.factories import make_person, make_pool, make_project
from tests.integration.spend.ledger import NOON, account, at_once, reserved, settled, sums

ADA = Actor(kind="person", id="1", label="Ada")


def budget(name: str, limit: str = "5", **more: Any) -> Budget:
    return Budget.objects.create(name=name, limit_usd=Decimal(limit), **more)


def keys(**call: Any) -> list[str]:
    """The keys of the accounts of a call, in order."""
    pks = charged(**call)
    found = dict(Account.objects.filter(pk__in=pks).values_list("pk", "key"))
    return sorted(found[pk] for pk in pks)


def charged(**call: Any) -> tuple[int, ...]:
    given = {"run_code": "run1", "run_limit": None, "project": 1, "person": 1, "profile": "studio-ultra"}
    return accounts_for(**{**given, "worker": "gpt-5", "at": NOON, **call})


@pytest.mark.django_db
class TestAccounts:
    def test_a_run_has_an_account_with_its_own_limit(self) -> None:
        [pk] = charged(run_limit=Decimal("0.5"))

        made = Account.objects.get(pk=pk)
        assert (made.key, made.limit_usd, made.spent_usd, made.reserved_usd) == (
            "run:run1",
            Decimal("0.5"),
            Decimal(0),
            Decimal(0),
        )
        assert charged(run_limit=Decimal("0.9")) == (pk,)
        assert Account.objects.get(pk=pk).limit_usd == Decimal("0.5")

    def test_a_run_without_a_limit_has_an_account_all_the_same(self) -> None:
        [pk] = charged()

        assert Account.objects.get(pk=pk).left_usd is None

    def test_each_period_has_an_account_of_its_own(self) -> None:
        for period in Budget.Period:
            budget(period, period=period)

        a, b, c, d = Budget.objects.order_by("pk").values_list("pk", flat=True)

        first = [f"budget:{a}:run:run1", f"budget:{b}:2026-03-02", f"budget:{c}:2026-03", f"budget:{d}:total"]
        assert keys() == [*first, "run:run1"]
        later = [f"budget:{a}:run:run2", f"budget:{b}:2026-03-03", f"budget:{c}:2026-03", f"budget:{d}:total"]
        assert keys(run_code="run2", at=NOON + timedelta(days=1)) == [*later, "run:run2"]

    def test_the_day_changes_at_midnight_utc_wherever_the_clock_hangs(self) -> None:
        team = budget("Team", period="day")
        tokyo = timezone(timedelta(hours=9))

        def day(at: datetime) -> str:
            return keys(at=at)[0].removeprefix(f"budget:{team.pk}:")

        assert day(datetime(2026, 3, 31, 23, 59, 59, 999999, UTC)) == "2026-03-31"
        assert day(datetime(2026, 4, 1, tzinfo=UTC)) == "2026-04-01"
        assert day(datetime(2026, 4, 1, 8, 59, tzinfo=tokyo)) == "2026-03-31"
        assert day(datetime(2026, 4, 1, 9, tzinfo=tokyo)) == "2026-04-01"

    def test_a_new_day_has_its_whole_limit(self) -> None:
        team = budget("Team", "1", period="day")
        today = [Account.objects.get(pk=pk) for pk in charged()]
        assert reserved("run1:s1:1", today, "0.9") is None
        assert reserved("run1:s2:1", today, "0.2") is not None

        tomorrow = [Account.objects.get(pk=pk) for pk in charged(at=NOON + timedelta(days=1))]
        assert reserved("run1:s3:1", tomorrow, "0.2") is None

        settled("run1:s1:1", "0.8")
        assert sums(team.accounts.get(key__endswith="-02")) == ("0.8", "0"), "paid by the day that set it aside"
        assert sums(team.accounts.get(key__endswith="-03")) == ("0", "0.2")

    def test_a_budget_counts_the_calls_that_are_all_that_it_names(self) -> None:
        make_pool()
        person, project = make_person("ada"), make_project()
        profile, worker = Profile.objects.get(slug="studio-ultra"), Worker.objects.get(slug="sim-birch")
        whole: dict[str, Any] = {"project": project, "person": person, "profile": profile, "worker": worker}
        named: list[dict[str, Any]] = [{}, *({name: what} for name, what in whole.items()), whole]
        pks = [budget(f"b{number}", period="total", **scope).pk for number, scope in enumerate(named)]

        def counted(**other: Any) -> set[int]:
            call = {"project": project.pk, "person": person.pk, "profile": "studio-ultra", "worker": "sim-birch"}
            found = (key.split(":") for key in keys(**{**call, **other}))
            return {pks.index(int(parts[1])) for parts in found if parts[0] == "budget"}

        assert counted() == {0, 1, 2, 3, 4, 5}
        assert counted(project=project.pk + 1) == {0, 2, 3, 4}
        assert counted(person=person.pk + 1) == {0, 1, 3, 4}
        assert counted(profile="studio-mini") == {0, 1, 2, 4}
        assert counted(worker="sim-cedar", profile="direct") == {0, 1, 2}

    def test_a_budget_that_is_off_counts_nothing(self) -> None:
        team = budget("Team", enabled=False)
        assert keys() == ["run:run1"]

        team.enabled = True
        team.save()
        assert len(keys()) == 2, "and is on for the very next call"

    def test_the_accounts_of_a_call_are_found_in_one_statement(
        self, django_assert_num_queries: Callable[[int], AbstractContextManager[Any]]
    ) -> None:
        for number in range(20):
            budget(f"b{number}")
        for _first_and_later in range(2):
            with django_assert_num_queries(1):
                assert len(charged()) == 21

    def test_an_account_outlives_its_budget(self) -> None:
        team = budget("Team")
        charged()
        team.delete()

        kept = Account.objects.get(label="Team")
        assert (kept.budget, kept.limit_usd) == (None, Decimal(5))
        assert keys() == ["run:run1"]


@pytest.mark.django_db(transaction=True)
def test_an_account_that_many_want_first_is_made_once() -> None:
    for number in range(5):
        budget(f"b{number}")
    start = Barrier(8)
    found: list[tuple[int, ...]] = []

    def drive() -> None:
        start.wait()
        found.append(charged())

    at_once([drive] * 8)

    assert len(found) == 8
    assert len(set(found)) == 1
    assert Account.objects.count() == 6


@pytest.mark.django_db
class TestRaising:
    def test_a_runs_limit_is_raised_with_an_event(self) -> None:
        run = account("run:run1", "1")
        reserved("run1:s1:1", [run], "0.9")
        assert reserved("run1:s2:1", [run], "0.5") is not None

        raise_limit(account=run, to=Decimal("1.5"), by=ADA, reason="It is nearly done.", now=NOON)

        assert reserved("run1:s2:1", [run], "0.5") is None
        [event] = read(TRAIL)
        assert (event.verb, event.actor, event.at) == ("limit.raised", ADA, NOON)
        assert event.data == {"account": "run:run1", "from": "1.0000", "to": "1.5000"}
        assert event.texts == {"reason": "It is nearly done."}
        assert verify(TRAIL).first_break is None

    def test_a_budget_is_raised_for_now_and_later_but_not_for_yesterday(self) -> None:
        team = budget("Team", "1", period="day")
        charged(at=NOON - timedelta(days=1))
        charged()

        raise_budget(budget=team, to=Decimal(3), by=ADA, reason="A busy week.", now=NOON)
        charged(at=NOON + timedelta(days=1))

        limits = team.accounts.order_by("key").values_list("limit_usd", flat=True)
        assert list(limits) == [Decimal(1), Decimal(3), Decimal(3)]
        [event] = read(TRAIL)
        assert (event.verb, event.data) == ("budget.changed", {"budget": team.pk, "fields": ["limit_usd"]})
        assert event.texts["reason"] == "A busy week."

    def test_the_auditors_of_a_budgets_project_are_told(self) -> None:
        ours = budget("Ours", "1", project=make_project("lab"))

        raise_budget(budget=ours, to=Decimal(3), by=ADA, reason="A busy week.", now=NOON)

        [event] = Event.objects.filter(verb="budget.changed")
        assert (event.trail.name, event.trail.project, event.project) == ("spend:lab", "lab", "lab")

    def test_a_budget_of_each_run_is_raised_for_all_runs_that_have_begun(self) -> None:
        each, other = budget("Each", "1", period="run"), budget("Other", "1", period="run")
        charged()
        charged(run_code="run2")

        raise_budget(budget=each, to=Decimal(2), by=ADA, reason="", now=NOON)

        assert set(each.accounts.values_list("limit_usd", flat=True)) == {Decimal(2)}
        assert set(other.accounts.values_list("limit_usd", flat=True)) == {Decimal(1)}

    @pytest.mark.parametrize("to", ["1", "1.00004", "0.5", "-1", "NaN", "Infinity", "1e12"])
    def test_a_limit_is_raised_and_not_lowered(self, to: str) -> None:
        run, team = account("run:run1", "1"), budget("Team", "1")

        with pytest.raises(NotRaised, match="above the present one of 1 USD"):
            raise_limit(account=run, to=Decimal(to), by=ADA, reason="", now=NOON)
        with pytest.raises(NotRaised):
            raise_budget(budget=team, to=Decimal(to), by=ADA, reason="", now=NOON)

        assert read(TRAIL) == []

    def test_where_there_is_no_limit_none_is_raised(self) -> None:
        with pytest.raises(NoLimit):
            raise_limit(account=account("run:run1"), to=Decimal(5), by=ADA, reason="", now=NOON)


@pytest.mark.django_db
class TestAdmin:
    @pytest.fixture
    def given(self, client: Any, admin_user: User) -> Any:
        client.force_login(admin_user)
        return client

    def test_what_an_admin_does_to_a_budget_is_an_event_and_holds_at_once(self, given: Any) -> None:
        form = {"name": "Team", "period": "total", "limit_usd": "5", "enabled": "on"}
        assert given.post("/admin/spend/budget/add/", form).status_code == 302
        team = Budget.objects.get()
        charged()
        path = f"/admin/spend/budget/{team.pk}"
        assert given.post(f"{path}/change/", {**form, "limit_usd": "2"}).status_code == 302
        assert team.accounts.get().limit_usd == Decimal(2)
        assert given.post(f"{path}/delete/", {"post": "yes"}).status_code == 302

        assert [event.verb for event in read(TRAIL)] == ["budget.added", "budget.changed", "budget.removed"]
        assert '"limit_usd": "2.0000"' in (read(TRAIL)[1].texts["after"] or "")

    def test_a_limit_raised_for_today_stays_when_something_else_is_changed(self, given: Any) -> None:
        team = budget("Team", "5", period="total")
        charged()
        raise_limit(account=team.accounts.get(), to=Decimal(9), by=ADA, reason="", now=NOON)

        form = {"name": "Everybody", "period": "total", "limit_usd": "5", "enabled": "on"}
        assert given.post(f"/admin/spend/budget/{team.pk}/change/", form).status_code == 302

        kept = team.accounts.get()
        assert (kept.limit_usd, kept.label) == (Decimal(9), "Everybody")

    @pytest.mark.parametrize("limit", ["-1", "", "much", "1e30"])
    def test_a_limit_that_is_none_is_refused_at_its_field(self, given: Any, limit: str) -> None:
        form = {"name": "Team", "period": "day", "limit_usd": limit, "enabled": "on"}

        response = given.post("/admin/spend/budget/add/", form)

        assert response.status_code == 200
        assert list(response.context["adminform"].form.errors) == ["limit_usd"]
        assert not Budget.objects.exists()
