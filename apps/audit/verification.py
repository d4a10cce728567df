"""Whether a trail still is what was sealed: its lines, the texts they name, the columns beside them and its end.

Everything is computed again here, in Python, from what the database returns; nothing it says about itself is believed.
Whoever owns the database can still rewrite a trail from its first event to its head: heads kept elsewhere tell.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import datetime

from apps.audit import chain
from apps.audit.chain import Break, Sealed
from apps.audit.models import Event, Payload, Trail

PAGE = 1000  # events held in memory at once, with the texts they name


@dataclass(frozen=True)
class Verified:
    """What re-computing a trail found: how many events hold, the last hash that was reached, and the first break."""

    events: int
    head: str
    first_break: Break | None


def verify(trail: str) -> Verified:
    """Re-compute a trail from its first event and name the first place where it does not hold.

    A text that was erased is no break: its digest stays sealed.
    """
    walk = chain.Walk()
    found = _walk(trail, walk)
    return Verified(events=found.seq - 1 if found else walk.seq, head=walk.hash, first_break=found)


def _walk(trail: str, walk: chain.Walk) -> Break | None:
    head = Trail.objects.filter(name=trail).first()
    if head is None:
        return Break(1, f"there is no trail {trail}")
    for page in _pages(head):
        wrong = _wrong_texts({digest for event in page for digest in _named(event).values()})
        for event in page:
            sealed = Sealed(event.seq, event.line, event.hash)
            if found := walk.step(sealed) or _break_of_columns(event) or _break_of_texts(event, wrong):
                return found
        head = page[-1].trail
    return walk.end(head_seq=head.head_seq, head_hash=head.head_hash)


def _pages(head: Trail) -> Iterator[list[Event]]:
    """A trail's events page by page, each with the head as it was in the same snapshot.

    So an event sealed while we read is not mistaken for one that was forged behind the end.
    """
    rows = Event.objects.filter(trail=head).select_related("trail").order_by("seq")
    page = list(rows[:PAGE])
    while page:
        yield page
        page = list(rows.filter(seq__gt=page[-1].seq)[:PAGE])


def _named(event: Event) -> dict[str, str]:
    """The texts an event names; none where its line is no event, which the walk will say."""
    try:
        return {name: str(digest) for name, digest in event.texts.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def _break_of_columns(event: Event) -> Break | None:
    """A column that says something else than the line would show a filter what never happened."""
    try:
        content = event.content
        repeated = {
            "trail": content["trail"] == event.trail.name,
            "seq": content["seq"] == event.seq,
            "at": datetime.fromisoformat(content["at"]) == event.at,
            "verb": content["verb"] == event.verb,
            "actor": content["actor"] == {"kind": event.actor_kind, "id": event.actor_id, "label": event.actor_label},
            "subject": content["subject"] == event.subject,
            "project": content["project"] == event.project,
        }
    except (ValueError, KeyError, TypeError):
        return Break(event.seq, f"event {event.seq} is sealed, but its line is no event")
    for name, same in repeated.items():
        if not same:
            return Break(event.seq, f"the {name} beside event {event.seq} is not the one in its line")
    return None


def _break_of_texts(event: Event, wrong: Mapping[str, str]) -> Break | None:
    for name, digest in _named(event).items():
        if digest in wrong:
            return Break(event.seq, f"the text “{name}” of event {event.seq} {wrong[digest]}")
    return None


def _wrong_texts(digests: Set[str]) -> dict[str, str]:
    """What is wrong with which of these texts; an erased one is not wrong."""
    wrong = dict.fromkeys(digests, "is gone, and was not erased")
    rows = Payload.objects.filter(digest__in=digests).values_list("digest", "salt", "text", "erased_at")
    for digest, salt, text, erased_at in rows:
        if erased_at or chain.digest(salt or "", text or "") == digest:
            del wrong[digest]
        else:
            wrong[digest] = "is not the one that was sealed"
    return wrong
