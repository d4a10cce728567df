"""The rows of the one log: trails, the events sealed in them, and the texts those events name by digest.

Only `log.py` writes here. What may not change is refused by triggers (migration 0002), for the tables' owner too.
"""

import json
from functools import cached_property
from typing import Any

from django.db import models

from apps.audit.chain import GENESIS


class CurrentTransaction(models.Func):
    """The number of the writing transaction, as a bigint: PostgreSQL casts an xid8 to nothing but text."""

    template = "(pg_current_xact_id()::text::bigint)"
    arity = 0
    output_field: Any = models.BigIntegerField()


class NextTransaction(CurrentTransaction):
    """The first transaction number this statement can see nothing of."""

    template = "(pg_snapshot_xmax(pg_current_snapshot())::text::bigint)"


class OwnTransaction(CurrentTransaction):
    """The number of this transaction, without giving it one where it has written nothing: 0 then."""

    template = "(coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0))"


class WorkerInLine(models.Func):
    """The worker that an event's line tells of; None where it tells of none, or is no event at all."""

    # One reading of the line for the whole row; `IS JSON` first, since a column must not be what refuses a forgery.
    template = "(CASE WHEN line IS JSON OBJECT THEN left(line::json #>> '{data,worker}', 80) END)"
    arity = 0
    output_field: Any = models.CharField(max_length=80)


class Trail(models.Model):
    """All events about one subject, in order; the row is the head that a writer locks."""

    name = models.CharField(max_length=120, unique=True)
    project = models.CharField(max_length=80, blank=True)
    head_seq = models.BigIntegerField(default=0)
    head_hash = models.CharField(max_length=64, default=GENESIS)

    def __str__(self) -> str:
        return self.name


class Event(models.Model):
    """One sealed row. The line is the event; the columns beside it repeat parts of it for filters and indexes.

    Actor, subject and project are ids and labels, never foreign keys: an event outlives what it speaks of.
    """

    trail = models.ForeignKey(Trail, on_delete=models.PROTECT, related_name="events", db_index=False)
    seq = models.BigIntegerField()
    line = models.TextField()
    hash = models.CharField(max_length=64)

    at = models.DateTimeField()
    verb = models.CharField(max_length=80)
    actor_kind = models.CharField(max_length=16)
    actor_id = models.CharField(max_length=80)
    actor_label = models.CharField(max_length=320)  # a first and a last name of 150 each
    subject = models.CharField(max_length=200)
    project = models.CharField(max_length=80, blank=True)

    # Made by the database from the line, so that it cannot say something else.
    worker = models.GeneratedField(
        expression=WorkerInLine(), output_field=models.CharField(max_length=80, null=True), db_persist=True
    )

    # What the commit-order cursor reads by; see docs/adr/0002-commit-order-cursor.md.
    tx = models.BigIntegerField(db_default=CurrentTransaction(), editable=False)

    class Meta:
        constraints = [
            # One event a place; also the index of `log.read` and `log.verify`.
            models.UniqueConstraint(fields=["trail", "seq"], name="event_once_a_seq"),
        ]
        indexes = [
            # `log.since`: all trails in commit order.
            models.Index(fields=["tx", "id"], name="event_commit_order"),
            # The audit page (finding.py), in commit order: what a project, a person or driver, or a worker did, and
            # everything of a kind, however long ago it was.
            models.Index(fields=["project", "tx", "id"], name="event_by_project"),
            models.Index(fields=["actor_label", "tx", "id"], name="event_by_actor"),
            models.Index(fields=["verb", "tx", "id"], name="event_by_verb"),
            models.Index(
                fields=["worker", "tx", "id"], name="event_by_worker", condition=models.Q(worker__isnull=False)
            ),
            # The same page: a stretch of time, in the order of time.
            models.Index(fields=["at", "id"], name="event_by_time"),
            # The same page: objects by how they begin. Few events have the same one.
            models.Index(fields=["subject"], opclasses=["text_pattern_ops"], name="event_by_subject"),
        ]

    def __str__(self) -> str:
        return f"{self.subject} {self.seq}: {self.verb}"

    @cached_property
    def content(self) -> dict[str, Any]:
        """The line, parsed: trail, seq, at, verb, actor, subject, project, data, texts."""
        parsed: dict[str, Any] = json.loads(self.line)
        return parsed

    @property
    def data(self) -> dict[str, Any]:
        """The ids and numbers of what happened."""
        data: dict[str, Any] = self.content["data"]
        return data

    @property
    def texts(self) -> dict[str, str]:
        """The digests of what was written, by name; `log.text` has the text."""
        texts: dict[str, str] = self.content["texts"]
        return texts


class Payload(models.Model):
    """A text that a person or a model wrote, named by its salted digest; erased, only the digest stays."""

    digest = models.CharField(max_length=64, primary_key=True)
    trail = models.ForeignKey(Trail, on_delete=models.PROTECT, related_name="payloads")
    salt = models.CharField(max_length=32, null=True)  # noqa: DJ001 - an erased salt is gone, not empty
    text = models.TextField(null=True)  # noqa: DJ001 - an empty text is a text, an erased one is none
    created_at = models.DateTimeField()
    erased_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            # A payload is whole or erased: half an erasure would leave a text to guess or a salt to guess with.
            models.CheckConstraint(
                name="payload_whole_or_erased",
                condition=models.Q(salt__isnull=False, text__isnull=False, erased_at__isnull=True)
                | models.Q(salt__isnull=True, text__isnull=True, erased_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.digest
