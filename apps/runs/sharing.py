"""Links by which anybody may read one run that has ended: made, found by their token, revoked.

A token is shown once and kept nowhere; whoever reads the table cannot open what it shares.
"""

import hashlib
import re
import secrets
from datetime import datetime, timedelta

from django.db import transaction

from apps.accounts.models import User
from apps.accounts.permits import check_may
from apps.accounts.roles import Deed
from apps.audit.log import JSON, Entry
from apps.core.errors import Conflict, Invalid
from apps.runs import log
from apps.runs.erased import check_not_erased
from apps.runs.models import Run, Share

TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
SHOWN = 6
OPENING_NOTED_EVERY = timedelta(minutes=1)
MOST_OPEN = 50


class NotShared(Conflict):
    """The run cannot be shared, or not any more."""


@transaction.atomic
def share_run(
    *, run: Run, by: User, now: datetime, expires_at: datetime | None = None, hides_costs: bool = False
) -> tuple[Share, str]:
    """A link to `run`, and its token, which nobody can read again.

    :raises NotShared: the run goes on, or has too many links. :raises Invalid: the link would end before it begins.
    :raises NotAllowed: the person may only look.
    :raises RunErased: there is nothing to read.
    """
    check_may(by, Deed.ACT, run.project)
    locked = Run.objects.select_for_update().select_related("project").get(pk=run.pk)
    if not locked.is_ended:
        raise NotShared("A run can be shared once it has ended: what is shared must not change.")
    check_not_erased(locked)
    if expires_at is not None and expires_at <= now:
        raise Invalid("The link would end before it begins: give a day to come.", field="expires")
    if locked.shares.filter(revoked_at=None).count() >= MOST_OPEN:
        raise NotShared(f"This run has {MOST_OPEN} links already. Revoke one first.")
    token = secrets.token_urlsafe(32)
    share = Share.objects.create(
        run=locked,
        digest=_digest(token),
        begins=token[:SHOWN],
        made_by=by,
        hides_costs=hides_costs,
        created_at=now,
        expires_at=expires_at,
    )
    ends = expires_at.isoformat() if expires_at else None
    _leave(locked, share, "run.shared", by=by, at=now, expires_at=ends, hides_costs=hides_costs)
    return share, token


@transaction.atomic
def revoke_share(*, share: Share, by: User, now: datetime) -> bool:
    """From now on the link opens nothing. False where it was revoked before.

    :raises NotAllowed: the person may only look.
    """
    check_may(by, Deed.ACT, share.run.project)
    if not Share.objects.filter(pk=share.pk, revoked_at=None).update(revoked_at=now):
        return False
    _leave(share.run, share, "run.unshared", by=by, at=now)
    return True


def shared_by(*, token: str, now: datetime) -> Share | None:
    """The link that `token` opens now, its run with it; that it was opened is noted to the minute."""
    if not TOKEN.fullmatch(token):
        return None
    rows = Share.objects.select_related("run__project").filter(digest=_digest(token), revoked_at=None)
    share = rows.first()
    if share is None or share.state(now=now) != "open":
        return None
    if share.opened_at is None or now - share.opened_at >= OPENING_NOTED_EVERY:
        Share.objects.filter(pk=share.pk).update(opened_at=now)
    return share


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _leave(run: Run, share: Share, verb: str, *, by: User, at: datetime, **more: JSON) -> None:
    entry = Entry(verb, {"share": share.pk, "begins": share.begins, **more})
    log.append(run, [entry], by=by.actor, at=at)
