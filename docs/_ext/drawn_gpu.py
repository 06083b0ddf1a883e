"""Draw the records of GPUs: how far operators are from the memory's limit, runs, launches and networks."""

import statistics
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from event_ops_harness.headlines import records
from event_ops_harness.report.drawing import Drawn, Marks, dots, for_any_window
from event_ops_harness.report.figures import percent, ratio

BUSY: Final = ", GPU busy, "
COUNTED: Final = ("numba_cuda", "brainevent")  # backends, ours first
# Steps whose figures are listed one by one.
NETWORKS: Final = ("microcircuit", "cuba", "energy", "hpc_benchmark", "learning")
LAUNCHES: Final = ("variants", "launch", "halves", "products")


def _records() -> list[Mapping[str, Any]]:
    return list(records().named("gpu").values())


def _cases() -> Iterator[tuple[str, str, float, float, float]]:
    """Yield device, case, our time, that of XLA, and the share of the limit, of the largest cases."""
    for record in _records():
        figures = (record["steps"].get("catalog") or {}).get("found") or {}
        for case in (key.partition(BUSY)[0] for key in figures if key.endswith(f"{BUSY}us")):
            ours, xla, share = (figures.get(f"{case}{BUSY}{x}") for x in ("us", "reference us", "share"))
            if share:
                yield record["device"], case, ours, xla if isinstance(xla, float) else 0.0, share


def _beside(ours: float, xla: float) -> tuple[str, str]:
    return (f"{xla:.1f}", ratio(xla / ours)) if xla else ("", "")


def _short(device: str) -> str:
    return device.removeprefix("NVIDIA ").partition(" ")[0]  # all of it is five lines on a phone


def of_limit() -> Drawn:
    """Draw the shares of the memory's limit, of our kernels and of XLA's."""
    cases = sorted(_cases(), key=lambda case: case[-1], reverse=True)
    several = len({device for device, *_ in cases}) > 1
    rows: dict[str, Marks | None] = {}
    for device, case, ours, xla, share in cases:
        name = f"{case}, {device.removeprefix('NVIDIA ')}" if several else case
        rows[name] = {"event-ops": [share]} | ({"XLA": [share * ours / xla]} if xla else {})
    label = "Share of the memory's limit, by operator and case, logarithmic"
    svg = for_any_window(dots, rows, ["event-ops", "XLA"], label, ("memory decides", "from the cache"))
    table = [
        [f"`{case}`", device, f"{ours:.1f}", *_beside(ours, xla), percent(share)]
        for device, case, ours, xla, share in cases
    ]
    ratios = [xla / ours for _, _, ours, xla, _ in cases if xla]
    said = (
        f"Of {len(ratios)} cases XLA takes longer in {sum(ratio > 1 for ratio in ratios)}; its time "
        f"over ours has a median of {statistics.median(ratios):.2g}."
    )
    head = ["case", "on", "ours, µs", "XLA, µs", "XLA / ours", "of the limit"]
    return Drawn(["event-ops", "XLA"], svg, head, table, said)


def of_runs() -> Drawn:
    """List the steps of `ci/gpu.sh` that ran, where and when."""
    table = [
        [f"`{x}`", _short(record["device"]), step["date"], f"`{step['commit']}`", step["status"]]
        for record in _records()
        for x, step in record["steps"].items()
    ]
    return Drawn([], "", ["step", "on", "date", "commit", "ended"], table)


def of_gpu(steps: Iterable[str]) -> Drawn:
    """List the figures of some steps."""
    table = [
        [_short(record["device"]), what, f"{value:.4g}" if isinstance(value, float) else f"{value:,}"]
        for record in _records()
        for step in steps
        for what, value in ((record["steps"].get(step) or {}).get("found") or {}).items()
        if isinstance(value, int | float)
    ]
    return Drawn([], "", ["on", "what", "figure"], table)


def of_counted() -> Drawn:
    """List counters of our kernels beside BrainEvent's."""
    cases: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in records().files["gpu_counters_brainevent"]["rows"]:
        cases.setdefault((row["operator"], row["case"]), {})[row["backend"]] = row
    columns = {"excess": ".2f", "instructions": ",", "warp_efficiency": ".0%", "registers": "d"}
    table = [
        [f"`{name}`", case]
        + [", ".join(format(of[who][x], form) for who in COUNTED) for x, form in columns.items()]
        for (name, case), of in cases.items()
    ]
    head = ["product", "case", "bytes / ideal", "instructions of warps", "lanes active", "registers"]
    return Drawn([], "", head, table)
