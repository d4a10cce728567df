"""Two workflows beside each other: which step of the one is which of the other, and what became of it.

What differs between two texts is said by `wording`; here it is about steps, what they may read, and the answer.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .wording import words
from .workflow import Select, Sink, Step, Workflow

ALIKE = 0.2
"""How like two instructions must be before their steps can be taken for the same one."""

# What speaks for two steps being one, where their keys do not settle it.
INSTRUCTION, WORKER, PLACE, KEY = 0.7, 0.15, 0.1, 0.05
SETTLES = 10.0
READ = 4_000  # characters at either end of an instruction by which it is judged


@dataclass(frozen=True)
class Pair:
    """The keys of a step of the first workflow and of what it became in the second; None where there is none."""

    a: str | None
    b: str | None


@dataclass(frozen=True)
class Alignment:
    """Every step of both workflows once, in the order of the second; what it does not have stands where it stood."""

    pairs: tuple[Pair, ...]

    @property
    def became(self) -> dict[str, str]:
        """The steps of the first workflow that the second has too, each with its key there."""
        return {pair.a: pair.b for pair in self.pairs if pair.a is not None and pair.b is not None}


@dataclass(frozen=True)
class Change:
    """What differs between a step and what it became; a `tuple` holds what was before and what is now.

    `lost` are the keys, in the first workflow, of what it may no longer read; `gained` those, in the second, of what
    it may read now.
    """

    instruction: bool = False
    worker: tuple[str, str] | None = None
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()
    role: tuple[str, str] | None = None
    round: tuple[int, int] | None = None

    @property
    def is_none(self) -> bool:
        return self == Change()


@dataclass(frozen=True)
class SinkChange:
    """What differs in how the answer is taken: by which rule, of which steps (as in `Change`), by which weights."""

    kind: tuple[str, str] | None = None
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()
    weights: bool = False

    @property
    def is_none(self) -> bool:
        return self == SinkChange()


# --- which step is which -------------------------------------------------------------------------------------------


def align(a: Workflow, b: Workflow, *, kin: bool) -> Alignment:
    """Find for each step of `a` the one of `b` that it became; no step is taken twice.

    What has its key, instruction and worker still is the same step. The others are paired so that what speaks for all
    pairs together is most: likeness of the instruction, the worker, the place, the key. `kin` says that one workflow
    was made from the other (or both from a third) by edits, which keep keys: then a key settles it as long as the
    instruction or the worker is anything alike. Keys of two plans made anew are mere numbers. The same workflows
    always give the same alignment.
    """
    untouched = _untouched(a, b)
    left = [at for at in range(len(a.steps)) if at not in untouched]
    right = [at for at in range(len(b.steps)) if at not in untouched.values()]
    became = untouched | _assigned(_Likeness(a, b, kin=kin), left, right)
    return Alignment(tuple(_in_order(a, b, became)))


def likeness(first: str, second: str) -> float:
    """From 0 to 1, how much two instructions have in common: the share of words, and of pairs of words, that both have.

    That is Dice's coefficient, an upper bound of what `difflib` calls the ratio; hundreds of steps are compared by it
    with hundreds of others in less than a second.
    """
    return _dice(_features(first), _features(second))


def _untouched(a: Workflow, b: Workflow) -> dict[int, int]:
    there = {(step.key, step.instruction, step.worker): at for at, step in reversed(list(enumerate(b.steps)))}
    found: dict[int, int] = {}
    for at, step in enumerate(a.steps):
        other = there.pop((step.key, step.instruction, step.worker), None)
        if other is not None:
            found[at] = other
    return found


class _Likeness:
    """What speaks for a step of `a` being one of `b`."""

    def __init__(self, a: Workflow, b: Workflow, *, kin: bool) -> None:
        self.a, self.b, self.kin = a.steps, b.steps, kin
        self.features = {step.instruction: _features(step.instruction) for step in (*a.steps, *b.steps)}

    def weigh(self, at: int, other: int) -> float:
        """0 where they cannot be one step."""
        left, right = self.a[at], self.b[other]
        text = _dice(self.features[left.instruction], self.features[right.instruction])
        has_key, has_worker = left.key == right.key, left.worker == right.worker
        if text < ALIKE and not (self.kin and has_key and (has_worker or text > 0)):
            return 0.0
        # Squared, so that of several steps that are all the same each keeps to its own place.
        apart = (at + 0.5) / len(self.a) - (other + 0.5) / len(self.b)
        near = PLACE * (1 - apart**2)
        settled = SETTLES if self.kin and has_key else 0.0
        return INSTRUCTION * text + WORKER * has_worker + KEY * has_key + near + settled


def _assigned(likeness: _Likeness, left: Sequence[int], right: Sequence[int]) -> dict[int, int]:
    """Pairs of `left` and `right` whose weights together are the most there can be."""
    if not left or not right:
        return {}
    from scipy.optimize import linear_sum_assignment  # a third of a second, which only such comparisons need

    weights = [[likeness.weigh(at, other) for other in right] for at in left]
    rows, columns = linear_sum_assignment(weights, maximize=True)
    chosen = zip(rows.tolist(), columns.tolist(), strict=True)
    return {left[row]: right[column] for row, column in chosen if weights[row][column] > 0}


def _features(instruction: str) -> frozenset[str]:
    text = instruction if len(instruction) <= 2 * READ else f"{instruction[:READ]} {instruction[-READ:]}"
    said = [word for each in words(text.casefold()) if (word := each.lstrip())[:1].isalnum()]
    return frozenset([*said, *(f"{one} {other}" for one, other in pairwise(said))])


def _dice(a: frozenset[str], b: frozenset[str]) -> float:
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0


def _in_order(a: Workflow, b: Workflow, became: Mapping[int, int]) -> Iterator[Pair]:
    """The pairs in the order of `b`; a step that it does not have stands behind the one it stood behind."""
    came_from = {other: at for at, other in became.items()}
    behind: dict[int, list[int]] = {}
    last = -1
    for at in range(len(a.steps)):
        last = became.get(at, last)
        if at not in became:
            behind.setdefault(last, []).append(at)
    yield from (Pair(a.steps[gone].key, None) for gone in behind.get(-1, ()))
    for other, step in enumerate(b.steps):
        yield Pair(a.steps[came_from[other]].key if other in came_from else None, step.key)
        yield from (Pair(a.steps[gone].key, None) for gone in behind.get(other, ()))


# --- what became of it ---------------------------------------------------------------------------------------------


def change_of(a: Step, b: Step, became: Mapping[str, str]) -> Change:
    """What differs between `a` and `b`, where `became` says which steps of their workflows are the same ones."""
    lost, gained = _moved(a.access, b.access, became)
    return Change(
        instruction=a.instruction != b.instruction,
        worker=None if a.worker == b.worker else (a.worker, b.worker),
        lost=lost,
        gained=gained,
        role=None if a.role == b.role else (a.role, b.role),
        round=None if a.round == b.round else (a.round, b.round),
    )


def sink_change(a: Workflow, b: Workflow, became: Mapping[str, str]) -> SinkChange:
    """What differs in how the answer is taken."""
    lost, gained = _moved(a.answered_by, b.answered_by, became)
    return SinkChange(
        kind=None if a.sink.kind == b.sink.kind else (a.sink.kind, b.sink.kind),
        lost=lost,
        gained=gained,
        weights=_weights(a.sink, became) != _weights(b.sink, None),
    )


def _moved(a: Sequence[str], b: Sequence[str], became: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of two lists of steps what only the first names, and what only the second does."""
    kept: Collection[str] = {became[key] for key in a if key in became}
    return tuple(key for key in a if became.get(key) not in b), tuple(key for key in b if key not in kept)


def _weights(sink: Sink, became: Mapping[str, str] | None) -> dict[str, float]:
    """The weights of a selection by the keys of the steps, or by what those became."""
    if not isinstance(sink, Select) or sink.weights is None:
        return {}
    weighed = zip(sink.over, sink.weights, strict=False)
    return {key if became is None else became.get(key, f"{key} "): weight for key, weight in weighed}
