"""Figures as text: three significant digits, thousands with commas, times in the unit that suits them."""

import math
from collections.abc import Mapping
from typing import Any, Final

_UNITS: Final = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns"))
_SCALES: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def number(row: Mapping[str, Any], key: str) -> float | None:
    """Return `row[key]` if it is a finite number, else None."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def positive(row: Mapping[str, Any], key: str) -> float | None:
    """Return `row[key]` if it is a finite number above 0, else None."""
    value = number(row, key)
    return value if value is not None and value > 0 else None


def short(value: float) -> str:
    """Write `value` to three significant digits; from 1000 on to the unit."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-3 or value == 0 else f"{value:.1e}"


def ratio(value: float) -> str:
    """Write `value` as a factor, to two significant digits."""
    # From each bound on, the format below it would round to a third digit.
    if value >= 9.95:
        return f"{value:,.0f}×"
    return f"{value:.1f}×" if value >= 0.995 else f"{value:.2f}×" if value >= 0.0995 else f"{value:.2g}×"


def between(value: float, *interval: float) -> str:
    """Write `value` as a factor, with its interval where one is given: 1.6× (1.5 to 1.7)."""
    return ratio(value) + (
        f" ({' to '.join(ratio(x).removesuffix('×') for x in interval)})" if interval else ""
    )


def percent(value: float) -> str:
    """Write a share as a percentage."""
    return f"{value:.0%}" if value >= 0.00995 else f"{value * 100:.1g}%"


def duration(us: float) -> str:
    """Write microseconds in the unit that leaves one to three digits before the point."""
    # A hair below one unit is written as 1 of it, not as 1000 of the unit below.
    factor, unit = next(((f, u) for f, u in _UNITS if us >= f * 0.9995), _UNITS[-1])
    return f"{short(us / factor)} {unit}"


def count(value: float) -> str:
    """Write a size with its decimal prefix: 4k, 1M."""
    factor, prefix = next(((f, p) for f, p in _SCALES if value >= f), (1.0, ""))
    return f"{value / factor:.3g}{prefix}"


def span(values: list[float]) -> str:
    """Write ratios as `low to high`, or as one ratio if both read alike."""
    low, high = (ratio(x).removesuffix("×") for x in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
