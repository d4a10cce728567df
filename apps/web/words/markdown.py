"""What models write, as safe HTML: Markdown rendered without raw HTML, then sanitised all the same.

Nothing in it is fetched from elsewhere (an image becomes a link), and headings rank below those of the page.
"""

from collections.abc import MutableMapping, Sequence
from typing import Any

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

LONGEST = 200_000
"""Characters that are formatted; what is longer is shown as it is."""

TAGS = {
    "p",
    "br",
    "hr",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "blockquote",
    "pre",
    "code",
    "em",
    "strong",
    "s",
    "a",
}
TABLES = {"table", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "th": {"align"}, "td": {"align"}}


def render(text: str) -> SafeString:
    """`text` as HTML that can be put into a page."""
    cleaned = nh3.clean(
        _markdown.render(text),
        tags=TAGS | TABLES,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener nofollow",
    )
    return mark_safe(cleaned)  # noqa: S308 - sanitised in the line above, which is what this module is for


class _Renderer(RendererHTML):
    """HTML whose headings begin at the third rank, whose cells are aligned without styles, and without images."""

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        source, words = tokens[idx].attrGet("src"), escape(tokens[idx].content or "image")
        return f'<a href="{escape(source)}">{words}</a>'

    def renderToken(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        token = tokens[idx]
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
        if token.type in ("th_open", "td_open") and (style := token.attrs.pop("style", None)):
            token.attrs["align"] = str(style).rpartition(":")[2]
        return super().renderToken(tokens, idx, options, env)


_markdown = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable(["table", "strikethrough"])
