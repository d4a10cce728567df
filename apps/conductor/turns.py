"""A coordinator's reply for one turn: which worker, in which role. And what the workers' own words decide.

Nothing here raises; what cannot be understood is a problem in words, with which the coordinator is asked again.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from apps.workers.calls import clean

from .parse import JSON_THINKING, NO_NAMES
from .prompt_turns import ROLES
from .repair import Notes, unescape

MOST_CHARS: Final = 200_000

_THINKING = re.compile(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_SIGN = r"""["'`*_ \t]{0,6}+(?:[:=：]|->|→|\bis\b)["'`*_ \t“]{0,6}+"""
_WORKER = re.compile(rf"\b(?:worker|model|agent)(?:[ _]?(?:id|number))?+{_SIGN}([^\n,;}}]{{1,100}})", re.IGNORECASE)
_ROLE = re.compile(rf"\b(?:next[ _])?role{_SIGN}([^\n,;}}]{{1,100}})", re.IGNORECASE)
_NEXT_ROLE = re.compile(rf"\bnext[ _]role{_SIGN}([^\n,;]{{1,100}})", re.IGNORECASE)
_NUMBER = re.compile(r"(?:(?:model|worker)[ _#]?)?(-?[0-9]{1,9})(?![0-9.])", re.IGNORECASE)
_AROUND: Final = " \t\"'`*_“”.()[]<>"
_ROLE_WORD = re.compile(r"(think|work|verif)(?:er|ier)\b", re.IGNORECASE)
_OF_ROLE: Final = dict(zip(("think", "work", "verif"), ROLES, strict=True))
_VERDICT_LINE = re.compile(
    r"^[^A-Za-z0-9\n]{0,20}+(?:(?:(?:my|the|final)[ ])*+(?:verdict|decision)[^A-Za-z0-9\n]{1,12}+)?+"
    r"(ACCEPT|REJECT)(?:ED|S)?+\b",
    re.IGNORECASE | re.MULTILINE,
)
_VERDICT_WORD = re.compile(r"\b(ACCEPT|REJECT)(?:ED)?\b")


@dataclass(frozen=True)
class Turn:
    """What a coordinator decided. `worker` is a number of the pool, `role` one of `ROLES`; None where it is unclear."""

    worker: int | None
    role: str | None
    thinking: str
    problems: tuple[str, ...] = ()


def parse_turn(text: str, *, pool_size: int, roles: Sequence[str] = ROLES, names: Mapping[str, int] = NO_NAMES) -> Turn:
    """The last worker and the last role that a reply names. `names` are other names of workers, in lower case."""
    said = _THINKING.sub("", text[:MOST_CHARS])
    workers, named = list(_WORKER.finditer(said)), list(_ROLE.finditer(said))
    worker = _worker(workers[-1][1], names) if workers else None
    role = _role(named[-1][1]) if named else None
    problems = []
    if not said.strip():
        problems.append("The reply is empty.")
    elif not workers:
        problems.append("The reply names no worker: write a line such as “worker = 0”.")
    elif worker is None or not 0 <= worker < pool_size:
        problems.append(f"The reply names the worker {_shown(workers[-1][1])}; they are numbered 0 to {pool_size - 1}.")
    if said.strip() and not named:
        problems.append("The reply names no role: write a line such as “role = worker”.")
    elif named and role not in roles:
        problems.append(f"The role cannot be {_shown(named[-1][1])}; in this turn it can be {' or '.join(roles)}.")
    begins = min((match.start() for match in (*workers[-1:], *named[-1:])), default=len(said))
    return Turn(worker, role, _thoughts(said[:begins]), tuple(problems))


def verdict(text: str) -> Literal["accept", "reject"] | None:
    """What a verifier decided, by its last line that begins with it, else by the last time it says so in capitals."""
    text = text[-MOST_CHARS:]
    found = list(_VERDICT_LINE.finditer(text)) or list(_VERDICT_WORD.finditer(text))
    if not found:
        return None
    return "accept" if found[-1][1].upper() == "ACCEPT" else "reject"


def proposed_role(text: str) -> str | None:
    """The role that a thinker proposes for the next turn, in its last line about it."""
    found = _NEXT_ROLE.findall(text[-MOST_CHARS:])
    return _role(found[-1]) if found else None


def _thoughts(said: str) -> str:
    if match := JSON_THINKING.match(said):
        said = unescape(match[1], Notes())
    return clean(said).strip(" \t\r\n{\"'`*")


def _worker(said: str, names: Mapping[str, int]) -> int | None:
    said = said.strip(_AROUND)
    if said.casefold() in names:
        return names[said.casefold()]
    number = _NUMBER.match(said)
    return int(number[1]) if number else None


def _role(said: str) -> str | None:
    word = _ROLE_WORD.match(said.strip(_AROUND))
    return _OF_ROLE[word[1].lower()] if word else None


def _shown(said: str) -> str:
    words = " ".join(clean(said).split()).strip(_AROUND)
    return f"“{words if len(words) <= 40 else words[:39] + '…'}”"
