"""Reads what forms about a run bring along: the key that makes it one run, a person's reason, and sums of money."""

import hashlib
import re
from decimal import Decimal

from django.http import QueryDict

from apps.core.errors import Invalid

LONGEST_REASON = 2_000
LONGEST_SEAL = 20_000  # of a preview, see `estimates`
SUM = re.compile(r"[0-9]{1,9}(\.[0-9]{1,4})?|\.[0-9]{1,4}")  # as finely as limits are kept


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


def usd_in(given: str, *, field: str) -> Decimal | None:
    """A limit in USD as somebody writes it, `0.50` or `$2`; none where nothing was written.

    :raises Invalid: at `field`, where it is no sum of money.
    """
    text = given.strip().removeprefix("$").strip()
    if not text:
        return None
    if not SUM.fullmatch(text):
        message = "Give a sum in USD such as 0.50, with a point and at most four decimals."
        raise Invalid(message, field=field)
    return Decimal(text)
