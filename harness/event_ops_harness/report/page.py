"""The page: everything in one HTML file, without scripts and without anything to load."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import jinja2

from event_ops_harness.report import rows
from event_ops_harness.report.benchmarks import COMMANDS, MATRIX, benchmark
from event_ops_harness.report.conformance import REASONS, Ids, Matrix, joined, matrix
from event_ops_harness.report.figures import duration, ratio, span
from event_ops_harness.report.inputs import Inputs, environment
from event_ops_harness.report.rows import Group
from event_ops_harness.report.sections import groups_of, section
from event_ops_harness.results import FAILED, PASSED, SKIPPED

_TEMPLATES: Final = Path(__file__).parent / "templates"
# The parts of the page that are always there.
_RESERVED: Final = ("top", "conformance", "heat-map", "sources", "missing")


def page(inputs: Inputs, date: str, commit: str) -> str:
    """Return the HTML; `date` and `commit` are of the page, not of its inputs."""
    ids = Ids()
    for name in _RESERVED:
        ids.new(name)
    names = benchmarks(inputs)
    loader = jinja2.FileSystemLoader(_TEMPLATES)
    templates = jinja2.Environment(
        # Strict: a name that a template misspells is an error, not an empty place.
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"share": "{:.2f}%".format, "place": "{:.1f}".format}
    sections = [section(name, inputs.named(name), ids) for name in names]
    checked = matrix_of(inputs, ids)
    return templates.get_template("page.html").render(
        matrix=checked,
        shown=REASONS,
        sections=sections,
        headlines=headlines(checked, {name: groups_of(inputs.named(name)) for name in names}),
        environment=environment(inputs),
        missing=inputs.missing,
        date=date,
        commit=commit,
    )


def benchmarks(inputs: Inputs) -> list[str]:
    """Return the benchmarks that were found, in the order of the page."""
    return list(dict.fromkeys(benchmark(name) for name in inputs.files if benchmark(name) != MATRIX))


def matrix_of(inputs: Inputs, ids: Ids) -> Matrix | None:
    """Return the conformance matrix of all its records, or None if there is none."""
    recorded = inputs.named(MATRIX)
    return matrix(joined(recorded.values()), ids) if recorded else None


Headline = tuple[str, str, str, str]  # a figure, its title, a note beside it, the id of its section


def headlines(matrix: Matrix | None, groups: Mapping[str, Sequence[Group]]) -> list[Headline]:
    """Return the headlines that the inputs allow; `groups` by benchmark."""
    makers = {"catalog": _catalog, "call": _call, "cuba": _cuba}
    beside = {name: [g for g in rows.compared(groups.get(name, ())) if g.rivals] for name in makers}
    return [_conformance(matrix), *((*makers[name](each), name) for name, each in beside.items() if each)]


def _conformance(matrix: Matrix | None) -> Headline:
    if matrix is None:
        return "–", "conformance checks", f"{COMMANDS[MATRIX]} runs them", "conformance"
    totals = matrix.totals
    note = f"{totals[FAILED]:,} failed, {totals[SKIPPED]:,} skipped with a reason"
    label = f"conformance checks passed, {matrix.operators} operators"
    return f"{totals[PASSED]:,}", label, note, "conformance"


def _catalog(groups: Sequence[Group]) -> tuple[str, str, str]:
    ratios = _ratios(groups)
    ahead = sum(value >= 1 for value in ratios)
    note = f"in the median the fastest rival takes {ratio(statistics.median(ratios))} as long"
    return f"{ahead} of {len(ratios)}", "cases in which no rival is faster", note


def _call(groups: Sequence[Group]) -> tuple[str, str, str]:
    group = min(groups, key=lambda group: group.baseline.us)
    ordered = sorted(group.rivals, key=lambda t: -t.us)
    note = "; ".join(f"{t.name}: {duration(t.us)}" for t in dict.fromkeys((ordered[0], ordered[-1])))
    return duration(group.baseline.us), f"{group.baseline.name}: one {group.name}", note


def _cuba(groups: Sequence[Group]) -> tuple[str, str, str]:
    sizes = " to ".join(dict.fromkeys((groups[0].name, groups[-1].name)))
    label = "the fastest other simulator's time over ours"
    return f"{span(_ratios(groups))}×", label, f"CUBA network, {sizes}"


def _ratios(groups: Sequence[Group]) -> list[float]:
    return [x for figures in rows.figures(groups, rows.fastest_rival).values() for x in figures]
