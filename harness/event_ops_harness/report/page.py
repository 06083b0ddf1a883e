"""The page: everything in one HTML file, without scripts and without anything to load."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import jinja2

from event_ops_harness.report import charts, rows, tables
from event_ops_harness.report.charts import Chart
from event_ops_harness.report.conformance import REASONS, Ids, Matrix, matrix
from event_ops_harness.report.figures import duration, ratio, span
from event_ops_harness.report.inputs import COMMANDS, MATRIX, Inputs, benchmark, environment
from event_ops_harness.report.rows import Group
from event_ops_harness.report.tables import Table
from event_ops_harness.statuses import FAILED, PASSED, SKIPPED

_TEMPLATES: Final = Path(__file__).parent / "templates"
# The parts of the page that are always there.
_RESERVED: Final = ("top", "conformance", "heat-map", "sources", "missing")
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


@dataclass(frozen=True)
class Headline:
    """Hold a figure, what it is, a note beside it, and the id of its section."""

    figure: str
    label: str
    note: str
    target: str
    bad: bool = False


def headlines(matrix: Matrix | None, groups: dict[str, list[Group]]) -> list[Headline]:
    """Return the headlines that the inputs allow; `groups` by benchmark."""
    found = [
        _conformance(matrix),
        _catalog(groups.get("catalog", [])),
        _call(groups.get("call", [])),
        _cuba(groups.get("cuba", [])),
    ]
    return [headline for headline in found if headline is not None]


def _conformance(matrix: Matrix | None) -> Headline:
    if matrix is None:
        return Headline("–", "conformance checks", f"{COMMANDS[MATRIX]} runs them", "conformance")
    totals = matrix.totals
    note = f"{totals[FAILED]:,} failed, {totals[SKIPPED]:,} skipped with a reason"
    label = f"conformance checks passed, {matrix.operators} operators"
    return Headline(f"{totals[PASSED]:,}", label, note, "conformance", totals[FAILED] > 0)


def _catalog(groups: list[Group]) -> Headline | None:
    ratios = [point.value for points in rows.fastest_rivals(groups).values() for point in points]
    if not ratios:
        return None
    ahead = sum(value >= 1 for value in ratios)
    note = f"in the median the fastest rival takes {ratio(statistics.median(ratios))} as long"
    return Headline(f"{ahead} of {len(ratios)}", "cases in which no rival is faster", note, "catalog")


def _call(groups: list[Group]) -> Headline | None:
    pairs = [(ours, group) for group in groups for ours in group.ours if group.rivals]
    if not pairs:
        return None
    ours, group = min(pairs, key=lambda pair: pair[0].us)
    slowest = max(group.rivals, key=lambda t: t.us)
    note = f"{slowest.rival}: {duration(slowest.us)}; {group.baseline.rival}: {duration(group.baseline.us)}"
    return Headline(duration(ours.us), f"{ours.rival}: one {group.name}", note, "call")


def _cuba(groups: list[Group]) -> Headline | None:
    ratios = [
        group.baseline.ratio / t.ratio
        for group in groups
        if not group.baseline.ours
        for t in group.timings
        if t.ours
    ]
    if not ratios:
        return None
    rival = groups[0].baseline.rival
    sizes = f"CUBA network, {groups[0].name} to {groups[-1].name}" if len(groups) > 1 else groups[0].name
    return Headline(f"{span(ratios)}×", f"our time: {rival}", sizes, "cuba")


def page(inputs: Inputs, date: str, commit: str) -> str:
    """Return the HTML; `date` and `commit` are those of the page, each input has its own."""
    ids = Ids()
    for name in _RESERVED:
        ids.new(name)
    names = benchmarks(inputs)
    loader = jinja2.FileSystemLoader(_TEMPLATES)
    templates = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    sections = [section(name, inputs.named(name), ids) for name in names]
    checked = matrix_of(inputs, ids)
    return templates.get_template("page.html").render(
        matrix=checked,
        shown=REASONS,
        sections=sections,
        headlines=headlines(checked, {name: groups_of(name, inputs.named(name)) for name in names}),
        environment=environment(inputs),
        missing=inputs.missing,
        date=date,
        commit=commit,
    )


def benchmarks(inputs: Inputs) -> list[str]:
    """Return the benchmarks that were found, in the order of the page."""
    return list(dict.fromkeys(benchmark(name) for name in inputs.found if name != MATRIX))


def matrix_of(inputs: Inputs, ids: Ids) -> Matrix | None:
    """Return the conformance matrix, or None if it is missing."""
    return matrix(inputs.found[MATRIX], ids) if MATRIX in inputs.found else None
