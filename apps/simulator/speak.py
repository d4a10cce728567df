"""Who answers what: a conductor's prompt gets a workflow, any other prompt a worker's reply."""

from functools import lru_cache

from apps.simulator.conduct import conduct
from apps.simulator.misspeak import misspeak
from apps.simulator.models import MODELS
from apps.simulator.reading import Texts, is_for_a_conductor, read_assignment, read_brief
from apps.simulator.reply import Reply
from apps.simulator.work import work

__all__ = ["misspeak", "question_of", "speak"]


@lru_cache(maxsize=2048)
def speak(model_id: str, texts: Texts, *, seed: int | None, knob_seed: int, response_format: str) -> Reply:
    """The reply of a model to a prompt: the same for the same arguments, at any time and on any machine."""
    model = MODELS[model_id]
    if model.conducts and is_for_a_conductor(texts, response_format):
        return conduct(read_brief(texts), seed=(seed or 0) + knob_seed, response_format=response_format)
    return work(model, read_assignment(texts), seed=(seed or 0) + knob_seed, response_format=response_format)


def question_of(texts: Texts) -> str:
    return read_brief(texts).question
