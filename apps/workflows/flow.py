"""What may flow where: tags follow texts along the access edges, and rules say which models may read what carries one.

A text carries the tags it was given, and a reply carries all that its step could read and its model's own tags:
whether a word of it really passed, nobody can tell. So what a step may read decides, before anything is asked.
"""

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .workflow import Select, Workflow

TASK = "task:"
SINK = "sink:"
EMBEDDED = "embedded:"  # the task, as a vector for a planner that learnt


@dataclass(frozen=True)
class Rule:
    """What carries one tag may only be read by models that have another. `number` is for people to find it."""

    carries: str
    needs: str
    number: int = 0
    words: str = ""


@dataclass(frozen=True)
class Model:
    """Whoever reads: what can be relied on of it (`has`), and what all it writes carries on (`adds`)."""

    slug: str
    has: frozenset[str] = frozenset()
    adds: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Point:
    """A text, what it was made from and by whom. Without a `model` it is there from the beginning, with its own tags.

    `reads` name points before it. Keys of steps are the steps' own; in all others there is a colon.
    """

    key: str
    reads: tuple[str, ...] = ()
    model: Model | None = None
    tags: frozenset[str] = frozenset()

    @property
    def adds(self) -> frozenset[str]:
        return self.tags if self.model is None else self.tags | self.model.adds


def is_step(key: str) -> bool:
    """Whether a point is a step of the workflow, rather than the task, an attachment, the planner or the sink."""
    return ":" not in key


@dataclass(frozen=True)
class Offence:
    """That a model would read what a rule keeps from it.

    `path` leads from the nearest of `sources`, whose own tag it is, to the `reader`; `sources` are all that it comes
    from.
    """

    rule: Rule
    reader: str
    model: str
    path: tuple[str, ...]
    sources: tuple[str, ...]

    @property
    def name(self) -> str:
        """Names what is forbidden, however the rule is worded: for whoever approves it, and nothing beyond it."""
        reader = "".join(self.reader.partition(":")[:2])  # however often it plans
        return f"{self.rule.carries}>{self.rule.needs} {reader} {self.model} {','.join(self.sources)}"


def is_of_steps(name: str) -> bool:
    """Whether what an `Offence.name` names goes by a workflow's steps: in another they have the same keys."""
    _, reader, _, sources = name.split(" ")
    return reader == SINK or any(map(is_step, (reader, *sources.split(","))))


def offences(points: Sequence[Point], rules: Collection[Rule]) -> list[Offence]:
    """Whatever `rules` forbid among `points`, in their order, which leads from what is read to its readers.

    One for each rule and reader, with a shortest path. Time is linear in the points, their reads and the rules.
    """
    place = {point.key: at for at, point in enumerate(points)}
    found = [each for rule in rules for each in _against(rule, points)]
    return sorted(found, key=lambda each: place[each.reader])


def carried(points: Sequence[Point]) -> dict[str, frozenset[str]]:
    """The tags that each point's text carries, by its key."""
    tags: dict[str, frozenset[str]] = {}
    for point in points:
        tags[point.key] = point.adds.union(*(tags[source] for source in point.reads if source in tags))
    return tags


def _against(rule: Rule, points: Sequence[Point]) -> Iterator[Offence]:
    sources: dict[str, tuple[str, ...]] = {}  # of each point that carries the tag, where that comes from
    by_key: dict[str, Point] = {}
    for point in points:
        read = tuple(dict.fromkeys(origin for source in point.reads for origin in sources.get(source, ())))
        if read and point.model is not None and rule.needs not in point.model.has:
            path = _path(point, by_key, rule.carries)
            yield Offence(rule, point.key, point.model.slug, path, tuple(sorted(read)))
        own = (point.key,) if rule.carries in point.adds else ()
        if read or own:
            sources[point.key] = tuple(dict.fromkeys((*read, *own)))
        by_key[point.key] = point


def _path(reader: Point, by_key: Mapping[str, Point], tag: str) -> tuple[str, ...]:
    """The shortest way by which `tag` comes to `reader`; of several the one by what it reads first."""
    came_from = dict.fromkeys(reader.reads, reader.key)
    todo = deque(reader.reads)
    while todo:
        key = todo.popleft()
        point = by_key.get(key)
        if point is None:
            continue
        if tag in point.adds:
            return tuple(_way(key, came_from, reader.key))
        for source in point.reads:
            if source not in came_from:
                came_from[source] = key
                todo.append(source)
    raise AssertionError("whoever offends reads what carries the tag")


