"""What a conductor wrote: three lists (arXiv 2512.04388) or steps as JSON, found in its prose while it arrives.

Reading never fails. What had to be mended is said in `repairs`, what could not be understood in `problems`; whether the
workflow is allowed (references, workers, limits) is judged elsewhere.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from apps.workers.calls import clean
from apps.workflows.lists import ThreeLists

from . import repair
from .literals import LABEL, MOST_TOKENS, ListReader, Source
from .repair import UNREADABLE, Notes, Unclear, Word

MOST_CHARS = 200_000
"""Characters of a reply that are read; fifty times what a workflow needs."""

Kind = Literal["model_id", "subtasks", "access_list", "steps"]
KINDS: Final[tuple[Kind, ...]] = ("model_id", "subtasks", "access_list")

_SPACE = r"[\s\"'`*_>\\“”‘’]{0,20}+"
# `model_id: list[int] = [`; only words of types, or one label could hide in what leads up to another's list
_ANNOTATION = (
    r"""[:]\s{0,4}+[A-Za-z.]{2,14}\[(?:int|str|list|union|optional|any|tuple|sequence|[\[\],.|"'\ ]){0,30}+\s{0,4}+="""
)
# Everything in it is bounded, so that MEMORY characters of unread text are enough to find it in a stream.
MARK = re.compile(
    rf"""<(?P<shut>/?)(?:think|thinking|thought|reasoning)>
    |(?<![A-Za-z0-9])(?P<label>{LABEL}){_SPACE}(?:\([^()\[\]<\n]{{0,60}}\)[\s"'`*_]{{0,8}}+)?+(?:(?:lists?|is|are)\b\s{{0,4}}+)?+
        (?:{_ANNOTATION}|:?=|[:：]|->|→)?+{_SPACE}(?:(?<=```)[A-Za-z]{{1,12}}\s{{1,20}}+)?+\[
    |(?P<bare>\[)\s{{0,20}}+(?=\{{)""",
    re.IGNORECASE | re.VERBOSE,
)
MEMORY = 400
ENDS_A_MARK = frozenset("[{>")
END_OF_THINKING = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
LONGEST_TAG = 16
LEADS_UP: Final = " \t\r\n{[(*_`\"'>#-"
"""What stands between a thought and the lists: an opening brace, a fence, a bullet."""
FENCE = re.compile(r"```[a-z]{0,12}\Z", re.IGNORECASE)
JSON_THINKING = re.compile(
    r'\s*+\{\s*+"(?:thinking|thoughts?|reasoning)"\s*+:\s*+"([^"\\]*+(?:\\.[^"\\]*+)*+)', re.DOTALL
)
ECHOES: Final = {"...", "…"}
MOST_DRAFTED = 100
"""Steps that are told of while they arrive; nobody could look at more."""

STEP_KEYS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(("worker", "worker_id", "model", "model_id"), "model_id"),
    **dict.fromkeys(("instruction", "subtask", "task", "prompt"), "subtasks"),
    **dict.fromkeys(("access", "access_list", "reads"), "access_list"),
}


NO_NAMES: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True)
class DraftStep:
    """What is known of a step while the conductor still writes; None is what is not known yet.

    `access` is as written, sorted: it can name steps that do not exist.
    """

    position: int
    instruction: str | None = None
    worker_index: int | None = None
    access: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Parsed:
    """A reply as it was understood. `lists` is None when there are `problems`; `thinking` is the prose before them."""

    lists: ThreeLists | None
    thinking: str
    repairs: tuple[str, ...]
    problems: tuple[str, ...]


def parse(text: str, *, names: Mapping[str, int] = NO_NAMES) -> Parsed:
    """Understand a whole reply. `names` are other names of the workers: slugs, to be read as their numbers."""
    parser = StreamParser(names=names)
    parser.feed(text)
    return parser.finish()


