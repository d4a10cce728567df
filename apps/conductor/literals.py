"""Lists as language models write them, read while they arrive: Python or JSON, mended where it is plain what was meant.

Nothing is evaluated. Every character is looked at a bounded number of times however the text is cut into pieces, and
what is decided about a character never depends on the pieces: where more text could change a decision, it waits.
"""

import re
from dataclasses import dataclass, field
from typing import Final, Literal

from .repair import UNREADABLE, Notes, Word, unescape

DEEPEST = 16
MOST_TOKENS = 4_000
"""Brackets, commas, quotes, words and comments read in one reply: more than any workflow has, and quickly read."""

MOST_PARTS = 100
"""Words or texts side by side that make one value."""

LABEL = r"""(?:(?P<model_id>(?:model|worker)[\\_\s-]{0,3}+ids?|workers|models)
    |(?P<subtasks>sub[\\_\s-]{0,2}+tasks?|instructions)
    |(?P<access_list>access(?:[\\_\s-]{0,3}+lists?)?)
    |(?P<steps>steps))(?![A-Za-z0-9])"""
QUOTED_LABEL = re.compile(rf"\s*{LABEL}\s*", re.IGNORECASE | re.VERBOSE)
# A label and a sign that a list follows: what ends a list whose bracket is missing.
NEXT_LABEL = rf"""{LABEL}[\s"'`*_\\]{{0,8}}+[:=：]"""
LABEL_HERE = re.compile(NEXT_LABEL, re.IGNORECASE | re.VERBOSE)
LABEL_BELOW = re.compile(
    rf"""\n[ \t*_>`"'-]{{0,12}}+{NEXT_LABEL}[ \t`"']{{0,8}}+\n?+[ \t]{{0,8}}+\[""", re.IGNORECASE | re.VERBOSE
)
LABELISH = re.compile(r"model|worker|sub|instruction|access|steps", re.IGNORECASE)
MAYBE_LABEL = re.compile(r"""[A-Za-z\\_\s"'`*-]{0,60}\Z""")
LOOK = 80
"""Characters that show for certain whether a label stands there."""

QUOTES: Final = {'"': '"', "'": "'", "“": '”“"', "”": '”"', "„": '“”"', "‘": "’‘'", "’": "’'"}
CLOSES: Final = {"[": "]", "(": ")", "{": "}"}
PREFIXES: Final = {"f", "r", "b", "u", "rb", "br", "fr", "rf"}

SPACE = re.compile(r"\s+")
COMMENT = re.compile(r"[^\n]*")
WORD = re.compile(r"""[^\s,，;\[\](){}"'“”„‘’:：=#`]{1,200}""")
INTEGER = re.compile(r"[+-]?[0-9]{1,9}")
FLOAT = re.compile(r"[+-]?[0-9]{1,9}\.[0-9]{0,9}")
CONSTANTS: Final = {"true": True, "false": False, "none": None, "null": None}

# What follows a quote that ends a text. Anything else makes it a quote inside the text that was not escaped; in a
# well-formed list there is no such thing.
_BEGINS = r"""["'“”„‘\[\]{}(]|[frbuFRBU]{1,2}["']|\#|//|\)"""
_VALUES = r"""[0-9-]|(?:None|null|[Tt]rue|[Ff]alse|all|All|ALL)[\s,\]}]"""
_AFTER = rf"""[ \t]{{0,40}}+\n[ \t]{{0,40}}+\n|\s{{0,200}}+(?:[\]}})]|[,，;]\s{{0,200}}+(?:{{begins}})|(?<=\s)(?:\#|//)
    |\+\s{{0,200}}+["']|(?<=\s)["'“„‘]|```|[*_`-]{{0,4}}+{NEXT_LABEL})"""
AFTER_TEXT = re.compile(_AFTER.replace("{begins}", _BEGINS), re.IGNORECASE | re.VERBOSE)
AFTER_VALUE = re.compile(_AFTER.replace("{begins}", f"{_BEGINS}|{_VALUES}"), re.IGNORECASE | re.VERBOSE)
AFTER_KEY = re.compile(r"\s{0,200}+[:：]")
# The start of any of those: more text has to come before it can be told.
UNDECIDED = re.compile(r"""\s{0,200}+[,，;+`*_-]{0,4}+\s{0,200}+[\w\s\\"'`*/-]{0,60}\Z""")
TO_THE_END = re.compile(r"\s*+\Z")

