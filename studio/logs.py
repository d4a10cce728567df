"""Keeps out of the logs what stands in addresses and is as good as what it opens: links to sign in, and shared ones."""

import re

# Django names the path of a request that it refuses, and a traceback may hold one. Both tokens have 43 characters, and
# no other address below these two is as long.
TOKEN = re.compile(r"((?:/|%2F)(?:sign-in|shared)(?:/|%2F))[\w-]{20,}", re.IGNORECASE)


def without_tokens(logger: object, method: str, line: str) -> str:
    """A line of a log as it is written, whatever logged it, with `***` for each token."""
    return TOKEN.sub(r"\1***", line)
