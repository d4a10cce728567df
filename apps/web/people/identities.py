"""What opens one's account at the provider of single sign-on, taken away by oneself."""

from allauth.socialaccount.models import SocialAccount
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from apps.accounts.identities import LastWayIn, check_not_last, take_identity_away
from apps.web.access import person
from apps.web.people.telling import tell_ended


@require_POST
def take_away(request: HttpRequest, pk: int) -> HttpResponse:
    """Take one of one's own away; there are no others here. The session in which one does it stays."""
    user = person(request)
    identity = get_object_or_404(SocialAccount, pk=pk, user=user)
    try:
        check_not_last(identity)
    except LastWayIn as refusal:
        messages.error(request, refusal.message)
        return redirect("account")
    here = request.session.session_key
    tell_ended(take_identity_away(identity=identity, by=user.actor, now=timezone.now(), but=here))
    messages.success(request, "It opens nothing any more. Wherever else it had signed you in, you no longer are.")
    return redirect("account")