NO_BRACKET = "a missing closing bracket was added"
NO_QUOTE = "a missing closing quote was added"


class Source:
    """Text that still grows. Only what has not been read is kept."""

    def __init__(self) -> None:
        self.text = ""
        self.at = 0
        self.whole = False
        self.tokens = 0

    def feed(self, delta: str) -> None:
        self.text = self.text[self.at :] + delta
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.text) - self.at


class Empty:
    """No value yet."""


EMPTY: Final = Empty()


@dataclass
class Frame:
    """A bracket that is open, and the element being read in it."""

    opener: str
    items: list[object] = field(default_factory=list)
    entries: dict[str, object] = field(default_factory=dict)
    key: str | None = None
    value: object = EMPTY
    commas: int = 0
    joined: int = 0
    remark: bool = False

    def put(self, *, at_comma: bool) -> None:
        """The element is over: keep it."""
        if self.key is not None:
            self.entries[self.key] = UNREADABLE if self.value is EMPTY else self.value
        elif self.value is not EMPTY:
            self.items.append(self.value)
        elif at_comma:
            self.items.append(UNREADABLE)
        self.key, self.value, self.joined = None, EMPTY, 0
        self.commas += at_comma

    def whole(self) -> object:
        if self.entries:
            return self.entries
        if self.opener == "(" and len(self.items) == 1 and not self.commas:
            return self.items[0]  # brackets around one value only group it
        return {} if self.opener == "{" and not self.items else self.items


