"""Whatever happens to calls, in whatever order, the accounts say what the lines say."""

from collections import defaultdict
from decimal import ROUND_CEILING, Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.spend.book import CENT, release_run
from apps.spend.models import Account, Line
from tests.integration.spend.ledger import about, account, released, reserved, sent, settled

LIMITS = [None, "0.5", "1", "2"]

refs = st.sampled_from([f"run{run}:s{step}:1" for run in (1, 2) for step in (1, 2, 3)])
sums_usd = st.decimals("0", "0.7", places=9)
Move = tuple[str, str, Decimal | None, set[int]]
moves: st.SearchStrategy[Move] = st.one_of(
    st.tuples(st.just("reserve"), refs, sums_usd, st.sets(st.integers(0, 3))),
    st.tuples(st.just("settle"), refs, st.none() | sums_usd, st.sets(st.integers(0, 3))),
    st.tuples(st.just("book"), refs, st.none() | sums_usd, st.sets(st.integers(0, 3))),
    st.tuples(st.just("release"), refs, st.none(), st.just(set())),
    st.tuples(st.just("end"), refs, st.none(), st.just(set())),
)


@pytest.mark.django_db
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(moves, max_size=25))
def test_accounts_say_what_their_lines_say(todo: list[Move]) -> None:
    Line.objects.all().delete()
    Account.objects.all().delete()
    accounts = [account(f"budget:{number}:total", limit) for number, limit in enumerate(LIMITS)]

    for what, ref, usd, chosen in todo:
        _move(what, ref, usd, [accounts[number] for number in sorted(chosen)])
        _check()


def _move(what: str, ref: str, usd: Decimal | None, chosen: list[Account]) -> None:
    run, cost = ref.partition(":")[0], None if usd is None else str(usd)
    if what == "reserve":
        _reserve(ref, str(usd), chosen)
    elif what == "settle":
        settled(ref, cost)
    elif what == "book":
        settled(ref, cost, accounts=[each.pk for each in chosen], about=about(run))
    elif what == "release":
        released(ref)
    else:
        sent(release_run(run=run))
        assert not Line.objects.filter(run=run, state="reserved").exists()


def _reserve(ref: str, usd: str, chosen: list[Account]) -> None:
    """Refused where, and only where, an account that it would be charged to has less left than it needs."""
    before = {each.pk: each.left_usd for each in Account.objects.filter(pk__in=[each.pk for each in chosen])}
    known = Line.objects.filter(ref=ref).exclude(state="released").exists()
    refusal = reserved(ref, chosen, usd, run=ref.partition(":")[0])
    needed = Decimal(usd).quantize(CENT, ROUND_CEILING)
    short = {pk: left for pk, left in before.items() if left is not None and left < needed}
    if known or not needed or not short:
        assert refusal is None
    else:
        assert refusal is not None
        assert short[refusal.account] == min(short.values())


def _check() -> None:
    spent, open_usd = defaultdict[int, Decimal](Decimal), defaultdict[int, Decimal](Decimal)
    for line in Line.objects.all():
        for pk in line.accounts:
            spent[pk] += line.cost_usd or Decimal(0)
            open_usd[pk] += line.reserved_usd if line.state == "reserved" else Decimal(0)
    for each in Account.objects.all():
        assert (each.spent_usd, each.reserved_usd) == (spent[each.pk], open_usd[each.pk])
