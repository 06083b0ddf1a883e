"""The same results as Markdown: ratios per benchmark, as in the README, and its tables."""

from collections.abc import Iterable, Sequence

from event_ops_harness.report import rows
from event_ops_harness.report.benchmarks import MATRIX
from event_ops_harness.report.conformance import Ids, Matrix
from event_ops_harness.report.figures import span
from event_ops_harness.report.inputs import Inputs
from event_ops_harness.report.page import benchmarks, matrix_of
from event_ops_harness.report.rows import Group
from event_ops_harness.report.sections import Files, groups_of, section
from event_ops_harness.results import FAILED, PASSED, SKIPPED, markdown_table


def markdown(inputs: Inputs) -> str:
    """Write a heading and tables per benchmark, and for the matrix; then the missing inputs."""
    texts = [text for name in benchmarks(inputs) for text in _benchmark(name, inputs.named(name))]
    checked = matrix_of(inputs, Ids())
    if checked is not None:
        texts += _matrix(checked, str(inputs.files[MATRIX].get("command", "")))
    for missing in inputs.missing:
        texts.append(f"`{missing.name}` {_plain(missing.reason)}; `{missing.command}` writes it.")
    return "\n\n".join(texts) + "\n"


def _benchmark(name: str, files: Files) -> list[str]:
    shown = section(name, files, Ids())
    texts = [f"## {name}", "; ".join(f"`{command}`" for command in shown["commands"])]
    texts.append(_ratios(rows.compared(groups_of(files))))
    texts += [_table(t.heads, ([cell.text for cell in row] for row in t.rows)) for t in shown["tables"]]
    return [text for text in texts if text]


def _ratios(groups: Sequence[Group]) -> str:
    """Write, by operator, the cases, ours, and how many times as long each rival took: from, to."""
    cases = rows.by_operator(groups)
    lines = [
        [operator, str(len(cases[operator])), ours, "; ".join(f"{x}: {span(y)}" for x, y in others.items())]
        for (operator, ours), others in rows.against(groups).items()
    ]
    return _table(("what", "cases", "ours", "times as long"), lines) if lines else ""


def _matrix(matrix: Matrix, command: str) -> list[str]:
    lines = [
        [line.operator, line.backend, *(f"{line.totals[s]:,}" for s in (PASSED, FAILED, SKIPPED))]
        for line in matrix.lines
    ]
    heading = ["## conformance", *([f"`{command}`"] if command else [])]
    return [*heading, _table(("operator", "backend", PASSED, FAILED, SKIPPED), lines)]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return markdown_table(list(map(_plain, heads)), ([_plain(cell) for cell in cells] for cells in rows))


def _plain(text: str) -> str:
    """Return text that neither ends a cell nor starts HTML."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
