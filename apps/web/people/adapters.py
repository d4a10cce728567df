"""How allauth does things here: who may come in, what is said of it, and what leaves an event."""

import unicodedata
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.internal.userkit import get_user_by_username
from allauth.core import context
from allauth.core.internal.httpkit import get_client_ip
from allauth.mfa.adapter import DefaultMFAAdapter
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.forms import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.accounts import sign_ins
from apps.accounts.models import User
from apps.accounts.sign_ins import Visitor
from apps.core.errors import Denied
from apps.web.people.agents import named
from apps.workers import vault

THROTTLED_S = 300  # as long as `login_failed` looks back
NOWHERE = "0.0.0.0"  # noqa: S104 - not listened at: what stands for an address where a server tells none
SAID = {
    "mfa/messages/totp_activated.txt": "The authenticator app is set up.",
    "mfa/messages/totp_deactivated.txt": "The authenticator app was taken away.",
    "mfa/messages/webauthn_added.txt": "The passkey was added.",
    "mfa/messages/webauthn_removed.txt": "The passkey was taken away.",
}


class SwitchedOff(Denied):
    """The person proved who they are, and may not come in."""

    def __init__(self) -> None:
        super().__init__("This account is switched off. An admin of the studio can switch it on again.")


def visitor_of(request: HttpRequest) -> Visitor:
    """Where a request comes from; one that went round the proxies comes from where it seems to."""
    try:
        address = get_client_ip(request)
    except ImproperlyConfigured:  # fewer addresses were forwarded than there are proxies
        address = request.META.get("REMOTE_ADDR")
    return Visitor(address or NOWHERE, request.META.get("HTTP_USER_AGENT", ""))


class AccountAdapter(DefaultAccountAdapter):
    """Local accounts that an admin makes. What leaves an event leaves it in the transaction of what it tells of."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "username_password_mismatch": "The user name and the password do not belong together.",
        "incorrect_password": "This is not your password.",
        "too_many_login_attempts": "There were too many tries. Wait five minutes, then try again.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_login_stages(self) -> list[str]:
        return ["allauth.mfa.stages.AuthenticateStage"]

    def get_client_ip(self, request: HttpRequest) -> str:
        return visitor_of(request).address

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """By what tries are counted: the person, however their name was typed and by whatever host they came."""
        person = _named(credentials)
        return f"person:{person.pk}" if person else f"name:{_folded(credentials.get('username', ''))}"

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            _tell_of_throttling(request, credentials)
            raise

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        person, now = _named(credentials), timezone.now()
        sign_ins.note_failure(person=person, reason="password", visitor=visitor_of(request), now=now)

    def login(self, request: HttpRequest, user: User) -> None:
        with transaction.atomic():
            super().login(request, user)
            session_key = request.session.session_key
            assert session_key is not None, "signing in gives a session its key"
            methods = methods_of(request, user)
            now, visitor = timezone.now(), visitor_of(request)
            sign_ins.note_sign_in(person=user, methods=methods, session_key=session_key, visitor=visitor, now=now)

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        raise SwitchedOff

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        """Say what allauth wants said in our words; what a page shows by itself is not said again."""
        if said := message or SAID.get(message_template or ""):
            super().add_message(request, level, extra_tags=extra_tags, message=said)


class MfaAdapter(DefaultMFAAdapter):
    """Second factors: their secrets lie in the vault, and authenticator apps show them under the studio's name."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "This code is not right. Codes change every 30 seconds, and each works once.",
    }

    def encrypt(self, text: str) -> str:
        return vault.seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        return vault.unseal(encrypted_text)

    def get_totp_label(self, user: User) -> str:
        return user.username

    def generate_authenticator_name(self, user: User, type: Any) -> str:
        """Until somebody calls it otherwise: where it was made."""
        return named(visitor_of(context.request).agent)

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        return {**super().get_public_key_credential_rp_entity(), "name": "Conductor Studio"}

    def get_public_key_credential_user_entity(self, user: User) -> dict[str, Any]:
        shown = {"name": user.username, "display_name": user.label}
        return {**super().get_public_key_credential_user_entity(user), **shown}


def methods_of(request: HttpRequest, user: User) -> list[str]:
    """By what somebody came in, in their order: `password`, `totp`, `webauthn`, `recovery_codes`, `link`, `oidc`."""
    records = get_authentication_records(request, user)
    return [str(record.get("type") or record.get("provider") or record["method"]) for record in records]


def _named(credentials: dict[str, Any]) -> User | None:
    """Whose password would be looked at: found as allauth's backend finds them, and not by names that are only like."""
    name = credentials.get("username", "")
    person = get_user_by_username(name) if name else None
    assert person is None or isinstance(person, User), "there are no others"
    return person


def _folded(name: str) -> str:
    """A name that nobody has, so that other letters for the same do not make it another."""
    return unicodedata.normalize("NFKC", name).casefold()


def _tell_of_throttling(request: HttpRequest, credentials: dict[str, Any]) -> None:
    """Once for each name and address while it lasts: whoever is shut out must not fill the trail."""
    person, visitor = _named(credentials), visitor_of(request)
    if cache.add(f"throttled:{person.pk if person else ''}:{visitor.address}", 1, THROTTLED_S):
        sign_ins.note_throttled(person=person, visitor=visitor, now=timezone.now())
