"""Make tables of an operator's results: of tests, benchmarks, GPUs and counters."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from event_ops.discover import Operator
from event_ops_harness.report.conformance import Ids, Matrix, joined, matrix
from event_ops_harness.report.figures import duration, percent, ratio, short
from event_ops_harness.report.inputs import machine, read
from event_ops_harness.report.rows import Group, compared, groups
from event_ops_harness.results import markdown_table

Content = Mapping[str, Any]


@dataclass(frozen=True)
class Results:
    """Hold all records of `nox -s matrix`, `nox -s bench -- catalog`, GPUs, and `nox -s counters`."""

    matrix: Matrix
    runs: Sequence[Content]
    catalog: Sequence[tuple[Sequence[Group], Content]]
    gpu: Sequence[Content]
    counters: Content

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read all records of a folder, `catalog.json`, `catalog_added.json` and so on, the newest first."""
        inputs = read(folder)
        # Without a matrix there is nothing to show: a KeyError ends the build.
        runs = {"matrix": inputs.files["matrix"], **inputs.named("matrix")}.values()
        newest = functools.partial(sorted, key=_date, reverse=True)
        return cls(
            matrix(joined(runs), Ids()),
            newest(runs),
            [(compared(groups(x)), x) for x in newest(inputs.named("catalog").values())],
            newest(inputs.named("gpu").values()),
            inputs.files.get("gpu_counters", {}),
        )


def _date(content: Content) -> str:
    return str(content.get("datetime", content.get("date", "")))


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


def conformance(name: str, results: Results) -> str:
    """Make a row per property and a column per backend, of all records."""
    lines = {line.backend: line for line in results.matrix.lines if line.operator == name}
    if not lines:
        return "No run of its properties has been recorded."
    names = [p for p in results.matrix.properties if any(p in line.squares for line in lines.values())]
    rows = [[f"`{p}`", *(_square(line.squares.get(p)) for line in lines.values())] for p in names]
    table = markdown_table(["property", *(f"`{b}`" for b in lines)], rows)
    return "\n\n".join([_ran(name, results), table, _SIGNS])


_SIGNS = (
    "✓ passed, ◐ partly skipped, – skipped with a reason, ✕ failed; the number counts cells, each a case, a "
    "dtype and an environment. [What each property means](../../how-to/test-your-operator.md#the-properties)."
)


def _square(square: Any) -> str:
    # No line break between the two, however narrow the column.
    return "" if square is None else f"{square.sign}\N{NO-BREAK SPACE}{sum(square.counts.values())}"


def _ran(name: str, results: Results) -> str:
    """Say in which environments each record looked at an operator, and in which none did."""
    environments = {row["name"]: row for row in results.matrix.environments}
    said: list[str] = []
    for run in results.runs:
        looked = {cell["row"] for cell in run["cells"] if cell["operator"] == name} & environments.keys()
        if done := [_where(environments.pop(row)) for row in list(environments) if row in looked]:
            said.append(f"Of {run['date']}, revision {run['commit']}: {'; '.join(done)}.")
    absent = [f"{row} ({record['reason'] or 'it was not run'})" for row, record in environments.items()]
    return " ".join(said) + (f" Not run: {', '.join(absent)}." if absent else "")


def _where(row: Content) -> str:
    emulated = " on an emulated GPU" if row["platform"].startswith("emulated") else ""
    return f"Python {row['python']} with jax {row['jax']}{emulated}"


def latest(recorded: Sequence[tuple[Sequence[Group], Content]]) -> list[Group]:
    """Return the groups of all records, each as it was measured last."""
    newest: dict[str, Group] = {}
    for all_groups, _ in recorded:
        newest = {group.name: group for group in all_groups} | newest
    return list(newest.values())


