"""What a call costs, how refusals are sorted, and what may be kept of what a provider said."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime

import pytest

from apps.runs.models import Attempt
from apps.workers.calls import (
    MOST_TOKENS,
    CallFailed,
    Endpoint,
    Price,
    Reply,
    Usage,
    clean,
    refusal,
    seconds_until,
    tidy,
)

DEAR = Price(input_usd=Decimal(3), cached_usd=Decimal("0.3"), output_usd=Decimal(15))


def reply(**given: object) -> tuple[Reply, list[str]]:
    heard: list[str] = []
    endpoint = Endpoint(slug="atlas", transport="wire", base_url="http://atlas", model="atlas", **given)  # type: ignore[arg-type]  # a shorthand
    return Reply(endpoint, [{"role": "user", "content": "Why is the sky blue?"}], heard.append), heard


class TestPrice:
    def test_cached_tokens_are_paid_at_their_own_price(self) -> None:
        usage = Usage(input_tokens=1000, cached_tokens=600, output_tokens=100, reasoning_tokens=40)

        assert DEAR.cost_usd(usage) == Decimal("0.00288")  # 400 × 3 + 600 × 0.3 + 100 × 15, in millionths

    def test_cached_tokens_without_a_price_are_paid_as_any_other(self) -> None:
        price = Price(input_usd=Decimal(3), output_usd=Decimal(15))

        assert price.cost_usd(Usage(input_tokens=1000, cached_tokens=600)) == Decimal("0.003")

    @pytest.mark.parametrize("price", [Price(), Price(input_usd=Decimal(3)), Price(output_usd=Decimal(15))])
    def test_a_missing_price_makes_the_cost_unknown_and_not_nothing(self, price: Price) -> None:
        assert price.cost_usd(Usage(input_tokens=10, output_tokens=10)) is None

    def test_a_missing_price_that_nothing_needs_does_no_harm(self) -> None:
        assert Price(input_usd=Decimal(3)).cost_usd(Usage(input_tokens=1000)) == Decimal("0.003")

    def test_free_costs_nothing(self) -> None:
        assert Price(free=True).cost_usd(Usage(input_tokens=10, output_tokens=10)) == Decimal(0)


class TestRefusal:
    @pytest.mark.parametrize(
        ("status", "kind", "retryable"),
        [
            (400, "bad_request", False),
            (401, "auth", False),
            (402, "bad_request", False),
            (403, "auth", False),
            (404, "not_found", False),
            (408, "server", True),
            (409, "server", True),
            (413, "bad_request", False),
            (422, "bad_request", False),
            (425, "server", True),
            (429, "rate_limited", True),
            (500, "server", True),
            (503, "server", True),
            (529, "server", True),
        ],
    )
    def test_the_status_decides_the_kind_and_whether_to_try_again(
        self, status: int, kind: str, retryable: bool
    ) -> None:
        failure = refusal(status, "no")

        assert (failure.kind, failure.retryable, failure.status) == (kind, retryable, status)

    def test_a_spent_balance_is_not_tried_again(self) -> None:
        failure = refusal(429, '{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}')

        assert (failure.kind, failure.retryable) == ("rate_limited", False)

    @pytest.mark.parametrize(
        "body",
        [
            '{"error": {"message": "too hot", "type": "weather"}}',
            '{"error": "too hot"}',
            '{"message": "too hot"}',
            '{"detail": "too hot"}',
            "too hot\n",
        ],
    )
    def test_the_message_is_in_the_providers_own_words(self, body: str) -> None:
        assert refusal(500, body).message == "too hot"

    @pytest.mark.parametrize("body", ['{"detail": [{"loc": ["body"]}]}', "[1]", "{}", "3", "[" * 100_000])
    def test_a_body_of_another_shape_is_shown_as_it_is(self, body: str) -> None:
        assert refusal(422, body).message == tidy(body)

    def test_an_empty_body_leaves_a_message_all_the_same(self) -> None:
        assert "502" in refusal(502, "").message


class TestTidy:
    @pytest.mark.parametrize(
        "message",
        [
            "Incorrect key provided: my-secret-key-1.",
            "Incorrect key provided: sk-proj-abc***************wxyz.",
            "headers were {'authorization': 'Bearer eyJhbGciOi.J9'}",
            "cannot reach http://someone:eyJhbGciOi.J9@example.com/v1",
        ],
    )
    def test_secrets_are_removed(self, message: str) -> None:
        shown = tidy(message, "my-secret-key-1")

        assert "[removed]" in shown
        assert not any(secret in shown for secret in ("my-secret-key-1", "sk-proj", "wxyz", "eyJ", "someone"))

    def test_ordinary_words_stay(self) -> None:
        message = "The risk-averse model at http://host:80/v1 asks for a task-list; see sk-learn."

        assert tidy(message, "") == message

    def test_a_long_message_is_cut_after_secrets_are_removed(self) -> None:
        shown = tidy("x" * 1_990 + " sk-1234567890abcdef " + "y" * 5_000)

        assert len(shown) == 2_000
        assert shown.endswith("…")
        assert "sk-1" not in shown


class TestSecondsUntil:
    @pytest.mark.parametrize(("header", "seconds"), [("3", 3.0), ("0.25", 0.25), ("-1", 0.0)])
    def test_a_number_is_seconds(self, header: str, seconds: float) -> None:
        assert seconds_until(header) == seconds

    def test_a_date_is_turned_into_seconds(self) -> None:
        header = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)

        assert seconds_until(header) == pytest.approx(30, abs=2)

    def test_a_date_in_the_past_means_now(self) -> None:
        assert seconds_until("Wed, 21 Oct 2015 07:28:00 GMT") == 0

    @pytest.mark.parametrize("header", [None, "", "soon", "nan", "inf"])
    def test_anything_else_says_nothing(self, header: str | None) -> None:
        assert seconds_until(header) is None


class TestReply:
    def test_nul_is_stripped_and_a_delta_of_nothing_else_is_no_delta(self) -> None:
        made, heard = reply()

        made.hear("a\0b")
        made.hear("\0")

        assert heard == ["ab"]

    def test_a_surrogate_pair_cut_in_two_is_joined_again(self) -> None:
        made, heard = reply()

        for piece in ("see: \ud83d", "\ude00", "!"):
            made.hear(piece)

        assert "".join(heard) == made.text == "see: 😀!"

    def test_half_a_surrogate_pair_is_replaced_by_what_can_be_stored(self) -> None:
        made, _ = reply()

        made.hear("\ud83d")
        made.hear("plain \ude00")

        assert made.text.encode() == "\ufffdplain \ufffd".encode()

    def test_reasoning_is_a_sign_of_life_and_no_part_of_the_text(self) -> None:
        made, heard = reply()

        made.think("Let me see: it scatters.")

        assert made.ttft_ms is not None
        assert (made.text, heard) == ("", [])

    def test_without_an_account_of_the_tokens_they_are_counted_with_a_tokenizer_and_marked_estimated(self) -> None:
        made, _ = reply(price=DEAR)
        made.think("x" * 8)
        made.hear("It scatters.")
        made.ended = True

        completion = made.completion()

        assert completion.usage == Usage(
            input_tokens=6, output_tokens=4 + 2, reasoning_tokens=2, cached_tokens=0, estimated=True
        )
        assert completion.cost_usd == DEAR.cost_usd(completion.usage)

    @pytest.mark.parametrize("details", [None, {}, {"cached_tokens": None}, {"cached_tokens": "many"}, 7])
    def test_an_account_with_holes_is_read_as_far_as_it_goes(self, details: object) -> None:
        made, _ = reply()

        made.meter({"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": details})

        assert made.usage == Usage(input_tokens=7, output_tokens=2)

    def test_an_account_of_more_tokens_than_there_can_be_is_bounded(self) -> None:
        made, _ = reply()

        made.meter({"prompt_tokens": 10**12, "completion_tokens": -5})

        assert made.usage == Usage(input_tokens=MOST_TOKENS, output_tokens=0)

    def test_why_there_is_no_more_fits_where_it_is_kept(self) -> None:
        made, _ = reply()

        made.finish("length\0 " * 20)

        column = Attempt._meta.get_field("finish_reason")
        assert made.finish_reason is not None
        assert made.finish_reason.startswith("length length")
        assert len(made.finish_reason) == column.max_length

    def test_a_reply_that_nobody_ended_was_cut(self) -> None:
        made, _ = reply()
        made.hear("It scat")

        with pytest.raises(CallFailed) as caught:
            made.completion()

        assert (caught.value.kind, caught.value.retryable) == ("cut", True)

    @pytest.mark.parametrize(("reason", "retryable"), [("stop", True), ("length", False), ("content_filter", False)])
    def test_an_empty_reply_is_tried_again_unless_the_same_would_come_of_it(self, reason: str, retryable: bool) -> None:
        made, _ = reply()
        made.finish_reason = reason

        with pytest.raises(CallFailed) as caught:
            made.completion()

        assert (caught.value.kind, caught.value.retryable) == ("empty", retryable)

    def test_a_reply_without_end_is_given_up_before_it_eats_the_memory(self) -> None:
        made, heard = reply()

        for _ in range(20):
            made.hear("x" * 100_000)
        with pytest.raises(CallFailed) as caught:
            made.hear("x")

        assert (caught.value.kind, caught.value.retryable) == ("malformed", False)
        assert sum(map(len, heard)) == 2_000_000

    def test_a_failure_carries_what_had_come_and_been_consumed(self) -> None:
        made, _ = reply()
        made.answered = True
        made.hear("It scat")

        failure = made.account(CallFailed("cut", "gone", retryable=True))

        assert failure.partial == "It scat"
        assert failure.usage is not None
        assert failure.usage.estimated
        assert failure.ttft_ms is not None

    def test_a_call_that_was_never_answered_consumed_nothing(self) -> None:
        made, _ = reply()

        assert made.account(CallFailed("refused", "no", retryable=True)).usage is None


def test_clean_leaves_ordinary_text_alone() -> None:
    assert clean("Grüße, 世界 😀\n\t") == "Grüße, 世界 😀\n\t"


def test_an_endpoint_does_not_show_its_key() -> None:
    endpoint = Endpoint(slug="a", transport="wire", base_url="http://a", model="a", api_key="very-secret")

    assert "very-secret" not in repr(endpoint)
