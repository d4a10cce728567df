"""Where a run comes from, as its review says it: with which models, under which limits, as they were then."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.runs.models import Run
from apps.web.words.figures import exact_usd, listed
from apps.web.words.looks import Look, look_of
from apps.workers.services import price_of

MOST_NAMED = 60


@dataclass(frozen=True)
class Model:
    """A model as the run froze it."""

    number: int
    look: Look
    model: str  # as its endpoint knows it
    params: str
    price: str
    tags: str
    fallbacks: str
    conducts: bool  # a step that is given to it becomes a run of its own


def conductor_of(run: Run) -> Model | None:
    """The model that was to write the workflow, as it was then; None where none was asked."""
    frozen = run.setup.get("conductor")
    return _model(0, frozen) if frozen and run.setup["planner"] != "saved" else None


def pool_of(run: Run) -> list[Model]:
    """The workers in the numbering of the planner."""
    return [_model(number, frozen) for number, frozen in enumerate(run.setup["pool"][:MOST_NAMED])]


def limits_of(run: Run) -> Iterator[tuple[str, str]]:
    """What the run was to keep to, by name."""
    setup = run.setup
    yield "Limit", "none of its own" if run.limit_usd is None else f"{exact_usd(run.limit_usd)} at most"
    yield "Steps", f"{setup['max_steps']} at most"
    yield "Rounds of planning", str(setup.get("rounds", 1))
    yield "Tries of planning", str(setup.get("tries", 1))
    if setup.get("nesting"):
        yield "Runs within runs", f"{setup['nesting']} deep"
    yield "Approval before running", "asked for" if setup.get("review") else "not asked for"
    yield "Seed", str(setup.get("seed", "none"))
    if setup.get("options"):
        yield "Options", ", ".join(f"{name}: {value}" for name, value in setup["options"].items())


def _model(number: int, frozen: Mapping[str, Any]) -> Model:
    identity = frozen.get("identity") or {}
    return Model(
        number=number,
        look=look_of(frozen["slug"], frozen),
        model=str(identity.get("model", "")),
        params=", ".join(f"{name} {value}" for name, value in (identity.get("params") or {}).items()),
        price=_price(frozen),
        tags=", ".join(frozen.get("tags") or ()),
        fallbacks=_named(frozen.get("fallbacks") or ()),
        conducts=bool(frozen.get("conducts")),
    )


def _price(frozen: Mapping[str, Any]) -> str:
    price = price_of(frozen)
    if price.free:
        return "free"
    if price.input_usd is None or price.output_usd is None:
        return "unknown"
    return f"{exact_usd(price.input_usd)} in, {exact_usd(price.output_usd)} out"


def _named(frozen: Sequence[Mapping[str, Any]]) -> str:
    return listed([each["name"] or each["slug"] for each in frozen]) if frozen else ""