@dataclass(eq=False)
class Found:
    """One list that was found: its elements as values (or what is wrong with them), and where it began in the prose."""

    kind: Kind
    label: str
    begins: int
    reader: ListReader
    values: list[object] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)
    faults: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return self.reader.over and not self.reader.broken

    @property
    def is_empty_plan(self) -> bool:
        """Whether it says that there are no steps, which keeps the workflow of the round before."""
        return self.kind == "steps" and self.is_whole and not self.reader.items

    @property
    def is_plan(self) -> bool:
        """Whether it can be meant: not the form of the answer repeated (`[...]`), not a list of something else."""
        raw = self.reader.items
        if self.kind == "steps":
            return any(isinstance(item, dict) for item in raw)
        return not raw or not all(isinstance(item, Word) and item in ECHOES for item in raw)


Chosen = Mapping[Kind, Found]


class StreamParser:
    """Reads a reply while it arrives, each character once."""

    def __init__(self, *, names: Mapping[str, int] = NO_NAMES) -> None:
        self._names = {name.strip().casefold(): number for name, number in names.items()}
        self._source = Source()
        self._taken = 0
        self._is_cut = False
        self._prose: list[str] = []
        self._prose_chars = 0
        self._thinking_since: int | None = None
        self._ignores_thinking = False
        self._searched = False  # nothing has come since the last search that could end a mark
        self._looked = 0  # characters of the unread prose that were searched
        self._found: list[Found] = []
        self._reading: Found | None = None
        self._drafts: dict[int, DraftStep] = {}
        self._drafted: set[Kind] = set()

    def feed(self, delta: str) -> list[DraftStep]:
        """Read on. Returns the steps of which more is known now, each as far as it is known."""
        room = MOST_CHARS - self._taken
        self._is_cut |= len(delta) > room
        delta = delta[:room]
        self._taken += len(delta)
        if not delta:
            return []
        self._source.feed(delta)
        self._searched &= ENDS_A_MARK.isdisjoint(delta)
        return self._advance()

    def finish(self) -> Parsed:
        """The text is over: what it says as a whole, however it was cut into pieces."""
        self._source.whole = True
        self._searched = False
        self._advance()
        chosen = _chosen(self._found)
        if chosen is None and self._thinking_since is not None:
            return self._finish_in_thinking(self._thinking_since)
        return self._parsed(chosen)

    # Finding

    def _advance(self) -> list[DraftStep]:
        news: dict[int, DraftStep] = {}
        while self._source.tokens <= MOST_TOKENS:
            if self._reading:
                moved = self._read(self._reading, news)
            elif self._thinking_since is not None:
                moved = self._think()
            else:
                moved = self._search()
            if not moved:
                break
        return list(news.values())

    def _search(self) -> bool:
        """Look for the next list or thinking in the prose. False: not in what is there."""
        source = self._source
        start = source.at + max(0, self._looked - MEMORY)
        match = None if self._searched else MARK.search(source.text, start)
        if match is None:
            self._searched = True
            keep = 0 if source.whole else MEMORY
            if source.left > 4 * keep:  # now and then, so that a stream of single characters stays cheap
                self._skip_to(len(source.text) - keep)
            self._looked = source.left
            return False
        source.tokens += 5
        self._looked = 0
        self._skip_to(match.start())
        source.at = match.end()
        if match["label"]:
            self._begin(_kind_of(match), match["label"])
        elif match["bare"]:
            self._begin("steps", "")
        elif not match["shut"] and not self._ignores_thinking:
            self._thinking_since = self._prose_chars
        return True

    def _think(self) -> bool:
        source = self._source
        match = END_OF_THINKING.search(source.text, source.at)
        if match is None:
            self._skip_to(max(source.at, len(source.text) - (0 if source.whole else LONGEST_TAG)))
            return False
        self._skip_to(match.start())
        source.at = match.end()
        self._thinking_since = None
        return True

    def _skip_to(self, end: int) -> None:
        self._prose.append(self._source.text[self._source.at : end])
        self._prose_chars += end - self._source.at
        self._source.at = end

    def _begin(self, kind: Kind, label: str) -> None:
        reader = ListReader(texts=kind == "subtasks")
        self._reading = Found(kind, label, self._prose_chars, reader)
        self._found.append(self._reading)
        # A list that was there already begins another set; steps hold all three.
        if kind in self._drafted or "steps" in {kind, *self._drafted}:
            self._drafts, self._drafted = {}, set()
        self._drafted.add(kind)

    def _read(self, found: Found, news: dict[int, DraftStep]) -> bool:
        found.reader.advance(self._source)
        for raw in found.reader.items[len(found.values) :]:
            value = self._value_of(found, len(found.values), raw)
            if len(found.values) < MOST_DRAFTED:
                self._draft(found.kind, len(found.values), value, news)
            found.values.append(value)
        if found.reader.over:
            self._reading = None
            self._searched = False
        return found.reader.over

    # Understanding

    def _draft(self, kind: Kind, position: int, value: object, news: dict[int, DraftStep]) -> None:
        """Note what `value` says about its step, if anything."""
        before = self._drafts.get(position, DraftStep(position))
        after = before
        for part_kind, part in (value if isinstance(value, dict) else {kind: value}).items():
            after = _drawn(after, part_kind, part)
        if after != before:
            news[position] = self._drafts[position] = after

    def _value_of(self, found: Found, position: int, raw: object) -> object:
        if found.kind == "steps":
            return self._step(found, position, raw)
        return self._value(found, found.kind, position, raw)

    def _value(self, found: Found, kind: Kind, position: int, raw: object) -> object:
        try:
            if raw is UNREADABLE:
                raise Unclear("cannot be read")
            if kind == "model_id":
                return repair.worker(raw, self._names, found.notes, called=found.kind == "steps")
            if kind == "subtasks":
                return repair.instruction(raw, found.notes)
            return repair.access(raw, found.notes)
        except Unclear as unclear:
            found.faults.append(f"Step {position + 1} ({kind}[{position}]) {unclear}.")
            return UNREADABLE

    def _step(self, found: Found, position: int, raw: object) -> dict[Kind, object]:
        """The three parts of a step that was written as an object."""
        if not isinstance(raw, dict):
            found.faults.append(f"Step {position + 1} is {repair.shown(raw)}, not an object.")
            return {}
        given = {STEP_KEYS[key.casefold()]: value for key, value in raw.items() if key.casefold() in STEP_KEYS}
        if "access_list" not in given:
            found.notes.add("steps without an access list were given an empty one")
            given["access_list"] = []
        for kind in KINDS[:2]:
            if kind not in given:
                found.faults.append(f"Step {position + 1} has no {'worker' if kind == 'model_id' else 'instruction'}.")
        return {kind: self._value(found, kind, position, given[kind]) for kind in KINDS if kind in given}

    # Telling

    def _parsed(self, chosen: Chosen | None) -> Parsed:
        notes = self._notes(chosen)
        problems = self._missing() if chosen is None else [fault for found in chosen.values() for fault in found.faults]
        lists = None if chosen is None or problems else _lists(chosen, notes)
        return Parsed(lists, self._thinking(chosen), tuple(notes), tuple(problems))

    def _notes(self, chosen: Chosen | None) -> Notes:
        notes = Notes()
        if self._is_cut:
            notes.add(f"only the first {MOST_CHARS:,} characters were read")
        for found in (chosen or {}).values():
            if found.label and found.label != found.kind:
                notes.add(f"{repair.shown(found.label)} was read as {found.kind}")
            notes.update(found.reader.notes)
            notes.update(found.notes)
        if chosen and any(found.is_plan for found in self._found if found not in chosen.values()):
            notes.add("of several sets of lists the last whole one was read")
        return notes

    def _finish_in_thinking(self, since: int) -> Parsed:
        """The thinking was never closed: perhaps the reply stands in it."""
        inside = StreamParser(names=self._names)
        inside._ignores_thinking = True
        before, text = self._split(since)
        inside.feed(text)
        parsed = inside.finish()
        if parsed.lists is None:
            return replace(self._parsed(None), problems=("The reply ends within its thinking, before the lists.",))
        thinking = f"{before}\n{parsed.thinking}".strip()
        unclosed = "thinking that was never closed was read as the reply"
        return replace(parsed, thinking=thinking, repairs=(*self._notes(None), unclosed, *parsed.repairs))

    def _split(self, at: int) -> tuple[str, str]:
        prose = "".join(self._prose)
        return prose[:at], prose[at:]

    def _missing(self) -> list[str]:
        """Why there are no three lists."""
        if self._source.tokens > MOST_TOKENS:
            return ["The reply holds far more brackets, commas and quotes than a workflow; it was not read to its end."]
        last = {found.kind: found for found in self._found if found.is_plan or not found.is_whole}
        if "steps" in last:
            return ["The list of steps breaks off before its end."]
        if not last:
            says = "holds no lists" if any(map(str.strip, self._prose)) else "is empty"
            return [f"The reply {says}: model_id, subtasks and access_list are missing."]
        gone = [f"The list {kind} is missing." for kind in KINDS if kind not in last]
        broken = [f"The list {kind} breaks off before its end." for kind, found in last.items() if not found.is_whole]
        return gone + broken + [fault for found in last.values() for fault in found.faults]

    def _thinking(self, chosen: Chosen | None) -> str:
        """The prose before the lists, or all of it where there are none."""
        prose = "".join(self._prose)
        if chosen:
            prose = prose[: min(found.begins for found in chosen.values())].rstrip(LEADS_UP)
            prose = (prose[:-20] + FENCE.sub("", prose[-20:])).rstrip(LEADS_UP)
        if match := JSON_THINKING.match(prose):
            prose = repair.unescape(match[1], Notes())
        return clean(prose).strip()


