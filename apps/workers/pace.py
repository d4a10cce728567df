"""How long things take at the workers' doors: leases, looks, pauses and windows. Tests hurry by giving shorter ones."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pace:
    """Times in seconds. A lease outlives two missed renewals; what a killed driver held is free when its leases end."""

    lease_s: float = 9.0
    renew_s: float = 3.0
    look_s: float = 1.0  # how often the waiting look themselves: news may be lost
    tell_s: float = 0.5  # how often, at most, one who waits is told how it stands
    call_s: float = 2.0  # until a Redis that does not answer counts as away
    retry_s: float = 0.5  # between tries while it is
    muster_s: float = 1.0  # in which all drivers say what they hold, after a Redis has forgotten it
    window_s: float = 60.0  # requests and tokens "per minute"
    open_after: int = 5  # failures in a row
    first_pause_s: float = 5.0  # of an open circuit, doubled with each trial that fails
    longest_pause_s: float = 300.0
    first_cool_s: float = 1.0  # after a 429 that names no time, doubled with each that follows
    longest_cool_s: float = 900.0  # whatever a Retry-After says: knocking once in a quarter of an hour harms nobody
    steady_s: float = 5.0  # how long after a cooling they are let in one by one,
    gap_s: float = 0.05  # on average so far apart
    remember_s: float = 86_400.0  # the limits of a worker that nobody asks
    trouble_s: float = 3_600.0  # failures, likewise; more than the longest pause and cooling

    def told(self) -> dict[str, int]:
        """What the scripts need of it, in milliseconds."""
        return {
            "lease_ms": round(self.lease_s * 1000),
            "muster_ms": round(self.muster_s * 1000),
            "look_ms": round(self.look_s * 1000),
            "window_ms": round(self.window_s * 1000),
            "open_after": self.open_after,
            "first_pause_ms": round(self.first_pause_s * 1000),
            "longest_pause_ms": round(self.longest_pause_s * 1000),
            "first_cool_ms": round(self.first_cool_s * 1000),
            "longest_cool_ms": round(self.longest_cool_s * 1000),
            "steady_ms": round(self.steady_s * 1000),
            "gap_ms": round(self.gap_s * 1000),
            "remember_ms": round(self.remember_s * 1000),
            "trouble_ms": round(self.trouble_s * 1000),
        }
