"""Providers' keys: entered, sealed, told by label, last four characters, age and use; never shown."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters

from apps.accounts.trailed import Trailed
from apps.workers.admin.forms import CredentialForm
from apps.workers.models import Credential
from apps.workers.services import TRAIL
from apps.workers.templatetags.figures_of_models import ago


@admin.register(Credential)
class CredentialAdmin(Trailed):
    trail, noun = TRAIL, "credential"
    secret = {"sealed": "key"}
    untold = {"last_used_at", "entered_at"}
    form = CredentialForm
    list_display = ("label", "ends_in", "age", "last_use", "used_by", "project")
    search_fields = ("label",)
    words = {
        "workers.worker": "Used by {n} (give each another key first)",
        "workers.conductor": "Used by {n} (give each another key first)",
    }
    stays = "Runs that wait or are under way with it fail at their next call; what has ended stays readable"
    instead = "Enter another key in its place: everything that uses it goes on with the new one."

    @admin.display(description="ends in", ordering="last_four")
    def ends_in(self, credential: Credential) -> str:
        return f"…{credential.last_four}" if credential.last_four else "–"

    @admin.display(description="age", ordering="-entered_at")
    def age(self, credential: Credential) -> str:
        age = credential.age(now=timezone.now())
        return age if age == "today" else f"{age} old"

    @admin.display(description="last use", ordering="last_used_at")
    def last_use(self, credential: Credential) -> str:
        return ago(credential.last_used_at) if credential.last_used_at else "never"

    @admin.display(description="used by")
    def used_by(self, credential: Credential) -> str:
        users = [*credential.worker_set.all(), *credential.conductor_set.all()]
        named = ", ".join(each.slug for each in users[:3])
        return f"{named} and {len(users) - 3} more" if len(users) > 3 else named or "nobody"

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).prefetch_related("worker_set", "conductor_set")

    @method_decorator(sensitive_post_parameters("key"))
    def changeform_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        return super().changeform_view(*args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Credential, form: Any, change: bool) -> None:
        if key := form.cleaned_data["key"]:
            obj.keep(key)
        super().save_model(request, obj, form, change)
