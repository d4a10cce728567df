"""The knobs in a model's name: `sim-cedar:ttft=0,rate=50,fail=429x2` is Cedar, hurried, failing twice.

They sit in the name because that is the one field every client lets a person choose.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from apps.simulator.models import MODELS, Model

FAULTS = ("hang", "cut", "malformed", "empty", "refused")  # and any status from 400 to 599
SAYINGS = ("nonsense", "empty", "million", "forward", "unknown", "forty", "lists", "none")
NEEDS_A_CONDUCTOR = frozenset({"forward", "unknown", "forty", "lists", "none"})

_COUNTED = re.compile(r"(?P<word>[a-z]+|\d{3})(?:x(?P<times>\d+))?")


class UnknownModel(ValueError):
    """No simulated model has this name."""


class BadKnob(ValueError):
    """A knob that does not exist, or a value that it cannot take."""


@dataclass(frozen=True)
class Counted:
    """A behaviour for the first `times` calls with the same model string and messages; None means always."""

    word: str
    times: int | None = None


@dataclass(frozen=True)
class Knobs:
    ttft_ms: float
    rate: float  # tokens per second; 0 is no delay at all
    tokens: int | None = None
    seed: int = 0
    fail: Counted | None = None
    retry_after_s: float = 1
    say: Counted | None = None
    trace: bool = False  # the log tells when each write of a stream had left


@lru_cache(maxsize=4096)
def read_model(text: str) -> tuple[Model, Knobs]:
    """The model and the knobs that a model string names.

    :raises UnknownModel: the part before the colon is not a simulated model.
    :raises BadKnob: a knob cannot be understood.
    """
    name, _, tail = text.partition(":")
    model = MODELS.get(name)
    if model is None:
        raise UnknownModel(f"The model `{name}` does not exist here. There are: {', '.join(MODELS)}.")

    knobs = Knobs(ttft_ms=model.ttft_ms, rate=model.rate)
    for pair in filter(None, (part.strip() for part in tail.split(","))):
        knobs = _turned(knobs, pair, model)
    if knobs.say and knobs.say.word == "million" and "rate=" not in tail:
        knobs = replace(knobs, rate=0)  # at a model's own pace a million characters would take an hour
    return model, knobs


def _turned(knobs: Knobs, pair: str, model: Model) -> Knobs:
    name, _, value = pair.partition("=")
    match name.strip():
        case "ttft":
            return replace(knobs, ttft_ms=_number(name, value))
        case "rate":
            return replace(knobs, rate=_number(name, value))
        case "tokens":
            return replace(knobs, tokens=int(_number(name, value)))
        case "speed":
            return _hurried(knobs, _number(name, value))
        case "seed":
            return replace(knobs, seed=_whole(name, value))
        case "retry_after":
            return replace(knobs, retry_after_s=_number(name, value))
        case "fail":
            return replace(knobs, fail=_fault(value))
        case "say":
            return replace(knobs, say=_saying(value, model))
        case "trace":
            return replace(knobs, trace=_switch(name, value))
    known = "ttft, rate, speed, tokens, seed, fail, retry_after, say, trace"
    raise BadKnob(f"There is no knob `{name}`. There are: {known}.")


def _hurried(knobs: Knobs, factor: float) -> Knobs:
    """So many times as fast as the model, or as the knobs before this one; 0 is without any delay."""
    return replace(knobs, ttft_ms=knobs.ttft_ms / factor if factor else 0, rate=knobs.rate * factor)


def _number(name: str, value: str) -> float:
    if not re.fullmatch(r"\d{1,9}(\.\d{1,6})?", value):
        raise BadKnob(f"`{name}` takes a number of zero or more, not `{value}`.")
    return float(value)


def _whole(name: str, value: str) -> int:
    if not re.fullmatch(r"-?\d{1,18}", value):
        raise BadKnob(f"`{name}` takes a whole number, not `{value}`.")
    return int(value)


def _switch(name: str, value: str) -> bool:
    if value not in ("0", "1"):
        raise BadKnob(f"`{name}` takes 0 or 1, not `{value}`.")
    return value == "1"


def _fault(value: str) -> Counted:
    counted = _counted("fail", value)
    if counted.word not in FAULTS and not (counted.word.isdigit() and 400 <= int(counted.word) < 600):
        raise BadKnob(f"`fail` takes a status from 400 to 599 or one of {', '.join(FAULTS)}, not `{value}`.")
    return counted


def _saying(value: str, model: Model) -> Counted:
    counted = _counted("say", value)
    if counted.word not in SAYINGS:
        raise BadKnob(f"`say` takes one of {', '.join(SAYINGS)}, not `{value}`.")
    if counted.word in NEEDS_A_CONDUCTOR and not model.conducts:
        raise BadKnob(f"`say={counted.word}` is for a model that conducts.")
    return counted


def _counted(name: str, value: str) -> Counted:
    match = _COUNTED.fullmatch(value)
    if match is None:
        raise BadKnob(f"`{name}` takes a word and perhaps xN, such as `{name}=429x2`, not `{value}`.")
    times = match["times"]
    return Counted(match["word"], int(times) if times else None)
