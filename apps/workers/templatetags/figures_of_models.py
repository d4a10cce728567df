"""How the figures of a model are written."""

from django import template

register = template.Library()


@register.filter
def tokens(number: int | None) -> str:
    """`128k`, `1M`, `8,191`; nothing known is a dash."""
    if number is None:
        return "–"
    for unit, sign in ((1_000_000, "M"), (1_000, "k")):
        if number >= unit * 10 or (number >= unit and number % (unit // 10) == 0):
            return f"{number / unit:.3g}{sign}"
    return f"{number:,}"
