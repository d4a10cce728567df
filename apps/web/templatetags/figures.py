"""The figures of `apps.web.figures` as template filters."""

from django import template

from apps.web import figures

register = template.Library()

for name in ("count", "listed", "seconds", "usd", "price", "plural", "about_tokens", "spaced", "short_title"):
    register.filter(name, getattr(figures, name))
