"""Tokens are counted with the encoding that lies in litellm's package, and never fetched."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from apps.workers import tokens

SAMPLES = [
    "Which region grew most?",
    "漢字と仮名の混じった文。",
    "def f(x):\n    return x ** 2\n",
    "😀" * 40,
    "a" * 500,
    "",
]


@pytest.fixture
def without_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_load", lambda: None)


def test_tokens_are_those_of_the_encoding() -> None:
    assert tokens.count("hello world") == 2
    assert tokens.count("tiktoken is great!") == 6
    assert tokens.count("<|endoftext|>") == 7, "what looks like a control token is text like any other"


def test_neither_the_network_nor_litellm_is_needed() -> None:
    code = (
        "import os, socket, sys\n"
        "def refuse(*_): raise AssertionError('the network was asked')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from apps.workers import tokens\n"
        "assert tokens.warm_up() and tokens.count('hello world') == 2\n"
        "assert 'litellm' not in sys.modules\n"
        "assert 'TIKTOKEN_CACHE_DIR' not in os.environ\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "TIKTOKEN_CACHE_DIR"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")


def test_somebody_elses_cache_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/elsewhere")
    tokens._load.cache_clear()

    assert tokens.warm_up()

    assert os.environ["TIKTOKEN_CACHE_DIR"] == "/elsewhere"


def test_a_file_that_is_not_the_encoding_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """tiktoken itself would delete it and fetch another one."""
    package = tmp_path / "litellm"
    (package / tokens.FOLDER).mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / tokens.FOLDER / tokens.FILE).write_text("half a file")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "litellm", raising=False)

    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    tokens._load.cache_clear()
    try:
        assert not tokens.warm_up()
        assert tokens.count("x" * 10) == 4
        assert (package / tokens.FOLDER / tokens.FILE).exists()
    finally:
        tokens._load.cache_clear()


@pytest.mark.usefixtures("without_encoding")
def test_without_the_encoding_three_characters_are_a_token() -> None:
    assert tokens.count("x" * 10) == 4
    assert tokens.at_most([{"role": "user", "content": "x" * 10}]) == tokens.PER_CALL + tokens.PER_MESSAGE + 6


@pytest.mark.parametrize("text", SAMPLES)
def test_the_upper_bound_lies_above_the_count_and_within_the_bytes(text: str) -> None:
    bound = tokens.at_most([{"role": "user", "content": text}])

    assert tokens.count(text) < bound <= tokens.PER_CALL + tokens.PER_MESSAGE + max(len(text.encode()), 0)
    assert tokens.of_messages([{"role": "user", "content": text}] * 2) == 2 * tokens.count(text)


def test_a_message_without_text_counts_as_its_frame() -> None:
    assert tokens.at_most([{"role": "assistant"}]) == tokens.PER_CALL + tokens.PER_MESSAGE
    assert tokens.at_most([]) == tokens.PER_CALL


def test_halves_of_surrogate_pairs_are_counted_too() -> None:
    assert tokens.at_most([{"role": "user", "content": "a\ud800b" * 20}]) > 20


@pytest.mark.parametrize(
    "unit", ["The quick brown fox jumps over the lazy dog. ", "漢字と仮名。", "a", " ", "\n", "7", "-"]
)
def test_a_very_long_text_is_counted_in_pieces_and_soon(unit: str) -> None:
    text = unit * (2_000_000 // len(unit))
    tokens.warm_up()
    before = time.process_time()

    found = tokens.count(text)

    assert time.process_time() - before < 0.5, "2 MB are no longer at it than 200 kB"
    truth = tokens._count(unit * (20_000 // len(unit))) * (len(text) / (20_000 // len(unit) * len(unit)))
    assert found == pytest.approx(truth, rel=0.02)


def test_the_pieces_come_from_all_over_the_text() -> None:
    half = 400_000
    text = "The quick brown fox. " * (half // 21) + "漢字仮名" * (half // 4)

    assert tokens.count(text) == pytest.approx(tokens._count(text), rel=0.05)
