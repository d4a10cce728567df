"""How an event tells of a change: which fields, and what they were and became."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from apps.audit.log import JSON, Entry

Values = Mapping[str, Any]


def changed(noun: str, facts: Mapping[str, JSON], *, fields: Collection[str], before: Values, after: Values) -> Entry:
    """The event of a change: the names of the fields as data, their values, as JSON, as texts that can be erased."""
    return Entry(
        f"{noun}.changed",
        {**facts, "fields": sorted(fields)},
        {"before": as_text(before), "after": as_text(after)},
    )


def as_text(values: Values) -> str:
    return json.dumps(values, ensure_ascii=False, sort_keys=True, default=str)
