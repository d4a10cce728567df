"""The pool in Django's admin, plainly. Keys can be entered here and never read back; every change is an event."""

import re
from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters

from apps.accounts.changes import Values
from apps.accounts.trailed import Trailed
from apps.workers.calls import SECRETS
from apps.workers.models import Conductor, Credential, Profile, Worker
from apps.workers.services import TRAIL

SECRETIVE = re.compile(r"(?i)key|token$|secret|password|authorization")


class CredentialForm(forms.ModelForm[Credential]):
    """Takes a key, shows none."""

    key = forms.CharField(
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        required=False,
        help_text="Kept encrypted and never shown again. Leave empty to keep the present one.",
    )

    class Meta:
        model = Credential
        fields = ("label", "project")

    def clean_key(self) -> str:
        key: str = self.cleaned_data["key"].strip()
        if not key and not self.instance.pk:
            raise forms.ValidationError("Enter the provider's key.")
        if any(ord(sign) < 33 or ord(sign) > 126 for sign in key):
            raise forms.ValidationError("A key is one line of visible ASCII characters; this one has others in it.")
        return key


class PoolAdmin(Trailed):
    """What can be switched on and off, by an admin or by a start without the simulator."""

    trail = TRAIL
    untold = {"away"}

    def told(self, values: Values) -> Values:
        return {name: concealed(value) for name, value in super().told(values).items()}

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if "enabled" in form.changed_data:
            obj.away = False  # a person has decided: no start switches it on again
        super().save_model(request, obj, form, change)


@admin.register(Credential)
class CredentialAdmin(Trailed):
    trail, noun = TRAIL, "credential"
    secret = {"sealed": "key"}
    untold = {"last_used_at"}
    form = CredentialForm
    list_display = ("label", "last_four", "created_at", "last_used_at")

    @method_decorator(sensitive_post_parameters("key"))
    def changeform_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        return super().changeform_view(*args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Credential, form: Any, change: bool) -> None:
        if key := form.cleaned_data["key"]:
            obj.keep(key)
        super().save_model(request, obj, form, change)


@admin.register(Worker)
class WorkerAdmin(PoolAdmin):
    noun = "worker"
    list_display = ("slug", "name", "provider", "model", "transport", "enabled", "simulated")
    list_filter = ("enabled", "provider", "transport")
    search_fields = ("slug", "name", "model")


@admin.register(Conductor)
class ConductorAdmin(PoolAdmin):
    noun = "conductor"
    list_display = ("slug", "name", "model", "encoding", "enabled", "simulated")


@admin.register(Profile)
class ProfileAdmin(PoolAdmin):
    noun = "profile"
    list_display = ("slug", "name", "planner", "conductor", "max_steps", "review", "enabled", "version")
    filter_horizontal = ("workers",)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **given: Any) -> Any:
        if db_field.name == "workers":  # those that can be given a step
            given["queryset"] = Worker.objects.filter(embeds=False)
        return super().formfield_for_manytomany(db_field, request, **given)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A new profile comes after the others: the first is what people find chosen."""
        last = Profile.objects.aggregate(last=Max("position"))["last"]
        return super().get_changeform_initial_data(request) | {"position": 0 if last is None else last + 1}

    def save_model(self, request: HttpRequest, obj: Profile, form: Any, change: bool) -> None:
        if change and form.has_changed():
            obj.version = Profile.objects.select_for_update().get(pk=obj.pk).version + 1  # of two at once, two
        super().save_model(request, obj, form, change)


def concealed(value: Any) -> Any:
    """A value without what looks like a key in it: parameters and old addresses may hold one."""
    if isinstance(value, Mapping):
        return {
            name: "[removed]" if SECRETIVE.search(name) and isinstance(inner, str) else concealed(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [concealed(inner) for inner in value]
    return SECRETS.sub("[removed]", value) if isinstance(value, str) else value
