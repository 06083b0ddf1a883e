"""Draw each benchmark from its records: operators, networks, calls, and how times grow."""

import statistics
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from drawn_gpu import LAUNCHES, of_counted, of_gpu, of_limit, of_runs
from drawn_gpu import NETWORKS as NETWORKS_ON_GPU
from operator_tables import Results, latest

from event_ops.discover import operators
from event_ops_harness import headlines
from event_ops_harness.headlines import records
from event_ops_harness.report.drawing import Drawn, Marks, curves, dots, for_any_window
from event_ops_harness.report.figures import count, duration, ratio
from event_ops_harness.report.rows import REFERENCE, Group, Timing, groups
from event_ops_harness.results import RESULTS
from event_ops_harness.table import by_family

Rows = Mapping[str, Marks | None]


def beside(rows: Rows, label: str, names: Iterable[str] = ()) -> Drawn:
    """Draw how many times as long rivals take, a line for each row."""
    present = dict.fromkeys(name for marks in rows.values() for name in marks or ())
    ordered = [name for name in names if name in present] or list(present)
    svg = for_any_window(dots, rows, ordered, label, ("a rival is faster", "event-ops is faster"))
    table = [
        [row, series, ratio(min(x)), ratio(statistics.median(x)), ratio(max(x)), str(len(x))]
        for row, marks in rows.items()
        for series, x in (marks or {}).items()
    ]
    return Drawn(ordered, svg, ["what", "rival", "least", "median", "most", "cases"], table)


def rivals(compared: Iterable[Group], row: Callable[[Group], str]) -> dict[str, dict[str, list[float]]]:
    """Return the ratios of all rivals of these groups, by row and rival."""
    rows: dict[str, dict[str, list[float]]] = {}
    for group in compared:
        for rival in group.rivals:
            rows.setdefault(row(group), {}).setdefault(rival.name, []).append(group.ratio(rival))
    return rows


def of_headlines() -> Drawn:
    """Draw the README's figures."""
    rows: dict[str, Marks | None] = {}
    for what, ratios in headlines.beside().items():
        rows |= {what.replace("`", ""): None, **{name: {"a rival": x} for name, x in ratios.items()}}
    return beside(rows, "Rivals' time over ours, of five comparisons, logarithmic")


KINDS: Final = {
    "our formula, by XLA": (REFERENCE,),
    "JAX": ("jnp", "JAX", "jax.ops"),
    "NumPy": ("NumPy", "np."),
    "SciPy": ("SciPy",),
    "Numba by hand": ("Numba by hand",),
    "MKL": ("MKL",),
    "GraphBLAS": ("GraphBLAS",),
    "BrainEvent": ("BrainEvent",),
}


def of_operators() -> Drawn:
    """Draw every operator of the catalog beside its rivals, by family."""
    cases: dict[str, dict[str, list[float]]] = {}
    for group in latest(Results.read(RESULTS).catalog):
        for rival in group.rivals:
            for kind in (kind for kind, starts in KINDS.items() if rival.name.startswith(starts)):
                cases.setdefault(group.operator, {}).setdefault(kind, []).append(group.ratio(rival))
    rows: dict[str, Marks | None] = {}
    for family, members in by_family(operators()).items():
        rows |= {family: None, **{o.name: cases.get(o.name, {}) for o in members}}
    return beside(rows, "Rivals' time over ours, by operator, logarithmic", KINDS)


def _read(*names: str) -> list[tuple[str, Group]]:
    return [(name, group) for name in names for group in groups(records().files[name])]


NETWORKS: Final = {
    "cuba": "CUBA",
    "cuba_400000": "CUBA",
    "coba": "COBA",
    "inhibitory_stdp": "inhibitory STDP",
    "hpc_benchmark": "hpc_benchmark, 127 M synapses, 1 core",
    "hpc_benchmark_2_cores": "hpc_benchmark, 127 M synapses, 2 cores",
    "microcircuit": "microcircuit",
    "microcircuit_full": "microcircuit",
    "microcircuit_full_fast": "microcircuit",
    "microcircuit_full_one_call": "microcircuit, one call",
}


