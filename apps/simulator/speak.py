"""Who answers what: a conductor's prompt gets a workflow, any other prompt a worker's reply."""

from apps.simulator.conduct import conduct
from apps.simulator.models import Model
from apps.simulator.reading import Texts, is_for_a_conductor, read_assignment, read_brief
from apps.simulator.reply import Reply
from apps.simulator.work import work


def speak(model: Model, texts: Texts, *, seed: int = 0, response_format: str = "") -> Reply:
    """The reply of a model to a prompt: the same for the same arguments, at any time and on any machine."""
    if model.conducts and is_for_a_conductor(texts, response_format):
        return conduct(read_brief(texts), seed=seed, response_format=response_format)
    return work(model, read_assignment(texts), seed=seed, response_format=response_format)
