"""What the trail of the accounts says of coming in and going out. Each is written with the change it explains.

A name that nobody has is not kept: people type their password where their name belongs. Addresses and browsers are
personal, so they are texts, which can be erased.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from apps.accounts.models import User
from apps.accounts.services import TRAIL, name_of_session
from apps.audit import log
from apps.audit.log import JSON, STUDIO, Entry

AGENT_CHARS = 200


@dataclass(frozen=True)
class Visitor:
    """Where a request comes from, as far as it says."""

    address: str
    agent: str = ""

    @property
    def texts(self) -> dict[str, str]:
        return {"address": self.address, "agent": self.agent[:AGENT_CHARS]}


def note_sign_in(*, person: User, methods: Sequence[str], session_key: str, visitor: Visitor, now: datetime) -> None:
    """Say who came in, and by what: `password`, `totp`, `link`, …, in the order in which they were shown."""
    data: dict[str, JSON] = {"methods": list(methods), "session": name_of_session(session_key)}
    _leave("sign-in.done", person, data, visitor=visitor, at=now)


def note_failure(*, person: User | None, reason: str, visitor: Visitor, now: datetime) -> None:
    """Say that somebody did not come in: `password`, `second-factor`, `passkey`, `single-sign-on`."""
    _leave("sign-in.failed", person, {"reason": reason}, visitor=visitor, at=now)


def note_throttled(*, person: User | None, visitor: Visitor, now: datetime) -> None:
    """Say that somebody tried so often that nothing is looked at for a while."""
    _leave("sign-in.throttled", person, {}, visitor=visitor, at=now)


def note_sign_out(*, person: User, session_key: str, now: datetime) -> None:
    _leave("sign-out.done", person, {"session": name_of_session(session_key)}, at=now)


@transaction.atomic
def note_connection(*, person: User, provider: str, uid: str, now: datetime) -> None:
    """Say that an identity at the provider of single sign-on opens this account from now on."""
    entry = Entry("sign-in.connected", {"person": person.pk, "provider": provider}, {"uid": uid})
    log.append(TRAIL, [entry], by=person.actor, at=now, subject=f"person:{person.pk}", project="")


@transaction.atomic
def _leave(
    verb: str, person: User | None, data: dict[str, JSON], *, at: datetime, visitor: Visitor | None = None
) -> None:
    """By the person only where they proved to be it; a failure is told by the studio."""
    proved = person is not None and verb in ("sign-in.done", "sign-out.done")
    subject = f"person:{person.pk}" if person else ""
    entry = Entry(verb, {"person": person.pk if person else None, **data}, visitor.texts if visitor else {})
    by = person.actor if person and proved else STUDIO
    log.append(TRAIL, [entry], by=by, at=at, subject=subject, project="")
