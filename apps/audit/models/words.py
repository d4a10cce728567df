"""The words of events' texts, for the audit page to search, and how far the log was read for them.

Only `searching.py` writes them, behind the events and never with them; what was erased takes its words with it, by a
trigger (migration 0004).
"""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models

from apps.audit.models.events import Event


class EventWords(models.Model):
    """The words of what a person or a model wrote in an event."""

    event = models.OneToOneField(Event, models.DO_NOTHING, primary_key=True, related_name="words", db_constraint=False)
    words = SearchVectorField()

    class Meta:
        indexes = [
            # What was written last waits in a list that every search reads: it must stay short.
            GinIndex(fields=["words"], name="event_words", gin_pending_list_limit=256),
        ]

    def __str__(self) -> str:
        return f"the words of event {self.pk}"


class Follower(models.Model):
    """Somebody who reads the events of all trails in commit order, and how far they are."""

    name = models.CharField(max_length=40, primary_key=True)
    tx = models.BigIntegerField(default=0)
    event = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.name}: {self.tx}.{self.event}"