def _kind_of(match: re.Match[str]) -> Kind:
    return next(kind for kind in (*KINDS, "steps") if match[kind])


def _drawn(draft: DraftStep, kind: Kind, part: object) -> DraftStep:
    """The draft with one more of its parts known."""
    if kind == "model_id" and isinstance(part, int):
        return replace(draft, worker_index=part)
    if kind == "subtasks" and isinstance(part, str):
        return replace(draft, instruction=part)
    if kind == "access_list" and isinstance(part, list):
        access = range(draft.position) if part == ["all"] else sorted(set(part))
        return replace(draft, access=tuple(access))
    return draft


def _chosen(found: Sequence[Found]) -> Chosen | None:
    """The lists that are meant, of all that were found: those written last, of which no part is missing.

    Three lists belong together when they follow one another, most of all in the usual order and equally long: so a
    draft, a list named in passing, and a second set that breaks off do not mix with the set that counts.
    """
    whole = [list_ for list_ in found if list_.is_whole and list_.is_plan]
    threes = [three for three in zip(whole, whole[1:], whole[2:], strict=False) if {f.kind for f in three} == {*KINDS}]
    if threes:
        best = max(enumerate(threes), key=lambda numbered: (*_fitness(numbered[1]), numbered[0]))[1]
        return {list_.kind: list_ for list_ in best}
    last = {list_.kind: list_ for list_ in whole}
    if "steps" in last:
        return {"steps": last["steps"]}
    if len(last) == len(KINDS):
        return last
    empty = [list_ for list_ in found if list_.is_empty_plan]
    return {"steps": empty[-1]} if empty and not last else None


def _fitness(three: Sequence[Found]) -> tuple[bool, bool]:
    return tuple(list_.kind for list_ in three) == KINDS, len({len(list_.values) for list_ in three}) == 1


def _lists(chosen: Chosen, notes: Notes) -> ThreeLists:
    if "steps" in chosen:
        steps = chosen["steps"].values
        columns: dict[Kind, list[Any]] = {kind: [cast(Any, step)[kind] for step in steps] for kind in KINDS}
    else:
        columns = {kind: list(chosen[kind].values) for kind in KINDS}
    if len(columns["model_id"]) == len(columns["subtasks"]) == 1 and not columns["access_list"]:
        notes.add("the empty access_list of a single step was read as [[]]")
        columns["access_list"] = [[]]
    return ThreeLists(**columns)
