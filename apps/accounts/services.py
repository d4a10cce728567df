"""What people can do about people: the first person, sign-in links, signing out."""

from datetime import datetime

from apps.accounts.models import User
from apps.audit.log import Actor
from apps.core.errors import Invalid


class SignInLinkSpent(Invalid):
    """The link was used, has expired, or never was: which of these is told to nobody."""


def ensure_first_person(*, now: datetime) -> User:
    """The person `admin` in the project `default`, made at the first start and found at every other."""
    raise NotImplementedError


def make_sign_in_link(*, user: User, by: Actor, now: datetime) -> str:
    """Open a way in for `user` that lasts ten minutes, and return its token, which is kept nowhere."""
    raise NotImplementedError


def redeem_sign_in_link(*, token: str, now: datetime) -> User:
    """The person that a token signs in; it signs in once.

    :raises SignInLinkSpent: used, expired or unknown.
    """
    raise NotImplementedError


def group_of_session(session_key: str) -> str:
    """The channel group of a session's sockets, to close them all when it is signed out."""
    raise NotImplementedError
