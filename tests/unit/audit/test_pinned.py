"""An anchor as it is kept elsewhere: whole or not, by itself, and signed for nothing but what it is."""

import json
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from apps.audit import chain, signing
from apps.audit.anchored import fault_of
from apps.audit.pinned import Head, Pinned, read
from apps.audit.signing import NotAKey

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes([1]) * 32)
FINGERPRINT = "339e2ff917630507b6a423b5ce084e285d1fa65d93b3e27a6195d3bbebc9ae23"
HEADS = [["run:ä", 3, "a" * 64]]


def pinned(*, key: Ed25519PrivateKey = KEY, purpose: str = signing.ANCHOR, **changes: Any) -> Pinned:
    content: dict[str, Any] = {"trail": "anchors", "seq": 2, "data": {"key": "k", "heads": HEADS}} | changes
    line = chain.canonical(content)
    hash_ = chain.seal("b" * 64, line)
    signature = key.sign(signing.message(purpose, hash_)).hex()
    return Pinned(2, "b" * 64, line, hash_, signing.fingerprint(key.public_key()), signature)


KEYS = {signing.fingerprint(KEY.public_key()): KEY.public_key()}


def test_it_is_read_as_it_was_written() -> None:
    anchor = pinned()

    assert read(anchor.written()) == anchor
    assert "\n" not in anchor.written()
    assert anchor.heads == [Head("run:ä", 3, "a" * 64)]
    assert fault_of(anchor, KEYS) == ""


@pytest.mark.parametrize(
    "changed",
    [
        {"prev": "c" * 64},
        {"hash": "c" * 64},
        {"seq": 3},
        {"line": pinned().line.replace("run:ä", "run:b")},
        {"prev": "b" * 63, "line": "b" + pinned().line},
        {"line": "[]"},
        {"line": "no JSON"},
        {"line": "[" * 100_000},
    ],
)
def test_a_changed_one_is_not_whole(changed: dict[str, Any]) -> None:
    assert fault_of(replace(pinned(), **changed), KEYS).startswith("is not what was sealed")


def test_an_event_of_another_trail_is_no_anchor() -> None:
    assert not pinned(trail="run:a").is_whole


def test_another_signature_is_found() -> None:
    assert fault_of(replace(pinned(), signature=pinned(key=OTHER).signature), KEYS) == (
        "does not bear the studio's signature"
    )
    assert fault_of(replace(pinned(), signature="no hex"), KEYS) == "does not bear the studio's signature"
    assert fault_of(pinned(key=OTHER), KEYS) == "is signed with a key that is not the studio's"


def test_a_signature_for_something_else_is_none() -> None:
    assert fault_of(pinned(purpose="export"), KEYS) == "does not bear the studio's signature"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "3", '{"seq": 1', json.dumps({**json.loads(pinned().written()), "seq": "2"})]
)
def test_what_is_no_anchor_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read(text)


def test_a_key_is_known_by_what_openssl_says_of_it() -> None:
    # openssl pkey -pubin -outform DER | sha256sum, of the key whose seed is 32 zero bytes
    assert signing.fingerprint(KEY.public_key()) == FINGERPRINT


@pytest.mark.parametrize("pem", ["", "no key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"])
def test_what_is_no_public_key_is_refused(pem: str) -> None:
    with pytest.raises(NotAKey):
        signing.read_pem(pem)


@pytest.mark.parametrize("seed", ["", "ab", "zz" * 32])
def test_what_is_no_seed_is_refused(seed: str) -> None:
    with pytest.raises(NotAKey, match="32 bytes in hex"):
        signing.private_key(seed)
