"""What somebody asks to export: read from the form, and begun."""

from datetime import UTC, datetime, time

from django.http import QueryDict
from django.utils.dateparse import parse_date, parse_datetime

from apps.accounts.models import User
from apps.audit.exporting.exports import Export
from apps.core.errors import Invalid
from apps.runs.exporting import STUDIO, export_projects, export_run, exportable_by
from apps.runs.models import Run
from apps.web.access import NoSuchRun, visible_run

ALL_OF_THEM = "*"
THE_STUDIO = "."  # neither is a slug


class Form:
    """What was asked for, as the page shows it again where it cannot be done.

    An address can fill it in: `?run=`, `?project=`, `?since=` and `?until=`.
    """

    def __init__(self, given: QueryDict, user: User, *, is_sent: bool) -> None:
        self.user = user
        self.run, since, until = (given.get(name, "").strip() for name in ("run", "since", "until"))
        self.since, self.until = _spelled(since), _spelled(until)
        self.kind = given.get("kind") or ("run" if self.run else "time" if self.since or self.until else "all")
        self.project = given.get("project", ALL_OF_THEM)
        self.texts = bool(given.get("texts")) if is_sent else True
        self.errors: dict[str, str] = {}
        self.offers = _offers(user)

    def begin(self, *, now: datetime) -> Export:
        """The export as asked for.

        :raises Invalid: it cannot be: its `field` says what is at fault.
        """
        if self.kind == "run":
            return export_run(run=self._run(), by=self.user, now=now, with_texts=self.texts)
        since = until = None
        if self.kind == "time":
            since, until = _time(self.since, field="since"), _time(self.until, field="until")
            if since is None and until is None:
                raise Invalid("Say from when, or until when.", field="since")
        slugs = self._slugs()
        return export_projects(projects=slugs, by=self.user, now=now, since=since, until=until, with_texts=self.texts)

    def _run(self) -> Run:
        try:
            return visible_run(self.user, self.run)
        except NoSuchRun as unknown:
            raise Invalid(unknown.message if self.run else "Say which run, by its code.", field="run") from unknown

    def _slugs(self) -> list[str]:
        """The projects that are asked for, the studio's own trails under an empty name."""
        slugs = {offer: STUDIO if offer == THE_STUDIO else offer for offer, _ in self.offers if offer != ALL_OF_THEM}
        if self.project == ALL_OF_THEM:
            return list(slugs.values())
        if self.project not in slugs:
            raise Invalid("Choose one of these: others are not yours to export.", field="project")
        return [slugs[self.project]]


def _offers(user: User) -> list[tuple[str, str]]:
    """What may be chosen as (value, words); all of it together comes first, where there is more than one."""
    offers = [(project.slug, project.name) for project in exportable_by(user)]
    if user.is_superuser:
        offers.append((THE_STUDIO, "The studio itself: people, pool, money"))
    return [(ALL_OF_THEM, "All that you may audit"), *offers] if len(offers) > 1 else offers


def _time(given: str, *, field: str) -> datetime | None:
    """A time of the form. :raises Invalid: it is none."""
    at = _read(given)
    if given and at is None:
        raise Invalid(f"“{given[:40]}” is no time. Write it as 2026-03-01T12:00.", field=field)
    return at


def _read(given: str) -> datetime | None:
    """A time in UTC, at midnight where only a day is given; None where it is no time."""
    try:
        day = parse_date(given)
        at = datetime.combine(day, time.min) if day else parse_datetime(given)
        return None if at is None else at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):  # written well, but there is no such time
        return None


def _spelled(given: str) -> str:
    """A time as the field of a form wants it; what is none stays as it is, to be told."""
    at = _read(given)
    return given if at is None else at.replace(tzinfo=None).isoformat(timespec="seconds" if at.second else "minutes")
