"""Single sign-on with OpenID Connect, where the environment names a provider: the way there and back.

The provider is trusted with who somebody is: whom an admin has entered here with an address gets in when the provider
has verified that address, and from then on by the provider's own name for them (ADR 0022).
"""

from typing import Any

import requests
from allauth.core.internal import ratelimit
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.base import AuthError, AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

from apps.accounts import sign_ins
from apps.accounts.models import User
from apps.accounts.services import join
from apps.core.errors import Denied, Unavailable
from apps.web.people.adapters import visitor_of
from apps.web.people.sign_in import NotCounted


class ProviderAway(Unavailable):
    """The provider does not answer."""

    def __init__(self) -> None:
        super().__init__(f"{settings.OIDC_NAME} does not answer. Try again in a moment, or use another way in.")


class ProviderRefused(Denied):
    """What came back from the provider is not what was asked for."""

    def __init__(self) -> None:
        super().__init__(
            f"Signing in with {settings.OIDC_NAME} did not work: it was given up there, took too long, or what came "
            "back was not signed as it should be. Begin again at the sign-in page."
        )


class NobodyHere(Denied):
    """The provider knows them, the studio does not."""

    def __init__(self, email: str) -> None:
        who = f"with the address {email}" if email else "by this name"
        super().__init__(
            f"{settings.OIDC_NAME} signed you in, but the studio knows nobody {who}. Ask an admin of the studio to add "
            "you; an address must be verified at the provider to count."
        )


class SocialAdapter(DefaultSocialAccountAdapter):
    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Tie an identity that comes for the first time to the person with its verified address."""
        if sociallogin.is_existing:
            return
        known = verified_person(sociallogin)
        if known is None:
            self.meet(request, sociallogin)
            return
        with transaction.atomic():
            sociallogin.connect(request, known)
            account = sociallogin.account
            sign_ins.note_connection(person=known, provider=account.provider, uid=account.uid, now=timezone.now())

    def meet(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Somebody new: whoever the provider vouches for, if the environment says so; never under another's address.

        An address that they only claim is not kept: whoever really has it would later come in as them. allauth is left
        none to look up: it would ask a list of its own, in which addresses stay with whom they once belonged to.
        """
        email = address_of(sociallogin)
        if not settings.OIDC_SIGN_UP or (email and User.objects.filter(email__iexact=email).exists()):
            self.refuse(request, email)
        sociallogin.user.email, sociallogin.email_addresses = verified_address_of(sociallogin), []

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return settings.OIDC_SIGN_UP

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        with transaction.atomic():
            user: User = super().save_user(request, sociallogin, form)
            account = sociallogin.account
            join(user=user, now=timezone.now())
            sign_ins.note_connection(person=user, provider=account.provider, uid=account.uid, now=timezone.now())
        return user

    def refuse(self, request: HttpRequest, email: str) -> None:
        now, visitor = timezone.now(), visitor_of(request)
        sign_ins.note_failure(person=None, reason="single-sign-on", visitor=visitor, now=now)
        raise NobodyHere(email)

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, exception: Any = None, extra_context: Any = None
    ) -> None:
        """Say that it went wrong. No event tells of coming back from where this browser never went: anybody can."""
        if isinstance(exception, requests.RequestException):
            raise ProviderAway from exception
        if "state" in (extra_context or {}) and error != AuthError.CANCELLED:
            now, visitor = timezone.now(), visitor_of(request)
            sign_ins.note_failure(person=None, reason="single-sign-on", visitor=visitor, now=now)
        raise ProviderRefused from exception


class Provider(OpenIDConnectOAuth2Adapter):
    """The provider of the environment. Its signed token alone says who comes in, and its signature is looked at."""

    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any) -> SocialLogin:
        signed = kwargs["response"].get("id_token")
        if not signed:
            raise OAuth2Error("the provider sent no token that says who it is")
        told = self._decode_id_token(app, signed)
        if not told.get("sub"):
            raise OAuth2Error("the token names nobody")
        if not told.get("email") and "userinfo_endpoint" in self.openid_config:
            told |= self._told_beside(told["sub"], token)
        login: SocialLogin = self.get_provider().sociallogin_from_response(request, {"id_token": told})
        return login

    def _told_beside(self, sub: str, token: SocialToken) -> dict[str, Any]:
        """What the provider tells unsigned, which must be of the same person (OpenID Connect Core 1.0, 5.3.2)."""
        told = self._fetch_user_info(token.token)
        if told.get("sub") != sub:
            raise OAuth2Error("what the provider tells is of somebody else than its token")
        return told

    def _decode_id_token(self, app: SocialApp, id_token: str) -> dict[str, Any]:
        try:
            told: dict[str, Any] = jwtkit.verify_and_decode(
                credential=id_token,
                keys_url=self.openid_config["jwks_uri"],
                issuer=self.openid_config["issuer"],
                audience=app.client_id,
                lookup_kid=jwtkit.lookup_kid_jwk,
            )
        except (KeyError, TypeError) as error:  # no key is named, or one of another kind than the token says
            raise OAuth2Error("the token names no key that it could be signed with") from error
        return read_strictly(told)

    def _fetch_user_info(self, access_token: str) -> dict[str, Any]:
        return read_strictly(super()._fetch_user_info(access_token))


@login_not_required
@never_cache
@require_safe
def go(request: HttpRequest, provider_id: str) -> HttpResponse:
    """To the provider. A link, not a form: the policy lets no form lead away from the studio."""
    if request.GET.get("process", AuthProcess.LOGIN) != AuthProcess.LOGIN:
        raise Http404
    return _with_provider(OAuth2LoginView, request, provider_id)


@login_not_required
@never_cache
@require_safe
def come_back(request: HttpRequest, provider_id: str) -> HttpResponse:
    """From the provider, with a code that only the studio can turn into who somebody is."""
    return _with_provider(OAuth2CallbackView, request, provider_id)


def read_strictly(told: dict[str, Any]) -> dict[str, Any]:
    """What a provider told, with an address verified by `true` alone: some send words, and "false" is one too."""
    said = told.get("email_verified")
    return told | {"email_verified": said is True or said == "true"}


def verified_person(sociallogin: SocialLogin) -> User | None:
    """The one active person whose address the provider has verified."""
    email = verified_address_of(sociallogin)
    people = list(User.objects.filter(email__iexact=email)[:2]) if email else []
    return people[0] if len(people) == 1 else None


def verified_address_of(sociallogin: SocialLogin) -> str:
    return next((each.email for each in sociallogin.email_addresses if each.verified), "")


def address_of(sociallogin: SocialLogin) -> str:
    return next((each.email for each in sociallogin.email_addresses), "")


def _with_provider(view: Any, request: HttpRequest, provider_id: str) -> HttpResponse:
    if request.user.is_authenticated:
        return redirect("compose")
    try:
        provider = Provider(request, provider_id)
        provider.get_provider()
        response: HttpResponse = _too_often(request) or view.adapter_view(provider)(request)
    except SocialApp.DoesNotExist:
        raise Http404 from None
    except requests.RequestException as error:
        raise ProviderAway from error
    return response


def _too_often(request: HttpRequest) -> HttpResponse | None:
    """What is said to an address that comes too often; each coming asks the provider, and may leave an event."""
    try:
        answer: HttpResponse | None = ratelimit.consume_or_429(
            request, app="allauth.account", action="single-sign-on", limit_get=True
        )
    except RedisError as error:
        raise NotCounted from error
    return answer
