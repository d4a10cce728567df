"""Workers and conductors in the admin pages: how each is reached, what it may cost, and who stands in for it."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Count
from django.http import HttpRequest
from django.urls import URLPattern
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from apps.accounts.consequences import Consequence, about
from apps.accounts.looks import TabularInline
from apps.workers import offers
from apps.workers.admin import adding
from apps.workers.admin.base import PoolAdmin, person_of
from apps.workers.admin.forms import PRICES, ConductorForm, WorkerForm
from apps.workers.models import CalledModel, Conductor, Fallback, Profile, Worker
from apps.workers.templatetags.figures_of_models import dollars

PRICE: tuple[str, Any] = (
    "Price",
    {
        "fields": ("free", ("input_price_usd", "cached_price_usd", "output_price_usd"), "price_told"),
        "description": "USD for a million tokens. Without a price of its own cached input costs as any other. "
        "What is not known stays empty: a run asks before it uses a model whose price nobody knows.",
    },
)
LIMITS: tuple[str, Any] = (
    "Limits",
    {
        "fields": (("concurrency", "requests_per_minute", "tokens_per_minute"),),
        "description": "Over all drivers; what is over a limit waits for a place. Tokens are those of input and output "
        "together. Empty: no limit.",
    },
)
PATIENCE: tuple[str, Any] = (
    "How long a call may take",
    {
        "fields": (
            ("connect_timeout_s", "first_token_timeout_s"),
            ("between_tokens_timeout_s", "whole_timeout_s"),
        ),
        "classes": ("collapse",),
    },
)
REACHED = ("transport", "base_url", "model", "credential")
FROZEN = "Runs that used it stay readable and can be repeated: each keeps its own copy of how it was"


class CalledAdmin(PoolAdmin):
    """A model behind an endpoint, with its price."""

    readonly_fields = ("price_told",)
    search_fields = ("slug", "name", "model")
    stays = FROZEN
    instead = "Switch it off: no new run gets it, and everything about it stays."

    def save_model(self, request: HttpRequest, obj: CalledModel, form: Any, change: bool) -> None:
        if set(PRICES) & set(form.changed_data):
            if change:  # of two at once, two
                obj.price_version = self.model.objects.select_for_update().get(pk=obj.pk).price_version + 1
            obj.price_from = offers.source_of_price(obj, entered_by=person_of(request).label)
        super().save_model(request, obj, form, change)

    @admin.display(description="where it is from")
    def price_told(self, row: CalledModel) -> str:
        if row.pk is None:
            return "kept with the price when this is saved"
        origin = row.price_from or ("invented, as all that is simulated" if row.simulated else "nobody said")
        told = f"{origin}, version {row.price_version}"
        listed = offers.listed_price(row)
        if listed is None or offers.priced(listed) == {name: getattr(row, name) for name in PRICES}:
            return told
        return f"{told}. {offers.FROM_CATALOGUE[:1].upper()}{offers.FROM_CATALOGUE[1:]} says {shown(listed)}."

    @admin.display(description="price, in / out")
    def price(self, row: CalledModel) -> SafeString | str:
        if row.free:
            return "free"
        if row.input_price_usd is None or row.output_price_usd is None:
            return mark_safe('<span class="st-tag" data-state="odd">unknown</span>')
        return f"{dollars(row.input_price_usd)} / {dollars(row.output_price_usd)}"

    @admin.display(description="state", ordering="enabled")
    def standing_now(self, row: CalledModel) -> SafeString:
        state = "active" if row.enabled else "revoked"
        tags = format_html('<span class="st-tag" data-state="{}">{}</span>', state, "on" if row.enabled else "off")
        return tags + mark_safe(' <span class="st-tag">simulated</span>') if row.simulated else tags


class Fallbacks(TabularInline):
    model = Fallback
    fk_name = "worker"
    extra = 0
    verbose_name = "fallback"
    verbose_name_plural = "Who stands in when its tries are spent, the uppermost first"
    ordering_field = "position"
    hide_ordering_field = True

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **more: Any) -> Any:
        if db_field.name == "instead":
            more["queryset"] = Worker.objects.filter(embeds=False).order_by("slug")
        return super().formfield_for_foreignkey(db_field, request, **more)


@admin.register(Worker)
class WorkerAdmin(CalledAdmin):
    noun = "worker"
    form = WorkerForm
    list_display = ("slug", "name", "provider", "model", "price", "concurrency", "offered", "standing_now")
    list_filter = ("enabled", "provider", "transport", "simulated")
    inlines = (Fallbacks,)
    fieldsets = (
        ("What it is", {"fields": (("name", "slug"), ("provider", "project"), "strengths", "tags", "enabled")}),
        ("How it is reached", {"fields": REACHED}),
        (
            "What it is asked with",
            {"fields": ("params", "reasoning_effort", ("context_window", "max_output_tokens"))},
        ),
        PRICE,
        LIMITS,
        PATIENCE,
        ("More", {"fields": (("embeds", "probe", "simulated"),), "classes": ("collapse",)}),
    )
    words = {
        "workers.fallback": "It stands in for others in {n} (take it out there first)",
        "spend.budget": "{n} about it will go with it",
    }
    change_list_template = "admin/workers/worker/change_list.html"

    @admin.display(description="offered by")
    def offered(self, row: Any) -> str:
        if row.embeds:
            return "planners that learn"
        return f"{row.profiles} profile{'' if row.profiles == 1 else 's'}" if row.profiles else "profiles that take all"

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).annotate(profiles=Count("profile"))

    def get_urls(self) -> list[URLPattern]:
        return [*adding.urls(self), *super().get_urls()]

    def also(self, rows: Sequence[Worker]) -> list[Consequence]:
        offering = list(Profile.objects.filter(workers__in=rows).distinct().order_by("position"))
        bare = [each for each in offering if not each.workers.exclude(pk__in=[row.pk for row in rows]).exists()]
        told = []
        if offering:
            number = f"{len(offering)} profile{' offers' if len(offering) == 1 else 's offer'}"
            told.append(about(f"{number} it and will no longer", offering))
        told += [
            Consequence(f"“{each}” offers nothing else: with no worker chosen it will offer every enabled worker")
            for each in bare
        ]
        return told


@admin.register(Conductor)
class ConductorAdmin(CalledAdmin):
    noun = "conductor"
    form = ConductorForm
    list_display = ("slug", "name", "model", "encoding", "price", "standing_now")
    list_filter = ("enabled", "encoding", "simulated")
    fieldsets = (
        ("What it is", {"fields": (("name", "slug"), ("provider", "project"), "tags", "enabled")}),
        ("How it is reached", {"fields": ("transport", "base_url", ("model", "adapter"), "credential")}),
        (
            "How it plans",
            {
                "fields": (
                    ("encoding", "examples"),
                    ("attempts", "max_steps"),
                    ("seed", "prompt_version"),
                    "reveal_names",
                )
            },
        ),
        ("What it is asked with", {"fields": ("params", ("reasoning_effort", "max_output_tokens"))}),
        PRICE,
        LIMITS,
        PATIENCE,
        ("More", {"fields": ("simulated",), "classes": ("collapse",)}),
    )
    words = {
        "workers.profile": "Asked by {n} (give each another conductor first)",
        "workers.health": "What was heard of its health will go with it",
    }


def shown(price: Any) -> str:
    """`$1.25 in, $0.125 cached, $10 out`"""
    if price.free:
        return "that it is free"
    parts = ((price.input_usd, "in"), (price.cached_usd, "cached"), (price.output_usd, "out"))
    return ", ".join(f"{dollars(value)} {what}" for value, what in parts if value is not None) or "nothing of its price"
