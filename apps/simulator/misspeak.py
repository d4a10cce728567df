"""Bad replies on request (`say=…`): what a planner must survive."""

from apps.simulator.briefs import read_brief
from apps.simulator.reading import Texts
from apps.simulator.reply import Reply

_MILLION = 1_000_000

_NONSENSE = (
    "Certainly! The colour of the workflow depends on the tide, and seven of the steps are mostly Tuesday. "
    "A model may be asked, or it may be a lamp. I would begin with the end [0, and then [[ the bracket never closes. "
    "In conclusion, there is no conclusion."
)


def misspeak(word: str, texts: Texts) -> Reply:
    """The bad reply that `say=word` stands for."""
    brief = read_brief(texts)
    models = max(1, len(brief.models))
    about = " ".join(brief.question.split())[:60]
    match word:
        case "empty":
            return Reply("")
        case "million":
            return Reply(
                (_NONSENSE + "\n") * (_MILLION // (len(_NONSENSE) + 1)) + "." * (_MILLION % (len(_NONSENSE) + 1))
            )
        case "forward":
            return _lists([0, models - 1], [f"Check the answer to: {about}", f"Answer: {about}"], [[1], []])
        case "unknown":
            return _lists([models + 6, 0], [f"Answer: {about}", f"Check the answer to: {about}"], [[], [0]])
        case "forty":
            subtasks = [f"Look at word {number} of the task: {about}" for number in range(1, 41)]
            return _lists([number % models for number in range(40)], subtasks, [[] for _ in subtasks])
        case "lists":
            return _lists([0, 0, 0], [f"Answer: {about}", f"Check the answer to: {about}"], [[]])
        case "none":
            return _lists([], [], [])
    return Reply(_NONSENSE)


def _lists(model_id: list[int], subtasks: list[str], access_list: list[list[int]]) -> Reply:
    return Reply(
        body="I will divide this task as follows.\n\n",
        closing=f"model_id = {model_id}\nsubtasks = {subtasks}\naccess_list = {access_list}\n",
    )
