"""Long texts in pages: the first lines, then the whole on demand; formatted, or as they are."""

from dataclasses import dataclass

from django.utils.safestring import SafeString

from apps.web.words import markdown

FIRST_LINES = 200
FIRST_CHARS = 40_000  # a text of one endless line is cut too


@dataclass(frozen=True)
class Shown:
    """A text as far as it is shown. `html` is there where it is formatted."""

    text: str
    html: SafeString | None
    lines: int
    chars: int
    is_cut: bool

    def __bool__(self) -> bool:
        return bool(self.chars)


def shown(text: str, *, whole: bool, raw: bool) -> Shown:
    """`text` or its beginning, as Markdown unless `raw`."""
    lines = text.count("\n") + 1 if text else 0
    part = text if whole else _beginning(text)
    html = None if raw or len(part) > markdown.LONGEST else markdown.render(part)
    return Shown(part, html, lines=lines, chars=len(text), is_cut=len(part) < len(text))


def _beginning(text: str) -> str:
    start = text[:FIRST_CHARS]
    return "\n".join(start.split("\n", FIRST_LINES)[:FIRST_LINES]) if start.count("\n") >= FIRST_LINES else start
