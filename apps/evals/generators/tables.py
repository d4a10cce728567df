"""Tables: a cell, a column's total or mean, the row with the most or the least, or how a row grew."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from apps.evals.graders import Figures, Number

from .task import Made, rounded, shown

_SCENES = (
    ("Region", ("North", "South", "East", "West", "Centre"), ("Q1", "Q2", "Q3", "Q4")),
    ("Product", ("Tea", "Coffee", "Cocoa", "Juice", "Water"), ("Jan", "Feb", "Mar")),
    ("Branch", ("Lyon", "Turin", "Ghent", "Graz", "Porto"), ("Spring", "Summer", "Autumn", "Winter")),
    ("Team", ("Red", "Blue", "Green", "Amber"), ("Mon", "Tue", "Wed", "Thu")),
    ("Machine", ("Lathe", "Mill", "Press", "Saw"), ("Early", "Late", "Night")),
)


@dataclass(frozen=True)
class Table:
    """A table as it is drawn up: `rows` holds a value for each column under the row's name."""

    heading: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[int, ...]]

    @property
    def text(self) -> str:
        head = ",".join((self.heading, *self.columns))
        return "\n".join((head, *(f"{name},{','.join(map(str, row))}" for name, row in self.rows.items())))

    def column(self, name: str) -> dict[str, Fraction]:
        at = self.columns.index(name)
        return {row: Fraction(values[at]) for row, values in self.rows.items()}

    def growth(self, one: str, other: str) -> dict[str, Fraction]:
        """By how many per cent each row grew from one column to another."""
        before, after = self.column(one), self.column(other)
        return {row: (after[row] / before[row] - 1) * 100 for row in self.rows}


def table(rng: Random) -> Table:
    heading, offered, columns = rng.choice(_SCENES)
    names = rng.sample(offered, rng.randint(3, len(offered)))
    low = rng.choice((20, 60, 90))
    return Table(heading, columns, {name: tuple(rng.randint(low, 3 * low) for _ in columns) for name in names})


def with_table(rng: Random, drawn: Table, question: str) -> str:
    """The question after the table, or before it."""
    return rng.choice((f"{drawn.text}\n\n{question}", f"{question}\n\n{drawn.text}"))


def is_clear(values: dict[str, Fraction], places: int = 1) -> bool:
    """Whether no two rows are so close that they round alike: then the first and the last are beyond doubt."""
    return len({rounded(value, places) for value in values.values()}) == len(values)


def make(rng: Random) -> Made:
    return rng.choice((_cell, _column, _extreme, _extreme, _extreme_of_rows, _grown))(rng)


def _cell(rng: Random) -> Made:
    drawn = table(rng)
    row, column = rng.choice(tuple(drawn.rows)), rng.choice(drawn.columns)
    value = drawn.column(column)[row]
    ask = rng.choice(("What is the figure of {r} in {c}?", "Look it up: how much did {r} have in {c}?"))
    return Made(with_table(rng, drawn, ask.format(r=row, c=column)), shown(value), Number(value))


def _column(rng: Random) -> Made:
    drawn = table(rng)
    column = rng.choice(drawn.columns)
    values = drawn.column(column).values()
    total = sum(values, Fraction(0))
    if rng.random() < 0.5:
        ask = rng.choice(("What is the total of {c}?", "Give the total of column {c}. Answer with the number."))
        return Made(with_table(rng, drawn, ask.format(c=column)), shown(total), Number(total))
    mean = rounded(total / len(values), 1)
    ask = rng.choice(("What is the mean of {c}? One decimal place.", "Give the average of {c}, to one decimal place."))
    return Made(with_table(rng, drawn, ask.format(c=column)), shown(mean, 1), Number(mean))


def _extreme(rng: Random) -> Made:
    """Which row has the most or the least in one column, and how much."""

    def values(drawn: Table) -> tuple[str, dict[str, Fraction]]:
        column = rng.choice(drawn.columns)
        return f"value in {column}", drawn.column(column)

    return _most_or_least(rng, values)


def _extreme_of_rows(rng: Random) -> Made:
    """The same of all columns together."""

    def values(drawn: Table) -> tuple[str, dict[str, Fraction]]:
        return "total", {name: Fraction(sum(row)) for name, row in drawn.rows.items()}

    return _most_or_least(rng, values)


def _most_or_least(rng: Random, values: Callable[[Table], tuple[str, dict[str, Fraction]]]) -> Made:
    while True:
        drawn = table(rng)
        what, found = values(drawn)
        if is_clear(found):
            break
    word = rng.choice(("highest", "lowest"))
    name = (max if word == "highest" else min)(found, key=lambda row: found[row])
    asks = (
        "Which {h} had the {w} {v}? Name it, with the value.",
        "Which {h} has the {w} {v}? Give its name and value.",
    )
    question = rng.choice(asks).format(h=drawn.heading.lower(), w=word, v=what)
    answer = f"{name}, {shown(found[name])}"
    return Made(with_table(rng, drawn, question), answer, Figures((name,), tuple(drawn.rows), (found[name],)))


def _grown(rng: Random) -> Made:
    drawn = table(rng)
    one, other = sorted(rng.sample(range(len(drawn.columns)), 2))
    row = rng.choice(tuple(drawn.rows))
    value = rounded(drawn.growth(drawn.columns[one], drawn.columns[other])[row], 1)
    asks = (
        "What was the growth of {r} from {a} to {b} in per cent? One decimal place.",
        "By how many per cent did {r} grow from {a} to {b}? Give one decimal.",
    )
    question = rng.choice(asks).format(r=row, a=drawn.columns[one], b=drawn.columns[other])
    return Made(with_table(rng, drawn, question), f"{shown(value, 1)} %", Number(value))
