"""Asks who is there once more, before an account is opened to a program, or what protects it is changed."""

from typing import Any
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from allauth.account.forms import ReauthenticateForm
from allauth.account.internal.flows.reauthentication import did_recently_reauthenticate
from allauth.account.views import ReauthenticateView
from allauth.mfa.base.forms import ReauthenticateForm as ReauthenticateByCodeForm
from allauth.mfa.base.views import ReauthenticateView as ReauthenticateByCodeView
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.views import ReauthenticateWebAuthnView
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.forms import PasswordChangeForm
from django.forms import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from redis.exceptions import RedisError

from apps.web.people.sign_in import Counted, NotCounted, note_wrong_code, note_wrong_passkey


def asked_first(request: HttpRequest) -> str:
    """Where one shows who one is before going on at this address, to which it leads back.

    Empty for whoever has just done so, or has nothing that could be asked for: they came by a link or by single
    sign-on. allauth would keep what was posted and carry it out later; here nothing is kept, least of all a password.
    """
    if did_recently_reauthenticate(request):
        return ""
    first = get_adapter().get_reauthentication_methods(request.user)[0]["url"]
    return f"{first}?{urlencode({REDIRECT_FIELD_NAME: request.path})}"


class OwnPasswordForm(PasswordChangeForm):
    """Asks for the old password as the way in does: tries are counted, and a wrong one is told."""

    def clean_old_password(self) -> str:
        """:raises NotCounted: Redis is away."""
        password: str = self.cleaned_data["old_password"]
        try:
            is_right = get_adapter().reauthenticate(self.user, password)
        except RedisError as error:
            raise NotCounted from error
        if not is_right:
            raise ValidationError(self.error_messages["password_incorrect"], code="password_incorrect")
        return password


class AgainForm(ReauthenticateForm):
    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.fields["password"].label = "Your password"
        self.fields["password"].widget.attrs = {"autocomplete": "current-password", "autofocus": True}


class AgainByCodeForm(ReauthenticateByCodeForm):
    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.fields["code"].label = "Code from your authenticator app, or a recovery code"
        self.fields["code"].widget.attrs = {"autocomplete": "one-time-code", "autofocus": True, "spellcheck": "false"}

    def _emit_authentication_failed(self, authenticator: Authenticator) -> None:
        note_wrong_code(self.user)


class Again(Counted, ReauthenticateView):
    template_name = "account/again.html"
    form_class = AgainForm


class AgainByCode(Counted, ReauthenticateByCodeView):
    template_name = "account/again.html"
    form_class = AgainByCodeForm


class AgainByPasskey(Counted, ReauthenticateWebAuthnView):
    template_name = "account/again_passkey.html"

    def form_invalid(self, form: Any) -> HttpResponse:
        note_wrong_passkey(self.request, self.request.user)
        messages.error(self.request, "This passkey was not accepted. Try again, or another way.")
        return redirect(self.request.get_full_path())
