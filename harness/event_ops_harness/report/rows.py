"""Rows of every benchmark in one form: who took how long in which group, and how rivals compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from event_ops_harness.report.figures import positive

# Rows that do not say whether they are ours.
_OURS: Final = ("numba_kernel", "warp_kernel", "numba_cuda_kernel", "numba_cpu", "numba_cuda", "warp", "ours")
_OURS_BEGIN: Final = ("event-ops", "event_ops", "ffi_bridge")
REFERENCE: Final = "reference"


@dataclass(frozen=True)
class Timing:
    """Hold the microseconds of one rival in one group; `ratio` is to the group's baseline, which has 1.

    `default` is true of the backend of ours that a user gets without naming one.
    """

    group: str
    rival: str
    us: float
    ratio: float
    operator: str
    ours: bool
    default: bool = False
    share: float | None = None

    @property
    def reference(self) -> bool:
        """The operator's definition in plain JAX, which XLA compiled."""
        return REFERENCE in self.rival.split(", ")


@dataclass(frozen=True)
class Point:
    """Hold a figure of one case, and the words that say what it is."""

    value: float
    text: str


@dataclass(frozen=True)
class Group:
    """Hold rivals that did the same work."""

    name: str
    timings: tuple[Timing, ...]

    @property
    def case(self) -> str:
        """The name without that of the operator."""
        return self.name.removeprefix(self.timings[0].operator).strip(" ,") or self.name

    @property
    def baseline(self) -> Timing:
        """The one that ratios refer to."""
        return min(self.timings, key=lambda t: abs(t.ratio - 1))

    @property
    def ours(self) -> list[Timing]:
        """The default, where there is one; else all of ours."""
        return [self.baseline] if self.baseline.default else [t for t in self.timings if t.ours]

    @property
    def rivals(self) -> list[Timing]:
        """What others wrote, and the plain JAX definition, unless that is what is compared."""
        return [t for t in self.timings if t not in self.ours and (not t.ours or t.reference)]


def timings(name: str, content: Mapping[str, Any]) -> list[Timing]:
    """Return the rows of a benchmark that have a time and a ratio."""
    if name == "gpu":
        return _of_gpu(content["steps"])
    found = (_timing(row) for row in content["rows"])
    return [timing for timing in found if timing is not None]


def groups(found: Iterable[Timing]) -> list[Group]:
    """Group the timings, in the order in which they come; a group of one compares nothing and is left out."""
    by_name: dict[str, list[Timing]] = {}
    for timing in found:
        by_name.setdefault(timing.group, []).append(timing)
    return [Group(name, tuple(members)) for name, members in by_name.items() if len(members) > 1]


def by_operator(groups: Iterable[Group]) -> dict[str, list[Group]]:
    """Return the groups of each operator, in the order in which they come."""
    found: dict[str, list[Group]] = {}
    for group in groups:
        found.setdefault(group.timings[0].operator, []).append(group)
    return found


def fastest_rivals(groups: Iterable[Group]) -> dict[str, list[Point]]:
    """Return for each operator how many times as long as ours the fastest rival took in each case."""
    found = {name: [_fastest(group) for group in members] for name, members in by_operator(groups).items()}
    return {name: points for name, maybe in found.items() if (points := [p for p in maybe if p])}


def shares(groups: Iterable[Group]) -> dict[str, list[Point]]:
    """Return for each operator the share of the memory's bandwidth that ours reached in each case."""
    found = {
        name: [
            Point(ours.share, f"{group.case}: {ours.share:.0%}")
            for group in members
            for ours in group.ours
            if ours.share
        ]
        for name, members in by_operator(groups).items()
    }
    return {name: points for name, points in found.items() if points}


def against(groups: Iterable[Group]) -> dict[tuple[str, str], dict[str, list[float]]]:
    """Return for each (operator, ours) and rival how many times as long it took in each case."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for group in groups:
        for ours in group.ours:
            rivals = found.setdefault((ours.operator, ours.rival), {})
            for rival in group.rivals:
                rivals.setdefault(rival.rival, []).append(rival.ratio / ours.ratio)
    return {key: rivals for key, rivals in found.items() if rivals}


def _fastest(group: Group) -> Point | None:
    ours = min(group.ours, key=lambda t: t.ratio, default=None)
    rival = min(group.rivals, key=lambda t: t.ratio, default=None)
    if ours is None or rival is None:
        return None
    ratio = rival.ratio / ours.ratio
    return Point(ratio, f"{group.case}: {rival.rival} takes {ratio:.2f} times as long as {ours.rival}")


def skipped(content: Mapping[str, Any]) -> list[str]:
    """Return what was not measured, and why."""
    reasons = [
        (row.get("simulator") or row.get("rival"), row.get("skipped")) for row in content.get("rows", [])
    ]
    skipped = content.get("skipped")
    reasons += skipped.items() if isinstance(skipped, dict) else []
    return list(dict.fromkeys(f"{who}: {reason}" for who, reason in reasons if reason))


def _timing(row: Mapping[str, Any]) -> Timing | None:
    rival = str(row.get("rival") or row.get("simulator") or "")
    us = positive(row, "us") or positive(row, "us_median")
    ratio = positive(row, "ratio") or positive(row, "ratio_median")
    if us is None or ratio is None or not rival:
        return None
    neurons = positive(row, "neurons")
    group = row.get("group") or (f"{neurons:,.0f} neurons" if neurons else "all")
    default = bool(row.get("ours")) and ratio == 1
    operator = str(row.get("operator") or group)
    return Timing(
        str(group), rival, us, ratio, operator, is_ours(row, rival), default, positive(row, "share")
    )


def _of_gpu(steps: Mapping[str, Mapping[str, Any]]) -> list[Timing]:
    """Read figures named `what, rival us`, or `what, us` for ours; those of one `what` are a group."""
    found: list[Timing] = []
    for step in steps.values():
        figures: Mapping[str, Any] = step.get("found") or {}
        for key in figures:
            what, comma, tail = key.rpartition(", ")
            base, us = positive(figures, f"{what}, us"), positive(figures, key)
            if comma and tail.split()[-1] == "us" and base and us:
                rival = tail.removesuffix("us").strip() or "ours"
                share = positive(figures, f"{what}, share") if rival == "ours" else None
                operator = what.split()[0]
                ours = rival in ("ours", "deterministic")
                found.append(Timing(what, rival, us, us / base, operator, ours, rival == "ours", share))
    return found


def is_ours(row: Mapping[str, Any], rival: str) -> bool:
    """Return what the row says, or, if it does not say, what the rival's name tells."""
    return bool(row.get("ours", rival in _OURS or rival.startswith(_OURS_BEGIN)))
