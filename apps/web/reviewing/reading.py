"""How much of each text a page to be read and printed shows; it counts those that it cuts, so that the page can say."""

from apps.web.words.texts import Shown, shown

FIRST_CHARS = 8_000
MOST_CHARS = 200_000  # of one text, also where everything is asked for


class Reading:
    """One page's texts: all of each that is not longer than `MOST_CHARS` if `whole`; as they are if `raw`."""

    def __init__(self, *, whole: bool, raw: bool = False) -> None:
        self.whole = whole
        self.raw = raw
        self.cut = 0

    @property
    def most(self) -> int:
        return MOST_CHARS if self.whole else FIRST_CHARS

    def text(self, text: str) -> Shown:
        """A text as its author meant it: formatted."""
        return self._shown(text, raw=self.raw)

    def exact(self, text: str) -> Shown:
        """A text to the letter."""
        return self._shown(text, raw=True)

    def _shown(self, text: str, *, raw: bool) -> Shown:
        is_cut = len(text) > self.most
        self.cut += is_cut
        part = shown(text[: self.most], whole=True, raw=raw)
        return Shown(part.text, part.html, lines=part.lines, chars=len(text), is_cut=is_cut)
