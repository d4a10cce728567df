"""How a person comes in, for an admin: a link to hand them, their sessions, and second factors that they have lost.

A link and a password are as good as the person, so only superusers give one to somebody else. Whoever else may change
people here does so within bounds: what would make them one of these, or somebody else, is not theirs to change.
"""

from typing import TYPE_CHECKING, Any

from allauth.socialaccount.models import SocialAccount
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.cache import never_cache

from apps.accounts.identities import identities_of, take_identity_away
from apps.accounts.looks import ModelAdmin
from apps.accounts.models import User
from apps.accounts.second_factors import forget_second_factors, names_of_factors
from apps.accounts.services import (
    INVITATION_LIFETIME,
    address_of_link,
    make_sign_in_link,
    open_link_of,
    void_sign_in_links,
)
from apps.accounts.sessions import end_sessions, sessions_of

if TYPE_CHECKING:
    Base = ModelAdmin
else:
    Base = object


class WaysIn(Base):
    """A page beside the form of a person."""

    change_form_outer_before_template = "admin/accounts/user/_ways_in_link.html"
    # What raises somebody; and the address, at which single sign-on finds whom it brings in.
    for_superusers = ("is_superuser", "groups", "user_permissions", "email")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.reaches(request, obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.reaches(request, obj) and super().has_delete_permission(request, obj)

    def reaches(self, request: HttpRequest, person: User | None) -> bool:
        """Whoever could come in as a superuser would be one: only superusers change one."""
        return person is None or not person.is_superuser or _by(request).is_superuser

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fixed = super().get_readonly_fields(request, obj)
        return fixed if _by(request).is_superuser else (*fixed, *self.for_superusers)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        shown = super().get_fieldsets(request, obj)
        return shown if obj is None or _by(request).is_superuser else [_without_password(each) for each in shown]

    def get_urls(self) -> list[URLPattern]:
        page = never_cache(self.admin_site.admin_view(self.ways_in))
        return [path("<int:pk>/ways-in/", page, name="accounts_user_ways_in"), *super().get_urls()]

    def ways_in(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show how they come in; a POST does one thing about it. A link is shown in the answer, and never again."""
        person = get_object_or_404(User, pk=pk)
        if not self.has_change_permission(request, person):
            raise PermissionDenied
        link = ""
        if request.method == "POST":
            asked = request.POST.get("do")
            if asked != "link":
                self.carry_out(request, person, asked)
                return redirect(request.path)
            link = self.hand_out(request, person)
        context = self.admin_site.each_context(request) | {
            "opts": self.opts,
            "title": f"How {person.label} comes in",
            "person": person,
            "link": link,
            "open_link": open_link_of(person=person, now=timezone.now()),
            "sessions": sessions_of(person=person, now=timezone.now()),
            "factors": names_of_factors(person),
            "identities": identities_of(person),
        }
        return render(request, "admin/accounts/user/ways_in.html", context)

    def check_may_open(self, request: HttpRequest) -> None:
        """:raises PermissionDenied: to all but superusers: what opens an account is as good as its person."""
        if not _by(request).is_superuser:
            raise PermissionDenied

    def hand_out(self, request: HttpRequest, person: User) -> str:
        self.check_may_open(request)
        if not person.is_active:
            messages.error(request, f"{person.label} is switched off: a link would open nothing.")
            return ""
        by = _by(request)
        token = make_sign_in_link(user=person, by=by.actor, now=timezone.now(), lifetime=INVITATION_LIFETIME)
        return address_of_link(token)

    def carry_out(self, request: HttpRequest, person: User, asked: str | None) -> None:
        by, now = _by(request), timezone.now()
        if asked == "void-link":
            void_sign_in_links(person=person, by=by.actor, now=now)
            messages.success(request, "The link opens nothing any more.")
        elif asked == "end-sessions":
            with transaction.atomic():
                ended = end_sessions(person=person, by=by.actor, now=now, but=request.session.session_key)
                void_sign_in_links(person=person, by=by.actor, now=now)
            messages.success(
                request, f"Sessions ended: {len(ended)}. What is open in them closes within half a minute."
            )
        elif asked == "take-identity-away":
            self.take_away(request, person)
        elif asked == "forget-second-factors" and person != by:  # one's own go where one shows again who one is
            forget_second_factors(person=person, by=by.actor, now=now)
            messages.success(
                request, f"{person.label} comes in with a password or a link alone, until they set one up."
            )

    def take_away(self, request: HttpRequest, person: User) -> None:
        by, here = _by(request), request.session.session_key
        identity = get_object_or_404(SocialAccount, pk=_number(request.POST.get("identity")), user=person)
        ended = take_identity_away(identity=identity, by=by.actor, now=timezone.now(), but=here)
        messages.success(request, f"It opens nothing any more. Its sessions ended: {len(ended)}.")


def _number(given: str | None) -> int:
    """0, which no row has, for what is no number."""
    return int(given) if given and given.isdecimal() else 0


def _without_password(fieldset: Any) -> Any:
    """The field that says what kind of password there is, and leads to the page that sets one."""
    title, options = fieldset
    return title, options | {"fields": tuple(name for name in options["fields"] if name != "password")}


def _by(request: HttpRequest) -> User:
    assert isinstance(request.user, User), "nobody else comes to the admin pages"
    return request.user
