"""Groups of members that did the same work, from the files of pytest-benchmark and of a GPU."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from event_ops_harness.report.figures import between, positive

REFERENCE: Final = "reference"  # the operator's definition in plain JAX, which XLA compiled
GRADIENT: Final = "gradient of "  # how the names of groups begin that time value_and_grad over value
STORED: Final = "weights of "  # of those that time widths of weights, which set ours beside ours
_OURS_ON_GPU: Final = ("ours", "deterministic", "warp")


@dataclass(frozen=True, eq=False)
class Timing:
    """Hold the microseconds of one member of a group, and further facts of its file."""

    name: str
    us: float
    ours: bool
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def interval(self) -> tuple[float, ...]:
        """The ends of the interval of its ratio to the fastest rival; empty where the file has none."""
        low, high = positive(self.more, "low"), positive(self.more, "high")
        return () if low is None or high is None else (low, high)


@dataclass(frozen=True)
class Group:
    """Hold members that did the same work; the first is ours, the default."""

    name: str
    timings: tuple[Timing, ...]

    @property
    def baseline(self) -> Timing:
        """The one that ratios refer to."""
        return self.timings[0]

    @property
    def operator(self) -> str:
        """The name of the operator that is measured, or else of the group."""
        return str(self.baseline.more.get("operator") or self.name)

    @property
    def case(self) -> str:
        """The name without that of the operator."""
        return self.name.removeprefix(self.operator).strip(" ,") or self.name

    @property
    def rivals(self) -> list[Timing]:
        """Return the members that are not ours, and the plain JAX definition."""
        return [t for t in self.timings[1:] if not t.ours or t.name == REFERENCE]

    @property
    def fastest_rival(self) -> Timing | None:
        """The rival of the least time; None where there is no rival."""
        return min(self.rivals, key=lambda t: t.us, default=None)

    def ratio(self, timing: Timing) -> float:
        """Return how many times as long as the first a member takes."""
        return timing.us / self.baseline.us

    def written_ratio(self, rival: Timing) -> str:
        """Write the ratio of a rival, with its interval where the file has one."""
        first = self.baseline
        # The file has the first's time over the rival's.
        ends = first.interval[::-1] if first.more.get("rival") == rival.name else ()
        return between(self.ratio(rival), *(1 / end for end in ends))


def groups(content: Mapping[str, Any]) -> list[Group]:
    """Return the groups of a file, in the order in which they come."""
    measured = content.get("benchmarks", ())
    by_name = _of_steps(content["steps"]) if "steps" in content else _of_entries(measured)
    return [Group(name, tuple(members)) for name, members in by_name.items() if members]


def compared(groups: Iterable[Group]) -> list[Group]:
    """Return the groups that set members beside ours; a group of one compares nothing."""
    return [g for g in groups if len(g.timings) > 1 and not g.name.startswith((GRADIENT, STORED))]


def gradients(groups: Iterable[Group]) -> list[Group]:
    """Return the groups that time an operator's value and gradient beside its value."""
    return [g for g in groups if len(g.timings) > 1 and g.name.startswith(GRADIENT)]


def by_operator(groups: Iterable[Group]) -> dict[str, list[Group]]:
    """Return the groups of each operator, in the order in which they come."""
    by_name: dict[str, list[Group]] = {}
    for group in groups:
        by_name.setdefault(group.operator, []).append(group)
    return by_name


def figures(groups: Iterable[Group], of: Callable[[Group], float | None]) -> dict[str, list[float]]:
    """Return for each operator the figures `of` its groups, `fastest_rival` or `share`, all above 0."""
    named = by_operator(groups).items()
    by_name = {name: [figure for group in members if (figure := of(group))] for name, members in named}
    return {name: its_figures for name, its_figures in by_name.items() if its_figures}


def fastest_rival(group: Group) -> float | None:
    """Return how many times as long as ours the fastest rival takes."""
    return None if group.fastest_rival is None else group.ratio(group.fastest_rival)


def share(group: Group) -> float | None:
    """Return the share of the memory's bandwidth that ours reaches."""
    return positive(group.baseline.more, "share")


def _of_entries(entries: Iterable[Mapping[str, Any]]) -> dict[str, list[Timing]]:
    """Read the entries of pytest-benchmark; `function[member]` is that member, by default of that group."""
    by_group: dict[str, list[Timing]] = {}
    for entry in entries:
        name, param = str(entry.get("name")), str(entry.get("param"))
        function = name.removesuffix(f"[{param}]")
        stats, extra = entry.get("stats") or {}, entry.get("extra_info") or {}
        median = positive(stats, "median")
        if median is not None:
            members = by_group.setdefault(str(entry.get("group") or function), [])
            quartiles = [stats[key] * 1e6 for key in ("q1", "q3") if positive(stats, key)]
            more = {"quartiles_us": quartiles, "rounds": stats.get("rounds"), **extra}
            ours = bool(extra.get("ours", not members))
            members.append(Timing(name if name == function else param, median * 1e6, ours, more))
    return by_group


def _of_steps(steps: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Timing]]:
    """Read figures named `group, rival us`, or `group, us` for ours."""
    by_group: dict[str, list[Timing]] = {}
    for figures in (step.get("found") or {} for step in steps.values()):
        # Ours come first, since ratios of a group refer to its first member.
        for key in sorted(figures, key=lambda key: not key.endswith(", us")):
            match, us = re.fullmatch(r"(.+), (?:([^,]+) )?us", key), positive(figures, key)
            if match and us is not None and (not match[2] or match[1] in by_group):
                group, name = match[1], match[2] or "ours"
                more = {"operator": group.partition(" ")[0], "share": figures.get(f"{group}, share")}
                by_group.setdefault(group, []).append(Timing(name, us, name in _OURS_ON_GPU, more))
    return by_group
