"""Encryption of provider keys at rest. Only a driver opens a credential, at the moment of a call."""

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from apps.core.errors import Unavailable


class VaultLocked(Unavailable):
    """The vault key is missing or is not the one the credential was sealed with."""


def _fernet() -> MultiFernet:
    if not settings.VAULT_KEYS:
        raise VaultLocked("VAULT_KEY is not set, so credentials cannot be read; see docs/settings.md")
    return MultiFernet([Fernet(key) for key in settings.VAULT_KEYS])


def seal(secret: str) -> str:
    """Encrypt `secret` with the newest vault key."""
    return _fernet().encrypt(secret.encode()).decode()


def unseal(sealed: str) -> str:
    """Decrypt with whichever vault key fits. :raises VaultLocked: none does."""
    try:
        return _fernet().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise VaultLocked("this credential was sealed with another VAULT_KEY; enter the key again") from None