def measured(name: str, recorded: Sequence[tuple[Sequence[Group], Content]]) -> str:
    """Make a table of each record that has the operator, a row per case: our time, and rivals' over ours.

    A case is shown as it was measured last.
    """
    shown = {id(group) for group in latest(recorded)}
    tables: list[str] = []
    for all_groups, content in recorded:
        rows = [
            [f"`{group.case}`", _ours(group), _others(group)]
            for group in all_groups
            if group.operator == name and id(group) in shown
        ]
        if rows:
            ran, day = machine(content), _date(content)[: len("2026-01-31")]
            tables.append(f"On {ran['cores']} cores ({ran['cpu']}), jax {ran['jax']}, {day}:")
            tables.append(markdown_table(["case", "ours", "times as long"], rows))
    if not tables:
        return "No benchmark of this operator has been recorded."
    guide = "[How to read this](../../how-to/read-benchmarks.md)."
    again = f'`nox -s bench -- catalog -k "test_operator and {name}-"` measures it again.'
    return "\n\n".join([f"Times as long as ours: above 1, ours is faster. {guide} {again}", *tables])


def _ours(group: Group) -> str:
    ours = group.baseline
    return f"{duration(ours.us)} a {ours.more.get('per', 'call')} (`{ours.name}`)"


def _others(group: Group) -> str:
    others = sorted(group.timings[1:], key=lambda t: t.us)
    return ", ".join(f"{t.name} {group.written_ratio(t)}" for t in others)


_BUSY = ", GPU busy, "


def on_gpu(name: str, recorded: Sequence[Content]) -> str:
    """Make a row per case and GPU: how long it works for a call, and for the reference by XLA."""
    rows: list[list[str]] = []
    for content in recorded:
        figures = (content["steps"].get("catalog") or {}).get("found") or {}
        for key, us in figures.items():
            case, _, what = key.partition(_BUSY)
            if what == "us" and case.split(" ")[0] == name:
                xla, share = (figures.get(f"{case}{_BUSY}{other}") for other in ("reference us", "share"))
                beside = [ratio(xla / us) if isinstance(xla, float) else "", percent(share) if share else ""]
                rows.append(
                    [content["device"], f"`{case.removeprefix(name).strip()}`", duration(us), *beside]
                )
    if not rows:
        return "No time on a GPU has been recorded."
    head = ["GPU", "case", "busy", "XLA, times as long", "of the limit"]
    return "\n\n".join([_BUSY_MEANS, markdown_table(head, rows)])


_BUSY_MEANS = (
    "How long the GPU works for one call, without launches; beside it the reference, as XLA compiles it. "
    "[The limit](../../project/gpu.md#how-far-from-the-limit) is that of the memory."
)


def counted(name: str, recorded: Content) -> str:
    """Make a row per case and CUDA backend: the counters of its kernels, executed on a CPU."""
    of_operator = [row for row in recorded.get("rows", ()) if row["operator"] == name]
    if not of_operator:
        return "No counters of this operator have been recorded."
    rows = [[f"`{row['case']}`", f"`{row['backend']}`", *_counters(row)] for row in of_operator]
    compilers = ", ".join(f"{package} {version}" for package, version in recorded["compilers"].items())
    ran = f"`{recorded['command']}`, on an emulated GPU of compute capability 9.0, with {compilers}."
    said = f"Here {recorded['meaning']}. {_ESTIMATES}"
    return "\n\n".join([f"{ran} **Nothing was timed.**", markdown_table(_COUNTERS, rows), said])


_COUNTERS = [
    *("case", "backend", "launches", "bytes / ideal", "streamed", "warps", "conflicts", "atomics"),
    *("registers", "local", "occupancy", "estimate H100, H200"),
]
_ESTIMATES = (
    "The last column is an **estimate** by a roofline of data sheets' peak rates, 2 µs a launch included: "
    "{py:func}`what it assumes <ptx_on_cpu.counters.estimate>`."
)


def _counters(row: Content) -> list[str]:
    streamed = "" if row["streamed"] is None else percent(row["streamed"])
    counts = [f"{row[key]:,}" for key in ("bank_conflicts", "atomics", "registers", "local")]
    estimates = f"{short(row['h100_us'])}, {short(row['h200_us'])} µs"
    shares = [f"{row['excess']:.2f}", streamed, percent(row["warp_efficiency"])]
    return [str(row["launches"]), *shares, *counts, percent(row["occupancy"]), estimates]
