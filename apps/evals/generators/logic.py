"""Who has what: clues that leave one way to give each person one thing."""

from collections.abc import Callable
from itertools import permutations
from random import Random

from apps.evals.graders import Figures

from .task import Made, listed

_SCENES = (
    ("each own one pet", "What does {person} own?", ("owns", "does not own"), ("cat", "dog", "parrot", "rabbit")),
    ("each have one job", "What is {person}'s job?", ("is", "is not"), ("baker", "pilot", "nurse", "tailor")),
    ("each play one instrument", "What does {person} play?", ("plays", "does not play"), ("violin", "flute", "cello")),
    ("each drive one vehicle", "What does {person} drive?", ("drives", "does not drive"), ("van", "lorry", "tram")),
)
_PEOPLE = ("Ana", "Ben", "Chloe", "Mia", "Noor", "Otto", "Pia", "Ravi", "Sven", "Tess")

Way = dict[str, str]
Verb = tuple[str, str]
Clue = tuple[str, Callable[[Way], bool]]


def make(rng: Random) -> Made:
    each, asks, verb, offered = rng.choice(_SCENES)
    size = rng.randint(3, len(offered))
    people, things = rng.sample(_PEOPLE, size), rng.sample(offered, size)
    ways = [dict(zip(people, order, strict=True)) for order in permutations(things)]
    truth = rng.choice(ways)
    clues = " ".join(clue for clue, _ in _clues(rng, truth, ways, verb))
    opening = f"{listed(people)} {each}: {listed([f'a {thing}' for thing in things], 'or')}."
    person = rng.choice(people)
    if rng.random() < 0.5:
        grader = Figures((person,), tuple(people))
        return Made(f"{opening} {clues} Who {verb[0]} the {truth[person]}?", person, grader)
    grader = Figures((truth[person],), tuple(things))
    return Made(f"{opening} {clues} {asks.format(person=person)}", f"the {truth[person]}", grader)


def _clues(rng: Random, truth: Way, ways: list[Way], verb: Verb) -> list[Clue]:
    """True clues, each of which strikes something out, until one way is left."""
    clues: list[Clue] = []
    while len(ways) > 1:
        clue = rng.choice((_not, _neither, _either))(rng, truth, verb)
        left = [way for way in ways if clue[1](way)]
        if len(left) < len(ways):
            clues.append(clue)
            ways = left
    return clues


def _not(rng: Random, truth: Way, verb: Verb) -> Clue:
    person = rng.choice(tuple(truth))
    thing = rng.choice([thing for thing in truth.values() if thing != truth[person]])
    return f"{person} {verb[1]} the {thing}.", lambda way: way[person] != thing


def _neither(rng: Random, truth: Way, verb: Verb) -> Clue:
    owner, one, other = rng.sample(tuple(truth), 3)
    thing = truth[owner]
    return f"Neither {one} nor {other} {verb[0]} the {thing}.", lambda way: thing not in (way[one], way[other])


def _either(rng: Random, truth: Way, verb: Verb) -> Clue:
    person = rng.choice(tuple(truth))
    other = rng.choice([thing for thing in truth.values() if thing != truth[person]])
    two = rng.sample((truth[person], other), 2)
    return f"{person} {verb[0]} the {two[0]} or the {two[1]}.", lambda way: way[person] in two
