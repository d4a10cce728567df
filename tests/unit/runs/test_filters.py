"""The filter of the list of runs: what is understood of a text, what is not, and that it can be written again."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.runs.filters import (
    FIELDS,
    KINDS,
    MOST_TERMS,
    REVIEWS,
    STATES,
    Condition,
    Filter,
    Match,
    Measure,
    Moment,
    Term,
    Words,
    instant,
    parse,
    render,
)

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)


def conditions(text: str) -> list[Condition]:
    return [term.condition for term in parse(text).terms]


def faults(text: str) -> list[tuple[int, str]]:
    return [(fault.at, fault.token) for fault in parse(text).faults]


def test_the_example_of_the_design_is_understood_whole():
    asked = parse('status:failed worker:qwen cost>0.1 "tariff"')

    assert [term.condition for term in asked.terms] == [
        Match("status", "failed"),
        Match("worker", "qwen"),
        Measure("cost", ">", Decimal("0.1")),
        Words("tariff", exact=True),
    ]
    assert asked.faults == ()


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("is:failed", Match("status", "failed")),
        ("status:cancelled", Match("status", "stopped")),
        ("STATUS:Failed", Match("status", "failed")),
        ("is:mine", Match("is", "mine")),
        ("is:experiment", Match("is", "experiment")),
        ("reviewed:No", Match("reviewed", "no")),
        ("rating<=2.5", Measure("rating", "<=", Decimal("2.5"))),
        ('worker:"gpt 5"', Match("worker", "gpt 5")),
        ("who:ada", Match("who", "ada")),
        ("cost>=$2", Measure("cost", ">=", Decimal(2))),
        ("steps:5", Measure("steps", "=", Decimal(5))),
        ("tokens<1.5k", Measure("tokens", "<", Decimal(1500))),
        ("tokens>2M", Measure("tokens", ">", Decimal(2_000_000))),
        ("took>2m", Measure("took", ">", Decimal(120))),
        ("took<=500ms", Measure("took", "<=", Decimal("0.5"))),
        ("took>1.5h", Measure("took", ">", Decimal(5400))),
        ("before:2026-11-20", Moment("before", "2026-11-20")),
        ("after:2026-11-20T08:30", Moment("after", "2026-11-20T08:30:00")),
        ("after:Yesterday", Moment("after", "yesterday")),
        ("after:7d", Moment("after", "7d")),
        ("tariff", Words("tariff")),
        ("5>3", Words("5>3")),
        ('"a \\"quoted\\" word"', Words('a "quoted" word', exact=True)),
    ],
)
def test_each_kind_of_condition_is_read(text, condition):
    assert conditions(text) == [condition]


def test_a_minus_leaves_out_what_follows_it():
    assert parse('-status:failed -"old tariff" -new').terms == (
        Term(Match("status", "failed"), negated=True),
        Term(Words("old tariff", exact=True), negated=True),
        Term(Words("new"), negated=True),
    )


def test_what_is_said_twice_is_asked_once():
    assert len(parse("tariff status:failed tariff is:failed").terms) == 2


@pytest.mark.parametrize(
    ("text", "at", "token", "said"),
    [
        ("stauts:failed", 1, "stauts:failed", "Did you mean status?"),
        ("x status:fialed", 3, "status:fialed", "Did you mean failed?"),
        ("x cost>much", 3, "cost>much", "is no number"),
        ("took>5parsecs", 1, "took>5parsecs", "is no time"),
        ("worker>qwen", 1, "worker>qwen", "cannot be compared"),
        ("before:soon", 1, "before:soon", "is no day"),
        ("before:2026-13-45", 1, "before:2026-13-45", "is no day"),
        ("worker:", 1, "worker:", "Nothing follows"),
        ('worker:""', 1, 'worker:""', "Nothing follows"),
        ('tariff "not closed', 8, '"not closed', "is not closed"),
        ("tariff -", 8, "-", "nothing follows"),
        ("tariff %", 8, "%", "no letter and no digit"),
    ],
)
def test_a_fault_names_its_place_its_token_and_what_is_wrong(text, at, token, said):
    [fault] = parse(text).faults

    assert (fault.at, fault.token) == (at, token)
    assert said in fault.message


def test_what_was_understood_stands_beside_what_was_not():
    asked = parse("status:failed cots>0.1 tariff")

    assert render(asked) == "status:failed tariff"
    assert faults("status:failed cots>0.1 tariff") == [(15, "cots>0.1")]


def test_there_is_an_end_to_how_much_can_be_asked():
    asked = parse(" ".join(f"word{number}" for number in range(MOST_TERMS + 2)))

    assert len(asked.terms) == MOST_TERMS
    assert [fault.token for fault in asked.faults] == [f"word{MOST_TERMS}", f"word{MOST_TERMS + 1}"]


def test_another_state_takes_the_place_of_the_one_that_is_asked_for():
    asked = parse("tariff status:failed -status:held is:mine")

    assert render(asked.but("status", "live")) == "status:live tariff -status:held is:mine"
    assert render(asked.but("is", "test")) == "is:test tariff -status:held is:mine"
    assert render(asked.but("status", "")) == "tariff -status:held is:mine"
    assert asked.states == ("failed",)


@pytest.mark.parametrize(
    ("when", "at"),
    [
        ("today", datetime(2026, 11, 21, tzinfo=UTC)),
        ("yesterday", datetime(2026, 11, 20, tzinfo=UTC)),
        ("2026-11-03", datetime(2026, 11, 3, tzinfo=UTC)),
        ("24h", NOW - timedelta(days=1)),
        ("2w", NOW - timedelta(days=14)),
    ],
)
def test_a_moment_is_a_time_in_utc(when, at):
    assert instant(Moment("after", when), now=NOW) == at


PLAIN = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12).filter(str.isalnum)
PHRASE = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
NUMBERS = st.decimals(0, 10**9, allow_nan=False, allow_infinity=False, places=3).map(Decimal.normalize)

CONDITIONS = st.one_of(
    PLAIN.map(Words),
    PHRASE.filter(lambda text: any(map(str.isalnum, text))).map(lambda text: Words(text, exact=True)),
    st.sampled_from(list(STATES)).map(lambda state: Match("status", state)),
    st.sampled_from(list(KINDS)).map(lambda kind: Match("is", kind)),
    st.sampled_from(list(REVIEWS)).map(lambda state: Match("reviewed", state)),
    st.builds(
        Match,
        st.sampled_from(["worker", "profile", "planner", "who", "code"]),
        PHRASE.filter(lambda text: text.strip()),
    ),
    st.builds(
        Measure,
        st.sampled_from(["cost", "steps", "tokens", "took", "rating"]),
        st.sampled_from([">", ">=", "<", "<=", "="]),
        NUMBERS,
    ),
    st.builds(Moment, st.sampled_from(["before", "after"]), st.sampled_from(["today", "yesterday", "7d", "24h", "9w"])),
    st.builds(Moment, st.sampled_from(["before", "after"]), st.dates().map(str)),
)


@settings(max_examples=300)
@given(st.lists(st.builds(Term, CONDITIONS, st.booleans()), max_size=6, unique=True))
def test_what_is_written_is_read_again(terms):
    asked = Filter(tuple(terms))

    assert parse(render(asked)) == asked


@settings(max_examples=500)
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from([*FIELDS, ":", ">", "=", "-", '"', "\\", " ", "failed", "7d", "0.1", "x"]), max_size=14
        ).map("".join),
    )
)
def test_no_text_is_too_odd_to_be_read(text):
    asked = parse(text)

    assert parse(render(asked)) == Filter(asked.terms)
    assert all(text.replace("\0", "")[fault.at - 1 :].startswith(fault.token) for fault in asked.faults)
    assert all(instant(term.condition, now=NOW) for term in asked.terms if isinstance(term.condition, Moment))