def _way(key: str, came_from: Mapping[str, str], end: str) -> Iterator[str]:
    while key != end:
        yield key
        key = came_from[key]
    yield end


# --- a run as points -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """What a run's texts carry from the beginning, and who is asked in it besides its steps' workers.

    `is_told`: the instructions were written by a model that had read the task, and carry what that carries, whatever a
    step is shown. Where it did so for another run and is not asked again, `wrote` says what they carry besides the task
    (`written`), those of the first round first. `planner` and those after it are None where no model is asked.
    """

    task: frozenset[str] = frozenset()
    files: tuple[frozenset[str], ...] = ()
    is_told: bool = True
    wrote: tuple[frozenset[str], ...] = ()
    planner: Model | None = None
    embedder: Model | None = None  # of the task, for the planner
    judge: Model | None = None  # of the answers among which the sink selects

    @property
    def given(self) -> tuple[str, ...]:
        """The keys of what is there before anybody is asked."""
        return (TASK, *(file_key(number) for number in range(1, len(self.files) + 1)))

    def plan(self, number: int, shown: Sequence[str]) -> Point:
        """The planner, shown the steps `shown`; of what it wrote before it is known what all that carried."""
        known = self.wrote[:number]
        shown = () if number <= len(self.wrote) else shown
        return Point(plan_key(number), (*self.given, *shown), self.planner, known[-1] if known else frozenset())


def plan_key(number: int) -> str:
    """The planner when it plans for the `number`th time."""
    return f"plan:{number}"


def file_key(number: int) -> str:
    """The `number`th attachment of the task."""
    return f"file:{number}"


def points_before(asked: Asked) -> list[Point]:
    """What is read before there is a workflow: the task and what is attached to it, by the planner and its embedder."""
    given = [Point(key, tags=tags) for key, tags in zip(asked.given, (asked.task, *asked.files), strict=True)]
    embedded = [] if asked.embedder is None else [Point(EMBEDDED, asked.given, asked.embedder)]
    return [*given, *embedded, asked.plan(1, ())]


def points_of(workflow: Workflow, models: Mapping[str, Model], asked: Asked) -> list[Point]:
    """All that is read in a run of `workflow`, whose steps (by key) are given to `models`.

    A planner that plans again was shown every result there was, and its instructions carry those on.
    """
    points, known, rounds = points_before(asked), list[str](), {1}
    for step in workflow.steps:
        if asked.is_told and step.round not in rounds:
            rounds.add(step.round)
            points.append(asked.plan(step.round, known))
        task = asked.given if workflow.show_task else ()
        told = (plan_key(step.round),) if asked.is_told else ()
        reads = [key for key in step.access if key in known]
        points.append(Point(step.key, (*task, *reads, *told), models.get(step.key)))
        known.append(step.key)
    if isinstance(workflow.sink, Select) and workflow.sink.weights is None and asked.judge is not None:
        points.append(Point(SINK, tuple(key for key in workflow.sink.over if key in known), asked.judge))
    return points


def points_further(workflow: Workflow, models: Mapping[str, Model], asked: Asked) -> list[Point]:
    """The same, and behind it the planner, which is about to plan once more, shown everything there is."""
    return [*points_of(workflow, models, asked), asked.plan(workflow.rounds + 1, workflow.keys)]


def written(workflow: Workflow, models: Mapping[str, Model], asked: Asked) -> tuple[frozenset[str], ...]:
    """What the instructions of each round carry besides what is given: they still do in a run that takes them over.

    There the steps may be others, and what a planner had been shown is no longer told by them.
    """
    carries = carried(points_of(workflow, models, asked))
    given = frozenset().union(*(carries[key] for key in asked.given))
    found, so_far = list[frozenset[str]](), frozenset[str]()
    for number in range(1, max(workflow.rounds, len(asked.wrote)) + 1):
        itself = asked.plan(number, ()).adds
        so_far |= itself | (carries.get(plan_key(number), frozenset()) - given)
        found.append(so_far)
    return tuple(found)
