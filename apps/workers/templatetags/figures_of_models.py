"""How the figures of a model are written."""

from datetime import datetime, timedelta
from decimal import Decimal

from django import template
from django.utils import timezone
from django.utils.timesince import timesince

from apps.workers.catalogue import plainly

register = template.Library()


@register.filter
def tokens(number: int | None) -> str:
    """`128k`, `1.05M`, `8,191`; nothing known is a dash."""
    if number is None:
        return "–"
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 1_000:.0f}k" if number < 999_500 else f"{number / 1_000_000:.3g}M"


@register.filter
def dollars(price: Decimal | None) -> str:
    """`$5`, `$0.30`, `$0.075`; nothing known says so."""
    if price is None:
        return "unknown"
    exact = plainly(price)
    return f"${exact:.2f}" if exact.as_tuple().exponent == -1 else f"${exact}"


@register.filter
def ago(at: datetime) -> str:
    """`just now`, `5 minutes ago`"""
    now = timezone.now()
    return "just now" if now - at < timedelta(minutes=1) else f"{timesince(at, now, depth=1)} ago"
