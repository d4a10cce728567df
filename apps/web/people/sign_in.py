"""The way in and out: a password, or a link that signs in once; and one's own account."""

import structlog
from asgiref.sync import async_to_sync
from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth import views as auth_views
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from apps.accounts.models import Project
from apps.accounts.services import SignInLinkSpent, change_password, group_of_session, redeem_sign_in_link
from apps.runs.live import channel_layer
from apps.web.access import person

logger = structlog.get_logger(__name__)

MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"


class SignIn(auth_views.LoginView):
    template_name = "sign_in/form.html"
    redirect_authenticated_user = True


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
    login(request, user, backend=MODEL_BACKEND)
    return redirect("compose")


class SignOut(auth_views.LogoutView):
    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        session_key = request.session.session_key
        response = super().post(request, *args, **kwargs)
        tell_session(session_key, "session.ended")
        return response


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """Who one is here, and one's password: a first one for those who came by a link."""
    user = person(request)
    form_class = PasswordChangeForm if user.has_usable_password() else SetPasswordForm
    form = form_class(user, request.POST if request.method == "POST" else None)
    if form.is_valid():
        session_key = request.session.session_key
        password = form.cleaned_data["new_password1"]
        user = change_password(user=user, password=password, by=user.actor, now=timezone.now())
        update_session_auth_hash(request, user)
        tell_session(session_key, "session.renewed")  # its key is another now: its sockets must come again
        messages.success(request, "The password was changed. Wherever else you were signed in, you no longer are.")
        return redirect("account")
    context = {"form": form, "projects": Project.objects.visible_to(user)}
    return render(request, "sign_in/account.html", context, status=422 if form.is_bound else 200)


def tell_session(session_key: str | None, kind: str) -> None:
    """Tell the sockets of a session what became of it; without Redis they find out themselves within half a minute."""
    if session_key is None:
        return
    try:
        async_to_sync(channel_layer().group_send)(group_of_session(session_key), {"type": kind})
    except Exception as error:  # as when a bell is rung: the session is over whether they hear it or not
        logger.warning("the session's sockets were not told", kind=kind, error=str(error))
