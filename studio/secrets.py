"""The secrets a data directory holds: made once, one file each, readable by their owner alone."""

import base64
import os
import secrets
from collections.abc import Callable
from pathlib import Path


def _fernet_key() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


MAKERS: dict[str, Callable[[], str]] = {
    "secret_key": lambda: secrets.token_urlsafe(48),  # Django: sessions, signed links
    "vault_key": _fernet_key,  # encrypts credentials of providers
    "signing_key": lambda: secrets.token_hex(32),  # the Ed25519 seed that signs anchors of the trails
    "database_superuser": lambda: secrets.token_urlsafe(24),
    "database_owner": lambda: secrets.token_urlsafe(24),
    "database_app": lambda: secrets.token_urlsafe(24),
    "redis_password": lambda: secrets.token_urlsafe(24),
}


def ensure_secrets(data: Path) -> dict[str, str]:
    """Every secret of the directory `data` by name; those that are missing are made."""
    folder = data / "secrets"
    folder.mkdir(mode=0o700, exist_ok=True)
    return {name: _ensure(folder / name, make) for name, make in MAKERS.items()}


def _ensure(path: Path, make: Callable[[], str]) -> str:
    if path.exists():
        return path.read_text().strip()
    value = make()
    write_private(path, value + "\n")
    return value


def write_private(path: Path, text: str) -> None:
    """Replace `path` whole or not at all, with mode 0600, so that no reader finds half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