def of_networks() -> Drawn:
    """Draw whole networks beside simulators."""
    rows: dict[str, dict[str, list[float]]] = {}
    for file, group in _read(*NETWORKS):
        title = NETWORKS[file] if "hpc" in file else f"{NETWORKS[file]}, {group.name}"
        if not group.name.startswith("parts"):
            rows |= rivals([group], lambda _, title=title: title)
    return beside(rows, "Simulators' time over ours, by network, logarithmic")


def _factor(timing: Timing) -> float:
    return timing.us / 100.0  # a step is 0.1 ms


def of_growth() -> Drawn:
    """Draw how the microcircuit's time grows with its size."""
    series: dict[str, dict[float, float]] = {}
    for _, group in _read("microcircuit_growth"):
        if not group.name.startswith("parts"):
            scale, cores = group.name.removeprefix("scale ").split(", ")
            series.setdefault(cores, {})[round(float(scale) * 77169)] = _factor(group.baseline)
    label = "Time of the microcircuit over real time, against its neurons, both logarithmic"
    svg = for_any_window(curves, series, label, ("neurons", "times real time"), count)
    rows = [
        [f"{x:,.0f}", *(f"{series[name][x]:.2g}" for name in series)] for x in next(iter(series.values()))
    ]
    return Drawn(list(series), svg, ["neurons", *(f"times real time, {name}" for name in series)], rows)


def of_threads() -> Drawn:
    """Draw how much faster two threads are than one."""
    rows = {
        group.name.removesuffix(" float32"): {"two threads": [group.ratio(group.timings[1])]}
        for _, group in _read("threads")
        if len(group.timings) == 2
    }
    ordered = dict(sorted(rows.items(), key=lambda row: row[1]["two threads"]))
    label = "The time of one thread over that of two, by operator"
    svg = for_any_window(dots, ordered, ["two threads"], label, ("slower", "faster by two threads"))
    table = [[f"`{name}`", ratio(marks["two threads"][0])] for name, marks in ordered.items()]
    return Drawn(["two threads"], svg, ["case", "one thread over two"], table)


def of_derivatives() -> Drawn:
    """Draw kernels and their derivatives beside JAX's."""
    rows: dict[str, dict[str, list[float]]] = {}
    times: dict[tuple[str, str], dict[str, float]] = {}
    for _, group in _read("derivatives"):
        kernel, _, what = group.name.rpartition(", ")
        times[kernel, what] = {timing.name: timing.us for timing in group.timings}
        if "JAX" in times[kernel, what]:
            ours = times[kernel, what]["numba_kernel"]
            rows.setdefault(kernel, {})[what] = [times[kernel, what]["JAX"] / ours]
    costs = {
        kernel: [
            times[kernel, "gradient"].get(who, 0.0) / times[kernel, "value"]["numba_kernel"]
            for who in ("numba_kernel", "by hand")
        ]
        for kernel in rows
    }
    whats = ["value", "jvp", "gradient"]
    drawn = beside(rows, "JAX's time over ours, by kernel, logarithmic", whats)
    table = [
        [
            f"`{kernel}`",
            *(f"{marks[x][0]:.2g}" for x in whats),
            *(f"{x:.2g}" if x else "" for x in costs[kernel]),
        ]
        for kernel, marks in rows.items()
    ]
    head = ["kernel", *(f"JAX: {x}" for x in whats), "gradient / value", "by hand / value"]
    return Drawn(drawn.names, drawn.svg, head, table)


def of_plasticity() -> Drawn:
    """Draw two ways to learn beside ours, against the share of neurons that spike."""
    series: dict[str, dict[float, float]] = {}
    for _, group in _read("plasticity_decades", "plasticity"):
        rule, _, spikes = group.name.partition(", ")
        if "of 100,000 neurons spike" in spikes and rule in ("stdp_on_pre", "stdp_on_post"):
            share = float(spikes.split(" ")[0].replace(",", "")) / 100_000
            for rival in group.rivals:
                series.setdefault(f"{rival.name}: {rule}", {})[share] = group.ratio(rival)
    label = "Rivals' time over ours, against the share of neurons that spike, both logarithmic"
    axes = "share of neurons that spike", "times as long as ours"
    svg = for_any_window(curves, series, label, axes, "{:.2%}".format)
    rows = [
        [name, f"{x:.2%}", ratio(points[x])]
        for name, points in sorted(series.items())
        for x in sorted(points)
    ]
    return Drawn(list(series), svg, ["rival", "spike", "times as long"], rows)


