"""Encryption of provider keys at rest. Only a driver opens a credential, at the moment of a call.

What is sealed says in which form, and with which vault key: `1.3f2a9c41.gAAAA…`. The vault's keys are read anew each
time, so that a rotation reaches processes that run; the newest comes first, and all of them open.
"""

import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from apps.core.errors import Unavailable

FORM = "1"


class VaultLocked(Unavailable):
    """The vault key is missing or is not the one the credential was sealed with."""


def seal(secret: str) -> str:
    """Encrypt `secret` with the newest vault key. :raises VaultLocked: there is none."""
    keys = _keys()
    return f"{FORM}.{id_of(keys[0])}.{Fernet(keys[0]).encrypt(secret.encode()).decode()}"


def unseal(sealed: str) -> str:
    """Decrypt with whichever vault key fits. :raises VaultLocked: none does."""
    token = sealed.rpartition(".")[2]  # the first form was the token alone
    try:
        return MultiFernet([Fernet(key) for key in _keys()]).decrypt(token.encode()).decode()
    except InvalidToken:
        named = f" ({key_of(sealed)})" if key_of(sealed) else ""
        raise VaultLocked(
            f"this credential was sealed with another VAULT_KEY{named}; enter the provider's key again"
        ) from None


def key_of(sealed: str) -> str:
    """The id of the vault key that something was sealed with; nothing where the form is older than ids."""
    parts = sealed.split(".")
    return parts[1] if len(parts) == 3 else ""


def newest() -> str:
    """The id of the vault key that is sealed with now. :raises VaultLocked: there is none."""
    return id_of(_keys()[0])


def id_of(key: str) -> str:
    """What names a vault key without telling anything of it."""
    return hashlib.sha256(b"vault:" + key.encode()).hexdigest()[:8]


def _keys() -> list[str]:
    keys: list[str] = settings.READ_VAULT_KEYS()
    if not keys:
        raise VaultLocked("VAULT_KEY is not set, so credentials cannot be read; see docs/settings.md")
    return keys
