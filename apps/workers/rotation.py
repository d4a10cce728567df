"""Sealing all that the vault sealed anew, once the vault has another key in front."""

from datetime import datetime

from django.db import transaction

from apps.accounts.second_factors import reseal_factors
from apps.audit import log
from apps.audit.log import Actor, Entry
from apps.workers import vault
from apps.workers.models import Credential
from apps.workers.services import TRAIL
from apps.workers.vault import VaultLocked


@transaction.atomic
def reseal_all(*, by: Actor, now: datetime) -> int:
    """Seal every credential with the newest vault key, and what people show beside a password, all or none.

    Returns how many credentials there are.

    :raises VaultLocked: one of them was sealed with a key that the vault no longer has.
    """
    credentials = list(Credential.objects.select_for_update().order_by("pk"))
    before = sorted({vault.key_of(each.sealed) for each in credentials})
    for credential in credentials:
        try:
            credential.sealed = vault.seal(vault.unseal(credential.sealed))
        except VaultLocked as locked:
            raise VaultLocked(f"{credential}: {locked.message}") from None
        credential.save(update_fields=["sealed"])
    factors = reseal_factors(lambda sealed: vault.seal(vault.unseal(sealed)))
    counted: dict[str, log.JSON] = {"credentials": len(credentials), "second_factors": factors}
    entry = Entry("vault.resealed", {**counted, "from": before, "to": vault.newest()})
    log.append(TRAIL, [entry], by=by, at=now, subject="vault", project="")
    return len(credentials)
