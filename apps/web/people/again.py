"""Asks who is there once more, before what protects an account is changed."""

from typing import Any

from allauth.account.forms import ReauthenticateForm
from allauth.account.views import ReauthenticateView
from allauth.mfa.base.forms import ReauthenticateForm as ReauthenticateByCodeForm
from allauth.mfa.base.views import ReauthenticateView as ReauthenticateByCodeView
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.views import ReauthenticateWebAuthnView
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from apps.web.people.sign_in import Counted, note_wrong_code, note_wrong_passkey


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