class ListReader:
    """Reads one list, from behind its opening bracket to its end. `items` grows as elements become complete.

    `texts` says that texts are expected, which decides about quotes that were not escaped. When `over`, `broken` says
    whether the list broke off where nobody can tell how it goes on.
    """

    def __init__(self, *, texts: bool) -> None:
        self.notes = Notes()
        self.over = False
        self.broken = False
        self._after = AFTER_TEXT if texts else AFTER_VALUE
        self._root = Frame("[")
        self._frames = [self._root]
        self._quote = ""
        self._body = _BODIES[""]
        self._parts: list[str] = []
        self._length = 0
        self._in_comment = False
        self._new_line = False
        self._last: Literal["open", "comma", "text", "word", "close"] = "open"

    @property
    def items(self) -> list[object]:
        return self._root.items

    def advance(self, source: Source) -> None:
        """Read on as far as what is there allows."""
        while not self.over and source.left:
            if source.tokens > MOST_TOKENS:
                return self._break()
            if not (self._in_text(source) if self._quote else self._between(source)):
                break
        if source.whole and not self.over:
            self._stop_short(source)

    # Between texts

    def _between(self, source: Source) -> bool:
        """Read one token. False: it cannot be told yet."""
        text, at = source.text, source.at
        if self._in_comment:
            source.at = _end(COMMENT, text, at)
            self._in_comment = source.at == len(text)
            return True
        sign = text[at]
        if sign.isspace():
            source.at = _end(SPACE, text, at)
            self._new_line |= "\n" in text[at : source.at]
            return True
        if sign in QUOTES:
            return self._open_text(source)
        if sign in "/`" and source.left < (2 if sign == "/" else 3) and not source.whole:
            return False
        if sign == "#" or text.startswith("//", at):
            self._in_comment = True
            source.tokens += 1
            return True
        if text.startswith("```", at):
            self._add_brackets()
            return True
        if WORD.match(text, at):
            return self._word(source)
        source.at += 1
        source.tokens += 1
        self._sign(source, sign)
        return True

    def _sign(self, source: Source, sign: str) -> None:
        frame = self._frames[-1]
        if sign in CLOSES:
            self._open(frame, sign)
        elif sign in "])}":
            self._close(source, sign)
        elif sign in ",，;":
            frame.put(at_comma=True)
            self._last = "comma"
        elif sign in ":：" and frame.opener == "{" and isinstance(frame.value, str) and frame.key is None:
            frame.key, frame.value = frame.value, EMPTY
        elif sign in ":：" and self._is_label(frame):
            # `[0, 1, "subtasks": […`: the bracket is missing, and the label has been taken for a text of the list.
            source.text = f'"{frame.value}"{source.text[source.at - 1 :]}'
            source.at = 0
            source.tokens += 100  # for the copy
            frame.value = EMPTY
            self._add_brackets()
        elif sign != "`":
            frame.value = UNREADABLE

    def _is_label(self, frame: Frame) -> bool:
        return isinstance(frame.value, str) and bool(QUOTED_LABEL.fullmatch(frame.value))

    def _word(self, source: Source) -> bool:
        text, at = source.text, source.at
        end = _end(WORD, text, at)
        if end == len(text) and end - at < 200 and not source.whole:
            return False
        word = text[at:end]
        if LABELISH.match(word):
            if MAYBE_LABEL.match(text, at) and not source.whole:
                return False
            if LABEL_HERE.match(text, at):
                self._add_brackets()
                return True
        if word.casefold() in PREFIXES and text[end : end + 1] in ("'", '"'):
            source.at = end
            return True
        frame = self._frames[-1]
        if frame.value is not EMPTY and (self._new_line or word[0] == "<"):
            self._add_brackets()  # prose goes on where a list cannot
            return True
        source.at = end
        source.tokens += 1
        if word != "+":  # between two texts it says what standing side by side says
            self._take(_bare(word))
            self._last = "word"
        return True

    def _take(self, value: object) -> None:
        """A value has been read: the element, or the next part of it."""
        frame = self._frames[-1]
        before = frame.value
        if before is EMPTY:
            frame.value = value
        elif frame.joined > MOST_PARTS:
            frame.value = UNREADABLE
        elif _is_text(before) and _is_text(value):
            frame.value = f"{before}{value}"
            self.notes.add("texts side by side without a comma were joined")
        elif isinstance(before, Word | int) and isinstance(value, Word | int):
            frame.value = Word(f"{before} {value}")
        else:
            frame.value = UNREADABLE
        frame.joined += 1
        self._new_line = False

    # Brackets

    def _open(self, frame: Frame, sign: str) -> None:
        follows = frame.value is not EMPTY
        if follows and sign != "(":
            self.notes.add("a missing comma was added")
            frame.put(at_comma=False)
        self._frames.append(Frame(sign, remark=follows and sign == "("))
        self._last = "open"
        if len(self._frames) > DEEPEST:
            self._break()

    def _close(self, source: Source, sign: str) -> None:
        opener = next(opener for opener, closer in CLOSES.items() if closer == sign)
        depth = next((i for i in reversed(range(len(self._frames))) if self._frames[i].opener == opener), None)
        if depth is None:
            if len(self._frames) == 1:  # the end of an object that holds the list
                source.at -= 1
                return self._add_brackets()
            depth = len(self._frames) - 1
            self.notes.add("a closing bracket of the wrong kind was read as the right one")
        elif depth < len(self._frames) - 1:
            self.notes.add(NO_BRACKET)
        self._pop_to(depth)
        self._last = "close"

    def _pop_to(self, depth: int) -> None:
        """Close every bracket down to the one at `depth`, from 0; closing the first ends the list."""
        while len(self._frames) > max(depth, 1):
            frame = self._frames.pop()
            frame.put(at_comma=False)
            if frame.remark:
                self.notes.add("remarks in round brackets were left out")
            else:
                self._take(frame.whole())
        if depth == 0:
            self._root.put(at_comma=False)
            self.over = True

    def _add_brackets(self) -> None:
        self.notes.add(NO_BRACKET)
        self._pop_to(0)

    def _break(self) -> None:
        self.over = self.broken = True

    def _stop_short(self, source: Source) -> None:
        """The text is over and the list is not."""
        source.at = len(source.text)
        if self._quote or self._last in ("comma", "open") or (self._last == "word" and len(self._frames) > 1):
            return self._break()  # more was to come, and nobody knows what
        self._add_brackets()

    # Texts

    def _open_text(self, source: Source) -> bool:
        text, at = source.text, source.at
        sign = text[at]
        tripled = sign in "\"'" and text.startswith(sign * 3, at)
        if sign in "\"'" and not tripled and text[at:] in (sign, sign * 2) and not source.whole:
            return False
        self._quote = sign * 3 if tripled else QUOTES[sign]
        if sign not in "\"'":
            self.notes.add("typographic quotes were read as plain ones")
        self._body = _BODIES[self._quote]
        source.at += 3 if tripled else 1
        source.tokens += 1
        self._length = 0
        return True

    def _in_text(self, source: Source) -> bool:
        """Read a stretch of a text. False: it cannot be told yet."""
        text = source.text
        end = _end(self._body, text, source.at)
        self._parts.append(text[source.at : end])
        self._length += end - source.at
        source.at = end
        if end == len(text):
            return False
        sign = text[end]
        if sign == "\\" and not source.whole:  # it stands last, or the body would have taken it
            return False
        closes: bool | None = False
        if sign == "\n":
            closes = self._broken_off(source)
        elif sign != "\\":
            closes = self._closes(source)
        if closes is None:
            return False
        if not closes:
            self._parts.append(sign)
            self._length += 1
            source.at += 1
            source.tokens += 1
        return True

    def _broken_off(self, source: Source) -> bool | None:
        """Whether the line below begins the next list: then the text was never closed, nor its list."""
        if not LABEL_BELOW.match(source.text, source.at):
            return None if source.left < LOOK and not source.whole else False
        written = "".join(self._parts).rstrip()
        self._parts = [written.removesuffix("]")]
        self.notes.add(NO_QUOTE)
        self._end_text()
        self._add_brackets()
        return True

    def _closes(self, source: Source) -> bool | None:
        text, at = source.text, source.at
        if len(self._quote) == 3 and self._quote[0] in "\"'" and len(set(self._quote)) == 1:
            if source.left < 3 and not source.whole:
                return None
            closes = text.startswith(self._quote, at)
            source.at += 3 * closes
        else:
            decided = self._ends_at(source, at + 1)
            if decided is None:
                return None
            closes = decided
            source.at += closes
            if not closes:
                self.notes.add("quotes inside a text that were not escaped were kept in it")
        if closes:
            self._end_text()
        return closes

    def _ends_at(self, source: Source, at: int) -> bool | None:
        """Whether what follows a quote says that it ends the text."""
        text, frame = source.text, self._frames[-1]
        if self._after.match(text, at) or (frame.opener == "{" and frame.key is None and AFTER_KEY.match(text, at)):
            return True
        if self._length < 40 and AFTER_KEY.match(text, at) and QUOTED_LABEL.fullmatch("".join(self._parts)):
            return True
        if source.whole:
            return TO_THE_END.match(text, at) is not None
        return None if UNDECIDED.match(text, at) else False

    def _end_text(self) -> None:
        written = "".join(self._parts)
        self._quote, self._parts = "", []
        self._take(unescape(written, self.notes))
        self._last = "text"


def _body(stops: str) -> re.Pattern[str]:
    r"""What a text goes on with: anything but `stops`, and anything at all behind a backslash."""
    return re.compile(rf"[^{stops}\\]*+(?:\\.[^{stops}\\]*+)*+", re.DOTALL)


_BODIES: Final = {
    "": _body('"'),
    '"""': _body('"'),
    "'''": _body("'"),
    **{closers: _body(closers + "\n") for closers in QUOTES.values()},
}


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where the stretch that begins at `at` ends."""
    match = pattern.match(text, at)
    return match.end() if match else at


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, Word)


def _bare(word: str) -> int | float | bool | Word | None:
    """What a word without quotes stands for."""
    if INTEGER.fullmatch(word):
        return int(word)
    if FLOAT.fullmatch(word):
        return float(word)
    lowered = word.casefold()
    return CONSTANTS[lowered] if lowered in CONSTANTS else Word(word)
