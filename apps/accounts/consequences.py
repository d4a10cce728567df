"""What comes of deleting something, in plain words, before anybody says yes: what forbids it, and what goes along."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.contrib.admin.utils import NestedObjects
from django.db import DEFAULT_DB_ALIAS, models
from django.urls import NoReverseMatch, reverse

NAMED = 5
UNTOLD = {"admin.logentry"}  # Django's own notes: what happened stays in the trail


@dataclass(frozen=True)
class Named:
    """A row that is spoken of, with the address of its page where it has one."""

    name: str
    url: str


@dataclass(frozen=True)
class Consequence:
    """One thing to know, with the first few rows that it is about."""

    text: str
    rows: Sequence[Named] = ()
    more: int = 0


@dataclass(frozen=True)
class Deletion:
    """Everything to know before rows are deleted. With `forbids` they cannot be."""

    what: str
    forbids: Sequence[Consequence]
    happens: Sequence[Consequence]
    instead: str


def weigh(rows: Sequence[models.Model], *, words: Mapping[str, str]) -> tuple[list[Consequence], list[Consequence]]:
    """What forbids that `rows` are deleted, and what would go along with them.

    `words` are sentences by model (`workers.fallback`), in which `{n}` is the number and name of what is meant.
    """
    collector = NestedObjects(using=DEFAULT_DB_ALIAS)
    collector.collect(rows)
    chosen = {(type(row), row.pk) for row in rows}
    along = [
        each
        for model, found in collector.data.items()
        for each in found
        if not model._meta.auto_created and (model, each.pk) not in chosen and model._meta.label_lower not in UNTOLD
    ]
    return _told(collector.protected, words, "Still needed by {n}"), _told(
        along, words, "{n} will be deleted along with it"
    )


def about(text: str, rows: Iterable[models.Model]) -> Consequence:
    """`text`, and the first few of `rows`."""
    found = list(rows)
    named = [Named(str(row), address_of(row)) for row in found[:NAMED]]
    return Consequence(text, named, len(found) - len(named))


def address_of(row: models.Model) -> str:
    """The admin page of a row; nothing where there is none."""
    try:
        return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])
    except NoReverseMatch:
        return ""


def spoken(rows: Sequence[models.Model]) -> str:
    """`the worker “qwen”`, `3 workers`"""
    [first, *others] = rows
    return counted(len(rows), type(first)) if others else f"the {type(first)._meta.verbose_name} “{first}”"


def counted(number: int, model: type[models.Model]) -> str:
    """`1 worker`, `3 workers`"""
    return f"{number:,} {model._meta.verbose_name if number == 1 else model._meta.verbose_name_plural}"


def _told(rows: Iterable[Any], words: Mapping[str, str], otherwise: str) -> list[Consequence]:
    told = []
    ordered = sorted(rows, key=lambda row: (row._meta.label_lower, row.pk))
    for label, some in groupby(ordered, key=lambda row: row._meta.label_lower):
        found = list(some)
        told.append(about(words.get(label, otherwise).format(n=counted(len(found), type(found[0]))), found))
    return told
