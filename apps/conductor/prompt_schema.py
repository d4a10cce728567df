"""The JSON that a conductor may be asked for, as a schema for a server that constrains decoding.

A schema cannot say that a step reads only earlier ones: what comes back is judged all the same. It says nothing that
vLLM's grammars cannot enforce; that xgrammar enforces the length of a text badly is why ours is guidance (ADR 6).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .prompt_parts import PoolEntry, worker_labels

LONGEST_INSTRUCTION: Final = 1_500
LONGEST_THINKING: Final = 1_900
"""Characters. Below 2,000, past which llama.cpp and what is built on it refuse a schema (ggml-org/llama.cpp 25923)."""


def json_schema(
    pool: Sequence[PoolEntry], max_steps: int, *, reveal: bool = True, later: bool = False
) -> dict[str, Any]:
    """The schema of a workflow: the workers by name, the limit on its steps, the lengths of its texts.

    In a `later` round a workflow may have no steps, and a step may read "all".
    """
    # From the second round on even the first step can read: the last step of the round before.
    reads: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": max(max_steps - 2, 0)}
    step = _object(
        worker={"type": "string", "enum": worker_labels(pool, reveal=reveal)},
        instruction={"type": "string", "minLength": 1, "maxLength": LONGEST_INSTRUCTION},
        access={
            "type": "array",
            "maxItems": max(max_steps - 1, int(later)),
            "items": {"anyOf": [reads, {"type": "string", "enum": ["all"]}]} if later else reads,
        },
    )
    steps = {"type": "array", "minItems": 0 if later else 1, "maxItems": max_steps, "items": step}
    return _object(thinking={"type": "string", "maxLength": LONGEST_THINKING}, steps=steps)


def turn_schema(pool: Sequence[PoolEntry], roles: Sequence[str], *, reveal: bool = True) -> dict[str, Any]:
    """The schema of one turn of TRINITY's coordinator: a worker and a role."""
    return _object(
        thinking={"type": "string", "maxLength": LONGEST_THINKING},
        worker={"type": "string", "enum": worker_labels(pool, reveal=reveal)},
        role={"type": "string", "enum": list(roles)},
    )


def response_format(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The request parameter that asks an OpenAI-compatible server for JSON of this schema."""
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
