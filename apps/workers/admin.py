"""The pool in Django's admin, plainly. Keys can be entered here and never read back."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Max
from django.http import HttpRequest

from apps.workers.models import Conductor, Credential, Profile, Worker


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


@admin.register(Credential)
class CredentialAdmin(admin.ModelAdmin[Credential]):
    form = CredentialForm
    list_display = ("label", "last_four", "created_at", "last_used_at")

    def save_model(self, request: HttpRequest, obj: Credential, form: Any, change: bool) -> None:
        if key := form.cleaned_data["key"]:
            obj.keep(key)
        super().save_model(request, obj, form, change)


@admin.register(Worker)
class WorkerAdmin(admin.ModelAdmin[Worker]):
    list_display = ("slug", "name", "provider", "model", "transport", "enabled", "simulated")
    list_filter = ("enabled", "provider", "transport")
    search_fields = ("slug", "name", "model")


@admin.register(Conductor)
class ConductorAdmin(admin.ModelAdmin[Conductor]):
    list_display = ("slug", "name", "model", "encoding", "enabled", "simulated")


@admin.register(Profile)
class ProfileAdmin(admin.ModelAdmin[Profile]):
    list_display = ("slug", "name", "planner", "conductor", "max_steps", "review", "enabled", "version")
    filter_horizontal = ("workers",)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A new profile comes after the others: the first is what people find chosen."""
        last = Profile.objects.aggregate(last=Max("position"))["last"]
        return super().get_changeform_initial_data(request) | {"position": 0 if last is None else last + 1}

    def save_model(self, request: HttpRequest, obj: Profile, form: Any, change: bool) -> None:
        if change:
            obj.version += 1
        super().save_model(request, obj, form, change)
