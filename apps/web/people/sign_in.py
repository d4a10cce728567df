"""The way in and out: a password, a passkey, or a link that signs in once; and what is asked for after a password."""

from typing import Any

from allauth.account.forms import LoginForm
from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.models import Login
from allauth.account.views import LoginView
from allauth.core import context
from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.base.views import AuthenticateView
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.views import LoginWebAuthnView
from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from redis.exceptions import RedisError

from apps.accounts import sign_ins
from apps.accounts.models import User
from apps.accounts.services import SignInLinkSpent, redeem_sign_in_link
from apps.core.errors import Unavailable
from apps.web.people.adapters import visitor_of
from apps.web.people.telling import tell_session


class NotCounted(Unavailable):
    """Redis, which counts tries, is away; without counting them no password is looked at, and no single sign-on."""

    def __init__(self) -> None:
        super().__init__(
            "Nobody comes in by a password or single sign-on while tries cannot be counted: Redis does not answer. Try "
            "again in a few seconds; a sign-in link (`python manage.py sign_in_link`) works meanwhile."
        )


class Counted:
    """A page that counts tries.

    :raises NotCounted: instead of what Redis raises while it is away.
    """

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            response: HttpResponseBase = super().dispatch(request, *args, **kwargs)  # type: ignore[misc]  # a view's
        except RedisError as error:
            raise NotCounted from error
        return response


class SignInForm(LoginForm):
    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        name, password = self.fields["login"], self.fields["password"]
        name.label, password.help_text = "User name", ""
        name.widget.attrs |= {"autofocus": True, "autocapitalize": "none"}
        for field in (name, password):
            field.widget.attrs.pop("placeholder", None)


@method_decorator(login_not_required, name="dispatch")
class SignIn(Counted, LoginView):
    """A password, and the other ways in beside it."""

    template_name = "sign_in/form.html"
    form_class = SignInForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        single_sign_on = settings.OIDC_URL and settings.OIDC_NAME
        return {**super().get_context_data(**kwargs), "single_sign_on": single_sign_on}


class SecondFactorForm(AuthenticateForm):
    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.fields["code"].label = "Code from your authenticator app, or a recovery code"
        self.fields["code"].widget.attrs = {"autocomplete": "one-time-code", "autofocus": True, "spellcheck": "false"}

    def _emit_authentication_failed(self, authenticator: Authenticator) -> None:
        note_wrong_code(self.user)


@method_decorator(login_not_required, name="dispatch")
class SecondFactor(Counted, AuthenticateView):
    """Asked of whoever has one, after a password, a link or single sign-on."""

    template_name = "sign_in/second_factor.html"
    form_class = SecondFactorForm

    def form_invalid(self, form: Any) -> HttpResponse:
        if form is self.webauthn_form:
            note_wrong_passkey(self.request, self.stage.login.user)
        response: HttpResponse = super().form_invalid(form)
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        kinds = set(Authenticator.objects.filter(user=self.stage.login.user).values_list("type", flat=True))
        return {**super().get_context_data(**kwargs), "has_passkey": Authenticator.Type.WEBAUTHN in kinds}


@method_decorator(login_not_required, name="dispatch")
class PasskeySignIn(Counted, LoginWebAuthnView):
    """A passkey alone: its device has made sure of the person. A GET by the page's script brings what it is to sign."""

    def form_invalid(self, form: Any) -> HttpResponse:
        note_wrong_passkey(self.request, None)
        response: HttpResponse = super().form_invalid(form)
        return response


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_by_link(request: HttpRequest, token: str) -> HttpResponse:
    """A GET shows a button: whoever previews links must not spend this one. Pressing it signs in."""
    if request.method != "POST":
        return render(request, "sign_in/link.html")
    try:
        user = redeem_sign_in_link(token=token, now=timezone.now())
    except SignInLinkSpent:
        return render(request, "sign_in/spent.html", status=410)
    if request.user.is_authenticated:
        leave(request)
    record_authentication(request, user, method="link")
    response: HttpResponse = perform_login(request, Login(user=user, redirect_url="/"))
    return response


@login_not_required
@never_cache
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """Also for whoever is halfway in, and wants to begin again."""
    leave(request)
    return redirect("account_login")


def leave(request: HttpRequest) -> None:
    """End the session of `request`, with its event, and tell its sockets."""
    session_key, person = request.session.session_key, request.user
    with transaction.atomic():
        if isinstance(person, User) and session_key is not None:
            sign_ins.note_sign_out(person=person, session_key=session_key, now=timezone.now())
        logout(request)
    tell_session(session_key, "session.ended")


def note_wrong_code(person: User) -> None:
    now, visitor = timezone.now(), visitor_of(context.request)  # where allauth keeps the request that a form is of
    sign_ins.note_failure(person=person, reason="second-factor", visitor=visitor, now=now)


def note_wrong_passkey(request: HttpRequest, person: User | None) -> None:
    now, visitor = timezone.now(), visitor_of(request)
    sign_ins.note_failure(person=person, reason="passkey", visitor=visitor, now=now)
