"""Who has what: every way to give each person one thing is tried, and the clues strike out all but one."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations

from apps.simulator.solvers.problem import Problem, listed

MOST_PEOPLE = 7

Way = dict[str, str]  # person -> thing
Clue = Callable[[Way], bool]

_EACH = re.compile(
    r"(?P<people>[A-Z][\w]*(?:,\s*[A-Z]\w*)*,?\s+and\s+[A-Z]\w*)\s+(?:each|all)\s+(?:\w+\s+){1,4}?"
    r"(?:one\s+|a\s+(?:different\s+)?)?(?P<kind>[a-z]+)[^:.]*:\s*(?P<things>[^.]+)\."
)
# what is said of an animal, and the animals it is true of
_TRAITS = {
    "fur": ("cat", "dog", "rabbit", "hamster", "guinea pig", "ferret", "mouse"),
    "furry": ("cat", "dog", "rabbit", "hamster", "guinea pig", "ferret", "mouse"),
    "feathers": ("parrot", "canary", "budgie", "bird", "hen", "cockatoo"),
    "bark": ("dog",),
    "meow": ("cat",),
    "purr": ("cat",),
    "talk": ("parrot",),
    "fly": ("parrot", "canary", "budgie", "bird"),
    "sing": ("canary", "bird", "budgie"),
    "swim": ("fish", "goldfish", "turtle"),
    "scales": ("fish", "goldfish", "snake", "lizard"),
    "hop": ("rabbit",),
}


@dataclass(frozen=True)
class Puzzle:
    people: list[str]
    kind: str
    things: list[str]
    clues: list[tuple[str, Clue]]
    question: str


def solve(text: str) -> Problem | None:
    puzzle = read(text)
    if puzzle is None:
        return None
    ways = [dict(zip(puzzle.people, order, strict=True)) for order in permutations(puzzle.things)]
    left = [way for way in ways if all(clue(way) for _, clue in puzzle.clues)]
    answers = {_answer(way, puzzle) for way in left}
    if len(answers) != 1 or None in answers:
        return None
    return _problem(puzzle, ways, left[0], answers.pop() or "")


def read(text: str) -> Puzzle | None:
    each = _EACH.search(text)
    if each is None:
        return None
    people = re.findall(r"[A-Z]\w*", each["people"])
    things = [
        re.sub(r"^(?:an?|the)\s+", "", thing.strip())
        for thing in re.split(r",\s*(?:or\s+|and\s+)?|\s+(?:or|and)\s+", each["things"])
    ]
    things = [thing for thing in things if thing]
    sentences = [sentence.strip() for sentence in re.split(r"(?<=[.?!])\s+", text[each.end() :]) if sentence.strip()]
    question = next((sentence for sentence in sentences if re.match(r"(?:who|what|which)\b", sentence, re.I)), "")
    if len(people) != len(things) or not 2 <= len(people) <= MOST_PEOPLE or not question:
        return None
    clues = [clue for sentence in sentences if sentence != question for clue in _clues(sentence, people, things)]
    return Puzzle(people, each["kind"], things, clues, question)


def _clues(sentence: str, people: list[str], things: list[str]) -> Iterator[tuple[str, Clue]]:
    """What one sentence strikes out, if it is understood."""
    who = [person for person in people if re.search(rf"\b{person}\b", sentence)]
    what = [thing for thing in things if re.search(rf"\b{re.escape(thing)}\b", sentence, re.I)]
    denies = bool(
        re.search(r"\b(?:not|no|never|neither|nor|allergic|cannot|afraid|dislikes|hates)\b|n't\b", sentence, re.I)
    )
    if not who:
        return
    said = sentence.rstrip(".!")
    for trait, bearers in _TRAITS.items():
        if re.search(rf"\b{trait}(?:s|ing|ed)?\b", sentence, re.I):
            yield said, _restriction(who, [thing for thing in things if thing.lower() in bearers], denies=denies)
            return
    if what:
        yield said, _restriction(who, what, denies=denies)


def _restriction(who: list[str], what: list[str], *, denies: bool) -> Clue:
    if denies:
        return lambda way: all(way[person] not in what for person in who)
    return lambda way: all(way[person] in what for person in who)


def _answer(way: Way, puzzle: Puzzle) -> str | None:
    owners = {thing: person for person, thing in way.items()}
    for thing, person in owners.items():
        if re.search(rf"\b{re.escape(thing)}\b", puzzle.question, re.I):
            return person
    for person, thing in way.items():
        if re.search(rf"\b{person}\b", puzzle.question):
            return f"the {thing}"
    return None


def _problem(puzzle: Puzzle, ways: list[Way], way: Way, answer: str) -> Problem:
    names = listed(puzzle.people)
    question = puzzle.question.rstrip("?")
    asked = f"{question[0].lower()}{question[1:]}"
    others = [person for person in puzzle.people if person != answer]
    if answer not in puzzle.people:
        others = [f"the {thing}" for thing in puzzle.things if f"the {thing}" != answer]
    return Problem(
        family="logic",
        ask=f"Find out {asked}, from the {len(puzzle.clues)} clues about {names}.",
        method=f"Make a table of {names} against {', '.join(puzzle.things)}, and strike out what each clue forbids.",
        check=f"Check {asked} by trying every way to give {', '.join(puzzle.things)} to {names}; give the answer.",
        answer=answer,
        working=(*_told(puzzle, ways), f"Left: {', '.join(f'{person} – {thing}' for person, thing in way.items())}."),
        wrong=tuple(others),
    )


def _told(puzzle: Puzzle, ways: list[Way]) -> Iterator[str]:
    left = ways
    yield f"{len(ways)} ways to begin with."
    for said, clue in puzzle.clues:
        left = [way for way in left if clue(way)]
        yield f"{said}: {len(left)} left."
