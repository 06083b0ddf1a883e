"""Make tables of an operator's results: of tests, benchmarks and counters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from event_ops.discover import Operator
from event_ops_harness.report.conformance import Ids, Matrix, matrix
from event_ops_harness.report.figures import duration, percent, short
from event_ops_harness.report.inputs import machine, read
from event_ops_harness.report.rows import Group, compared, groups
from event_ops_harness.results import SKIPPED, markdown_table


@dataclass(frozen=True)
class Results:
    """Hold the results of `nox -s matrix`, `nox -s bench -- catalog` and `nox -s counters`."""

    matrix: tuple[Matrix, Mapping[str, Any]]
    catalog: tuple[list[Group], Mapping[str, Any]]
    counters: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read a results folder; catalog and counters that cannot be read count as empty."""
        files = read(folder).files
        # Without a matrix there is nothing to show: a KeyError ends the build.
        matrix_file, measured = files["matrix"], files.get("catalog", {})
        return cls(
            (matrix(matrix_file, Ids()), matrix_file),
            (compared(groups(measured)), measured),
            files.get("gpu_counters", {}),
        )


def backends(operator: Operator) -> str:
    """Make a row per backend: where it runs, and the work that it leaves to another backend."""
    kernels = operator.kernel.backends
    default = operator.kernel.defaults["cpu"]
    rows = []
    for name in operator.kernel.backend_names:
        by_platform = {platform: names[name] for platform, names in kernels.items() if name in names}
        lacks = [f"{x} on {p}" for p, backend in by_platform.items() for x in backend.lacks]
        label = f"`{name}`" + (", the default on a CPU" if name == default else "")
        rows.append([label, ", ".join(by_platform), ", ".join(lacks) or "nothing"])
    return markdown_table(["backend", "platforms", "leaves to others"], rows)


def conformance(name: str, recorded: tuple[Matrix, Mapping[str, Any]]) -> str:
    """Make a row per property and a column per backend, with the number of cells in each square."""
    lines = {line.backend: line for line in recorded[0].lines if line.operator == name}
    if not lines:
        return f"{_ran(recorded[1])} This operator was not in it yet."
    properties = [p for p in recorded[0].properties if any(p in line.squares for line in lines.values())]
    rows = [[f"`{p}`", *(_square(line.squares.get(p)) for line in lines.values())] for p in properties]
    table = markdown_table(["property", *(f"`{b}`" for b in lines)], rows)
    return "\n\n".join([_ran(recorded[1]), table, _SIGNS])


_SIGNS = (
    "✓ passed, ◐ partly skipped, – skipped with a reason, ✕ failed; the number counts cells, each a case, a "
    "dtype and an environment. [What each property means](../../how-to/test-your-operator.md#the-properties)."
)


def _square(square: Any) -> str:
    # No line break between the two, however narrow the column.
    return "" if square is None else f"{square.sign}\N{NO-BREAK SPACE}{sum(square.counts.values())}"


def _ran(content: Mapping[str, Any]) -> str:
    rows = content["rows"]
    done = [f"Python {row['python']} with jax {row['jax']}" for row in rows if row["status"] != SKIPPED]
    absent = [f"{row['name']} ({row['reason']})" for row in rows if row["status"] == SKIPPED]
    ran = f"`{content['command']}` of {content['date']}, revision {content['commit']}: {'; '.join(done)}."
    return ran + (f" Not run: {', '.join(absent)}." if absent else "")


def measured(name: str, recorded: tuple[Sequence[Group], Mapping[str, Any]]) -> str:
    """Make a row per case: our time, and how many times as long each rival took."""
    of_operator = [group for group in recorded[0] if group.operator == name]
    if not of_operator:
        return "No benchmark of this operator has been recorded."
    rows = [[f"`{group.case}`", _ours(group), _others(group)] for group in of_operator]
    ran = machine(recorded[1])
    where = f"`{recorded[1]['command']}` on {ran['cores']} cores ({ran['cpu']}), jax {ran['jax']}."
    guide = "[How to read this](../../how-to/read-benchmarks.md)."
    remark = f"Times as long as ours: above 1, ours is faster. {guide}"
    return "\n\n".join([f"{where} {remark}", markdown_table(["case", "ours", "times as long"], rows)])


def _ours(group: Group) -> str:
    ours = group.baseline
    return f"{duration(ours.us)} a {ours.more.get('per', 'call')} (`{ours.name}`)"


def _others(group: Group) -> str:
    others = sorted(group.timings[1:], key=lambda t: t.us)
    return ", ".join(f"{t.name} {group.written_ratio(t)}" for t in others)


def counted(name: str, recorded: Mapping[str, Any]) -> str:
    """Make a row per case and CUDA backend: the counters of its kernels, executed on a CPU."""
    of_operator = [row for row in recorded.get("rows", ()) if row["operator"] == name]
    if not of_operator:
        return "No counters of this operator have been recorded."
    rows = [[f"`{row['case']}`", f"`{row['backend']}`", *_counters(row)] for row in of_operator]
    compilers = ", ".join(f"{package} {version}" for package, version in recorded["compilers"].items())
    ran = f"`{recorded['command']}`, on an emulated GPU of compute capability 9.0, with {compilers}."
    return "\n\n".join([f"{ran} **Nothing was timed.**", markdown_table(_COUNTERS, rows), _MEANING])


_COUNTERS = [
    *("case", "backend", "launches", "bytes / ideal", "streamed", "warps", "conflicts", "atomics"),
    *("registers", "local", "occupancy", "estimate H100, H200"),
]
_MEANING = (
    "The kernels' PTX was executed on a CPU, and counted. Bytes / ideal: the bytes of distinct 32-byte "
    "sectors that launches read and write, over those that any algorithm has to move. Streamed: bytes "
    "asked for over bytes moved, of the worst array that is gone through once, without atomics. Warps: "
    "the part of lanes that were active. Conflicts: wavefronts of shared memory that bank conflicts add. "
    "Atomics: the most updates of one address of global memory. Local: bytes of local memory of a thread; "
    "with 0, nothing is spilled. The last column is an **estimate** by a roofline of data sheets' peak "
    "rates, 2 µs a launch included: {py:func}`what it assumes <ptx_on_cpu.counters.estimate>`."
)


def _counters(row: Mapping[str, Any]) -> list[str]:
    streamed = "" if row["streamed"] is None else percent(row["streamed"])
    counts = [f"{row[key]:,}" for key in ("bank_conflicts", "atomics", "registers", "local")]
    estimates = f"{short(row['h100_us'])}, {short(row['h200_us'])} µs"
    shares = [f"{row['excess']:.2f}", streamed, percent(row["warp_efficiency"])]
    return [str(row["launches"]), *shares, *counts, percent(row["occupancy"]), estimates]
