"""A simulated model that was never trained to conduct, asked for a workflow all the same: it writes one, clumsily.

Its subtasks say little, its shapes follow no need of the question, and some of its replies are no workflow at all.
"""

from random import Random

from apps.simulator.briefs import Brief
from apps.simulator.conduct import KEPT, Plan, schema_of, written
from apps.simulator.models import Model
from apps.simulator.reply import Reply

FAILS = 0.25
"""The chance that a reply is no valid workflow: forms are what training improves first."""

_SUBTASKS = (
    ("Answer the question.",),
    ("Solve the problem.", "Verify the solution and give the final answer."),
    ("Understand the question and make a plan.", "Follow the plan.", "Summarise everything into a final answer."),
    ("Answer the question.", "Answer the question.", "Compare the answers and give the final one."),
)


def conduct_untrained(model: Model, brief: Brief, *, seed: int, response_format: str = "") -> Reply:
    """The reply of a model that does not conduct to a conductor's prompt."""
    rng = Random(f"{model.id} {seed} {brief}")
    plan = _plan(brief, rng)
    if rng.random() >= FAILS:
        return written(plan, response_format)
    if schema_of(response_format) is None and rng.random() < 0.5:
        return Reply(body=f"{plan.thinking}\n\n", closing="I would ask Model 0 first, and another one to check it.")
    return written(_forward(plan), response_format)


def _plan(brief: Brief, rng: Random) -> Plan:
    if brief.answer_before and rng.random() < 0.7:
        return KEPT
    fitting = [subtasks for subtasks in _SUBTASKS if len(subtasks) <= brief.max_steps]
    subtasks = rng.choice(fitting)
    return Plan(
        thinking="I will divide the question into steps.",
        subtasks=subtasks,
        models=tuple(rng.randrange(max(1, len(brief.models))) for _ in subtasks),
        reads=tuple(tuple(range(at)) for at in range(len(subtasks))),
        says_all=rng.random() < 0.5,
    )


def _forward(plan: Plan) -> Plan:
    """The plan with a step that reads itself, which none may."""
    return Plan(plan.thinking, plan.subtasks, plan.models, tuple((at,) for at in range(len(plan.reads))), False)
