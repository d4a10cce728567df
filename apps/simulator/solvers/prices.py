"""Price lists and who buys what: what each group pays, who pays more, and what all pay together."""

import re
from dataclasses import dataclass
from fractions import Fraction

from apps.simulator.solvers.problem import NUMBERS, Part, Problem, listed, number_of, rounded, singular, slips

_PRICED = re.compile(r"(?P<item>[A-Za-z][A-Za-z ]*?)\s*(?:costs?|=|:|at)?\s*[€$£]?\s?(?P<price>\d+(?:\.\d{1,2})?)\b")
_LIST = re.compile(r"\b[\w ]*\bprices?\b[^:\n]*:\s*(?P<list>(?:[^.\n]|\.(?=\d))+)", re.I)
_GROUP = re.compile(r"(?P<name>[A-Z][\w]*(?: [\w]+){0,2}):\s*(?P<what>(?:[^.\n?]|\.(?=\d))+)")
_COUNTED = re.compile(rf"\b(?P<count>\d+|{'|'.join(NUMBERS)}|an?)\s+(?P<item>[a-z]+(?: [a-z]+)?)", re.I)


@dataclass(frozen=True)
class Bill:
    name: str
    items: tuple[tuple[int, str, Fraction], ...]

    @property
    def total(self) -> Fraction:
        return sum((count * price for count, _, price in self.items), Fraction(0))

    @property
    def working(self) -> str:
        terms = " + ".join(f"{count} * {rounded(price, 2)}" for count, _, price in self.items)
        return f"{self.name}: {terms} = {rounded(self.total, 2)}"

    @property
    def named(self) -> str:
        return ", ".join(f"{count} {item} at {rounded(price, 2)}" for count, item, price in self.items)


def solve(text: str) -> Problem | None:
    prices = _LIST.search(text)
    if prices is None:
        return None
    table = {singular(match["item"].strip()): Fraction(match["price"]) for match in _PRICED.finditer(prices["list"])}
    rest = text[prices.end() :]
    bills = [bill for match in _GROUP.finditer(rest) if (bill := _bill(match["name"], match["what"], table))]
    question = rest.rpartition(".")[2] if "?" in rest.rpartition(".")[2] else rest
    if len(bills) >= 2 and re.search(r"\bmore\b|\bless\b|\bmost\b|\bleast\b|difference", question, re.I):
        return _comparison(bills, question)
    if len(bills) > 1 and re.search(r"\b(?:each|every|respectively)\b[^.]*\?", question, re.I):
        return None
    if bills and re.search(r"\b(?:together|total|altogether|in all|pay|cost)\b", question, re.I):
        return _sum(bills)
    return None


def _bill(name: str, what: str, table: dict[str, Fraction]) -> Bill | None:
    items = []
    for match in _COUNTED.finditer(what):
        item = singular(match["item"].strip())
        item = item if item in table else singular(item.split()[0])
        count = 1 if match["count"].lower() in ("a", "an") else number_of(match["count"])
        if item not in table or count is None:
            return None
        items.append((int(count), match["item"].strip(), table[item]))
    return Bill(name, tuple(items)) if items else None


def _part(bill: Bill) -> Part:
    return Part(
        cue=bill.name,
        instruction=f"Add up what {bill.name} pays: {bill.named}.",
        answer=rounded(bill.total, 2),
        working=(bill.working,),
        wrong=slips(bill.total, "two decimals"),
    )


def _comparison(bills: list[Bill], question: str) -> Problem:
    word = "less" if re.search(r"\bless\b|\bleast\b", question, re.I) else "more"
    ordered = sorted(bills, key=lambda bill: bill.total, reverse=word == "more")
    difference = abs(ordered[0].total - ordered[1].total)
    names = listed([bill.name for bill in bills])
    gap = rounded(difference, 2)
    answer = f"{ordered[0].name}, by {gap}" if difference else f"neither: {names} pay the same"
    return Problem(
        family="table",
        ask=f"Add up what {names} pay, and say who pays {word} and by how much.",
        method=f"Write down for {names} how many tickets or items of each kind they have and the price of one.",
        check=f"Check both sums for {names}, and say who pays {word} and by how much.",
        answer=answer,
        working=(*(bill.working for bill in bills), f"Difference: {gap}"),
        wrong=(
            f"{ordered[1].name}, by {gap}",
            *(f"{ordered[0].name}, by {wrong}" for wrong in slips(difference, "two decimals")),
        ),
        parts=tuple(_part(bill) for bill in bills),
        combine=f"Compare the sums given for {names}: say who pays {word} and give the difference with two decimals.",
    )


def _sum(bills: list[Bill]) -> Problem:
    total = sum((bill.total for bill in bills), Fraction(0))
    names = listed([bill.name for bill in bills])
    return Problem(
        family="table",
        ask=f"Add up what {names} pay{'' if len(bills) > 1 else 's'} in all.",
        method=f"Write down for {names} how many items of each kind there are and the price of one.",
        check=f"Check the sum for {names} item by item, and give it with two decimals.",
        answer=rounded(total, 2),
        working=(*(bill.working for bill in bills), *([f"Together: {rounded(total, 2)}"] if len(bills) > 1 else [])),
        wrong=slips(total, "two decimals"),
        parts=tuple(_part(bill) for bill in bills) if len(bills) > 1 else (),
        combine=f"Add the sums given for {names}, and give the total with two decimals." if len(bills) > 1 else "",
    )
