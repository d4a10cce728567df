"""One's second factors: authenticator app, recovery codes, passkeys. allauth does it, and each change is an event."""

from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from allauth.mfa.base.views import IndexView
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.forms import AddWebAuthnForm, EditWebAuthnForm
from allauth.mfa.webauthn.views import AddWebAuthnView, EditWebAuthnView, RemoveWebAuthnView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from apps.accounts.models import User
from apps.accounts.second_factors import note_factor, note_recovery_codes
from apps.web.access import person
from apps.web.people.sign_in import Counted

LONGEST_NAME = 60
INDEX = reverse_lazy("mfa_index")


@method_decorator(never_cache, name="dispatch")
class SecondFactors(IndexView):
    template_name = "account/second_factors.html"


class ActivateForm(ActivateTOTPForm):
    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.fields["code"].label = "The code it shows"
        self.fields["code"].widget.attrs = {"autocomplete": "one-time-code", "inputmode": "numeric"}


@method_decorator(never_cache, name="dispatch")
class AddApp(Counted, ActivateTOTPView):
    template_name = "account/add_app.html"
    form_class = ActivateForm

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            response: HttpResponse = super().form_valid(form)
            tell_of_new(self.request, Authenticator.Type.TOTP, self.did_generate_recovery_codes)
        return response


class RemoveApp(DeactivateTOTPView):
    template_name = "account/remove_factor.html"
    success_url = INDEX

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            tell_of_leaving(person(self.request), self.authenticator)
            response: HttpResponse = super().form_valid(form)
        return response


@method_decorator(never_cache, name="dispatch")
class RecoveryCodes(ViewRecoveryCodesView):
    """Shown once, after they were made."""

    template_name = "account/recovery_codes.html"


class NewRecoveryCodes(GenerateRecoveryCodesView):
    template_name = "account/new_recovery_codes.html"

    def form_valid(self, form: Any) -> HttpResponse:
        who = person(self.request)
        with transaction.atomic():
            note_recovery_codes(person=who, by=who.actor, now=timezone.now())
            response: HttpResponse = super().form_valid(form)
        return response


class PasskeyForm(AddWebAuthnForm):
    """A passkey always signs in alone: its device asks for a finger, a face or a PIN."""

    def clean_name(self) -> str:
        name: str = super().clean_name()
        return name.strip()[:LONGEST_NAME]

    def clean_passwordless(self) -> bool:
        return True


class PasskeyNameForm(EditWebAuthnForm):
    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.fields["name"].max_length = LONGEST_NAME
        self.fields["name"].widget.attrs["maxlength"] = LONGEST_NAME

    def clean_name(self) -> str:
        return str(self.cleaned_data["name"]).strip()[:LONGEST_NAME]


@method_decorator(never_cache, name="dispatch")
class AddPasskey(AddWebAuthnView):
    template_name = "account/add_passkey.html"
    form_class = PasskeyForm

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            response: HttpResponse = super().form_valid(form)
            tell_of_new(self.request, Authenticator.Type.WEBAUTHN, self.did_generate_recovery_codes)
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), **place_of_passkeys(self.request)}


class RenamePasskey(EditWebAuthnView):
    template_name = "account/rename_passkey.html"
    form_class = PasskeyNameForm
    success_url = INDEX

    def form_valid(self, form: Any) -> HttpResponse:
        who = person(self.request)
        with transaction.atomic():
            response: HttpResponse = super().form_valid(form)
            note_factor("renamed", person=who, authenticator=self.object, by=who.actor, now=timezone.now())
        return response


class RemovePasskey(RemoveWebAuthnView):
    template_name = "account/remove_factor.html"
    success_url = INDEX

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            tell_of_leaving(person(self.request), self.get_object())
            response: HttpResponse = super().form_valid(form)
        return response


def tell_of_new(request: HttpRequest, kind: str, with_codes: bool) -> None:
    """The factor that was added last, and the recovery codes that came with the first."""
    who, now = person(request), timezone.now()
    added = Authenticator.objects.filter(user=who, type=kind).latest("pk")
    note_factor("added", person=who, authenticator=added, by=who.actor, now=now)
    if with_codes:
        note_recovery_codes(person=who, by=who.actor, now=now)


def tell_of_leaving(who: User, authenticator: Authenticator) -> None:
    """The factor, and with the last one the recovery codes, which open nothing by themselves."""
    now = timezone.now()
    note_factor("removed", person=who, authenticator=authenticator, by=who.actor, now=now)
    others = Authenticator.objects.filter(user=who).exclude(pk=authenticator.pk)
    if not others.exclude(type=Authenticator.Type.RECOVERY_CODES).exists():
        for codes in others:
            note_factor("removed", person=who, authenticator=codes, by=who.actor, now=now)


def place_of_passkeys(request: HttpRequest) -> dict[str, Any]:
    """Browsers keep passkeys for names of hosts alone: what to tell who reads the studio under a number."""
    here = urlsplit(f"//{request.get_host()}")
    try:
        number = ip_address(here.hostname or "")
    except ValueError:
        return {"by_number": False}
    port = f":{here.port}" if here.port else ""
    return {"by_number": True, "localhost": f"http://localhost{port}{request.path}" if number.is_loopback else ""}
