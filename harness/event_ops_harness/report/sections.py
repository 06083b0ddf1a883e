"""The sections of the page, one for each benchmark: its charts, cases, tables and remarks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from event_ops_harness.report import charts, rows, tables
from event_ops_harness.report.charts import Chart
from event_ops_harness.report.conformance import Ids
from event_ops_harness.report.figures import span
from event_ops_harness.report.rows import Group
from event_ops_harness.report.tables import Table

FEW: Final = 12  # groups whose charts are shown without being asked for
# Keys that are shown elsewhere on the page.
_ELSEWHERE: Final = ("command", "machine", "date", "commit", "device", "rows", "steps", "skipped")

# Title and what the reader should know; a benchmark that is not here has its name as the title.
_TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "catalog": (
        "Operators beside their rivals",
        "Each operator on its default backend, beside libraries that do the same and its reference in JAX.",
    ),
    "call": (
        "What one call costs",
        "A kernel that adds eight floats, behind every way into JAX, beside XLA's own addition.",
    ),
    "cuba": (
        "A whole network",
        "The CUBA network of Brette et al. (2007), per step of 0.1 ms, beside simulators of the same model.",
    ),
    "scaling": ("Scaling", "Time against size; the exponent is fitted to the upper half of the sizes."),
    "threads": ("Threads", "Parallel operators with one thread and with all, beside the memory's own gain."),
    "devices": ("Devices", "The CUBA network split over devices and processes of one host."),
    "memory": ("Memory", "Resident memory per synapse, each kind of matrix in processes of its own."),
    "cold": ("Cold start", "Imports and first calls in fresh processes."),
    "gpu": ("On a GPU", "Launches, products and the CUBA network on a GPU, beside XLA and other libraries."),
}

Files = Mapping[str, Mapping[str, Any]]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Panel:
    """Hold the cases of one operator, folded until they are asked for."""

    id: str
    title: str
    remark: str
    charts: tuple[Chart, ...]
    table: Table


@dataclass(frozen=True)
class Section:
    """Hold one benchmark; `wide` charts stand in two columns, `small` ones in three."""

    id: str
    title: str
    lead: str
    commands: tuple[str, ...]
    wide: tuple[Chart, ...]
    small: tuple[Chart, ...]
    ratios: bool
    panels: tuple[Panel, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...]


def groups_of(name: str, files: Files) -> list[Group]:
    """Return the groups of one benchmark, from all of its files."""
    return rows.groups(timing for content in files.values() for timing in rows.timings(name, content))


def section(name: str, files: Files, ids: Ids) -> Section:
    """Make the section of one benchmark from its files."""
    title, lead = _TEXTS.get(name, (name.replace("_", " ").capitalize(), ""))
    measured = [row for content in files.values() for row in content.get("rows", [])]
    groups = groups_of(name, files)
    curves = charts.scaling(measured, list(_listed(files)))
    threads, amounts = charts.efficiencies(measured), charts.amounts(measured)
    few = len(groups) <= FEW and not threads and not amounts
    many = not few and not curves and not threads and not amounts
    panels = _panels(name, groups, measured, ids) if many else []
    return Section(
        ids.new(name),
        title,
        lead,
        tuple(str(content["command"]) for content in files.values() if "command" in content),
        (*(charts.overview(groups) if many else []), *curves, *threads),
        tuple(amounts or (charts.bars(groups) if few and groups else [])),
        few and bool(groups),
        tuple(panels),
        tuple(_tables(files, [] if panels else measured)),
        tuple(_notes(files)),
    )


def _panels(name: str, groups: Sequence[Group], measured: Sequence[Row], ids: Ids) -> list[Panel]:
    fastest = rows.fastest_rivals(groups)
    found: list[Panel] = []
    for operator, members in rows.by_operator(groups).items():
        heads = {group.name: group.case for group in members}
        own = [row for row in measured if row.get("group") in heads and row.get("rival")]
        own = own or [asdict(timing) for group in members for timing in group.timings]
        remark = f"{len(members)} {'case' if len(members) == 1 else 'cases'}"
        if points := fastest.get(operator):
            remark += f"; fastest rival: {span([point.value for point in points])}×"
        small = tuple(charts.bars(members, short_titles=True))
        table = tables.by_rival("Figures", own, heads)
        found.append(Panel(ids.new(name, operator), operator, remark, small, table))
    return found


def _listed(files: Files) -> Iterable[Row]:
    """Yield the objects of every list beside the rows."""
    lists = (value for content in files.values() for key, value in content.items() if key != "rows")
    return (item for value in lists if isinstance(value, list) for item in value if isinstance(item, dict))


def _tables(files: Files, measured: Sequence[Row]) -> list[Table]:
    found = [tables.table("Figures", measured)] if measured else []
    for content in files.values():
        found += tables.of_steps(content["steps"]) if "steps" in content else tables.sections(content)
    return found


def _notes(files: Files) -> list[str]:
    """Return what was skipped, lists of texts, and single figures."""
    found: list[str] = []
    for content in files.values():
        found += [f"Not measured: {reason}" for reason in rows.skipped(content)]
        for key, value in content.items():
            if key in _ELSEWHERE or not value:
                continue
            name = key.replace("_", " ")
            if isinstance(value, list):
                found += [x if key == "verdicts" else f"{name}: {x}" for x in value if isinstance(x, str)]
            elif isinstance(value, dict):
                found.append(f"{name}: " + ", ".join(f"{k} {v}" for k, v in value.items()))
            else:
                found.append(f"{name}: {tables.cell(key, value).text}")
    return list(dict.fromkeys(found))
