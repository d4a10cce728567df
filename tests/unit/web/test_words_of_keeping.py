"""How events about keeping and erasing are told."""

from typing import Any

import pytest

from apps.web.words.events import facts_of


@pytest.mark.parametrize(
    ("verb", "data", "said"),
    [
        ("run.erased", {"why": "by hand", "texts": 1}, ["1 text", "by hand"]),
        ("run.erased", {"why": "policy", "keep_days": 30, "texts": 9}, ["9 texts", "kept for 30 days after its end"]),
        ("run.erased", {"texts": 2, "with": "k3"}, ["2 texts", "by hand", "with run k3, which it is part of"]),
        ("run.erased", {"texts": 2, "copy_of": "k3"}, ["2 texts", "by hand", "as a copy of run k3"]),
        ("policy.set", {"profile": "", "keep_days": 1}, ["every profile without its own", "for 1 day"]),
        (
            "policy.set",
            {"profile": "hr", "keep_days": 9, "before_days": None},
            ["hr", "for 9 days", "before: for ever"],
        ),
        ("policy.dropped", {"profile": "hr", "before_days": 9}, ["hr", "before: for 9 days"]),
        ("hold.placed", {"hold": 1, "run": "k3"}, ["on run k3"]),
        ("hold.lifted", {"hold": 1, "run": None}, ["on the whole project"]),
    ],
)
def test_what_matters_of_it_is_told(verb: str, data: dict[str, Any], said: list[str]) -> None:
    assert list(facts_of(verb, data, {})) == said
