"""One's own account: who one is here, the password and what is shown beside it, sessions, and programs' keys."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import SetPasswordForm
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.identities import identities_of
from apps.accounts.models import Project, User
from apps.accounts.second_factors import names_of_factors
from apps.accounts.services import change_password
from apps.accounts.sessions import end_sessions, sessions_of
from apps.web.access import person
from apps.web.people.again import OwnPasswordForm, asked_first
from apps.web.people.agents import named
from apps.web.people.keys import keys_of
from apps.web.people.telling import tell_ended, tell_session


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """Everything about oneself; a POST sets a password, a first one for those who came by a link."""
    user = person(request)
    form_class = OwnPasswordForm if user.has_usable_password() else SetPasswordForm
    asked = "" if user.has_usable_password() else asked_first(request)
    if asked and request.method == "POST":
        return redirect(asked)
    form = form_class(user, request.POST if request.method == "POST" else None)
    next(iter(form.fields.values())).widget.attrs.pop("autofocus", None)  # there is more on the page than this form
    if form.is_valid():
        set_password(request, user, form.cleaned_data["new_password1"])
        messages.success(request, "The password was changed. Wherever else you were signed in, you no longer are.")
        return redirect("account")
    shown = {**about(request, user), "form": form, "asked_first": asked}
    return render(request, "account/page.html", shown, status=422 if form.is_bound else 200)


def set_password(request: HttpRequest, user: User, password: str) -> None:
    """Change it, end every other session, and give this one another key, at which its sockets must come again."""
    session_key, now = request.session.session_key, timezone.now()
    with transaction.atomic():
        user = change_password(user=user, password=password, by=user.actor, now=now)
        ended = end_sessions(person=user, by=user.actor, now=now, but=session_key)
        update_session_auth_hash(request, user)
    tell_ended(ended)
    tell_session(session_key, "session.renewed")


def about(request: HttpRequest, user: User) -> dict[str, Any]:
    now = timezone.now()
    here = request.session.session_key
    return {
        "projects": Project.objects.visible_to(user),
        "factors": names_of_factors(user),
        "identities": identities_of(user),
        "sessions": [
            {"row": row, "agent": named(row.user_agent), "is_here": row.session_key == here}
            for row in sessions_of(person=user, now=now)
        ],
        "keys": keys_of(user, now=now),
    }


def password_in_admin(request: HttpRequest, id: str) -> HttpResponse:
    """The admin's page for the passwords of others; it would take one's own without the old one."""
    pages = admin.site.get_model_admin(User)
    assert isinstance(pages, UserAdmin), "people are among the admin pages"
    if pages.get_object(request, unquote(id)) == request.user:
        return redirect("account")
    response: HttpResponse = admin.site.admin_view(pages.user_change_password)(request, id)
    return response


@require_POST
def end_session(request: HttpRequest, pk: int) -> HttpResponse:
    """End one of one's own sessions; of others' nothing is said but that it is over."""
    user = person(request)
    tell_ended(end_sessions(person=user, by=user.actor, now=timezone.now(), only=[pk]))
    messages.success(request, "That session is over.")
    return redirect("account")


@require_POST
def end_others(request: HttpRequest) -> HttpResponse:
    """End every session but this one."""
    user = person(request)
    here = request.session.session_key
    tell_ended(end_sessions(person=user, by=user.actor, now=timezone.now(), but=here))
    messages.success(request, "You are signed in here alone now.")
    return redirect("account")
