"""What somebody shows beside a password: authenticator apps, passkeys and recovery codes. allauth keeps them."""

from collections.abc import Callable
from datetime import datetime

from allauth.mfa.models import Authenticator
from django.db import transaction

from apps.accounts.models import User
from apps.accounts.services import TRAIL
from apps.audit import log
from apps.audit.log import JSON, Actor, Entry

SECRETS = ("secret", "seed")  # of an authenticator app, of recovery codes; a passkey's key is a public one
WORDS = {"totp": "an authenticator app", "webauthn": "a passkey", "recovery_codes": "recovery codes"}


def note_factor(verb: str, *, person: User, authenticator: Authenticator, by: Actor, now: datetime) -> None:
    """Say what became of one: `added`, `removed`, `renamed`; called in the transaction that did it."""
    data: dict[str, JSON] = {"person": person.pk, "factor": authenticator.pk, "kind": authenticator.type}
    name = authenticator.data.get("name")
    _leave(Entry(f"second-factor.{verb}", data, {"name": name} if name else {}), person, by, now)


def note_recovery_codes(*, person: User, by: Actor, now: datetime) -> None:
    """Say that there are new recovery codes, and that the ones before open nothing any more."""
    _leave(Entry("recovery-codes.made", {"person": person.pk}), person, by, now)


def names_of_factors(person: User) -> list[str]:
    """What `person` can show, in words; recovery codes do not count by themselves."""
    kinds = Authenticator.objects.filter(user=person).order_by("created_at").values_list("type", flat=True)
    return [WORDS[kind] for kind in kinds if kind != Authenticator.Type.RECOVERY_CODES]


@transaction.atomic
def forget_second_factors(*, person: User, by: Actor, now: datetime) -> int:
    """Take away all that `person` had to show beside a password, for one who has lost it; how many there were."""
    held = list(Authenticator.objects.select_for_update().filter(user=person).order_by("pk"))
    for each in held:
        note_factor("removed", person=person, authenticator=each, by=by, now=now)
    Authenticator.objects.filter(pk__in=[each.pk for each in held]).delete()
    return len(held)


def reseal_factors(anew: Callable[[str], str]) -> int:
    """Have every kept secret sealed `anew`, and return how many there are; in the transaction under way."""
    held = list(Authenticator.objects.select_for_update().exclude(type="webauthn").order_by("pk"))
    for each in held:
        each.data |= {name: anew(each.data[name]) for name in SECRETS if name in each.data}
        each.save(update_fields=["data"])
    return len(held)


def _leave(entry: Entry, person: User, by: Actor, now: datetime) -> None:
    log.append(TRAIL, [entry], by=by, at=now, subject=f"person:{person.pk}", project="")
