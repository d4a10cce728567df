"""Tables in CSV: growth between two columns, sums, means and extremes of rows and columns."""

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from apps.simulator.solvers.problem import Part, Problem, number_of, places_asked, plain, rounded, slips

_MOST = re.compile(r"\b(?:most|highest|largest|greatest|biggest|maximum|max|best|top)\b", re.I)
_LEAST = re.compile(r"\b(?:least|lowest|smallest|minimum|min|worst|fewest)\b", re.I)
_GROWTH = re.compile(r"\b(?:grew|grow|grown|growth|increased?|change[sd]?|rose|fell|shr[aiu]nk|dropped)\b", re.I)
_PER_CENT = re.compile(r"per ?cent|percent|%|\bpoints?\b", re.I)  # what differs by points is in per cent
_MEAN = re.compile(r"\b(?:average|mean)\b", re.I)
_SUM = re.compile(r"\b(?:total|sum|altogether|overall|add)\b", re.I)
_GAP = re.compile(r"\b(?:differ\w*|apart|gap|between them)\b", re.I)
_BEYOND = re.compile(r"\b(?:rank\w*|second|next|runner-up|than|ahead)\b", re.I)  # what is not computed here


@dataclass(frozen=True)
class Table:
    heading: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[Fraction, ...]]
    question: str

    def column(self, name: str) -> tuple[Fraction, ...]:
        at = self.columns.index(name)
        return tuple(row[at] for row in self.rows.values())


@dataclass(frozen=True)
class Measure:
    """What is computed for every row, in words and in numbers."""

    words: str  # "the growth of {} from Q1 to Q4 in per cent"
    of: Callable[[tuple[Fraction, ...]], Fraction]
    working: Callable[[str, tuple[Fraction, ...], str], str]
    unit: str = ""


def solve(text: str) -> Problem | None:
    table = read(text)
    if table is None:
        return None
    if _BEYOND.search(table.question) or (_MEAN.search(table.question) and _SUM.search(table.question)):
        return None
    return _about_rows(table) or _about_column(table)


