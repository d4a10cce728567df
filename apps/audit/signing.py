"""The studio's signature: Ed25519 over what leaves its hands, with a key that is not in the database.

Whoever owns the database can rewrite all of it, and can sign nothing. Each signature says what it is for, so that one
made over an anchor can never pass for one over something else. The first of the keys signs; the others, where the key
was changed, still vouch for what they once signed.
"""

import hashlib
from collections.abc import Mapping
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
from django.conf import settings

from apps.core.errors import Invalid, Unavailable

ANCHOR = "anchor"
"""What the signature of an anchor is for; its text is the hash of the anchor's event."""


class NoSigningKey(Unavailable):
    """There is no key to sign with."""

    def __init__(self) -> None:
        super().__init__(
            "There is no key to sign with. Set SIGNING_KEY, or start the studio with `up`: docs/settings.md says how."
        )


class NotAKey(Invalid):
    """What should be a key is none."""


def message(purpose: str, text: str) -> bytes:
    """The very bytes that are signed: `conductor-studio/<purpose>/v1`, a line break, and the text."""
    return f"conductor-studio/{purpose}/v1\n{text}".encode()


def sign(purpose: str, text: str) -> str:
    """The signature over `text` with the studio's newest key, in hex.

    :raises NoSigningKey: there is none.
    """
    return _newest().sign(message(purpose, text)).hex()


def is_signed(purpose: str, text: str, *, signature: str, key: Ed25519PublicKey) -> bool:
    """Whether `signature`, in hex, is `key`'s over `text`."""
    try:
        key.verify(bytes.fromhex(signature), message(purpose, text))
    except (InvalidSignature, ValueError):
        return False
    return True


def public_key_pem() -> str:
    """The public half of the key that signs now, as PEM. :raises NoSigningKey: there is none."""
    return _newest().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def public_key_id() -> str:
    """The fingerprint of the key that signs now. :raises NoSigningKey: there is none."""
    return fingerprint(_newest().public_key())


def fingerprint(key: Ed25519PublicKey) -> str:
    """SHA-256 of the key in DER, in hex: what `openssl pkey -pubin -outform DER | sha256sum` says too."""
    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def public_keys() -> Mapping[str, Ed25519PublicKey]:
    """The public halves of all keys of the studio, by fingerprint; none where there is no key."""
    keys = [private_key(seed).public_key() for seed in settings.READ_SIGNING_KEYS()]
    return {fingerprint(key): key for key in keys}


def read_pem(pem: str) -> Ed25519PublicKey:
    """A public key that was kept elsewhere.

    :raises NotAKey: it is no Ed25519 public key in PEM.
    """
    try:
        key = load_pem_public_key(pem.encode())
    except ValueError:
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise NotAKey("This is no Ed25519 public key in PEM, as the page of the public key shows it.")
    return key


def _newest() -> Ed25519PrivateKey:
    seeds = settings.READ_SIGNING_KEYS()
    if not seeds:
        raise NoSigningKey
    return private_key(seeds[0])


@lru_cache(maxsize=8)
def private_key(seed: str) -> Ed25519PrivateKey:
    """The key of a seed of 32 bytes in hex.

    :raises NotAKey: the seed is something else.
    """
    try:
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seed))
    except ValueError:
        raise NotAKey("SIGNING_KEY is no seed of 32 bytes in hex, as `openssl rand -hex 32` makes one.") from None
