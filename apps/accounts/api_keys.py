"""Keys by which programs come in: made, found by their secret, revoked. A secret is shown once and kept nowhere."""

import hashlib
import re
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F

from apps.accounts.models import ApiKey, Project, User
from apps.accounts.permits import may
from apps.accounts.roles import Deed
from apps.accounts.services import TRAIL
from apps.audit import log
from apps.audit.log import Actor, Entry
from apps.core.errors import Invalid

OPENING = "sk-studio-"
SHOWN = len(OPENING) + 6
SECRET = re.compile(re.escape(OPENING) + r"[A-Za-z0-9_-]{43}")
USE_NOTED_EVERY = timedelta(minutes=1)
RATE, HIGHEST_RATE = 60, 6_000  # requests a minute


class KeyNotMade(Invalid):
    """The key could do nothing, or more than there is."""


@transaction.atomic
def make_api_key(
    *,
    person: User,
    project: Project,
    name: str,
    scopes: Iterable[str],
    by: Actor,
    now: datetime,
    expires_at: datetime | None = None,
    rate_per_minute: int = RATE,
) -> tuple[ApiKey, str]:
    """A key for a program of `person`, and its secret, which nobody can read again.

    :raises KeyNotMade: no name, no scope or one there is not, a project the person is not in or may not act in, an end
        in the past, or a rate beyond `HIGHEST_RATE`.
    """
    wanted = sorted(set(scopes))
    _check(person, project, name, wanted, expires_at, now)
    if not 1 <= rate_per_minute <= HIGHEST_RATE:
        raise KeyNotMade(f"A key opens for 1 to {HIGHEST_RATE:,} requests a minute.")
    secret = OPENING + secrets.token_urlsafe(32)
    key = ApiKey.objects.create(
        person=person,
        project=project,
        name=name.strip(),
        prefix=secret[:SHOWN],
        digest=_digest(secret),
        scopes=wanted,
        rate_per_minute=rate_per_minute,
        created_at=now,
        expires_at=expires_at,
    )
    ends = expires_at.isoformat() if expires_at else None
    _leave(key, "api-key.made", by=by, at=now, scopes=list(wanted), expires_at=ends, rate=rate_per_minute)
    return key, secret


@transaction.atomic
def revoke_api_key(*, key: ApiKey, by: Actor, now: datetime) -> bool:
    """From now on `key` opens nothing. False where it was revoked before."""
    if not ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=now):
        return False
    key.revoked_at = now
    _leave(key, "api-key.revoked", by=by, at=now)
    return True


def find_by_secret(*, secret: str, now: datetime) -> ApiKey | None:
    """The key that a program brought, if it opens anything now. Its use is noted to the minute, its first is told."""
    if not SECRET.fullmatch(secret):
        return None
    known = ApiKey.objects.filter(digest=_digest(secret), revoked_at=None)
    belongs = known.filter(person__memberships__project=F("project"))  # whatever ended a membership, its keys end
    found = belongs.select_related("person", "project").first()
    if found is None or found.state(now=now) != "active" or not found.person.is_active:
        return None
    _note_use(found, now=now)
    return found


def _note_use(key: ApiKey, *, now: datetime) -> None:
    if key.last_used_at is not None and now - key.last_used_at < USE_NOTED_EVERY:
        return
    with transaction.atomic():
        first = ApiKey.objects.filter(pk=key.pk, last_used_at=None).update(last_used_at=now)
        if first:
            _leave(key, "api-key.first-used", by=Actor(kind="key", id=key.prefix, label=key.name), at=now)
        else:
            ApiKey.objects.filter(pk=key.pk).update(last_used_at=now)
    key.last_used_at = now


def _check(
    person: User, project: Project, name: str, scopes: list[str], expires_at: datetime | None, now: datetime
) -> None:
    unknown = set(scopes) - set(ApiKey.Scope.values)
    if not name.strip():
        raise KeyNotMade("Say what the key is for: give it a name.")
    if not scopes or unknown:
        raise KeyNotMade(f"A key opens one or more of these: {', '.join(ApiKey.Scope.values)}.")
    if not person.memberships.filter(project=project).exists():
        raise KeyNotMade(f"{person.label} does not belong to {project.name}, so a key could do nothing there.")
    if set(scopes) - {ApiKey.Scope.READ} and not may(person, Deed.ACT, project):
        raise KeyNotMade(f"{person.label} may only read in {project.name}, so a key can open only “read” there.")
    if expires_at is not None and expires_at <= now:
        raise KeyNotMade("The key would end before it begins: give a time to come.")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _leave(key: ApiKey, verb: str, *, by: Actor, at: datetime, **more: log.JSON) -> None:
    data = {"key": key.pk, "prefix": key.prefix, "person": key.person_id, "project": key.project.slug, **more}
    entry = Entry(verb, data, {"name": key.name} if verb == "api-key.made" else {})
    trail = log.trail_within(TRAIL, key.project.slug)
    log.append(trail, [entry], by=by, at=at, subject=f"api-key:{key.pk}", project=key.project.slug)
