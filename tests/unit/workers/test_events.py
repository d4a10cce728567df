"""The cutting of a byte stream into events, wherever the network split it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.workers.calls import CallFailed
from apps.workers.wire import LONGEST_EVENT_BYTES, Events

TEXTS = ["plain", "Grüße, 世界 😀", "", "data: in data", "x" * 500]


def cut(stream: bytes, at: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(stream) + 1) for place in at), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


def fed(pieces: list[bytes]) -> list[str]:
    events = Events()
    found = [data for piece in pieces for data in events.feed(piece)]
    return [data.decode() for data in [*found, *filter(None, [events.rest()])]]


@given(st.lists(st.sampled_from(TEXTS[:2])), st.lists(st.integers(min_value=0)), st.sampled_from(["\n", "\r\n"]))
def test_the_same_events_come_out_wherever_the_bytes_are_split(texts: list[str], at: list[int], end: str) -> None:
    stream = "".join(f": ping{end}event: x{end}data: {text}{end}{end}" for text in texts).encode()

    assert fed(cut(stream, at)) == texts


def test_a_stream_can_come_byte_by_byte() -> None:
    stream = b"".join(f"data: {text}\r\n\r\n".encode() for text in TEXTS)

    assert fed([stream[at : at + 1] for at in range(len(stream))]) == TEXTS


def test_comments_other_fields_and_empty_lines_say_nothing() -> None:
    assert fed([b"\n\n: still here\n\nid: 7\nretry: 10\nevent: ping\n\n"]) == []


def test_the_space_after_the_colon_may_be_missing() -> None:
    assert fed([b'data:{"a": 1}\n\n', b"data:  two\n\n"]) == ['{"a": 1}', " two"]


def test_the_lines_of_one_event_are_joined() -> None:
    assert fed([b"data: {\ndata: }\n\n"]) == ["{\n}"]


def test_an_event_that_nobody_closed_is_the_rest() -> None:
    assert fed([b"data: one\n\ndata: [DONE]"]) == ["one", "[DONE]"]


@pytest.mark.parametrize("flood", [b"x" * 65_536, b"data: x\n" * 8_192])
def test_an_event_without_end_is_given_up_before_it_eats_the_memory(flood: bytes) -> None:
    events = Events()

    def pour() -> None:
        for _ in range(LONGEST_EVENT_BYTES // len(flood) + 2):
            events.feed(flood)

    with pytest.raises(CallFailed) as caught:
        pour()

    assert (caught.value.kind, caught.value.retryable) == ("malformed", False)
