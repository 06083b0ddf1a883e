"""A logarithmic axis, from values to percent of the width."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class LogScale:
    """Maps `low` to `start` and `high` to `end`; what lies outside is drawn at the end."""

    low: float
    high: float
    start: float = 0.0
    end: float = 100.0

    @classmethod
    def around(cls, values: Iterable[float], least: float, most: float, **ends: float) -> LogScale:
        """Spans the values, and at least `least` to `most`."""
        found = [*values, least, most]
        low, high = min(found), max(found)
        return cls(low / (high / low) ** 0.03, high * (high / low) ** 0.03, **ends)

    def at(self, value: float) -> float:
        """Where `value` lies, from `start` to `end`."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def ticks(self, most: int = 5) -> list[float]:
        """Up to `most` round values within the axis: 1, 2, 5 over few decades, powers of ten over many."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        steps = [
            [m * 10.0**e for e in range(first, last + 1) for m in digits] for digits in ((1, 2, 5), (1, 3))
        ]
        steps += [[10.0**e for e in range(first, last + 1) if e % step == 0] for step in (1, 2, 3, 4)]
        inside = [[x for x in ticks if self.low <= x <= self.high] for ticks in steps]
        return next((ticks for ticks in inside if len(ticks) <= most), inside[-1])
