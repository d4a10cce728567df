"""The trails on the admin's first page: whether they hold, how old the newest anchor is, and whether it was sent on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.audit import checks, signing
from apps.audit.anchors import newest
from apps.audit.log import STUDIO
from apps.audit.models import Anchor, Check
from apps.audit.sending import sendings
from apps.web.words.figures import count, plural

CHECKED_WITHIN = timedelta(hours=3)  # all trails are checked each hour


@dataclass(frozen=True)
class Place:
    """Somewhere that anchors are sent to."""

    label: str
    state: str
    told: str
    at: datetime | None


@dataclass(frozen=True)
class Trails:
    """What the last check of all trails found, and the alarms that no later check has taken back."""

    last: Check | None
    alarms: Sequence[Check]
    is_late: bool
    is_open: bool
    anchor: Anchor | None
    places: Sequence[Place]
    has_key: bool

    @property
    def state(self) -> str:
        if self.alarms or not self.has_key:
            return "down"
        if self.is_late or any(place.state == "down" for place in self.places):
            return "odd"
        return "up" if self.last else "unknown"

    @property
    def told(self) -> str:
        if self.last is None:
            return "The trails are being checked." if self.is_open else "The trails have not been checked yet."
        if self.alarms:
            return "What was sealed is not what is there."
        trails, events = count(self.last.trails), plural(self.last.events, "event")
        if self.is_late:
            return f"All {trails} trails held at the last check: {events}. The next check is overdue."
        return f"All {trails} trails hold: {events}."

    @property
    def by(self) -> str:
        """Who asked for the last check, where it was somebody."""
        return self.last.by_label if self.last and self.last.by_id != STUDIO.id else ""


def trails(*, now: datetime) -> Trails:
    last = checks.latest_check(None)
    return Trails(
        last=last,
        alarms=_alarms(),
        is_late=last is not None and last.started_at < now - CHECKED_WITHIN,
        is_open=checks.open_check(None) is not None,
        anchor=newest(),
        places=_places(),
        has_key=bool(signing.public_keys()),
    )


def _alarms() -> list[Check]:
    """One for all trails tells what the check of all found in each project, too."""
    alarms = checks.alarms()
    of_all = {check.started_at for check in alarms if not check.project}
    return [check for check in alarms if not check.project or check.started_at not in of_all]


def _places() -> list[Place]:
    told = []
    for place, row in sendings():
        if row is None:
            told.append(Place(place.label, "unknown", "has been sent nothing yet", None))
        elif row.failing_since:
            told.append(Place(place.label, "down", f"takes no anchors ({row.error}), since", row.failing_since))
        else:
            told.append(
                Place(place.label, "up", f"has every anchor up to {row.sent_seq}, the last one sent", row.sent_at)
            )
    return told
