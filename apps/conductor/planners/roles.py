"""The roles MASRouter may give to agents, and what each is told."""

from types import MappingProxyType
from typing import Final

ROLES: Final = MappingProxyType(
    {
        "solver": "Solve the overall task and state the answer in the form it asks for.",
        "mathematician": "Solve the overall task as a mathematician: set it up, compute, check, and state the answer.",
        "analyst": "Answer the overall task from the data given in it: name the figures you use, then the answer.",
        "programmer": "Answer the overall task as a program would: go through its steps one by one, then the answer.",
        "reader": "Answer the overall task from what its text says, quoting the place that decides it.",
        "planner": "Break the overall task into steps, carry each out, and state the answer in the form it asks for.",
        "sceptic": "Look for the trap in the overall task, avoid it, and state the answer in the form it asks for.",
        "checker": "Compute the answer to the overall task in two different ways and state the one you can defend.",
    }
)
THINK: Final = "Think step by step before you answer. "
READ_ON: Final = "You were given what other models answered; use what is right in it and mend what is wrong. "
DEBATE: Final = "You were given what the others answered. Say where you disagree and why, then state your answer. "
REFLECT: Final = "You were given an earlier answer. Look for its mistakes, then state the improved answer. "
REFEREE: Final = (
    "You were given the answers of several models to the overall task. Decide which answer is right, judging their "
    "reasons and not their number, and state the final answer in the form the overall task asks for."
)
