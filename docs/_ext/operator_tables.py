"""What the tests and the benchmarks have found about an operator, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from event_ops.discover import Operator
from event_ops_harness.report.conformance import Ids, Matrix, matrix
from event_ops_harness.report.figures import duration
from event_ops_harness.report.inputs import machine, read
from event_ops_harness.report.rows import Group, compared, groups
from event_ops_harness.statuses import SKIPPED


@dataclass(frozen=True)
class Results:
    """What `nox -s matrix` and `nox -s bench -- catalog` have left."""

    matrix: tuple[Matrix, Mapping[str, Any]]
    catalog: tuple[list[Group], Mapping[str, Any]]

    @classmethod
    def read(cls, folder: Path) -> Results:
        """Read those of a results folder; a catalog that cannot be read counts as empty."""
        files = read(folder).found
        found, measured = files["matrix"], files.get("catalog", {})
        return cls((matrix(found, Ids()), found), (compared(groups(measured)), measured))


def backends(operator: Operator) -> str:
    """A row per backend: where it runs, and what it leaves to others."""
    kernels = operator.kernel.backends
    default = operator.kernel.defaults["cpu"]
    rows = []
    for name in operator.kernel.backend_names:
        here = {platform: names[name] for platform, names in kernels.items() if name in names}
        lacks = [f"{x} on {p}" for p, backend in here.items() for x in backend.lacks]
        label = f"`{name}`" + (", the default on a CPU" if name == default else "")
        rows.append([label, ", ".join(here), ", ".join(lacks) or "nothing"])
    return table(["backend", "platforms", "leaves to others"], rows)


def conformance(name: str, found: tuple[Matrix, Mapping[str, Any]]) -> str:
    """A row per property, a column per backend; in each square how many cells passed."""
    lines = {line.backend: line for line in found[0].lines if line.operator == name}
    if not lines:
        return f"{_ran(found[1])} This operator was not in it yet."
    properties = [p for p in found[0].properties if any(p in line.squares for line in lines.values())]
    rows = [[f"`{p}`", *(_square(line.squares.get(p)) for line in lines.values())] for p in properties]
    return "\n\n".join([_ran(found[1]), table(["property", *(f"`{b}`" for b in lines)], rows), _SIGNS])


_SIGNS = (
    "✓ passed, ◐ partly skipped, – skipped with a reason, ✕ failed; the number counts cells, each a case, a "
    "dtype and an environment. [What each property means](../../how-to/test-your-operator.md#the-properties)."
)


def _square(square: Any) -> str:
    return "" if square is None else f"{square.sign}\N{NO-BREAK SPACE}{sum(square.counts.values())}"


def _ran(content: Mapping[str, Any]) -> str:
    rows = content["rows"]
    done = [f"Python {row['python']} with jax {row['jax']}" for row in rows if row["status"] != SKIPPED]
    absent = [f"{row['name']} ({row['reason']})" for row in rows if row["status"] == SKIPPED]
    ran = f"`{content['command']}` of {content['date']}, revision {content['commit']}: {'; '.join(done)}."
    return ran + (f" Not run: {', '.join(absent)}." if absent else "")


def measured(name: str, found: tuple[Sequence[Group], Mapping[str, Any]]) -> str:
    """A row per case: our time, and how many times as long each rival took."""
    mine = [group for group in found[0] if group.operator == name]
    if not mine:
        return "No benchmark of this operator has been recorded."
    rows = [[f"`{group.case}`", _ours(group), _others(group)] for group in mine]
    ran = machine(found[1])
    where = f"`{found[1]['command']}` on {ran['cores']} cores ({ran['cpu']}), jax {ran['jax']}."
    guide = "[How to read this](../../how-to/read-benchmarks.md)."
    remark = f"Times as long as ours: above 1, ours is faster. {guide}"
    return "\n\n".join([f"{where} {remark}", table(["case", "ours", "times as long"], rows)])


def _ours(group: Group) -> str:
    ours = group.baseline
    return f"{duration(ours.us)} a {ours.more.get('per', 'call')} (`{ours.name}`)"


def _others(group: Group) -> str:
    others = sorted(group.timings[1:], key=lambda t: t.us)
    return ", ".join(f"{t.name} {group.written_ratio(t)}" for t in others)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
