"""Taking named values out of a note, as JSON: who, how much, when."""

import json
import re

from apps.simulator.solvers.dates import find_dates
from apps.simulator.solvers.problem import Problem, listed

_KEYS = re.compile(
    r"\b(?:keys|fields|properties)\b\s*:?\s*(?P<keys>[^:'\"“]+?)\s*(?::|from\b|$|(?=['\"“]))", re.I | re.M
)
_NOTE = re.compile(r"['\"“‘](?P<note>.{15,})['\"”’]", re.S)
_LEGAL = (
    r"GmbH(?: & Co\. KG)?|AG|SE|KG|UG|Ltd\.?|Limited|Inc\.?|LLC|Corp\.?|PLC|plc|S\.?A\.?R\.?L\.?|SAS|S\.?A\.?|SpA|"
    r"S\.?r\.?l\.?|B\.?V\.?|Oy|AB|ApS"
)
_COMPANY = re.compile(rf"\b((?:[A-ZÄÖÜ][\w&.-]*\s+){{1,4}}(?:{_LEGAL}))(?![\w])")
_PERSON = re.compile(
    r"\b((?:Frau|Herr|Mrs?\.?|Ms\.?|Dr\.?|Mme|Monsieur|Madame|Señora?)\s+(?:Dr\.\s+)?[A-ZÄÖÜ][\w-]+(?:\s[A-ZÄÖÜ][\w-]+)?)"
)
_CURRENCY = r"EUR|USD|GBP|CHF|€|\$|£|euros?|dollars?|pounds?"
_MONEY = re.compile(rf"(?:(?P<before>{_CURRENCY})\s?)?(?P<number>\d[\d.,' ]*\d|\d)\s?(?P<after>{_CURRENCY})?", re.I)
_CODES = {
    "€": "EUR",
    "euro": "EUR",
    "euros": "EUR",
    "$": "USD",
    "dollar": "USD",
    "dollars": "USD",
    "£": "GBP",
    "pound": "GBP",
    "pounds": "GBP",
}


def solve(text: str) -> Problem | None:
    keys, note = _KEYS.search(text), _NOTE.search(text)
    if keys is None or note is None or not re.search(r"\bjson\b", text, re.I):
        return None
    names = re.findall(r"[a-z][a-z0-9_]*", re.sub(r"\([^)]*\)|\band\b", " ", keys["keys"]), re.I)
    if not names:
        return None
    values = {name: _value(name, note["note"]) for name in names}
    found = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()]
    return Problem(
        family="extraction",
        ask=f"Extract {listed(names)} from the note and return them as one JSON object, dates in ISO form.",
        method=f"Quote from the note the words that hold {listed(names)}, each with its key.",
        check=f"Check that the JSON has exactly the keys {listed(names)}, that each value stands in the note, "
        "numbers are numbers and dates are ISO; return the JSON alone.",
        answer=json.dumps(values, ensure_ascii=False),
        working=tuple(found),
        wrong=_misread(values),
        fence="json",
    )


def _misread(values: dict[str, str | float | None]) -> tuple[str, ...]:
    """A number as text, a key forgotten: what a weak model returns."""
    as_text = {name: str(value) if isinstance(value, float | int) else value for name, value in values.items()}
    lost = dict(list(values.items())[:-1])
    both = (json.dumps(wrong, ensure_ascii=False) for wrong in (as_text, lost) if wrong != values)
    return tuple(both)


def _value(name: str, note: str) -> str | float | None:
    """The value in the note that a key of this name means; None where there is none."""
    name = name.lower()
    if re.search(r"amount|total|price|sum|cost|owed|value|eur|usd|gbp", name):
        return _amount(note)
    if re.search(r"due|date|deadline|day|until|when|pay_by", name):
        days = find_dates(note)
        return days[0].isoformat() if days else None
    if "currency" in name:
        return _currency(note)
    if "mail" in name:
        return _first(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", note)
    if re.search(r"phone|tel", name):
        return _first(r"\+?\d[\d /-]{6,}\d", note)
    if re.search(r"invoice|order|reference|number|id", name):
        return _first(r"\b(?:[A-Z]{1,4}-?)?\d{3,}(?:-\d+)*\b", note)
    company, person = _COMPANY.search(note), _PERSON.search(note)
    if re.search(r"contact|person|name|caller|spoke", name) and person:
        return person[1]
    if re.search(r"customer|company|client|supplier|vendor|debtor|firm|name", name):
        return company[1] if company else person[1] if person else None
    return None


def _first(pattern: str, note: str) -> str | None:
    match = re.search(pattern, note)
    return match[0] if match else None


def _amount(note: str) -> float | None:
    money = next((match for match in _MONEY.finditer(note) if match["before"] or match["after"]), None)
    return as_number(money["number"]) if money else None


def _currency(note: str) -> str | None:
    money = next((match for match in _MONEY.finditer(note) if match["before"] or match["after"]), None)
    sign = (money["before"] or money["after"]) if money else None
    return _CODES.get(sign.lower(), sign.upper()) if sign else None


def as_number(text: str) -> float:
    """`12.480,50`, `12,480.50` and `12 480,50` are all 12480.5; a lone separator before three digits groups."""
    digits = re.sub(r"[ ']", "", text)
    signs = re.findall(r"[.,]", digits)
    if len(set(signs)) == 2:
        decimal = signs[-1]
    elif len(signs) == 1 and not re.search(r"[.,]\d{3}$", digits):
        decimal = signs[0]
    else:
        decimal = ""
    whole, _, rest = digits.rpartition(decimal) if decimal else (digits, "", "0")
    value = float(f"{re.sub(r'[.,]', '', whole)}.{rest}")
    return int(value) if value == int(value) else value
