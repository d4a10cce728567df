"""Long texts: the first lines, then the whole on demand."""

from apps.web.words.texts import FIRST_CHARS, shown


def test_a_short_text_is_whole() -> None:
    text = shown("one\ntwo", whole=False, raw=True)

    assert (text.text, text.is_cut, text.lines) == ("one\ntwo", False, 2)


def test_two_hundred_lines_are_whole_and_one_more_is_cut() -> None:
    assert not shown("\n".join("x" * 200), whole=False, raw=True).is_cut

    cut = shown("\n".join("x" * 201), whole=False, raw=True)
    assert (cut.is_cut, cut.text.count("\n"), cut.lines) == (True, 199, 201)


def test_one_endless_line_is_cut_too() -> None:
    assert len(shown("x" * (FIRST_CHARS + 1), whole=False, raw=True).text) == FIRST_CHARS


def test_a_monstrous_text_is_shown_as_it_is() -> None:
    assert shown("*a* " * 100_000, whole=True, raw=False).html is None


def test_an_empty_text_is_nothing() -> None:
    assert not shown("", whole=False, raw=False)
