"""How numbers and titles are written in pages. The canvas writes them the same way (numbers.ts, title.ts)."""

import re
from collections.abc import Sequence
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal

OPENINGS = re.compile(
    r"(?:(?:please|now|first|next|then|finally)\b[,:]?\s+|your (?:task|job|goal) is to\s+"
    r"|you (?:should|must|need to|have to|will)\s+|you are [^.!?]*[.!?]\s+|i (?:want|need|would like) you to\s+"
    r"|(?:sub)?task(?: \d+)?:\s+|step \d+:\s+)",
    re.IGNORECASE,
)
LONGEST_TITLE = 48
SHORTEST_CLAUSE = 12
READ_FOR_TITLE = 2_000  # an instruction may have 20,000 characters; its first clause is near the beginning
CHARS_PER_TOKEN = 4


def count(value: int) -> str:
    """`1,204`"""
    return f"{value:,}"


def plural(value: int, one: str) -> str:
    """`1 step`, `3 steps`"""
    return f"{count(value)} {one}{'' if value == 1 else 's'}"


def listed(items: Sequence[object]) -> str:
    """`1`, `1 and 3`, `1, 3 and 4`"""
    *rest, last = [str(item) for item in items] or [""]
    return f"{', '.join(rest)} and {last}" if rest else last


def seconds(ms: float) -> str:
    """`0.61 s`, `14.2 s`, `2 min 05 s`"""
    s = round(ms, 1) / 1000  # as exactly as an event tells it, so that page and canvas never differ
    if s < 1:
        return f"{s:.2f} s"
    if s < 60:
        return f"{int(s * 10) / 10:.1f} s"
    return f"{int(s // 60)} min {int(s % 60):02d} s"


def ago(then: datetime, *, now: datetime) -> str:
    """`just now`, `3 min ago`, `5 h ago`, so that nobody's time zone matters; of what is long past, the day."""
    minutes = int((now - then).total_seconds() // 60)
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} min ago"
    if minutes < 24 * 60:
        return f"{minutes // 60} h ago"
    return f"{then.day} {then:%b}" if then.year == now.year else f"{then.day} {then:%b %Y}"


def usd(value: Decimal) -> str:
    """`$0.031`, `$1.24`, `$0.00042`: small sums keep two digits that mean something, so that none reads as nothing."""
    if not value:
        return "$0"
    digits = 2 if value >= 1 else 3 if value >= Decimal("0.1") else 1 - value.adjusted()
    return f"${value.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):,f}"


def exact_usd(value: Decimal) -> str:
    """`$0.00001234`: every digit, where sums must come out."""
    return f"${value.normalize():,f}"


def price(value: Decimal | None, *, estimated: bool = False) -> str:
    """A cost as it is shown: unknown says so and is never nothing, an estimate is marked."""
    if value is None:
        return "price unknown"
    return f"≈ {usd(value)}" if estimated and value else usd(value)


def spaced(code: str) -> str:
    """`rate limited` for `rate_limited`"""
    return code.replace("_", " ")


def about_tokens(text: str) -> int:
    """Roughly how many tokens a text is, where nobody has counted."""
    return -(-len(text) // CHARS_PER_TOKEN)


def short_title(instruction: str) -> str:
    """The first clause of an instruction without its courtesies, at most about 48 characters, cut between words."""
    text = " ".join(re.sub(r"^[\s#>*`_-]+", "", instruction[:READ_FOR_TITLE]).split())
    while opening := OPENINGS.match(text):
        text = text[opening.end() :]
    clause = re.sub(r"[\s.,;:!?–—-]+$", "", _shortened(_first_clause(text)))
    return clause[:1].upper() + clause[1:] if clause else "Untitled"


def _first_clause(text: str) -> str:
    match = re.match(r".+?[.!?](?=\s|$)", text)
    sentence = match[0] if match else text
    if len(sentence) <= LONGEST_TITLE:
        return sentence
    ends = (found.start() for found in re.finditer(r"[,;:]\s|\s[–—-]\s", sentence))
    end = next((end for end in ends if SHORTEST_CLAUSE <= end <= LONGEST_TITLE), None)
    return sentence if end is None else sentence[:end]


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_TITLE:
        return text
    head = text[:LONGEST_TITLE]
    space = head.rfind(" ")
    return f"{head[:space] if space > LONGEST_TITLE / 2 else head}…"
