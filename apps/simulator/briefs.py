"""Finding one's way in a prompt for a conductor: the question, the limit, the models, and the round before."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from apps.simulator.reading import TASKS, Element, Texts, elements
from apps.simulator.solvers.problem import number_of

DEFAULT_STEPS = 5

_POOLS = {"models", "workers", "pool"}
_EXAMPLES = {"example", "examples", "worked-example", "worked-examples", "worked_examples"}
_PLANS_BEFORE = re.compile(r"(?:previous|former|last|earlier|your)[-_](?:workflow|plan)")
_ANSWERS_BEFORE = re.compile(r"(?:previous|former|last|final|earlier)[-_](?:response|answer|result)|answer-so-far")
_ITSELF = re.compile(r"\bis (?:you|yourself)\b|\byou,? yourself\b", re.I)


@dataclass(frozen=True)
class Brief:
    """A conductor's prompt. `models` are the words after "Model 0:" and so on, empty where nothing was revealed.

    `answer_before` is what came of the round before; None in the first.
    """

    question: str
    max_steps: int
    models: tuple[str, ...]
    answer_before: str | None = None

    @property
    def itself(self) -> int | None:
        """The model that the conductor is itself, if one is."""
        return next((number for number, words in enumerate(self.models) if _ITSELF.search(words)), None)


def is_for_a_conductor(texts: Texts, response_format: str = "") -> bool:
    """Whether a workflow is asked for."""
    text = "\n".join(text for _, text in texts) + response_format
    return bool(re.search(r"access[_ ]list|model_id", text, re.I)) and bool(
        re.search(r"model[_ ]?\d|subtasks?", text, re.I)
    )


@lru_cache(maxsize=512)
def read_brief(texts: Texts) -> Brief:
    """The question, the step limit and the models that a conductor is given; the worked examples are left aside."""
    text = instructions(texts)
    found = list(elements(text))
    pool = next((element for element in reversed(found) if element.name in _POOLS), None)
    asked = [element for element in found if element.name in TASKS]
    before_pool = [element for element in asked if pool and element.start < pool.start]
    ours = (before_pool or asked)[-1:]  # an earlier one could be an example's, a later one quoted from an old reply
    examples = [element for element in found if element.name in _EXAMPLES]
    before = [element for element in found if _PLANS_BEFORE.fullmatch(element.name)]
    answers = [element for element in found if _ANSWERS_BEFORE.fullmatch(element.name)]
    rules = _without(text, [*examples, *ours, *before, *answers])
    question = ours[0].text if ours else _question_by_heading(rules)
    models = _models(pool.text if pool else rules, rules)
    return Brief(
        question=question.strip(),
        max_steps=_max_steps(rules),
        models=models,
        answer_before=answers[-1].text if answers else None,
    )


def instructions(texts: Texts) -> str:
    """All that was said to the model, as one text."""
    return "\n\n".join(text for role, text in texts if role in ("user", "system", "developer"))


def shows_a_pool(texts: Texts) -> bool:
    """Whether the prompt lists models to choose from, outside every text that it merely quotes."""
    found = list(elements(instructions(texts)))
    quoted = [element for element in found if element.name not in _POOLS]
    return any(element.name in _POOLS for element in found) and bool(
        re.search(r"\bstep|\bworkflow", _without(instructions(texts), quoted), re.I)
    )


def _without(text: str, parts: Sequence[Element]) -> str:
    for element in sorted(parts, key=lambda element: element.start, reverse=True):
        text = f"{text[: element.start]}\n{text[element.end :]}"
    return text


def _question_by_heading(text: str) -> str:
    """The text under the first heading "Question" or "Task" that follows the last worked plan."""
    plans = list(re.finditer(r"^\W*access[_ ]list\W.*$", text, re.I | re.M))
    heading = r"^[#*\s]*(?:the |user )*(?:question|task|problem|user question)\b[^\n:]{0,30}:?[*\s]*(?::|\n)[*\s]*"
    starts = [match.end() for match in re.finditer(heading, text, re.I | re.M)]
    after = [start for start in starts if not plans or start > plans[-1].end()] or starts[-1:]
    if not after:
        return text.strip().rpartition("\n\n")[2]
    rest = text[after[0] :]
    end = re.search(
        r"^[#*\s]*(?:available |the )*(?:models?|workers?|pool)\b[^\n]{0,60}:?[*\s]*$|^\W*Model 0\b", rest, re.I | re.M
    )
    return rest[: end.start()] if end else rest


def _max_steps(rules: str) -> int:
    amount = r"(\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty)"
    most = r"(?:at most|up to|no more than|maximum(?: of)?|limit(?: of)?)"
    for pattern in (
        rf"{most}\s+{amount}\s+(?:\w+\s+)?steps?",
        rf"{amount}\s+steps?\s+(?:at most|or fewer|maximum)",
        rf"steps?\b[^.\n\d]{{0,40}}(?:at most|limit|maximum|up to)[^.\n\d]{{0,20}}?{amount}\b",
        rf"(?:maximum|max|limit)[^.\n\d]{{0,40}}steps?[^.\n\d]{{0,10}}{amount}\b",
        rf"(?:maximum|max|between)[^.\n]{{0,20}}\b1 (?:and|to) {amount} steps?",
    ):
        match = re.search(pattern, rules, re.I)
        value = number_of(match[1]) if match else None
        if value:
            return max(1, int(value))
    return DEFAULT_STEPS


def _models(listed: str, rules: str) -> tuple[str, ...]:
    lines = dict(re.findall(r"^\W{0,6}Model (\d{1,3})\b[*`]*[:.)\s—–-]*(.*)$", listed, re.M))
    numbers = {int(number) for number in re.findall(r"\bModel (\d{1,3})\b", listed)}
    count = max(numbers) + 1 if numbers else _counted(rules)
    return tuple(lines.get(str(number), "").strip() for number in range(count))


def _counted(rules: str) -> int:
    match = re.search(
        r"\b(\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten)\s+(?:\w+\s+)?models\b", rules, re.I
    )
    value = number_of(match[1]) if match else None
    return max(1, int(value)) if value else 1
