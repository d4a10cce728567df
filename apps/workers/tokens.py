"""Counting tokens where no provider has: before a call, to set its worst case aside, and after one that did not tell.

With the encoding cl100k_base, which lies in litellm's package: nothing is fetched, and litellm is not imported. Each
model has a tokenizer of its own, so this is near the truth and not the truth; what is counted ahead has a margin.
"""

import hashlib
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

ENCODING = "cl100k_base"
CACHE = "TIKTOKEN_CACHE_DIR"  # where tiktoken looks for encodings before it fetches them
# The name tiktoken keeps the encoding's file under, and what its bytes must be: otherwise it would fetch another one.
FILE = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
FOLDER = "litellm_core_utils/tokenizers"

CHARS_PER_TOKEN = 3  # without the encoding: rather too many tokens than too few
# A text longer than this is counted in so many pieces from all over it, and the rest taken to be like them.
MOST_CHARS = 200_000
PIECES = 8
QUICK_CHARS = 16_000  # some 3 ms: for an event loop
# Between the tokenizers of today's models: the same text is up to a third longer in one than in another.
MARGIN = 1.35
PER_MESSAGE = 8  # role and separators: more than any known chat template takes
PER_CALL = 32

_loading = Lock()


def count(text: str, *, most_chars: int = MOST_CHARS) -> int:
    """The tokens of `text`; of a very long one, about. Up to 40 ms of CPU: for a thread."""
    if len(text) <= most_chars:
        return _count(text)
    size, stride = most_chars // PIECES, (len(text) - most_chars // PIECES) / (PIECES - 1)
    starts = [round(number * stride) for number in range(PIECES)]
    found = sum(_count(text[start : start + size]) for start in starts)
    return math.ceil(found * len(text) / (size * PIECES))


def of_messages(messages: Iterable[Mapping[str, str]], *, most_chars: int = MOST_CHARS) -> int:
    """What was sent in a call, counted as plainly as possible: for a provider that did not tell."""
    return sum(count(message.get("content") or "", most_chars=most_chars) for message in messages)


def at_most(messages: Sequence[Mapping[str, str]]) -> int:
    """More than what a provider is likely to count for `messages`, never more than their bytes allow."""
    total = PER_CALL
    for message in messages:
        text = message.get("content") or ""
        # A tokenizer that knows no word of a text takes its bytes one by one.
        total += PER_MESSAGE + min(math.ceil(count(text) * MARGIN), len(text.encode(errors="replace")))
    return total


def warm_up() -> bool:
    """Load the encoding (some 80 ms, 45 MB) before the first call waits for it; False where it is not there."""
    return _encoding() is not None


def _count(text: str) -> int:
    encoding = _encoding()
    if encoding is None:
        return math.ceil(len(text) / CHARS_PER_TOKEN)
    return len(encoding.encode_ordinary(text))


def _encoding() -> "Encoding | None":
    with _loading:
        return _load()


@lru_cache(maxsize=1)
def _load() -> "Encoding | None":
    folder = _folder()
    if folder is None:
        return None
    import tiktoken

    others = os.environ.pop(CACHE, None)
    os.environ[CACHE] = str(folder)
    try:
        return tiktoken.get_encoding(ENCODING)
    finally:
        os.environ.pop(CACHE)
        if others is not None:
            os.environ[CACHE] = others


def _folder() -> Path | None:
    """Where the encoding's file is, if it is whole: finding a package does not import it."""
    spec = find_spec("litellm")
    for place in (spec and spec.submodule_search_locations) or ():
        folder = Path(place) / FOLDER
        if (folder / FILE).is_file() and hashlib.sha256((folder / FILE).read_bytes()).hexdigest() == SHA256:
            return folder
    return None
