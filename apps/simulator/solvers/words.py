"""Words and strings: sorting, joining, reversing, changing case, counting letters."""

import re
from collections.abc import Callable

from apps.simulator.solvers.problem import Problem, listed

_JOINS = {"hyphens": "-", "hyphen": "-", "dashes": "-", "commas": ", ", "comma": ", ", "spaces": " ", "space": " "}
_JOINS |= {"underscores": "_", "underscore": "_", "slashes": "/", "slash": "/", "dots": ".", "semicolons": "; "}
_WORDS = re.compile(r":\s*['\"“]?([\w'-]+(?:(?:,\s*(?:and\s+)?|\s+and\s+|\s+)[\w'-]+)+)['\"”]?\s*\.?\s*$")
_QUOTED = re.compile(r"['\"“‘]([^'\"”’]{1,200})['\"”’]")
_JOIN = re.compile(rf"\b(?:join|separat|connect)\w*[^.:\n]*?\b(?:with|by)\s+(?:an?\s+)?({'|'.join(_JOINS)})\b", re.I)


def solve(text: str) -> Problem | None:
    return _sorting(text) or _counting(text) or _changing(text)


def _sorting(text: str) -> Problem | None:
    found = _WORDS.search(text.strip())
    if found is None or not re.search(r"\b(?:sort|order|arrange|alphabeti\w+)\b", text[: found.start()], re.I):
        return None
    wish = text[: found.start()]
    words = [word for word in re.split(r",\s*(?:and\s+)?|\s+and\s+|\s+", found[1]) if word]
    keys, told = _keys(wish)
    if not keys:
        return None
    ordered = list(words)
    for key, downwards in reversed(keys):
        ordered.sort(key=key, reverse=downwards)
    if re.search(r"\b(?:no|without|remove|drop)\b[^.]{0,12}\b(?:doubles|duplicates|repeats)\b|\bunique\b", wish, re.I):
        ordered = list(dict.fromkeys(ordered))
    if case := re.search(r"\b(upper|lower) ?case\b", wish, re.I):
        ordered = [word.upper() if case[1].lower() == "upper" else word.lower() for word in ordered]
    join = _JOIN.search(wish)
    sign = _JOINS[join[1].lower()] if join else ", "
    how = f"{told}, and join them with {join[1]}" if join else told
    lengths = ", ".join(f"{word} {len(word)}" for word in words)
    return Problem(
        family="strings",
        ask=f"Sort {listed(words)} {how}.",
        method=f"Write down the length of each of {listed(words)}, and group those of equal length.",
        check=f"Check the order of the {len(words)} words ({told}), that none is lost, and the sign between them; "
        "give the line.",
        answer=sign.join(ordered),
        working=(
            f"Lengths: {lengths}." if "length" in told else f"Words: {', '.join(words)}.",
            f"In order: {', '.join(ordered)}.",
        ),
        wrong=_misordered(ordered, sign),
    )


Key = Callable[[str], int | str]


def _keys(wish: str) -> tuple[list[tuple[Key, bool]], str]:
    """The sort keys in the order they are asked for, each with whether it runs downwards."""
    keys: list[tuple[Key, bool]] = []
    told = []
    for match in re.finditer(r"\blength\b|\balphabet\w*|\blast letter\b|\bnumber of vowels\b", wish, re.I):
        word = match[0].lower()
        around = wish[max(0, match.start() - 20) : match.end() + 25].lower()
        downwards = bool(re.search(r"revers|descend|longest first|backwards|z to a|decreas", around))
        keys.append((_key(word), downwards))
        name = "alphabetically" if word.startswith("alphabet") else f"by {word}"
        told.append(f"{name}, downwards" if downwards else name)
    if not keys and re.search(r"\b(?:longest|shortest) first\b", wish, re.I):
        downwards = "longest first" in wish.lower()
        return [(len, downwards)], "longest first" if downwards else "shortest first"
    return keys, ", then ".join(told)


def _key(word: str) -> Key:
    if word == "length":
        return len
    if word == "last letter":
        return lambda text: text[-1].lower()
    if word == "number of vowels":
        return lambda text: sum(letter in "aeiou" for letter in text.lower())
    return str.lower


def _misordered(ordered: list[str], sign: str) -> tuple[str, ...]:
    swapped = [*ordered[:-2], ordered[-1], ordered[-2]]
    found = (sign.join(swapped), sign.join(sorted(ordered)), sign.join(ordered[:-1]))
    return tuple(dict.fromkeys(wrong for wrong in found if wrong != sign.join(ordered)))


def _counting(text: str) -> Problem | None:
    asked = re.search(
        r"\bhow (?:many|often)\b[^?]*?\b(?:letter\s+)?['\"“‘]?([a-z])['\"”’]?(?:s|'s)?\b[^?]*?\bin\b", text, re.I
    )
    vowels = re.search(r"\bhow many (vowels|letters|words|characters)\b", text, re.I)
    quoted = _QUOTED.findall(text)
    if not quoted or not (vowels or (asked and "letter" in text.lower())):
        return None
    subject = max(quoted, key=len)
    if vowels:
        what = vowels[1].lower()
        count = {
            "vowels": sum(letter in "aeiou" for letter in subject.lower()),
            "letters": sum(map(str.isalpha, subject)),
            "words": len(subject.split()),
            "characters": len(subject),
        }[what]
    else:
        letter = min(quoted, key=len) if len(quoted) > 1 else asked[1] if asked else ""
        what, count = f"letters {letter}", subject.lower().count(letter.lower())
    return Problem(
        family="strings",
        ask=f"Count the {what} in '{subject}' and give the number.",
        method=f"Spell '{subject}' out, one letter at a time.",
        check=f"Check the number of {what} in '{subject}' by spelling it backwards, and give it.",
        answer=str(count),
        working=(" ".join(subject[:120]), f"{count} {what}"),
        wrong=(str(count + 1), str(max(0, count - 1)) if count else "2"),
        is_easy=True,
    )


def _changing(text: str) -> Problem | None:
    """Reverse or change the case of a quoted string."""
    quoted = _QUOTED.search(text)
    asked = re.search(r"\b(revers\w*|backwards|upper ?case|capital letters|lower ?case)\b", text, re.I)
    if (
        quoted is None
        or asked is None
        or not re.match(r"\W*(?:please\s+)?(?:revers|write|spell|convert|put|change|turn|give)", text, re.I)
    ):
        return None
    subject, act = quoted[1], asked[1].lower()
    by_word = bool(re.search(r"\b(?:order of the words|word order|words of|the words)\b", text, re.I))
    if act.startswith(("revers", "back")):
        result = " ".join(reversed(subject.split())) if by_word else subject[::-1]
        told = f"Reverse {'the words of ' if by_word else ''}'{subject}'"
    else:
        result = subject.lower() if act.startswith("lower") else subject.upper()
        told = f"Write '{subject}' in {'lower' if act.startswith('lower') else 'upper'} case"
    return Problem(
        family="strings",
        ask=f"{told}.",
        method=f"Spell '{subject}' out, one {'word' if by_word else 'letter'} at a time.",
        check=f"Check the result of this: {told[0].lower()}{told[1:]}; give the string.",
        answer=result,
        working=(f"{subject} has {len(subject)} characters.",),
        wrong=tuple({result[:-2] + result[-1:] + result[-2:-1], f"{result}{result[-1:]}"} - {result}),
        is_easy=True,
    )
