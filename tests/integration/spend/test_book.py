"""Money that is set aside, spent and given back."""

from decimal import Decimal

import pytest

from apps.spend.book import AccountGone, release_run, reserve
from apps.spend.models import Line
from apps.workers.calls import Usage
from tests.integration.spend.ledger import (
    NOON,
    PRICE,
    USAGE,
    about,
    account,
    line,
    released,
    reserved,
    sent,
    settled,
    sums,
)

pytestmark = pytest.mark.django_db


def test_what_is_set_aside_is_not_yet_spent() -> None:
    run, day = account("run:run1", "1"), account("budget:1:2026-03-02", "5")

    assert reserved("run1:s1:1", [run, day], "0.40") is None

    assert sums(run) == sums(day) == ("0", "0.4")
    assert run.left_usd == Decimal("0.6")
    kept = line("run1:s1:1")
    assert (kept.state, kept.reserved_usd, kept.cost_usd, kept.at) == ("reserved", Decimal("0.4"), None, NOON)
    assert (kept.run, kept.person, kept.worker, kept.price, kept.price_version) == ("run1", "Ada", "gpt-5", PRICE, 3)
    assert kept.accounts == [run.pk, day.pk]


def test_what_a_call_cost_is_booked_and_the_rest_given_back() -> None:
    run, day = account("run:run1", "1"), account("budget:1:2026-03-02", "5")
    reserved("run1:s1:1", [run, day], "0.40")

    assert settled("run1:s1:1", "0.0045")

    assert sums(run) == sums(day) == ("0.0045", "0")
    kept = line("run1:s1:1")
    assert (kept.state, kept.reserved_usd, kept.cost_usd) == ("settled", Decimal("0.4"), Decimal("0.0045"))
    assert (kept.input_tokens, kept.cached_tokens, kept.output_tokens, kept.reasoning_tokens) == (1000, 0, 200, 50)
    assert not kept.estimated


def test_a_call_that_was_not_made_costs_nothing() -> None:
    run = account("run:run1", "1")
    reserved("run1:s1:1", [run], "0.40")

    assert released("run1:s1:1")

    assert sums(run) == ("0", "0")
    assert line("run1:s1:1").state == "released"


def test_a_call_that_could_cross_a_limit_is_refused_in_every_account() -> None:
    run, day = account("run:run1", "5"), account("budget:1:2026-03-02", "1", label="Team")
    reserved("run1:s1:1", [run, day], "0.50")
    settled("run1:s1:1", "0.3")
    reserved("run1:s2:1", [run, day], "0.20")

    refusal = reserved("run1:s3:1", [run, day], "0.50000001")

    assert refusal is not None
    assert (refusal.account, refusal.key, refusal.label) == (day.pk, "budget:1:2026-03-02", "Team")
    assert (refusal.limit_usd, refusal.spent_usd, refusal.reserved_usd) == (
        Decimal(1),
        Decimal("0.3"),
        Decimal("0.2"),
    )
    assert refusal.needed_usd == Decimal("0.50000001")
    assert refusal.may_pass
    assert sums(run) == sums(day) == ("0.3", "0.2")
    assert not Line.objects.filter(ref="run1:s3:1").exists()


def test_a_call_that_meets_its_limit_exactly_is_made() -> None:
    run = account("run:run1", "1")
    reserved("run1:s1:1", [run], "0.7")

    assert reserved("run1:s2:1", [run], "0.3") is None
    assert reserved("run1:s3:1", [run], "0") is None
    assert reserved("run1:s4:1", [run], "0.00000001") is not None


def test_of_two_limits_that_refuse_the_narrower_one_is_named() -> None:
    run, day, month = account("run:run1", "0.5"), account("budget:1:2026-03-02", "0.2"), account("budget:2:2026-03")

    refusal = reserved("run1:s1:1", [run, day, month], "1")

    assert refusal is not None
    assert refusal.key == "budget:1:2026-03-02"
    assert not refusal.may_pass


def test_what_is_set_aside_is_never_less_than_asked() -> None:
    run = account("run:run1", "0.0001")

    assert reserved("run1:s1:1", [run], "0.000100000001") is not None
    assert reserved("run1:s1:1", [run], "0.000099999001") is None
    assert sums(run) == ("0", "0.0001")


def test_asking_twice_changes_nothing() -> None:
    run = account("run:run1", "1")

    for _lost_answer in range(2):
        assert reserved("run1:s1:1", [run], "0.60") is None
    assert sums(run) == ("0", "0.6")

    assert settled("run1:s1:1", "0.5")
    assert not settled("run1:s1:1", "0.5")
    assert reserved("run1:s1:1", [run], "0.60") is None
    assert not released("run1:s1:1")
    assert sums(run) == ("0.5", "0")
    assert line("run1:s1:1").state == "settled"


def test_giving_back_twice_gives_back_once() -> None:
    run = account("run:run1", "1")
    reserved("run1:s1:1", [run], "0.60")
    reserved("run1:s2:1", [run], "0.10")

    assert released("run1:s1:1")
    assert not released("run1:s1:1")
    assert not released("no such call")

    assert sums(run) == ("0", "0.1")


