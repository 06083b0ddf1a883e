"""The page: everything in one HTML file, without scripts and without anything to load."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import jinja2

from event_ops_harness.report.conformance import REASONS, Ids, Matrix, matrix
from event_ops_harness.report.headlines import headlines
from event_ops_harness.report.inputs import MATRIX, Inputs, benchmark, environment
from event_ops_harness.report.sections import groups_of, section

_TEMPLATES: Final = Path(__file__).parent / "templates"
# The parts of the page that are always there.
_RESERVED: Final = ("top", "conformance", "heat-map", "sources", "missing")


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
        headlines=headlines(checked, {name: groups_of(inputs.named(name)) for name in names}),
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
