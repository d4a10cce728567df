"""Programs' keys in the admin pages: made there, shown once, revoked after a question; never changed."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from allauth.account.decorators import reauthentication_required
from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.accounts.api_keys import HIGHEST_RATE, RATE, KeyNotMade, make_api_key, revoke_api_key
from apps.accounts.consequences import Consequence
from apps.accounts.looks import CheckboxSelectMultiple, Select, TextInput
from apps.accounts.models import ApiKey, Project, User
from apps.accounts.services import TRAIL
from apps.accounts.trailed import Trailed
from apps.audit.log import Actor

LIFETIMES = {"30": "30 days", "90": "90 days", "365": "a year", "": "until it is revoked"}


class ApiKeyForm(forms.Form):
    """What a new key is for, and what it opens."""

    name = forms.CharField(max_length=80, widget=TextInput, help_text="what it is for, such as the program that has it")
    person = forms.ModelChoiceField(
        User.objects.filter(is_active=True).order_by("username"),
        widget=Select,
        help_text="whose program it is: it sees what they see",
    )
    project = forms.ModelChoiceField(Project.objects.order_by("name"), widget=Select, help_text="where it works")
    scopes = forms.MultipleChoiceField(
        choices=ApiKey.Scope.choices, widget=CheckboxSelectMultiple, initial=ApiKey.Scope.values, label="what it opens"
    )
    rate_per_minute = forms.IntegerField(
        min_value=1, max_value=HIGHEST_RATE, initial=RATE, required=False, widget=TextInput, label="requests a minute"
    )
    lifetime = forms.ChoiceField(
        choices=list(LIFETIMES.items()), widget=Select, required=False, initial="90", label="it works for"
    )

    def __init__(self, posted: QueryDict | None, *, by: User) -> None:
        super().__init__(posted, initial={"person": by.pk, "project": by.home_project_id})
        people = self.fields["person"]
        assert isinstance(people, forms.ModelChoiceField)
        if not by.is_superuser:  # a key is as good as its person, within what it opens
            people.queryset = User.objects.filter(pk=by.pk)


@admin.register(ApiKey)
class ApiKeyAdmin(Trailed):
    trail, noun = TRAIL, "api-key"
    secret = {"digest": "digest"}
    untold = {"last_used_at"}
    list_display = ("name", "person", "project", "opens", "standing_now", "last_used_at", "expires_at")
    list_filter = ("project",)
    search_fields = ("name", "person__username", "prefix")
    list_select_related = ("person", "project")
    fields = (
        "name",
        "person",
        "project",
        "prefix",
        "opens",
        "rate_per_minute",
        "standing_now",
        "created_at",
        "expires_at",
        "last_used_at",
        "revoked_at",
    )
    readonly_fields = fields
    change_form_outer_before_template = "admin/accounts/apikey/_revoke_link.html"
    instead = "Revoke it: it opens nothing any more, and the list still says that it was there."

    def facts(self, row: ApiKey) -> dict[str, Any]:
        return {"key": row.pk, "prefix": row.prefix, "person": row.person_id, "project": row.project.slug}

    def also(self, rows: Sequence[ApiKey]) -> list[Consequence]:
        return [Consequence("Programs that use it are refused at once")]

    @admin.display(description="opens")
    def opens(self, key: ApiKey) -> str:
        return ", ".join(key.scopes)

    @admin.display(description="state")
    def standing_now(self, key: ApiKey) -> SafeString:
        state = key.state(now=timezone.now())
        return format_html('<span class="st-tag" data-state="{}">{}</span>', state, state)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # a key is made, looked at and revoked

    def may_revoke(self, request: HttpRequest) -> bool:
        return request.user.has_perm("accounts.change_apikey")

    def get_urls(self) -> list[URLPattern]:
        revoke = path("<int:pk>/revoke/", self.admin_site.admin_view(self.revoke), name="accounts_apikey_revoke")
        return [revoke, *super().get_urls()]

    @method_decorator(reauthentication_required())
    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Take what the key is for, and answer with its secret: the one time that it is seen."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = ApiKeyForm(request.POST or None, by=person_of(request))
        context = self.admin_site.each_context(request) | {"opts": self.opts, "form": form, "title": "Make an API key"}
        if request.method == "POST" and form.is_valid() and (made := self._make(request, form)):
            key, secret = made
            context |= {"key": key, "secret": secret, "title": "The new API key"}
            return render(request, "admin/accounts/apikey/made.html", context)
        return render(request, "admin/accounts/apikey/add.html", context)

    def _make(self, request: HttpRequest, form: ApiKeyForm) -> tuple[ApiKey, str] | None:
        now, given = timezone.now(), form.cleaned_data
        days = given["lifetime"]
        try:
            with transaction.atomic():
                key, secret = make_api_key(
                    person=given["person"],
                    project=given["project"],
                    name=given["name"],
                    scopes=given["scopes"],
                    expires_at=now + timedelta(days=int(days)) if days else None,
                    rate_per_minute=given["rate_per_minute"] or RATE,
                    by=actor_of(request),
                    now=now,
                )
                self.log_addition(request, key, "Made.")
        except KeyNotMade as refusal:
            form.add_error("project" if "belong" in refusal.message else None, refusal.message)
            return None
        return key, secret

    def revoke(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask, and with a yes revoke."""
        if not self.may_revoke(request):
            raise PermissionDenied
        key = get_object_or_404(ApiKey.objects.select_related("person", "project"), pk=pk)
        if request.method != "POST":
            context = self.admin_site.each_context(request) | {"opts": self.opts, "key": key, "title": "Revoke"}
            return render(request, "admin/accounts/apikey/revoke.html", context)
        if revoke_api_key(key=key, by=actor_of(request), now=timezone.now()):
            messages.success(request, f"The API key “{key.name}” opens nothing any more.")
        else:
            messages.info(request, f"The API key “{key.name}” was revoked before.")
        return redirect("admin:accounts_apikey_changelist")


def person_of(request: HttpRequest) -> User:
    assert isinstance(request.user, User), "nobody else comes to the admin pages"
    return request.user


def actor_of(request: HttpRequest) -> Actor:
    return person_of(request).actor