def of_rivals(label: str, *names: str) -> Drawn:
    """Draw each group of records beside its rivals."""
    rows = rivals((group for _, group in _read(*names)), lambda group: group.name)
    return beside(rows, f"{label}, logarithmic")


def of_messages() -> Drawn:
    """Draw messages along edges beside libraries for graphs."""

    def row(group: Group) -> str:
        message, kind, *_, features = group.name.split(", ")
        return f"{message}, {kind}, {features}"

    rows = rivals((group for _, group in _read("graph_messages")), row)
    return beside(dict(sorted(rows.items())), "Rivals' time over ours, by message, logarithmic")


def of_training() -> Drawn:
    """Draw value and gradient of a network beside other libraries, with the memory of each."""
    found = [group for _, group in _read(*(x for x in records().files if x.startswith("training")))]
    rows = {group.name: {x.name: [group.ratio(x)] for x in group.timings[1:]} for group in found}
    drawn = beside(rows, "Time over ours in one call or closed form, by size, logarithmic")
    table = [
        [group.name, x.name, ratio(group.ratio(x)), f"{x.more['MiB'] / group.baseline.more['MiB']:.2g}"]
        for group in found
        for x in group.timings[1:]
    ]
    head = ["what", "beside ours", "times as long", "times the memory"]
    return Drawn(drawn.names, drawn.svg, head, table)


def of_scaling() -> Drawn:
    """Draw the time of a product against its entries."""
    series: dict[str, dict[float, float]] = {}
    for _, group in _read("scaling"):
        if group.name.startswith("csr_matvec by entries"):
            for timing in group.timings:
                if timing.name in ("numba_cpu", "MKL", "SciPy", "GraphBLAS", "BrainEvent", "Numba by hand"):
                    name = "event-ops" if timing.name == "numba_cpu" else timing.name
                    series.setdefault(name, {})[float(timing.more["size"])] = timing.us
    label = "Time of csr_matvec against entries, both logarithmic"
    svg = for_any_window(curves, series, label, ("entries", "µs"), count)
    rows = [[name, count(x), duration(points[x])] for name, points in series.items() for x in sorted(points)]
    return Drawn(list(series), svg, ["who", "entries", "time"], rows)


def of_memory() -> Drawn:
    """List bytes for each synapse; there is nothing to draw."""
    rows: dict[str, dict[str, str]] = {}
    for _, group in _read("memory"):
        for timing in group.timings:
            amount = timing.more.get("bytes_per_synapse")
            rows.setdefault(timing.name, {})[group.name] = "" if amount is None else f"{abs(amount):.1f}"
    kinds = list(dict.fromkeys(kind for amounts in rows.values() for kind in amounts))
    table = [[name, *(amounts.get(kind, "") for kind in kinds)] for name, amounts in rows.items()]
    return Drawn([], "", ["bytes a synapse", *kinds], table)


CHARTS: Final[Mapping[str, Callable[[], Drawn]]] = {
    "headlines": of_headlines,
    "operators": of_operators,
    "networks": of_networks,
    "growth": of_growth,
    "threads": of_threads,
    "derivatives": of_derivatives,
    "plasticity": of_plasticity,
    "calls": partial(of_rivals, "Time of a call over ours, by the way into JAX", "call", "forms", "neurons"),
    "sampling": partial(of_rivals, "Rivals' time over ours, by density", "sampling"),
    "brainevent": partial(of_rivals, "BrainEvent's time over ours, by program and call", "brainevent"),
    "messages": of_messages,
    "training": of_training,
    "scaling": of_scaling,
    "cold": partial(of_rivals, "Time of imports and first calls over ours", "cold"),
    "memory": of_memory,
    "limit": of_limit,
    "gpu-runs": of_runs,
    "gpu-networks": lambda: of_gpu(NETWORKS_ON_GPU),
    "gpu-launches": lambda: of_gpu(LAUNCHES),
    "counted": of_counted,
}
