"""Who answers what: a conductor's prompt gets a workflow, a coordinator's a turn, any other a worker's reply."""

from apps.simulator.briefs import is_for_a_conductor, read_brief, shows_a_pool
from apps.simulator.conduct import conduct
from apps.simulator.coordinate import coordinate, is_for_a_coordinator
from apps.simulator.models import Model
from apps.simulator.reading import Texts, read_assignment
from apps.simulator.reply import Reply
from apps.simulator.untrained import conduct_untrained
from apps.simulator.work import work


def speak(model: Model, texts: Texts, *, seed: int = 0, response_format: str = "") -> Reply:
    """The reply of a model to a prompt: the same for the same arguments, at any time and on any machine."""
    if is_for_a_coordinator(texts):
        return coordinate(texts, seed=seed, response_format=response_format)
    if is_for_a_conductor(texts, response_format):
        if model.conducts:
            return conduct(read_brief(texts), seed=seed, response_format=response_format)
        if shows_a_pool(texts):
            return conduct_untrained(model, read_brief(texts), seed=seed, response_format=response_format)
    return work(model, read_assignment(texts), seed=seed, response_format=response_format)
