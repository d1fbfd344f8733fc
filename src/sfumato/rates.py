"""A success rate with what guessing would reach and how sure the rate is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from sfumato.numbers import figure

CONFIDENCE = 0.95
"""How often an interval holds the true rate."""


@dataclass(frozen=True)
class Rate:
    """How often an attack succeeds."""

    successes: float  # people for whom it does; a sum of chances counts as well
    people: int  # people that were tried
    baseline: float  # share that is reached by guessing, without the published link between people and sensitive values

    @property
    def share(self) -> float:
        """Successes ÷ people, from 0 to 1; 0 when nobody was tried."""
        return self.successes / self.people if self.people else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share, for people drawn from many like them.

        For a sum of chances it is too wide rather than too narrow: nothing between 0 and 1 varies more than a yes or no
        with the same mean.
        """
        return interval_ends(self, (1 - CONFIDENCE) / 2)

    def to_dict(self) -> dict[str, float]:
        """Return plain values, for JSON."""
        low, high = self.interval
        return {
            "successes": float(self.successes),
            "people": int(self.people),
            "share": float(self.share),
            "low": float(low),
            "high": float(high),
            "baseline": float(self.baseline),
        }

    def __str__(self) -> str:
        """Return one line, e.g. ``"8412 of 12000, 70.1 % (69.3 to 70.9 %, by guessing 0.01 %)"``."""
        return f"{self.without_baseline[:-1]}, by guessing {figure(100 * self.baseline, 2)} %)"

    @property
    def without_baseline(self) -> str:
        """The line without what guessing reaches, for what nobody guesses at."""
        low, high = self.interval
        return (
            f"{self.successes:.6g} of {self.people}, {100 * self.share:.1f} % ({100 * low:.1f} to {100 * high:.1f} %)"
        )


def interval_ends(rate: Rate, tail: float) -> tuple[float, float]:
    """Return Wilson's interval, with a chance of `tail` beyond each end.

    Examples
    --------
    >>> tuple(round(end, 4) for end in interval_ends(Rate(81, 263, 0.0), 0.025))
    (0.2553, 0.3662)
    """
    n, share = rate.people, rate.share
    if not n:
        return 0.0, 1.0
    z = -NormalDist().inv_cdf(tail)
    spread = z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    middle, scale = share + z * z / (2 * n), 1 + z * z / n
    # Without a success the low end is 0 exactly, and 1 the high end without a failure; rounding must not say else.
    low = (middle - spread) / scale if rate.successes > 0 else 0.0
    high = (middle + spread) / scale if rate.successes < n else 1.0
    return max(0.0, low), min(1.0, high)