def read(text: str) -> Table | None:
    """The first CSV block of the text: a heading line, then lines of a label and numbers."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        width = len(next(csv.reader([line]), []))
        end = start + 1
        while end < len(lines) and lines[end].strip() and _cells(lines[end], width):
            end += 1
        if width >= 2 and end - start >= 3:
            return _table(lines[start:end], "\n".join(lines[:start] + lines[end:]))
    return None


def _cells(line: str, width: int) -> tuple[str, tuple[Fraction, ...]] | None:
    cells = next(csv.reader([line]), [])
    values = [number_of(cell.strip().lstrip("-")) for cell in cells[1:]]
    if len(cells) != width or any(value is None for value in values):
        return None
    signed = [
        -value if cell.strip().startswith("-") else value
        for value, cell in zip(values, cells[1:], strict=True)
        if value is not None
    ]
    return cells[0].strip(), tuple(signed)


def _table(lines: Sequence[str], question: str) -> Table | None:
    heading, *columns = (cell.strip() for cell in next(csv.reader(io.StringIO(lines[0]))))
    rows = dict(cells for line in lines[1:] if (cells := _cells(line, len(columns) + 1)))
    if number_of(columns[0]) is not None or len(rows) < 2:
        return None
    return Table(heading, tuple(columns), rows, question)


def _mentioned(names: Sequence[str], question: str) -> list[str]:
    """The names in the question, in its order."""
    places = {name: match.start() for name in names if (match := re.search(rf"\b{re.escape(name)}\b", question, re.I))}
    return sorted(places, key=lambda name: places[name])


def _about_rows(table: Table) -> Problem | None:
    """Which row has most of something, or what one row has."""
    measure = _measure(table)
    if measure is None:
        return None
    rows = _mentioned(list(table.rows), table.question)
    if len(rows) == 1:
        return _one_row(table, rows[0], measure)
    least, most = _LEAST.search(table.question), _MOST.search(table.question)
    if least and most:
        return _both_extremes(table, measure)
    if not (least or most) or _GAP.search(table.question):
        return None
    return _extreme(table, measure, word="least" if least else "most")


def _measure(table: Table) -> Measure | None:
    question = table.question
    columns = _mentioned(table.columns, question)
    if _GROWTH.search(question):
        return _growth(
            table, columns or [table.columns[0], table.columns[-1]], in_per_cent=bool(_PER_CENT.search(question))
        )
    if len(columns) == 1:
        return _value(table, columns[0])
    if _MEAN.search(question):
        return _over_row("mean", lambda row: sum(row, Fraction(0)) / len(row))
    if _SUM.search(question) or len(table.columns) == 1:
        return _over_row("total", lambda row: sum(row, Fraction(0)))
    return None


def _growth(table: Table, columns: list[str], *, in_per_cent: bool) -> Measure | None:
    if len(columns) < 2:
        return None
    one, other = table.columns.index(columns[0]), table.columns.index(columns[-1])
    span = f"from {columns[0]} to {columns[-1]}"
    if not in_per_cent:
        return Measure(
            words=f"the growth of {{}} {span}",
            of=lambda row: row[other] - row[one],
            working=lambda name, row, value: f"{name}: {plain(row[other])} - {plain(row[one])} = {value}",
        )
    if any(row[one] == 0 for row in table.rows.values()):
        return None
    return Measure(
        words=f"the growth of {{}} {span} in per cent",
        of=lambda row: (row[other] / row[one] - 1) * 100,
        working=lambda name, row, value: (
            f"{name}: ({plain(row[other])} - {plain(row[one])}) / {plain(row[one])} * 100 = {value} %"
        ),
        unit=" %",
    )


def _value(table: Table, column: str) -> Measure:
    at = table.columns.index(column)
    return Measure(
        words=f"the value of {{}} in {column}",
        of=lambda row: row[at],
        working=lambda name, row, value: f"{name}: {value} in {column}",
    )


def _over_row(word: str, of: Callable[[tuple[Fraction, ...]], Fraction]) -> Measure:
    by = " / {}" if word == "mean" else ""
    return Measure(
        words=f"the {word} of {{}} over all columns",
        of=of,
        working=lambda name, row, value: f"{name}: ({' + '.join(map(plain, row))}){by.format(len(row))} = {value}",
    )


def _shown(value: Fraction, question: str) -> str:
    places = places_asked(question)
    return plain(value, longest=2) if places is None else rounded(value, places)


def _part(table: Table, name: str, measure: Measure) -> Part:
    row = table.rows[name]
    value = _shown(measure.of(row), table.question)
    what = measure.words.format(f"{table.heading.lower()} {name}")
    rounding = table.question if places_asked(table.question) is not None else "two decimals"
    return Part(
        cue=name,
        instruction=f"Compute {what}{_from_cells(table, name, measure)}.",
        answer=f"{value}{measure.unit}",
        working=(measure.working(name, row, value),),
        wrong=tuple(f"{wrong}{measure.unit}" for wrong in slips(measure.of(row), rounding)),
    )


def _from_cells(table: Table, name: str, measure: Measure) -> str:
    """The cells that are needed, so that a step can be done without the whole table."""
    columns = _mentioned(table.columns, measure.words) or list(table.columns)
    cells = ", ".join(f"{column} {plain(table.rows[name][table.columns.index(column)])}" for column in columns)
    places = places_asked(table.question)
    rounding = f", to {places} decimal place{'s' if places != 1 else ''}" if places is not None else ""
    return f" ({cells}){rounding}"


def _one_row(table: Table, name: str, measure: Measure) -> Problem:
    part = _part(table, name, measure)
    return Problem(
        family="table",
        ask=part.instruction,
        method=f"Copy the cells of {name} that are needed for {measure.words.format(name)}, with their columns.",
        check=f"Check {measure.words.format(name)} against the table, and give the value.",
        answer=part.answer,
        working=part.working,
        wrong=part.wrong,
        is_easy=True,
    )


def _extreme(table: Table, measure: Measure, *, word: str) -> Problem:
    values = {name: measure.of(row) for name, row in table.rows.items()}
    ordered = sorted(values, key=lambda name: values[name], reverse=word == "most")
    parts = tuple(_part(table, name, measure) for name in table.rows)
    answers = {part.cue: part.answer for part in parts}
    kind = table.heading.lower() or "row"
    each = measure.words.format(f"each {kind}")
    extreme = "largest" if word == "most" else "smallest"
    return Problem(
        family="table",
        ask=f"Compute {each} and name the {kind} with the {extreme}, and its value.",
        method=f"Write down the formula for {each} and the cells it takes, for {', '.join(table.rows)}.",
        check=f"Check {each} against the table, and name the {kind} with the {extreme}, and its value.",
        answer=f"{ordered[0]}, {answers[ordered[0]]}",
        working=(*(line for part in parts for line in part.working), f"The {extreme} is {ordered[0]}."),
        wrong=(f"{ordered[1]}, {answers[ordered[1]]}", f"{ordered[-1]}, {answers[ordered[-1]]}"),
        parts=parts,
        combine=f"Compare the results given for {', '.join(table.rows)} and name the {kind} with the {extreme} "
        f"{measure.words.removeprefix('the ').replace(' of {}', '')}, and its value.",
    )


def _both_extremes(table: Table, measure: Measure) -> Problem:
    """Which row has most and which least, and how far they are apart where that is asked."""
    values = {name: measure.of(row) for name, row in table.rows.items()}
    ordered = sorted(values, key=lambda name: values[name], reverse=True)
    parts = tuple(_part(table, name, measure) for name in table.rows)
    answers = {part.cue: part.answer for part in parts}
    kind = table.heading.lower() or "row"
    each = measure.words.format(f"each {kind}")
    wants_gap = bool(_GAP.search(table.question))

    def told(most: str, least: str) -> str:
        gap = _shown(values[most] - values[least], table.question)
        difference = f"; difference: {gap}{' points' if measure.unit else ''}" if wants_gap else ""
        return f"most: {most}, {answers[most]}; least: {least}, {answers[least]}{difference}"

    names = f"the {kind} with the largest, the one with the smallest{', and their difference' if wants_gap else ''}"
    return Problem(
        family="table",
        ask=f"Compute {each} and name {names}, with both values.",
        method=f"Write down the formula for {each} and the cells it takes, for {', '.join(table.rows)}.",
        check=f"Check {each} against the table, and name {names}, with both values.",
        answer=told(ordered[0], ordered[-1]),
        working=(
            *(line for part in parts for line in part.working),
            f"The largest is {ordered[0]}, the smallest {ordered[-1]}.",
        ),
        wrong=tuple(dict.fromkeys((told(ordered[-1], ordered[0]), told(ordered[0], ordered[-2])))),
        parts=parts,
        combine=f"Compare the results given for {', '.join(table.rows)} and name {names}, with both values.",
        asks=2,
    )


def _about_column(table: Table) -> Problem | None:
    """The sum, mean or extreme of a column."""
    columns = _mentioned(table.columns, table.question)
    if len(columns) != 1:
        return None
    cells = table.column(columns[0])
    total = sum(cells, Fraction(0))
    added = " + ".join(map(plain, cells))
    if _MEAN.search(table.question):
        word, value, working = "mean", total / len(cells), f"({added}) / {len(cells)}"
    elif _SUM.search(table.question):
        word, value, working = "total", total, added
    else:
        return None
    answer = _shown(value, table.question)
    return Problem(
        family="table",
        ask=f"Compute the {word} of column {columns[0]} over all {len(cells)} rows.",
        method=f"Copy the cells of column {columns[0]}: one for each of {', '.join(table.rows)}.",
        check=f"Check the {word} of column {columns[0]} by adding from the bottom up, and give the value.",
        answer=answer,
        working=(f"{working} = {answer}",),
        wrong=slips(value, table.question),
        is_easy=True,
    )
