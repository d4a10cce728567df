"""How the chains stand, for the banner of the audit page: what the last check found, and whether one is under way."""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.audit import checks
from apps.audit.models import Check
from apps.web.audit.scope import Scope

MOST = 6  # of the projects that somebody audits
SHOWN_OF_HASH = 8


@dataclass(frozen=True)
class Standing:
    """The last check of a project, or of the studio, which has no slug; and the one that is open."""

    slug: str
    name: str
    found: Check | None
    open: Check | None

    @property
    def state(self) -> str:
        """`broken`, `holds`, or `unknown` where nobody has checked yet."""
        return "unknown" if self.found is None else str(self.found.status)

    @property
    def head(self) -> str:
        return self.found.head[:SHOWN_OF_HASH] if self.found else ""

    @property
    def percent(self) -> int:
        return int(self.open.share * 100) if self.open else 0


def standings_of(scope: Scope, *, project: str | None) -> Sequence[Standing]:
    """Of the one project that is asked for; of the whole studio; or of each project, as far as there is room."""
    if project is not None and scope.holds(project):
        return [_standing(project, next((each.name for each in scope.projects if each.slug == project), project))]
    if scope.is_studio:
        return [_standing("", "")]
    return [_standing(each.slug, each.name) for each in scope.projects[:MOST]]


def _standing(slug: str, name: str) -> Standing:
    return Standing(slug, name, checks.latest_check(slug or None), checks.open_check(slug or None))
