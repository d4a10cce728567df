"""Where settings come from: the environment first, then what `up` wrote in its data directory.

`up` writes `services.json` (addresses) and `secrets/` (one file each, mode 0600). Any process that knows the data
directory therefore finds the same services; a variable in the environment always wins.
"""

import json
import os
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
SHORTEST_KEY = 12  # what is shorter says that there is none: "none", "changeme"


def data_dir() -> Path:
    """The data directory: `STUDIO_DATA`, else `data/` beside manage.py."""
    return Path(os.environ.get("STUDIO_DATA") or BASE_DIR / "data").resolve()


@cache
def services() -> dict[str, Any]:
    """The addresses `up` wrote, or nothing where it never ran."""
    try:
        found: dict[str, Any] = json.loads((data_dir() / "services.json").read_text())
    except FileNotFoundError:
        return {}
    return found


def secret(name: str) -> str | None:
    """A secret by name: the variable `NAME`, the file named by `NAME_FILE`, or the data directory's `secrets/name`."""
    variable = name.upper()
    if value := os.environ.get(variable):
        return value
    if path := os.environ.get(f"{variable}_FILE"):
        return Path(path).read_text().strip()
    kept = data_dir() / "secrets" / name
    return kept.read_text().strip() if kept.is_file() else None


def provider_key(variable: str) -> str | None:
    """A provider's key by the name people give it: the variable, or the file named by `<variable>_FILE`.

    A file that cannot be read is none, and so is what cannot be a key: this only looks for what to offer.
    """
    path = os.environ.get(f"{variable}_FILE")
    try:
        key = (os.environ.get(variable) or (Path(path).read_text() if path else "")).strip()
    except (OSError, ValueError):
        return None
    return key if len(key) >= SHORTEST_KEY and key.isascii() and key.isprintable() and " " not in key else None


def networks(text: str) -> list[str]:
    """The networks of a list such as `10.0.0.0/8, fd00::/8`.

    :raises ImproperlyConfigured: one of them is no network.
    """
    listed = [each.strip() for each in text.split(",") if each.strip()]
    for each in listed:
        try:
            ip_network(each)
        except ValueError as error:
            raise ImproperlyConfigured(f"STUDIO_ENDPOINT_NETWORKS: {error}; see docs/settings.md") from None
    return listed


def address(variable: str, key: str) -> str | None:
    """An address: the environment's, else the one `up` wrote under `key`."""
    return os.environ.get(variable) or services().get(key)
