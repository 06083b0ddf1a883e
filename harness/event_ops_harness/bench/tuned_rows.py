"""Make the rows of a tuning table out of measured cases.

Of two measured sizes of one signature the nearer one decides, by ratio: rows meet at the geometric mean. But
where nothing that was measured lies on the other side, or something else is faster there, a row reaches no
farther than `REACH` times beyond its own sizes. A backend has a row at a size if it beat the documented first
one in every case of that size, at every density; of several such ones, that with the largest smallest lead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from event_ops_harness.bench.noise import change
from ffi_bridge.operators import Signature

MARGIN: Final = 1.1  # how many times as fast a backend must be, beyond noise, to get a row
ALPHA: Final = 0.05
REACH: Final = 4


@dataclass(frozen=True)
class Measured:
    """Hold one case. `leads`: backend -> density -> how many times as fast as `over`, if faster at all."""

    operator: str
    platform: str
    signature: Signature
    case: str
    over: str
    leads: Mapping[str, Mapping[str, float]]


def lead(first: Sequence[float], other: Sequence[float]) -> float | None:
    """Return how many times as fast `other` is, from times of both; None unless by `MARGIN` beyond noise."""
    found = change(first, other, ALPHA)
    return 1 / found.ratio if found.high * MARGIN < 1 else None


def rows_of(measured: Iterable[Measured]) -> list[dict[str, Any]]:
    """Return the rows, in the form of a table's file."""
    groups: dict[tuple[Any, ...], list[Measured]] = {}
    for one in measured:
        key = one.operator, one.platform, one.signature.dtypes, one.signature.flags, one.over
        groups.setdefault(key, []).append(one)
    return [row for group in groups.values() for row in _of_signature(group)]


def _of_signature(group: Sequence[Measured]) -> list[dict[str, Any]]:
    by_size: dict[int, list[Measured]] = {}
    for one in group:
        by_size.setdefault(one.signature.elements or 0, []).append(one)
    sizes = sorted(by_size)
    winners = [_winner(by_size[size]) for size in sizes]
    rows: list[dict[str, Any]] = []
    for i, (backend, leads) in enumerate(winners):
        if backend is None:
            continue
        row = _row(by_size[sizes[i]][0], _lower(sizes, i), _upper(sizes, i), backend, leads)
        if i and winners[i - 1][0] == backend:
            rows[-1] |= {"up_to": row["up_to"], "measured": rows[-1]["measured"] | row["measured"]}
            rows[-1]["ratio"] = min(rows[-1]["measured"].values())
        else:
            rows.append(row)
    return rows


def _lower(sizes: Sequence[int], i: int) -> int:
    own = sizes[i] // REACH
    return max(own, math.isqrt(sizes[i - 1] * sizes[i])) if i else own


def _upper(sizes: Sequence[int], i: int) -> int:
    own = sizes[i] * REACH
    return min(own, math.isqrt(sizes[i] * sizes[i + 1])) if i + 1 < len(sizes) else own


def _winner(cases: Sequence[Measured]) -> tuple[str | None, dict[str, float]]:
    """Return the backend that leads in every case, and by how much in each."""
    able = set.intersection(*(set(case.leads) for case in cases))
    leads = {
        backend: {
            " ".join(filter(None, (case.case, density))): round(ratio, 2)
            for case in cases
            for density, ratio in case.leads[backend].items()
        }
        for backend in sorted(able)
    }
    best = max(leads, key=lambda backend: min(leads[backend].values()), default=None)
    return best, leads.get(best or "", {})


def _row(one: Measured, above: int, up_to: int, backend: str, leads: Mapping[str, float]) -> dict[str, Any]:
    return {
        "operator": one.operator,
        "platform": one.platform,
        "dtypes": one.signature.dtypes,
        "flags": list(one.signature.flags),
        "above": above,
        "up_to": up_to,
        "backend": backend,
        "over": one.over,
        "ratio": min(leads.values()),
        "measured": dict(leads),
    }
