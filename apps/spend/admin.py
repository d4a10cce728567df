"""Budgets in Django's admin; every change is an event, and what is spent today is held to the new limit at once."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone

from apps.accounts.trailed import Trailed
from apps.spend.models import Budget
from apps.spend.services import TRAIL, take_over


@admin.register(Budget)
class BudgetAdmin(Trailed):
    trail, noun = TRAIL, "budget"
    list_display = ("name", "period", "limit_usd", "project", "person", "profile", "worker", "enabled")
    list_filter = ("enabled", "period")
    search_fields = ("name",)

    def save_model(self, request: HttpRequest, obj: Budget, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change:
            take_over(obj, now=timezone.now(), fields=form.changed_data)
