"""Profiles in the admin pages: every change is another version."""

from typing import Any

from django.contrib import admin
from django.db.models import Max
from django.http import HttpRequest

from apps.workers.admin.base import PoolAdmin
from apps.workers.models import Profile, Worker


@admin.register(Profile)
class ProfileAdmin(PoolAdmin):
    noun = "profile"
    list_display = ("slug", "name", "planner", "conductor", "max_steps", "budget_usd", "review", "enabled", "version")
    list_filter = ("enabled", "planner")
    search_fields = ("slug", "name")
    filter_horizontal = ("workers",)
    fieldsets = (
        ("What it is", {"fields": (("name", "slug"), "description", ("project", "position"), "enabled")}),
        ("Who plans", {"fields": (("planner", "conductor"), "options", ("fallback", "fallback_conductor"))}),
        ("Who works", {"fields": ("workers", "pool_size")}),
        ("How far it goes", {"fields": (("max_steps", "rounds"), ("nesting", "tries"), "review")}),
        ("What it may cost", {"fields": (("budget_usd", "unknown_price_ok"),)}),
    )
    words = {"spend.budget": "{n} about it will go with it"}
    stays = "Runs under it stay readable and can be repeated: each keeps the profile as it was"
    instead = "Switch it off: nobody is offered it any more, and its versions stay."

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
