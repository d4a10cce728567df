"""How a name and a password become a person: allauth's backend, which takes as long for a name that nobody has."""

from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.auth.base_user import AbstractBaseUser


class Passwords(AuthenticationBackend):
    """Whoever may no longer come in is told what everybody is told whose password is wrong.

    allauth keeps such a person aside, to show them a page of their own: that page would tell a stranger who guessed
    right that they had guessed right.
    """

    @classmethod
    def _stash_user(cls, user: AbstractBaseUser | None) -> AbstractBaseUser | None:
        return None
