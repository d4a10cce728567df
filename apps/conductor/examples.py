"""Worked examples for a conductor: four shapes of workflow from four domains, so that neither is taken for the rule.

Examples from other domains than the task's work best (arXiv 2512.04388); these stay clear of what people mostly ask of
models. Workers are numbers of no particular model; the prompt folds them into the pool in use.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from apps.core.errors import Invalid


@dataclass(frozen=True)
class Example:
    """A question and a workflow that suits it. `reads` holds positions from 0, or "all"."""

    domain: str
    question: str
    thinking: str
    workers: tuple[int, ...]
    subtasks: tuple[str, ...]
    reads: tuple[tuple[int, ...] | str, ...]


ONE_STEP: Final = Example(
    domain="geography",
    question="Which river flows through both Vienna and Budapest?",
    thinking="This is a matter of knowing one fact. A second model would only add cost, so one step is enough.",
    workers=(1,),
    subtasks=("Name the river that flows through both Vienna and Budapest. Reply with its name only.",),
    reads=((),),
)

INDEPENDENT_ATTEMPTS: Final = Example(
    domain="translation",
    question="Translate the proverb “Água mole em pedra dura, tanto bate até que fura” for an English poster.",
    thinking=(
        "Taste differs from model to model, so two attempts that do not see each other are worth having. A third model "
        "then reads both and settles on one."
    ),
    workers=(0, 2, 1),
    subtasks=(
        "Translate “Água mole em pedra dura, tanto bate até que fura” into English word for word, then explain in two "
        "sentences what it is used to say.",
        "Write three English versions of the proverb “Água mole em pedra dura, tanto bate até que fura” that would "
        "read well on a poster: short, rhythmic, true to the image of water and stone.",
        "From the literal meaning and the versions you were given, choose or improve the one line that is both "
        "faithful and memorable. Reply with that line alone.",
    ),
    reads=((), (), "all"),
)

PLAN_CARRY_OUT_VERIFY: Final = Example(
    domain="event planning",
    question=(
        "Draw up a timetable for a village fair from 10:00 to 16:00: two stages, six bands of 45 minutes each, half an "
        "hour between bands on a stage, and no two bands starting at the same moment."
    ),
    thinking=(
        "The rules pull against each other, so one model should first set out an approach, another should follow it, "
        "and a third should check the result against the rules as they stand in the question, without being led by "
        "the plan. The last step mends what the check found."
    ),
    workers=(2, 0, 1, 0),
    subtasks=(
        "Do not write the timetable yet. List every rule it must keep, work out how many bands fit on each stage, and "
        "describe a way of staggering the two stages that keeps all rules.",
        "Following the approach you were given, write the timetable as a table with the columns start, end, stage, "
        "band.",
        "Check the timetable you were given line by line: lengths of sets, pauses on each stage, equal starting times, "
        "opening and closing hours. List each breach, or say that there is none.",
        "Correct the timetable where the check found a breach and reply with the final table and nothing else.",
    ),
    reads=((), (0,), (1,), (1, 2)),
)

FORMAT_AT_THE_END: Final = Example(
    domain="cooking",
    question=(
        "My pancake recipe serves 4: 250 g flour, 500 ml milk, 3 eggs, 40 g butter. What do I need for 10 people? "
        "Reply as one line of CSV: flour_g,milk_ml,eggs,butter_g, with whole eggs."
    ),
    thinking=(
        "The sums are easy for a good model; what goes wrong is the exact form of the reply. A small model can look "
        "after that at the end."
    ),
    workers=(1, 2),
    subtasks=(
        "Scale this recipe from 4 to 10 people and show each multiplication: 250 g flour, 500 ml milk, 3 eggs, 40 g "
        "butter. Round the eggs up to whole ones.",
        "Put the scaled amounts you were given into one line of CSV in the order flour_g,milk_ml,eggs,butter_g: "
        "numbers only, no header, no units, no spaces.",
    ),
    reads=((), "all"),
)

EXAMPLES: Final = (ONE_STEP, INDEPENDENT_ATTEMPTS, PLAN_CARRY_OUT_VERIFY, FORMAT_AT_THE_END)

GENERAL: Final = "general"
SETS: Final[Mapping[str, tuple[Example, ...]]] = MappingProxyType({GENERAL: EXAMPLES, "none": ()})
"""The sets of examples that a conductor can be given, by the names under which admins choose them."""


class UnknownExamples(Invalid):
    """There is no set of examples of this name."""


def examples_of(name: str) -> tuple[Example, ...]:
    """The set of this name. :raises UnknownExamples: there is none."""
    if name not in SETS:
        raise UnknownExamples(f"There are no examples “{name}”; there are: {', '.join(SETS)}.", field="options")
    return SETS[name]
