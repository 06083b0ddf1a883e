"""How many times as long rivals take: by operator, over its cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from event_ops_harness.report.rows import Group, Timing


@dataclass(frozen=True)
class Point:
    """One case: a figure, and the words that say what it is."""

    value: float
    text: str


def by_operator(groups: Iterable[Group]) -> dict[str, list[Group]]:
    """Operator -> its groups, in the order in which they come."""
    found: dict[str, list[Group]] = {}
    for group in groups:
        found.setdefault(group.timings[0].operator, []).append(group)
    return found


def case(group: Group) -> str:
    """The group's name without that of its operator."""
    return group.name.removeprefix(group.timings[0].operator).strip(" ,") or group.name


def fastest_rivals(groups: Iterable[Group]) -> dict[str, list[Point]]:
    """Operator -> how many times as long as ours the fastest rival took in each case."""
    found = {name: [_fastest(group) for group in members] for name, members in by_operator(groups).items()}
    return {name: points for name, maybe in found.items() if (points := [p for p in maybe if p])}


def shares(groups: Iterable[Group]) -> dict[str, list[Point]]:
    """Operator -> the share of the memory's bandwidth that ours reached in each case."""
    found = {
        name: [
            Point(ours.share, f"{case(group)}: {ours.share:.0%}")
            for group in members
            for ours in group.ours
            if ours.share
        ]
        for name, members in by_operator(groups).items()
    }
    return {name: points for name, points in found.items() if points}


def against(groups: Iterable[Group]) -> dict[tuple[str, str], dict[str, list[float]]]:
    """(operator, ours) -> rival -> how many times as long it took in each case."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for group in groups:
        for ours in group.ours:
            rivals = found.setdefault((ours.operator, ours.rival), {})
            for rival in group.rivals:
                rivals.setdefault(rival.rival, []).append(rival.ratio / ours.ratio)
    return {key: rivals for key, rivals in found.items() if rivals}


def cases(groups: Iterable[Group]) -> Mapping[str, int]:
    """Operator -> how many cases were measured."""
    return {name: len(members) for name, members in by_operator(groups).items()}


def _fastest(group: Group) -> Point | None:
    ours = min(group.ours, key=lambda t: t.ratio, default=None)
    rival: Timing | None = min(group.rivals, key=lambda t: t.ratio, default=None)
    if ours is None or rival is None:
        return None
    ratio = rival.ratio / ours.ratio
    return Point(ratio, f"{case(group)}: {rival.rival} takes {ratio:.2f} times as long as {ours.rival}")
