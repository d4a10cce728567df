"""What people may do in a project by the role they have there: the one table that pages, services and queries ask."""

from collections.abc import Mapping
from enum import StrEnum


class Deed(StrEnum):
    """A kind of thing somebody may do in a project."""

    SEE = "see"  # its runs, templates and profiles
    ACT = "act"  # submit, edit, stop and share runs, keep templates, rate results
    AUDIT = "audit"  # read its trails, export them, sign runs off
    ADMINISTER = "administer"  # its people, keys, rules, retention


MAY: Mapping[str, frozenset[Deed]] = {
    "analyst": frozenset({Deed.SEE, Deed.ACT}),
    "auditor": frozenset({Deed.SEE, Deed.AUDIT}),
    "admin": frozenset(Deed),
}


def roles_that_may(deed: Deed) -> list[str]:
    """The roles whose holders may do `deed`."""
    return [role for role, deeds in MAY.items() if deed in deeds]
