"""What follows from rows of the microcircuit at several scales and numbers of cores."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from event_ops_harness.bench.fits import power_law

Rows = Sequence[dict[str, Any]]


def add_efficiencies(rows: Rows) -> None:
    """efficiency = t1 / (n * tn) where the same was measured on one core; t is the best round."""
    measured = [row for row in rows if "min" in row]
    alone = {(row["simulator"], row["scale"]): row["min"] for row in measured if row["cores"] == 1}
    for row in measured:
        one = alone.get((row["simulator"], row["scale"]))
        if one is not None and row["cores"] > 1:
            row["efficiency"] = one / (row["cores"] * row["min"])


def exponents(rows: Rows) -> list[dict[str, Any]]:
    """time = factor * synapses ** exponent, of the best rounds, where there are three scales or more."""

    def series(row: dict[str, Any]) -> tuple[str, int]:
        return row["simulator"], row["cores"]

    found = []
    for (simulator, cores), own in groupby(sorted((r for r in rows if "min" in r), key=series), key=series):
        points = sorted({row["synapses"]: row["min"] for row in own}.items())
        if len(points) < 3:
            continue
        sizes, times = zip(*points, strict=True)
        fit = power_law(sizes, times)
        span = {"from": sizes[0], "to": sizes[-1]}
        found.append(
            {"simulator": simulator, "cores": cores, "exponent": fit.slope, "error": fit.error, **span}
        )
    return found
