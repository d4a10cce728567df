"""When a failed call is tried again, and after how long."""

from tenacity import RetryCallState, wait_exponential_jitter

from apps.workers.calls import CallFailed

LONGEST_WAIT_S = 120

_longer_each_time = wait_exponential_jitter(multiplier=0.4, max=20)


def is_worth_retrying(failure: BaseException) -> bool:
    return isinstance(failure, CallFailed) and failure.retryable


def wait_for_call(state: RetryCallState) -> float:
    """Seconds before the next attempt: what the provider asked for, else exponentially longer; with jitter."""
    failure = state.outcome.exception() if state.outcome else None
    wait_s = _longer_each_time(state)
    if isinstance(failure, CallFailed) and failure.retry_after_s is not None:
        return min(failure.retry_after_s, LONGEST_WAIT_S) + wait_s / 4
    return wait_s
