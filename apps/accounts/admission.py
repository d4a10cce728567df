"""Lets an API key in as often as it may, counted in Redis for all web processes together.

The generic cell rate algorithm: each key has one time, at which it would be empty if nothing more came. A request moves
it on by its share of the minute, and is refused where that would be more than a minute ahead: so a key may spend its
minute at once, and then goes on at its rate, with no window at whose edge twice as many fit.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import cache

import redis
import structlog
from django.conf import settings
from redis.exceptions import RedisError

from apps.accounts.models import ApiKey

logger = structlog.get_logger(__name__)

MINUTE_S = 60.0
# KEYS[1]: the key's time; ARGV: now, a request's share, the minute. Answers how long to wait, and how many are left.
SPEND = """
local now, share, minute = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local ahead = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now) + share
if ahead - now > minute + share / 1000 then
  return {tostring(ahead - now - minute), 0}
end
redis.call('SET', KEYS[1], string.format('%.6f', ahead), 'EX', math.ceil(ahead - now) + 1)
return {'0', math.floor((minute - (ahead - now)) / share + 0.001)}
"""


@dataclass(frozen=True)
class Admission:
    """Whether a request is let in, how many more may follow at once, and when one refused may come again."""

    is_in: bool
    left: int
    retry_after_s: float = 0.0


def admit(*, key: ApiKey, now: datetime) -> Admission:
    """Count a request that brought `key`. While Redis is away everything is let in: this is fairness, not a lock."""
    share = MINUTE_S / key.rate_per_minute
    try:
        given = (f"studio:key-rate:{key.pk}", f"{now.timestamp():.6f}", f"{share:.6f}", str(MINUTE_S))
        wait, left = _counter(settings.REDIS_URL).eval(SPEND, 1, *given)
    except RedisError as error:
        logger.warning("an API key's requests were not counted", prefix=key.prefix, error=str(error))
        return Admission(is_in=True, left=key.rate_per_minute)
    wait_s = float(wait)
    return Admission(is_in=wait_s == 0, left=int(left), retry_after_s=wait_s)


@cache
def _counter(url: str) -> "redis.Redis":
    return redis.Redis.from_url(url, socket_timeout=2, socket_connect_timeout=1)
