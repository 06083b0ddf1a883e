"""Run the steps that are due on this machine's GPU, print the results, and write them as JSON.

A step is due unless the record has its success on this kind of GPU, from the same sources. Steps run in order
of worth, as many as the budget has time for, by the seconds that each took the last time; the record keeps
the results of the rest. Without a GPU nothing runs, and the exit status is 77: skipped, not passed.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import jax
from rich.console import Console
from rich.table import Table

from event_ops_harness.gpu.steps import GRACE, STEPS, run
from event_ops_harness.results import PASSED, RESULTS, write_results

OUTPUT: Final = RESULTS / "gpu.json"
# The status that build systems know as skipped, Automake and Meson among them.
SKIPPED: Final = 77
BUDGET: Final = 900  # seconds

Record = dict[str, dict[str, Any]]  # of a step's name: what `run` returns


def gpu() -> Any:
    """Return JAX's first NVIDIA GPU, or None."""
    try:
        return jax.devices("cuda")[0]
    except RuntimeError:
        return None


def read_record(path: Path, device: str) -> Record:
    """Return the steps of a record of this kind of GPU; none where there is no file, or of another kind."""
    if not path.exists():
        return {}
    record = json.loads(path.read_text())
    return record["steps"] if record["device"] == device else {}


def due(record: Record, names: Iterable[str]) -> list[str]:
    """Return the steps whose success from today's sources the record lacks."""
    past = {name: (step.get("status"), step.get("digest")) for name, step in record.items()}
    return [name for name in names if past.get(name) != (PASSED, STEPS[name].digest)]


def expected(record: Record, name: str) -> float:
    """Return how many seconds a step will take: as the last time, or half of its limit."""
    past = record.get(name, {})
    return past["seconds"] if past.get("status") == PASSED else STEPS[name].seconds / 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run, show, write; return the number of failed steps, or 77 without a GPU."""
    parser = argparse.ArgumentParser(prog="ci/gpu.sh", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=STEPS, metavar="STEP", help="also where it is not due")
    parser.add_argument(
        "--budget", type=float, default=BUDGET, metavar="SECONDS", help="default: %(default)s"
    )
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="FILE")
    options = parser.parse_args(argv)
    started, console = time.monotonic(), Console(width=120)
    device = gpu()
    if device is None:
        console.print("skipped: JAX sees no NVIDIA GPU on this machine; nothing was tested or measured")
        return SKIPPED
    console.print(f"on {device.device_kind}")
    record = read_record(options.output, device.device_kind)
    names, results, late = options.only or due(record, STEPS), Record(), []
    for name in names:
        left = options.budget - (time.monotonic() - started) - GRACE
        if left < expected(record, name):
            late.append(name)
            continue
        results[name] = run(STEPS[name], left)
        console.print(f"{name}: {results[name]['status']}, {results[name]['seconds']} s")
        if results[name]["status"] != PASSED:
            console.print(results[name]["tail"], markup=False, highlight=False)
        # After each step: what was measured stays if a later one hangs or the machine goes.
        steps = {"device": device.device_kind, "steps": record | results}
        write_results(options.output, "ci/gpu.sh", steps)
    _show(console, results)
    kept = [name for name in STEPS if name not in names]
    if kept and not options.only:
        console.print(f"not due, from the same sources: {', '.join(kept)}")
    if late:
        console.print(f"no time was left for: {', '.join(late)}; they are next")
    return sum(result["status"].startswith("failed") for result in results.values())


def _show(console: Console, results: Record) -> None:
    table = Table("step", "what", "figure", title="Measured", title_justify="left")
    for name, result in results.items():
        for key, value in (result["found"] or {}).items():
            if isinstance(value, dict):  # for the file alone
                continue
            table.add_row(name, key, f"{value:.4g}" if isinstance(value, float) else str(value))
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
