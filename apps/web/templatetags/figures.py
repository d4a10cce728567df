"""The figures of `apps.web.words.figures` as template filters, and where a figure of money is explained."""

from django import template
from django.urls import reverse

from apps.runs.models import Attempt, Run, Step
from apps.runs.purse import step_ref
from apps.web.words import figures

register = template.Library()

NAMES = ("count", "listed", "seconds", "usd", "exact_usd", "price", "plural", "about_tokens", "spaced", "short_title")
for name in NAMES:
    register.filter(name, getattr(figures, name))


@register.filter
def ledger_url(call: Attempt, step: Step) -> str:
    """The address of the ledger's line for a call of `step`; of one that was a run of its own, that run's lines."""
    frozen = call.run.pool.get(call.worker) or {}
    if frozen.get("conducts"):
        nested = Run.objects.filter(nested_in=call).values_list("code", flat=True).first()
        return reverse("run-ledger", args=[nested or call.run.code])
    return f"{reverse('run-ledger', args=[call.run.code])}#{step_ref(call.run, step.key, call.number)}"
