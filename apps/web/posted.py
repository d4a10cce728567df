"""Reads what forms that start or end a run bring along: the key that makes it one run, and a person's reason."""

import hashlib

from django.http import QueryDict

LONGEST_REASON = 2_000


def key_of(given: str, *written: str) -> str | None:
    """The key for a run, from the one its form was `given` and what was `written` in it; none where none was given.

    Pressed twice, one run. Gone back to and changed, another one: so the key covers what was written.
    """
    if not given:
        return None
    return hashlib.sha256("\0".join([given, *written]).encode(errors="surrogatepass")).hexdigest()


def reason_in(form: QueryDict) -> str:
    """Why somebody does what they do, as far as it can be kept."""
    return form.get("reason", "").replace("\0", "").strip()[:LONGEST_REASON]
