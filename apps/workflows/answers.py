r"""The answer in a reply, and the form in which two answers are compared: what a vote counts and a grader grades.

A reply's answer is what it states last: a line "Answer: …", "the answer is …" or \boxed{…}. A reply that states none
is taken by its end: a code block, words in bold, or a line that stands alone. Nothing is ever evaluated.
"""

import json
import re
from collections.abc import Iterator

LONGEST_LINE = 300
"""Characters of a last line that can still be an answer; more is prose."""

_STATED = re.compile(
    r"^[\s>#*_•–—-]*+(?:(?:so|thus|hence|therefore),?\s++)?(?:(?:the|my|our)\s++)?(?:(?:final|correct|overall)\s++)?"
    r"(?:answer|result|solution)\s*+[*_]*+\s*+(?:[:=]|$)",
    re.I,
)
_SAID = re.compile(
    r"\banswer\s++(?:to\s[^.:]{0,80}?\s)?(?:is|would\s++be|must\s++be)\b\s*+(?:simply\b|thus\b)?:?", re.I
)
_SENTENCE_END = re.compile(r"(?:(?<=\w{4})|(?<=[\d)*`$\"”}]))[.!?]\s+(?=[A-Z(])")
_LEADING_BOLD = re.compile(r"(\*\*|__)([^*_\n]+?)\1\s*+(?:$|[.,;:!?(–—])")
_BOLD = re.compile(r"(?:\*\*|__)([^*\n]{1,300}?)(?:\*\*|__)")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_BULLET = re.compile(r"^(?:[-•>#]+\s+)+")
_OPENERS = {"{", "[", "(", "[{"}

_WRAPPERS = " \t\r\n*_`~\"'"
_AT_THE_END = frozenset(_WRAPPERS + ".,;:?")
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "−": "-", "⁄": "/", "\u00a0": " "})
_NARROW_GROUP = re.compile(r"(?<=\d)(?:[\u2009\u202f]|\\,|\{,\})(?=\d{3}(?!\d))")
_FRACTION = re.compile(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}")
_TEX_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf|mbox)\{([^{}]*)\}")
_TEX_MATH = re.compile(r"^(?:\$\$?|\\\(|\\\[)(.+?)(?:\$\$?|\\\)|\\\])$", re.S)
_NUMBER = re.compile(
    r"(?<![\w.,:/-])(?=[-+.\d])(?P<sign>[-+]?)(?P<whole>\d{1,3}(?:,\d{3})++|\d++)?(?P<decimals>\.\d++)?(?![\w]|[.,:/-]\d)"
)
_CHOICE = re.compile(r"^(?:\((?P<wrapped>[a-j])\)|(?P<bare>[a-j])\))(?:\s+(?P<text>.*))?$", re.S)
_OTHER_CHOICE = re.compile(r"(?:^|[\s(;,])[a-j]\)")


def final_answer(text: str) -> str:
    """The answer that a reply states, in its own words but without the markup around it; of an empty reply ""."""
    text = (text.rpartition("</think>")[2].strip() or text).strip()
    found = _in_object(text) or _last_stated(text) or _at_the_end(text)
    return _unwrapped(found) if found else text


def normalised(text: str) -> str:
    """An answer in the form it is compared in.

    Case, white space, quotes, emphasis and a full stop at the end do not count; 1,000 and 1000.0 are 1000, while 1/2
    stays as it is; "(B) 84" is the choice b; JSON is compared as data. What it cannot simplify it leaves.
    """
    text = _NARROW_GROUP.sub("", text).translate(_QUOTES)
    text = _without_tex(_trimmed(text))
    text = _trimmed(_canonical_json(text) or text).casefold()
    text = _choice(" ".join(text.split()))
    text = re.sub(r"(?<=\d)\s+%", "%", _NUMBER.sub(_plain_number, text))
    return _trimmed(re.sub(r"\s*,\s*", ", ", text))


def _in_object(text: str) -> str | None:
    """The answer of a reply that is a JSON object and calls it so."""
    parsed = _parsed(text) if text.startswith("{") else None
    if not isinstance(parsed, dict):
        return None
    answer = next((parsed[name] for name in ("answer", "final_answer") if name in parsed), None)
    return answer if isinstance(answer, str) or answer is None else json.dumps(answer, ensure_ascii=False)


