"""What is done about people: the first person, links to sign in with, the sockets of a session."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction

from apps.accounts.models import Membership, Project, SignInLink, User
from apps.audit import log
from apps.audit.log import STUDIO, Actor, Entry
from apps.core.errors import Conflict, Invalid

TRAIL = "accounts"
LINK_LIFETIME = timedelta(minutes=10)
INVITATION_LIFETIME = timedelta(days=1)  # for a link that one person hands to another


class SignInLinkSpent(Invalid):
    """The link was used, has expired, or never was: which of these is told to nobody."""

    def __init__(self) -> None:
        super().__init__(
            "This sign-in link no longer works: a link signs in once, and not for long. "
            "For a new one run `python manage.py sign_in_link`."
        )


class NoAdministrator(Conflict):
    """There are people, but none of them may do everything, so no link opens by itself."""


@transaction.atomic
def ensure_first_person(*, now: datetime) -> User:
    """The person `admin` in the project `default`, made at the first start; at every other, the first administrator.

    :raises NoAdministrator: where people are, and no active administrator among them: nobody is promoted silently.
    """
    with connection.cursor() as cursor:  # two studios starting at once make one person
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('accounts.first-person'))")
    if found := User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first():
        return found
    if User.objects.exists():
        raise NoAdministrator("No active person is an administrator. Name a person: `sign_in_link --user NAME`.")

    user = User.objects.create_superuser("admin", password=None, date_joined=now)
    settle_in(user=user, by=STUDIO, now=now)
    return user


@transaction.atomic
def settle_in(*, user: User, by: Actor, now: datetime) -> None:
    """Make a new person an administrator of the project `default`, and say that they came."""
    project, _ = Project.objects.get_or_create(slug="default", defaults={"name": "Default", "created_at": now})
    Membership.objects.create(user=user, project=project, role=Membership.Role.ADMIN)
    user.home_project = project
    user.save(update_fields=["home_project"])
    entry = Entry("person.created", {"person": user.pk, "project": project.slug, "role": Membership.Role.ADMIN.value})
    _leave(entry, person=user, by=by, at=now)


@transaction.atomic
def join(*, user: User, now: datetime) -> None:
    """Say that somebody came whom single sign-on vouches for. They belong to no project until an admin adds them."""
    _leave(Entry("person.created", {"person": user.pk, "project": None, "role": None}), person=user, by=STUDIO, at=now)


@transaction.atomic
def make_sign_in_link(*, user: User, by: Actor, now: datetime, lifetime: timedelta = LINK_LIFETIME) -> str:
    """Open a way in for `user` that lasts ten minutes, or `lifetime`, and return its token, which is kept nowhere.

    One made before it opens nothing any more.
    """
    void_sign_in_links(person=user, by=by, now=now)
    token = secrets.token_urlsafe(32)
    link = SignInLink.objects.create(digest=_digest(token), user=user, created_at=now, expires_at=now + lifetime)
    entry = Entry("sign-in-link.made", {"link": link.pk, "person": user.pk, "expires_at": link.expires_at.isoformat()})
    _leave(entry, person=user, by=by, at=now)
    return token


@transaction.atomic
def void_sign_in_links(*, person: User, by: Actor, now: datetime) -> int:
    """Let the links that would still sign `person` in open nothing, and return how many there were."""
    unused = SignInLink.objects.select_for_update().filter(user=person, used_at=None, expires_at__gt=now)
    links = list(unused.order_by("pk").values_list("pk", flat=True))
    if links:
        SignInLink.objects.filter(pk__in=links).update(expires_at=now)
        _leave(Entry("sign-in-link.voided", {"person": person.pk, "links": [*links]}), person=person, by=by, at=now)
    return len(links)


def open_link_of(*, person: User, now: datetime) -> SignInLink | None:
    """The link that would sign `person` in."""
    return SignInLink.objects.filter(user=person, used_at=None, expires_at__gt=now).order_by("-pk").first()


def address_of_link(token: str) -> str:
    """Where the link with `token` leads, as it is handed to somebody."""
    return f"{settings.PUBLIC_URL.rstrip('/')}/sign-in/{token}/"


@transaction.atomic
def redeem_sign_in_link(*, token: str, now: datetime) -> User:
    """The person that a token signs in. Of two who bring the same token at once, one gets in.

    :raises SignInLinkSpent: used, expired, unknown, or its person is no longer active.
    """
    # No condition on another table: a joined UPDATE that waited for the other one does not look at `used_at` again.
    unused = SignInLink.objects.filter(digest=_digest(token), used_at=None, expires_at__gt=now)
    if not unused.update(used_at=now):
        raise SignInLinkSpent
    link = SignInLink.objects.select_related("user").get(digest=_digest(token))
    if not link.user.is_active:
        raise SignInLinkSpent
    _leave(Entry("sign-in-link.redeemed", {"link": link.pk, "person": link.user.pk}), person=link.user, at=now)
    return link.user


@transaction.atomic
def change_password(*, user: User, password: str, by: Actor, now: datetime) -> User:
    """Give `user` another password, one that a form has found good enough."""
    user.set_password(password)
    user.save(update_fields=["password"])
    note_password_change(user=user, by=by, now=now)
    return user


def note_password_change(*, user: User, by: Actor, now: datetime) -> None:
    """Say that a password was changed or taken away, in the transaction that did so. Links from before open nothing."""
    entry = Entry("password.changed", {"person": user.pk, "usable": user.has_usable_password()})
    _leave(entry, person=user, by=by, at=now)
    void_sign_in_links(person=user, by=by, now=now)


def group_of_session(session_key: str) -> str:
    """The channel group of a session's sockets, to close them all when it is signed out.

    A digest, because a session's key is as good as a password and group names reach Redis.
    """
    return f"session.{_digest(session_key)[:32]}"


def name_of_session(session_key: str) -> str:
    """What names a session in an event, from which its key cannot be told."""
    return _digest(session_key)[:12]


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="backslashreplace")).hexdigest()  # a URL may bring anything


def _leave(entry: Entry, *, person: User, at: datetime, by: Actor | None = None) -> None:
    """Say in the trail of the accounts what happened to a person, by themselves where nobody else did it."""
    log.append(TRAIL, [entry], by=by or person.actor, at=at, subject=f"person:{person.pk}", project="")
