"""Compare the counters of a GPU, by Nsight Compute, with the counts of `nox -s counters` on the CPU.

The calls are those of the record, `harness/results/gpu_counters.json`, on numba_cuda. Ratios are the GPU's
figure by the one that was counted, or estimated, for the same call.
"""

import argparse
import csv
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import jax

from event_ops.discover import operators
from event_ops_harness.conformance.cell import Trial, index_dtype_of
from event_ops_harness.gpu.count_catalog import OUTPUT as COUNTED
from event_ops_harness.gpu.counters import cases_of
from event_ops_harness.gpu.kernels import boundary, marker

BACKEND: Final = "numba_cuda"
THREADS: Final = 8  # that compile
SECTOR: Final = 32  # bytes
_SECTORS: Final = tuple(
    f"l1tex__t_sectors_pipe_lsu_mem_global_op_{how}.sum" for how in ("ld", "st", "red", "atom")
)
# Figure -> Nsight Compute's metrics, which add up to it in one launch, and how launches make a call's.
FIGURES: Final[Mapping[str, tuple[Sequence[str], Callable[[Iterable[float]], float]]]] = {
    "instructions": (("smsp__inst_executed.sum",), sum),
    "sectors": (_SECTORS, sum),
    "registers": (("launch__registers_per_thread",), max),
    "us": (("gpu__time_duration.sum",), sum),
}


def call_all() -> None:
    """Make every call of the record, each after a boundary; only launches of ours are looked at."""
    cases = [(operator, case) for operator in operators() for case in cases_of(operator)]
    trials = [
        Trial(operator, BACKEND, case, operator.dtypes[0], index_dtype_of(operator.dtypes[0]))
        for operator, case in cases
    ]
    with ThreadPoolExecutor(THREADS) as threads:
        calls = list(threads.map(lambda trial: trial.jitted.lower(*trial.args).compile(), trials))
    mark = marker()
    for trial, call, (_, case) in zip(trials, calls, cases, strict=True):
        jax.block_until_ready(mark())
        jax.block_until_ready(call(*trial.args))
        print(f"{trial.operator.name} {case.name}")


def profiled() -> tuple[list[str], list[dict[str, str]]]:
    """Run the calls under Nsight Compute; return their names, and a row of metrics for each launch."""
    metrics = ",".join(metric for metrics, _ in FIGURES.values() for metric in metrics)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "launches.csv"
        command = [
            *("ncu", "--csv", "--page", "raw", "--print-units", "base", "--log-file", str(log)),
            *(
                # By default Nsight Compute locks the clock at its base rate, at which no program runs.
                "--clock-control",
                "none",
                "--kernel-name-base",
                "demangled",
                "--kernel-name",
                # Kernels have their module in the name; `boundary`, of event_ops_harness, is among them.
                "regex:event_ops",
            ),
            *("--metrics", metrics, sys.executable, "-m", __spec__.name, "--calls"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:] + log.read_text()[-2000:])
        lines = [line for line in log.read_text().splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(lines))[1:]  # the first has units
    # Its own lines begin with ==.
    return [line for line in done.stdout.splitlines() if not line.startswith("==")], rows


def figures_of(launches: Sequence[Mapping[str, str]]) -> dict[str, float]:
    """Return the figures of a call."""
    combined = {
        name: combine([sum(float(row[metric].replace(",", "")) for metric in metrics) for row in launches])
        for name, (metrics, combine) in FIGURES.items()
    }
    return {**combined, "us": combined["us"] / 1e3, "launches": len(launches)}


def by_call(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> dict[str, dict[str, float]]:
    """Return the figures of each call: its launches follow its boundary."""
    calls: list[list[Mapping[str, str]]] = []
    for row in rows:
        if boundary.py_func.__name__ in row["Kernel Name"]:
            calls.append([])
        elif calls:
            calls[-1].append(row)
    return {name: figures_of(of_call) for name, of_call in zip(names, calls, strict=True) if of_call}


def compared(
    measured: Mapping[str, Mapping[str, float]], counted: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return quartiles of the ratios to the counted figures, over the calls with as many launches."""
    ratios: dict[str, list[float]] = {}
    for row in counted:
        figures = measured.get(f"{row['operator']} {row['case']}")
        if row["backend"] == BACKEND and figures and figures["launches"] == row["launches"]:
            expected = {"instructions": row["instructions"], "us": row["h100_us"]}
            expected |= {"sectors": row["moved"] / SECTOR, "registers": row["registers"]}
            for name, value in expected.items():
                ratios.setdefault(name, []).append(figures[name] / value)
    quartiles = {f"{name}, quartiles of ratios": statistics.quantiles(x) for name, x in ratios.items()}
    return quartiles | {"calls compared": len(next(iter(ratios.values()), []))}


def main(argv: Sequence[str] | None = None) -> None:
    """Print the figures as one line of JSON; with --calls, make the calls alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", action="store_true", help="what Nsight Compute looks at")
    if parser.parse_args(argv).calls:
        call_all()
        return
    if shutil.which("ncu") is None:
        raise SystemExit("Nsight Compute, ncu, is not on the path")
    names, rows = profiled()
    figures = by_call(names, rows)
    print(json.dumps(compared(figures, json.loads(COUNTED.read_text())["rows"]) | {"calls": figures}))


if __name__ == "__main__":
    main()
