"""Coming to an address as somebody, and what came of it; afterwards everything is as it was."""

from dataclasses import dataclass

from django.db import transaction
from django.test import Client
from django.urls import reverse

from apps.audit.models import Event
from tests.integration.habits.addresses import Address
from tests.integration.habits.tables import changed, contents, writes
from tests.integration.habits.world import World

NOBODY = "nobody"


@dataclass(frozen=True)
class Visit:
    """What an address answered, the tables that changed, and the verbs of the events that came."""

    status: int
    location: str
    text: str
    changed: set[str]
    verbs: list[str]

    @property
    def is_refused(self) -> bool:
        return self.status in (403, 404, 405) or self.is_sent_to_sign_in

    @property
    def is_sent_to_sign_in(self) -> bool:
        return self.status == 302 and self.location.startswith("/sign-in/?next=")


def visit(world: World, name: str, address: Address, *, who: str, method: str, is_raw: bool = False) -> Visit:
    """Go there, see what happens, and undo it; what one has said oneself is left out, unless the text `is_raw`."""
    url = reverse(name, kwargs={key: world.filled(given) for key, given in address.given.items()})
    sent = address.form if method == "post" else address.asked
    data = {key: world.filled(given) for key, given in sent.items()}
    with transaction.atomic():
        client = Client()
        if who != NOBODY:
            client.force_login(world.people[who])
        at_first, before = world.contents, writes()
        last = Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        response = getattr(client, method)(url, data) if method in ("get", "post") else getattr(client, method)(url)
        verbs = list(Event.objects.filter(pk__gt=last).order_by("pk").values_list("verb", flat=True))
        text = "" if response.streaming else response.content.decode(errors="replace")
        for said in () if is_raw else (*address.given.values(), *data.values()):
            text = text.replace(str(world.filled(said)), "")
        seen = Visit(response.status_code, response.get("Location", ""), text, _changed(at_first, before), verbs)
        transaction.set_rollback(True)
    return seen


def _changed(at_first: dict[str, str], before: dict[str, int]) -> set[str]:
    """The tables whose rows are others than they were. Only those that were written to are read: that is quick."""
    written = [name for name, number in writes().items() if number != before.get(name, 0)]
    return changed(at_first, contents(written))
