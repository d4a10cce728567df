"""Where somebody is signed in: listed, and ended one by one or all at once.

Django keeps a session's contents, allauth who has it and from where. Ending one takes both rows; its sockets are told
by whoever ends it, and find out by themselves within half a minute.
"""

from collections.abc import Collection
from datetime import datetime

from allauth.usersessions.models import UserSession
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Exists, OuterRef

from apps.accounts.models import User
from apps.accounts.services import TRAIL, name_of_session
from apps.audit import log
from apps.audit.log import Actor, Entry

MOST_LISTED = 50


def sessions_of(*, person: User, now: datetime) -> "list[UserSession]":
    """Where `person` is signed in, used last first, at most fifty. What an older password opened is over."""
    kept = Session.objects.filter(session_key=OuterRef("session_key"), expire_date__gt=now)
    rows = list(UserSession.objects.filter(Exists(kept), user=person).order_by("-last_seen_at", "-pk")[:MOST_LISTED])
    stored = Session.objects.in_bulk([row.session_key for row in rows])
    opens = person.get_session_auth_hash()
    return [row for row in rows if stored[row.session_key].get_decoded().get(HASH_SESSION_KEY) == opens]


@transaction.atomic
def end_sessions(
    *, person: User, by: Actor, now: datetime, only: Collection[int] | None = None, but: str | None = None
) -> list[str]:
    """End sessions of `person` (those of the ids in `only`, all but the one with the key `but`), and return their keys.

    What is not theirs, or over already, is passed over.
    """
    rows = UserSession.objects.select_for_update().filter(user=person)
    if only is not None:
        rows = rows.filter(pk__in=only)
    if but is not None:
        rows = rows.exclude(session_key=but)
    keys: list[str] = list(rows.values_list("session_key", flat=True))
    ended, _ = Session.objects.filter(session_key__in=keys).delete()
    UserSession.objects.filter(session_key__in=keys).delete()
    if ended:
        data: dict[str, log.JSON] = {"person": person.pk, "sessions": [name_of_session(key) for key in sorted(keys)]}
        entry = Entry("session.revoked", data)
        log.append(TRAIL, [entry], by=by, at=now, subject=f"person:{person.pk}", project="")
    return keys


def forget_ended_sessions() -> None:
    """Drop what tells of sessions that are there no more: they ran out, or their key changed with a password."""
    kept = Session.objects.filter(session_key=OuterRef("session_key"))
    UserSession.objects.filter(~Exists(kept)).delete()
