"""One's programs' keys: made and shown once, listed, revoked."""

from datetime import datetime, timedelta

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.api_keys import HIGHEST_RATE, KeyNotMade, make_api_key, revoke_api_key
from apps.accounts.models import ApiKey, Project, User
from apps.web.access import person
from apps.web.people.again import asked_first

LIFETIMES = {"30": "30 days", "90": "90 days", "365": "a year", "": "until it is revoked"}
MOST_LISTED = 100
RATE = 60


class KeyForm(forms.Form):
    """What a new key is for, and what it opens."""

    name = forms.CharField(max_length=80, help_text="what it is for, such as the program that has it")
    project = forms.ModelChoiceField(Project.objects.none(), empty_label=None, help_text="where it works")
    scopes = forms.MultipleChoiceField(
        choices=ApiKey.Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=ApiKey.Scope.values,
        label="What it opens",
    )
    lifetime = forms.ChoiceField(choices=list(LIFETIMES.items()), required=False, initial="90", label="It works for")
    rate_per_minute = forms.IntegerField(
        min_value=1, max_value=HIGHEST_RATE, initial=RATE, label="Requests a minute, at most"
    )

    def __init__(self, user: User, posted: QueryDict | None) -> None:
        super().__init__(posted, initial={"project": user.home_project_id})
        projects = self.fields["project"]
        assert isinstance(projects, forms.ModelChoiceField)
        projects.queryset = Project.objects.visible_to(user)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new_key(request: HttpRequest) -> HttpResponse:
    """Take what the key is for, and answer with its secret: the one time that it is seen."""
    if asked := asked_first(request):
        return redirect(asked)
    user, now = person(request), timezone.now()
    posted = request.POST if request.method == "POST" else None
    form = KeyForm(user, posted)
    if posted is not None and form.is_valid():
        try:
            key, secret = make(form, user, now)
        except KeyNotMade as refusal:
            form.add_error(None, refusal.message)
        else:
            return render(request, "account/key_made.html", {"key": key, "secret": secret})
    return render(request, "account/new_key.html", {"form": form}, status=422 if form.is_bound else 200)


def make(form: KeyForm, user: User, now: datetime) -> tuple[ApiKey, str]:
    given = form.cleaned_data
    return make_api_key(
        person=user,
        project=given["project"],
        name=given["name"],
        scopes=given["scopes"],
        rate_per_minute=given["rate_per_minute"],
        expires_at=now + timedelta(days=int(given["lifetime"])) if given["lifetime"] else None,
        by=user.actor,
        now=now,
    )


@require_POST
def revoke_key(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke one of one's own keys; there are no others here."""
    user = person(request)
    key = get_object_or_404(ApiKey.objects.select_related("project"), pk=pk, person=user)
    revoke_api_key(key=key, by=user.actor, now=timezone.now())
    messages.success(request, f"The API key “{key.name}” opens nothing any more.")
    return redirect("account")


def keys_of(user: User, *, now: datetime) -> list[dict[str, object]]:
    """One's keys, the newest first, each with its state."""
    keys = ApiKey.objects.filter(person=user).select_related("project").order_by("-created_at", "-pk")[:MOST_LISTED]
    return [{"row": key, "state": key.state(now=now)} for key in keys]
