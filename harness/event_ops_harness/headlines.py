"""Figures that prose quotes, each computed from the record that holds it.

The README's table and the site's role `measured` take them from here: no page has a figure of its own.
"""

import functools
import re
import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from event_ops_harness.report.figures import ratio, span
from event_ops_harness.report.inputs import Inputs, read
from event_ops_harness.report.rows import Group, groups
from event_ops_harness.results import RESULTS, markdown_table

# The full microcircuit has records of three hours: scans of operators in a fast hour, and in one while the
# machine's memory was slow, and a run in one call.
ONE_CALL: Final = "microcircuit_full_one_call"
FULL: Final = ("microcircuit_full_fast", "microcircuit_full", ONE_CALL)


@functools.cache
def records() -> Inputs:
    """Return the records of `harness/results`, read once."""
    return read(RESULTS)


def ratios(record: str, rival: str, *, cases: str = "") -> list[float]:
    """Return the times of `rival` over ours, for each group of a record whose name has `cases`."""
    return _beside((g for g in groups(records().files[record]) if cases in g.name), rival)


def _beside(compared: Iterable[Group], rival: str) -> list[float]:
    return [group.ratio(t) for group in compared for t in group.timings if t.name == rival]


def plain(value: float) -> str:
    """Write a factor in two digits: 3.1, 105."""
    return ratio(value).removesuffix("×")


def listed(values: Iterable[float]) -> str:
    """Write factors as `3.1 and 5.0`."""
    return " and ".join(map(plain, values))


def figures() -> dict[str, str]:
    """Return every figure that has a name, as text."""
    return {name: make() for name, make in FIGURES.items()}


def _real_time(record: str, what: str) -> float:
    return records().files[record]["steps"]["microcircuit"]["found"][
        f"microcircuit 1, {what}, times real time"
    ]


def _said(record: str, member: str, what: str) -> float:
    """Return a figure of a member, not its time, in the last group of a record, on the most cores."""
    return next(t.more[what] for t in groups(records().files[record])[-1].timings if t.name == member)


def _full(member: str, record: str = "microcircuit_full") -> float:
    return _said(record, member, "real_time_factor")


def _rates(member: str) -> str:
    """Write the rates of hpc_benchmark on one core and on two."""
    return listed(_said(record, member, "rate") for record in ("hpc_benchmark", "hpc_benchmark_2_cores"))


def _by_columns() -> list[float]:
    """Return how many times as long `csr_event_matvec` takes with rows postsynaptic, 1 % active."""
    us = {g.name: g.baseline.us for g in groups(records().files["catalog_events"]) if "1.00%" in g.name}
    return [took / us[name.replace("% ", "%-transposed ")] for name, took in us.items() if "% " in name]


def quote(text: str) -> str:
    """Return a figure of prose: a key of FIGURES, or of a record.

    `RECORD: STEP: FIGURE` is one of a GPU, and `RECORD: STEP: passed` how many tests passed there. Of a
    benchmark, `RECORD: GROUP: MEMBER` is how many times as long as ours it takes, and
    `RECORD: GROUP: MEMBER / OTHER` as long as another.
    """
    if ": " not in text:
        return FIGURES[text]()
    name, place, figure = text.split(": ")
    record = records().files[name]
    if "steps" in record:
        step = record["steps"][place]
        if figure == "passed":
            return str(re.findall(r"(\d+) passed", step["tail"])[0])
        return f"{step['found'][figure]:.3g}"
    (group,) = (group for group in groups(record) if group.name == place)
    member, *other = figure.split(" / ")
    times = {timing.name: timing.us for timing in group.timings}
    return plain(times[member] / times[other[0] if other else group.baseline.name])


def _derivatives() -> list[float]:
    return ratios("derivatives", "JAX", cases=", gradient")


def _over_value(member: str, *, where: str = "value") -> list[float]:
    """Return value and gradient, by Enzyme or by hand, over the value; `where` a kernel has such a member."""
    times = [{t.name: t.us for t in group.timings} for group in groups(records().files["derivatives"])]
    return [x[member] / x["value"] for x in times if "value" in x and where in x]


def _jvps() -> list[float]:
    ours = {g.name: g.baseline.us for g in groups(records().files["derivatives"])}
    return [us / ours[name.replace(", jvp", ", value")] for name, us in ours.items() if ", jvp" in name]


def _postsynaptic() -> list[float]:
    events = groups(records().files["catalog_events"])
    return _beside((group for group in events if "-transposed" not in group.name), "MKL")