def _last_stated(text: str) -> str | None:
    """What the last statement of an answer says: a line that opens with it, a sentence that does, or a box."""
    lines = text.splitlines()
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at]
        if "\\boxed" in line and (boxed := _boxed(line, lines[at + 1 :])):
            return boxed
        if opening := _STATED.match(line):
            value = line[opening.end() :].strip(" \t*_")
            if found := (value if value and value not in _OPENERS else _block(value, lines[at + 1 :])):
                return _first_bold(line[opening.end() :].strip()) or found
        if sayings := list(_SAID.finditer(line)):
            said = line[sayings[-1].end() :].strip()
            return _first_bold(said) or _first_sentence(said) or _block("", lines[at + 1 :])
    return None


def _boxed(line: str, following: list[str]) -> str | None:
    r"""What stands in the line's last \boxed{…}, however its braces nest; it may run on into the next lines."""
    rest = "\n".join([line[line.rindex("\\boxed") + len("\\boxed") :], *following[:20]]).lstrip()
    if not rest.startswith("{"):
        return None
    depth = 0
    for at, sign in enumerate(rest):
        depth += (sign == "{") - (sign == "}")
        if depth == 0:
            return rest[1:at].strip()
    return None


def _first_bold(text: str) -> str | None:
    """The words in bold that the text opens with, where they are all of what it states."""
    bold = _LEADING_BOLD.match(text)
    return bold[2].strip() if bold else None


def _first_sentence(text: str) -> str:
    end = _SENTENCE_END.search(text)
    return text[: end.start()] if end else text


def _block(opened: str, following: list[str]) -> str | None:
    """The paragraph or the code block after a line that only announces it; `opened` is how it began on that line."""
    lines = list(_paragraph(following)) if not opened else [opened, *_paragraph(following)]
    return "\n".join(lines).strip() or None


def _paragraph(lines: list[str]) -> Iterator[str]:
    has_begun = is_fenced = False
    for line in lines:
        if _FENCE.match(line):
            if is_fenced:
                return
            is_fenced = True
        elif line.strip() or is_fenced:
            has_begun = True
            yield line
        elif has_begun:
            return


def _at_the_end(text: str) -> str | None:
    """How a reply that states no answer ends: a code block, bold words in the last line, or a line by itself."""
    lines = text.splitlines()
    if not lines:
        return None
    if _FENCE.match(lines[-1]):
        fences = [at for at, line in enumerate(lines[:-1]) if _FENCE.match(line)]
        return "\n".join(lines[fences[-1] + 1 : -1]).strip() or None if fences else None
    last = lines[-1].strip()
    bold = _BOLD.findall(last) if len(last) <= LONGEST_LINE else []
    if len(bold) == 1:
        return str(bold[0]).strip()
    stands_alone = len(lines) == 1 or not lines[-2].strip()
    return last if stands_alone and len(last) <= LONGEST_LINE else None


def _unwrapped(text: str) -> str:
    r"""The text without the bullet before it and the emphasis, ticks, quotes or \boxed around it."""
    text = _BULLET.sub("", text.strip())
    if "\\boxed" in text:
        text = _boxed(text, []) or text
    return text.strip(_WRAPPERS) or text


def _trimmed(text: str) -> str:
    """The text without what may stand around an answer; an exclamation mark after a digit is a factorial."""
    start = len(text) - len(text.lstrip(_WRAPPERS))
    end = len(text)
    while end > start and (text[end - 1] in _AT_THE_END or (text[end - 1] == "!" and not text[end - 2].isdigit())):
        end -= 1
    return text[start:end]


def _without_tex(text: str) -> str:
    if math := _TEX_MATH.match(text):
        text = math[1]
    if "\\" in text:
        text = _FRACTION.sub(r"\1/\2", _TEX_TEXT.sub(r"\1", text)).replace("\\%", "%").replace("\\$", "$")
    return text


def _canonical_json(text: str) -> str | None:
    """The same for the same data, whatever its spacing and the order of its keys."""
    parsed = _parsed(text) if text.startswith(("{", "[")) else None
    return None if parsed is None else json.dumps(parsed, sort_keys=True, ensure_ascii=False)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _choice(text: str) -> str:
    """The letter of a choice, where the answer is one, with or without the words of the choice after it."""
    choice = _CHOICE.match(text)
    if choice is None or _OTHER_CHOICE.search(choice["text"] or ""):
        return text
    return choice["wrapped"] or choice["bare"]


def _plain_number(number: re.Match[str]) -> str:
    """A number without thousands separators, a plus sign and zeros that say nothing; leading zeros stay (dates)."""
    whole, decimals = number["whole"], (number["decimals"] or "").rstrip("0").rstrip(".")
    if whole is None and not number["decimals"]:
        return number[0]
    plain = (whole or "0").replace(",", "") + decimals
    return f"-{plain}" if number["sign"] == "-" and plain.strip("0.") else plain
