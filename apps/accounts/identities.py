"""What opens an account at the provider of single sign-on: listed, and taken away. allauth keeps it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from allauth.account.internal.flows.login import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import transaction

from apps.accounts.models import User
from apps.accounts.services import TRAIL
from apps.accounts.sessions import end_sessions
from apps.audit import log
from apps.audit.log import JSON, Actor, Entry
from apps.core.errors import Conflict

MOST_LISTED = 50


class LastWayIn(Conflict):
    """Without it the person could not come in."""

    def __init__(self) -> None:
        super().__init__("Nothing else opens this account. Set a password or add a passkey first.")


@dataclass(frozen=True)
class Identity:
    """As a page shows it: who vouches for it, what they call it, and the address that came with it."""

    pk: int
    provider: str
    uid: str
    address: str
    connected_at: datetime
    used_at: datetime


def identities_of(person: User) -> list[Identity]:
    """What opens the account of `person`, the newest first, at most fifty."""
    rows = SocialAccount.objects.filter(user=person).order_by("-date_joined", "-pk")[:MOST_LISTED]
    return [
        Identity(row.pk, settings.OIDC_NAME, row.uid, _address_in(row), row.date_joined, row.last_login) for row in rows
    ]


def check_not_last(identity: SocialAccount) -> None:
    """:raises LastWayIn: its person has no password, no passkey, and no other identity."""
    person = identity.user
    others = SocialAccount.objects.filter(user=person).exclude(pk=identity.pk)
    passkeys = Authenticator.objects.filter(user=person, type=Authenticator.Type.WEBAUTHN)
    if not (person.has_usable_password() or others.exists() or passkeys.exists()):
        raise LastWayIn


@transaction.atomic
def take_identity_away(*, identity: SocialAccount, by: Actor, now: datetime, but: str | None = None) -> list[str]:
    """Let it open nothing any more, end every session that it opened, and return the keys of these.

    The session with the key `but` stays. Whatever was taken away a moment ago is passed over.
    """
    taken, _ = SocialAccount.objects.filter(pk=identity.pk).delete()
    if not taken:
        return []
    person = identity.user
    data: dict[str, JSON] = {"person": person.pk, "provider": identity.provider}
    entry = Entry("sign-in.disconnected", data, {"uid": identity.uid})
    log.append(TRAIL, [entry], by=by, at=now, subject=f"person:{person.pk}", project="")
    return end_sessions(person=person, by=by, now=now, only=list(_opened_by(identity)), but=but)


def _opened_by(identity: SocialAccount) -> Iterator[int]:
    """The rows of sessions in which allauth has noted that this identity was shown."""
    rows = dict(UserSession.objects.filter(user=identity.user).values_list("session_key", "pk"))
    for stored in Session.objects.filter(session_key__in=rows):
        shown = stored.get_decoded().get(AUTHENTICATION_METHODS_SESSION_KEY, [])
        if any((each.get("provider"), each.get("uid")) == (identity.provider, identity.uid) for each in shown):
            yield rows[stored.session_key]


def _address_in(row: SocialAccount) -> str:
    """What the provider called their address when they came last."""
    told = row.extra_data.get("id_token") or {}
    return str(told.get("email") or "")
