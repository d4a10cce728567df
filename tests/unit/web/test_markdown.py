"""Markdown that models write: formatted, and harmless whatever it says."""

import re
import time

import pytest

from apps.web.words.markdown import render


def test_what_people_use_is_formatted() -> None:
    html = render("# Title\n\n**bold** and `code`\n\n1. one\n2. two\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n~~gone~~")

    assert "<h3>Title</h3>" in html
    assert "<strong>bold</strong> and <code>code</code>" in html
    assert "<li>one</li>" in html
    assert '<td align="right">2</td>' in html
    assert "<s>gone</s>" in html


def test_code_keeps_its_text() -> None:
    assert "&lt;b&gt; &amp; if a &lt; b" in render("```html\n<b> & if a < b\n```")


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "<svg onload=alert(1)>",
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1))",
        "[a](data:text/html;base64,PHNjcmlwdD4=)",
        "![a](javascript:alert(1))",
        '[a](https://x.example "t\\" onclick=alert(1)")',
        '<https://x.example/"onclick=alert(1)>',
        "`<script>alert(1)</script>`",
        "```\n</code></pre><script>alert(1)</script>\n```",
        "| <script>alert(1)</script> |\n|---|\n| <iframe src=//x.example> |",
        '<a href="javascript:alert(1)" style="position:fixed">x</a>',
        "&lt;script&gt;alert(1)&lt;/script&gt;",
    ],
)
def test_nothing_in_it_runs_or_loads(text: str) -> None:
    tags = re.findall(r"<(/?\w+)([^>]*)>", render(text))

    assert not {name for name, _ in tags} & {"script", "img", "svg", "iframe", "style"}
    for _, attributes in tags:
        assert not re.search(r"(?:^|\s)(?:on\w+|style|src)=", re.sub(r'"[^"]*"', '""', attributes))
        assert "javascript:" not in attributes.lower()
        assert "data:" not in attributes.lower()


def test_links_lead_away_without_telling() -> None:
    assert render("[a](https://x.example)") == '<p><a href="https://x.example" rel="noopener nofollow">a</a></p>\n'


def test_an_image_is_a_link_to_it() -> None:
    html = render("![a chart](https://x.example/c.png)")

    assert '<a href="https://x.example/c.png" rel="noopener nofollow">a chart</a>' in html


@pytest.mark.parametrize("text", ["[" * 20_000, "> " * 5_000, "**" * 20_000, "|" * 20_000, "`" * 20_001, "- " * 5_000])
def test_odd_texts_are_formatted_in_time(text: str) -> None:
    before = time.perf_counter()
    render(text)

    assert time.perf_counter() - before < 5
