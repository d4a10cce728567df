"""What a reply claims to be its result, and whether that is right."""

import re

from apps.simulator.excuse import is_excuse
from apps.simulator.solvers import Problem, countdown


def is_right(said: str, problem: Problem, task: str) -> bool:
    """Whether somebody's result is the answer to the problem in `task`."""
    fault = countdown.verdict(said, task)
    return fault == "" if fault is not None else same(said, problem.answer)


def claimed(response: str) -> str | None:
    """The result that a reply states: its last answer line, its last code block, or what it puts in bold last.

    A reply that says it is none states nothing, although it has bold words and code too.
    """
    if is_excuse(response):
        return None
    if line := _answer_line(response):
        return line
    if blocks := _BLOCK.findall(response):
        return str(blocks[-1]).strip()
    bold = re.findall(r"\*\*([^*\n]{1,120})\*\*", response)
    return str(bold[-1]) if bold else None


def stated(response: str) -> str | None:
    """The result that a reply calls its answer, or ends with as a block: bold words could be anything."""
    if is_excuse(response):
        return None
    blocks = list(_BLOCK.finditer(response.rstrip()))
    ends_with_block = bool(blocks) and blocks[-1].end() == len(response.rstrip())
    return _answer_line(response) or (blocks[-1][1].strip() if ends_with_block else None)


_BLOCK = re.compile(r"```\w*\n(.*?)\n```", re.S)


def _answer_line(response: str) -> str | None:
    lines = re.findall(r"^\W*(?:final )?(?:answer|result)\W{0,4}:[*_` \t]*(\S[^\n]*?)[*` ]*$", response, re.I | re.M)
    return str(lines[-1]) if lines else None


def same(one: str, other: str) -> bool:
    return _normal(one) == _normal(other)


def _normal(text: str) -> str:
    return re.sub(r"[^\w.+*/()-]|(?<=\d),(?=\d{3})|[.]$", "", text.lower())


def short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:79] + "…"