def test_a_call_that_was_given_back_can_be_asked_for_again() -> None:
    run, other = account("run:run1", "1"), account("budget:1:2026-03-03", "1")
    reserved("run1:s1:1", [run], "0.60")
    released("run1:s1:1")

    assert reserved("run1:s1:1", [run, other], "0.30") is None

    assert sums(run) == sums(other) == ("0", "0.3")
    assert line("run1:s1:1").accounts == [run.pk, other.pk]
    assert reserved("run1:s2:1", [run], "0.8") is not None


def test_the_truth_is_booked_even_above_the_limit() -> None:
    run = account("run:run1", "1")
    reserved("run1:s1:1", [run], "0.60")

    assert settled("run1:s1:1", "1.70")

    assert sums(run) == ("1.7", "0")
    assert run.left_usd == Decimal("-0.7")
    assert reserved("run1:s2:1", [run], "0.00000001") is not None
    assert reserved("run1:s3:1", [run], "0") is None, "what is free crosses no limit"


def test_other_numbers_for_a_settled_call_are_booked_by_their_difference() -> None:
    run = account("run:run1", "1")
    reserved("run1:s1:1", [run], "0.60")
    settled("run1:s1:1", "0.30", Usage(1000, output_tokens=120, estimated=True))
    assert line("run1:s1:1").estimated

    assert settled("run1:s1:1", "0.25", Usage(1000, output_tokens=100))

    assert sums(run) == ("0.25", "0")
    kept = line("run1:s1:1")
    assert (kept.cost_usd, kept.output_tokens, kept.estimated) == (Decimal("0.25"), 100, False)
    assert settled("run1:s1:1", "0.25", Usage(1000, output_tokens=101))
    assert sums(run) == ("0.25", "0")


def test_a_call_given_back_that_was_made_after_all_is_booked() -> None:
    run = account("run:run1", "1")
    reserved("run1:s1:1", [run], "0.60")
    released("run1:s1:1")

    assert settled("run1:s1:1", "0.30")

    assert sums(run) == ("0.3", "0")


def test_an_unknown_cost_stays_unknown_and_is_not_booked() -> None:
    run = account("run:run1", "1")
    reserved("run1:s1:1", [run], "0.60")

    assert settled("run1:s1:1", None)

    assert sums(run) == ("0", "0")
    kept = line("run1:s1:1")
    assert kept.cost_unknown
    assert (kept.state, kept.cost_usd, kept.output_tokens) == ("settled", None, 200)
    assert not settled("run1:s1:1", None)

    assert settled("run1:s1:1", "0.20")
    assert sums(run) == ("0.2", "0")
    assert not line("run1:s1:1").cost_unknown


def test_a_call_nothing_was_set_aside_for_is_booked_all_the_same() -> None:
    run = account("run:run1", "0.10")

    assert settled("run1:s1:1", "0.30", accounts=[run.pk], about=about())
    assert not settled("run1:s1:1", "0.30", accounts=[run.pk], about=about())

    assert sums(run) == ("0.3", "0")
    kept = line("run1:s1:1")
    assert (kept.state, kept.reserved_usd, kept.price_version) == ("settled", Decimal(0), 3)
    assert kept.cost_usd == Decimal("0.3")
    assert not settled("run1:s9:1", "0.30"), "nobody knows whose call that was"


def test_a_call_of_an_unknown_price_has_a_line_too() -> None:
    run = account("run:run1", "0.10")

    assert settled("run1:s1:1", None, accounts=[run.pk], about=about())

    assert sums(run) == ("0", "0")
    assert line("run1:s1:1").cost_unknown


def test_what_a_run_left_open_is_given_back_when_it_ends() -> None:
    run, other, day = account("run:run1", "1"), account("run:run2", "1"), account("budget:1:2026-03-02", "5")
    reserved("run1:s1:1", [run, day], "0.10")
    reserved("run1:s2:1", [run, day], "0.20")
    reserved("run1:s3:1", [run, day], "0.30")
    settled("run1:s3:1", "0.05")
    reserved("run2:s1:1", [other, day], "0.40", run="run2")

    assert sent(release_run(run="run1")) == 2
    assert sent(release_run(run="run1")) == 0

    assert sums(run) == ("0.05", "0")
    assert sums(day) == ("0.05", "0.4")
    assert sums(other) == ("0", "0.4")


def test_a_call_without_its_account_is_not_made() -> None:
    run = account("run:run1", "1")

    with pytest.raises(AccountGone):
        sent(reserve(ref="run1:s1:1", accounts=[run.pk, 999], usd=Decimal(0), about=about(), at=NOON))


def test_a_call_without_any_account_has_its_line() -> None:
    assert reserved("run1:s1:1", [], "0.5") is None
    assert settled("run1:s1:1", "0.2", USAGE)
    assert line("run1:s1:1").cost_usd == Decimal("0.2")