def _programs(neurons: str) -> list[float]:
    named = ("CUBA", "COBA", "decision", "STDP")
    timed = groups(records().files["brainevent"])
    return _beside((g for g in timed if g.name.startswith(named) and f", {neurons}" in g.name), "BrainEvent")


FIGURES: Final[Mapping[str, Callable[[], str]]] = {
    "microcircuit": lambda: plain(_full("event-ops")),
    "microcircuit-one-call": lambda: plain(_full("event-ops, one call", ONE_CALL)),
    "nest-one-call": lambda: plain(_full("NEST", ONE_CALL)),
    "microcircuit-nest-range": lambda: span([x for record in FULL for x in ratios(record, "NEST")]),
    "nest-slow": lambda: plain(_full("NEST")),
    "nest-fast": lambda: plain(_full("NEST", "microcircuit_full_fast")),
    "microcircuit-peak": lambda: plain(_said("microcircuit_full", "event-ops", "peak_bytes") / 1e9),
    "microcircuit-h100": lambda: plain(_real_time("gpu", "one call")),
    "microcircuit-h100-scan": lambda: plain(_real_time("gpu", "no graph")),
    "microcircuit-h200": lambda: plain(_real_time("gpu_h200", "one call")),
    "cuba-brian2": lambda: listed(ratios("cuba", "Brian2 C++ standalone, float32")),
    "call-ctypes": lambda: plain(*ratios("call", "ctypes callback", cases="fori_loop")),
    "call-callback": lambda: plain(*ratios("call", "pure_callback", cases="fori_loop")),
    "gradients": lambda: span(_derivatives()),
    "gradients-median": lambda: plain(statistics.median(_derivatives())),
    "gradients-behind": lambda: f"{sum(x < 1 for x in _derivatives())} of {len(_derivatives())}",
    "gradient-cost": lambda: span(_over_value("gradient")),
    "gradient-cost-median": lambda: plain(statistics.median(_over_value("gradient"))),
    "gradient-cost-by-hand": lambda: span(_over_value("by hand", where="by hand")),
    "gradient-cost-beside": lambda: span(_over_value("gradient", where="by hand")),
    "jvp-cost": lambda: span(_jvps()),
    "jvp-cost-median": lambda: plain(statistics.median(_jvps())),
    "brainevent-small": lambda: span(_programs("4,000")),
    "brainevent-large": lambda: span(_programs("40,000")),
    "events-mkl-columns": lambda: span(_postsynaptic()),
    "events-by-columns": lambda: listed(_by_columns()),
    "hpc-rates": lambda: _rates("event-ops"),
    "hpc-rates-nest": lambda: _rates("NEST"),
}


def beside() -> dict[str, dict[str, list[float]]]:
    """Return what the README compares: how many times as long each rival takes, case by case."""
    return {
        "the cortical microcircuit, 77,169 neurons": {
            "NEST, 4 threads": [x for record in FULL for x in ratios(record, "NEST")]
        },
        "the CUBA network, 4000 and 40,000 neurons": {
            "Brian2 C++": ratios("cuba", "Brian2 C++ standalone, float32"),
            "NEST": ratios("cuba", "NEST"),
        },
        "programs of BrainEvent": {
            "BrainEvent's own, 4000 neurons": _programs("4,000"),
            "BrainEvent's own, 40,000 neurons": _programs("40,000"),
        },
        "`csr_event_matvec`, rows presynaptic": {
            "Numba by hand": ratios("catalog_events", "Numba by hand", cases="-transposed"),
            "MKL, events as numbers": ratios("catalog_events", "MKL", cases="-transposed"),
        },
        "`csr_matvec`, 1000x2000 to 1M x 1M": {
            rival: ratios("catalog_gathers", rival, cases="csr_matvec ") for rival in ("MKL", "SciPy")
        },
    }


def table() -> str:
    """Return the README's figures: how many times as long rivals take, and the factors of a GPU."""
    rows = [
        (what, "; ".join(f"{rival}: {span(values)}" for rival, values in rivals.items()))
        for what, rivals in beside().items()
    ]
    gpu = (
        f"On an H100 the microcircuit takes {quote('microcircuit-h100')} of real time in one call, and "
        f"{quote('microcircuit-h100-scan')} as a scan of operators."
    )
    head = ("ours, on 2 cores", "how many times as long a rival takes")
    folded = f"<details><summary>The same as a table</summary>\n\n{markdown_table(head, rows)}\n</details>"
    return f"{folded}\n\n{gpu}"
