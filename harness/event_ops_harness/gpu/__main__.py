"""Run every step on this machine's GPU, print the results, and write them as JSON.

Without a GPU nothing runs, and the exit status is 77: skipped, not passed.
"""

import argparse
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import jax
from rich.console import Console
from rich.table import Table

from event_ops_harness.results import RESULTS, write_results

ROOT: Final = Path(__file__).parents[3]
OUTPUT: Final = RESULTS / "gpu.json"
# The status that build systems know as skipped, Automake and Meson among them.
SKIPPED: Final = 77
# After an error of the driver every further test fails: twenty tell enough.
PYTEST: Final = ("-m", "pytest", "-q", "--maxfail=20", "-p", "no:cacheprovider", "--no-header")
# Compilers take most of the time of tests; a GPU has memory for so many processes.
WORKERS: Final = ("-n", str(min(12, os.cpu_count() or 1)), "-p", "no:benchmark")
IN_PARALLEL: Final = WORKERS if importlib.util.find_spec("xdist") else ()
GRACE: Final = 30  # seconds in which an interrupted step may say how far it came

TUTORIALS: Final = ROOT.parent / "shared" / "tools" / "run_seeds.py"
SANITIZER: Final = shutil.which("compute-sanitizer")
# A small case of every kernel in which several threads add to one element.
VALUES: Final = "harness/conformance/test_gpu_values.py"
CHECKED: Final = (VALUES, "-k", "numba_cuda and (random or unsorted or some)")


@dataclass(frozen=True)
class Step:
    """Hold a command, the seconds that it may take, and the reason if it cannot run here."""

    command: tuple[str, ...]
    seconds: int
    obstacle: str | None = None

    @classmethod
    def of_module(cls, seconds: int, name: str, *words: str) -> Self:
        """Return the step that runs a module of this package."""
        return cls((sys.executable, "-m", f"{__package__}.{name}", *words), seconds)

    @classmethod
    def sanitized(cls, tool: str) -> Self:
        """Return the step that runs the checked cases under a tool of compute-sanitizer."""
        options = "--target-processes", "all", "--tool", tool, "--error-exitcode", "9"
        words = (SANITIZER or "", *options, sys.executable, *PYTEST, *IN_PARALLEL, *CHECKED)
        return cls(words, 300, None if SANITIZER else "compute-sanitizer is not on the path")


STEPS: Final = {
    "bridge": Step((sys.executable, *PYTEST, "packages/ffi-bridge/tests/test_gpu.py"), 300),
    "operators": Step((sys.executable, *PYTEST, *IN_PARALLEL, VALUES), 600),
    "tutorial": Step(
        (sys.executable, str(TUTORIALS), "--only", "numba_cuda"),
        180,
        None if TUTORIALS.exists() else "the tutorials are not beside this project",
    ),
    "launch": Step.of_module(120, "launch"),
    "products": Step.of_module(300, "products"),
    "catalog": Step.of_module(600, "catalog"),
    "microcircuit": Step.of_module(300, "networks", "microcircuit"),
    "cuba": Step.of_module(180, "networks", "cuba"),
    "hardware": Step.of_module(300, "hardware"),
    "emulated": Step.of_module(600, "compare"),
    "memcheck": Step.sanitized("memcheck"),
    "racecheck": Step.sanitized("racecheck"),
}


def gpu() -> Any:
    """Return JAX's first NVIDIA GPU, or None."""
    try:
        return jax.devices("cuda")[0]
    except RuntimeError:
        return None


def run(step: Step) -> dict[str, Any]:
    """Run a step; return its status, its seconds, its last line of JSON, and the end of its output."""
    if step.obstacle is not None:
        return {"status": "skipped", "seconds": 0.0, "found": None, "tail": step.obstacle}
    started = time.perf_counter()
    process = subprocess.Popen(
        step.command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, err = process.communicate(timeout=step.seconds)
        status = "passed" if process.returncode == 0 else f"failed with {process.returncode}"
    except subprocess.TimeoutExpired:
        out, err = _interrupted(process)
        status = f"failed: more than {step.seconds} s"
    took = time.perf_counter() - started
    return {
        "status": status,
        "seconds": round(took, 1),
        "found": _last_json(out),
        "tail": (out + err)[-2000:],
    }


def _interrupted(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Interrupt a step, and return its output."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()


def _last_json(text: str) -> Any:
    for line in reversed(text.splitlines()):
        if line.startswith(("{", "[")):
            return json.loads(line)
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Run, show, write; return the number of failed steps, or 77 without a GPU."""
    parser = argparse.ArgumentParser(prog="ci/gpu.sh", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=STEPS, default=list(STEPS), metavar="STEP")
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="FILE")
    options = parser.parse_args(argv)
    console = Console(width=120)
    device = gpu()
    if device is None:
        console.print("skipped: JAX sees no NVIDIA GPU on this machine; nothing was tested or measured")
        return SKIPPED
    console.print(f"on {device.device_kind}")
    results = {}
    for name in options.only:
        results[name] = run(STEPS[name])
        console.print(f"{name}: {results[name]['status']}, {results[name]['seconds']} s")
        if results[name]["status"] != "passed":
            console.print(results[name]["tail"], markup=False, highlight=False)
        # After each step: what was measured stays if a later one hangs or the machine goes.
        write_results(options.output, "ci/gpu.sh", {"device": device.device_kind, "steps": results})
    _show(console, results)
    return sum(result["status"].startswith("failed") for result in results.values())


def _show(console: Console, results: dict[str, dict[str, Any]]) -> None:
    table = Table("step", "what", "figure", title="Measured", title_justify="left")
    for name, result in results.items():
        for key, value in (result["found"] or {}).items():
            if isinstance(value, dict):  # for the file alone
                continue
            table.add_row(name, key, f"{value:.4g}" if isinstance(value, float) else str(value))
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
