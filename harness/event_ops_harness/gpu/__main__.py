"""Run every step on this machine's GPU, print what came out, and write it as JSON.

Without a GPU nothing is done and the exit status is 77: skipped, not passed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from event_ops_harness.bench.results import machine
from event_ops_harness.gpu.device import gpu

ROOT: Final = Path(__file__).parents[3]
OUTPUT: Final = ROOT / "harness" / "results" / "gpu.json"
SKIPPED: Final = 77
PYTEST: Final = ("-m", "pytest", "-q", "--maxfail=20", "-p", "no:cacheprovider", "--no-header")

# name -> (arguments of Python, seconds that it may take)
STEPS: Final[dict[str, tuple[tuple[str, ...], int]]] = {
    "bridge": ((*PYTEST, "packages/ffi-bridge/tests/test_gpu.py"), 300),
    "operators": ((*PYTEST, "ops/tests/test_gpu_values.py"), 600),
    "launch": (("-m", "event_ops_harness.gpu.launch"), 120),
    "products": (("-m", "event_ops_harness.gpu.products"), 300),
    "cuba": (("-m", "event_ops_harness.gpu.cuba"), 180),
}


def run(name: str) -> dict[str, Any]:
    """One step: its status, how long it took, the last line that is JSON, and the end of what it printed."""
    arguments, limit = STEPS[name]
    started = time.perf_counter()
    try:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
        )
        status, text = done.returncode, done.stdout + done.stderr
        found = _last_json(done.stdout)
    except subprocess.TimeoutExpired as error:
        status, text, found = "timed out", str(error), None
    took = time.perf_counter() - started
    return {"status": status, "seconds": round(took, 1), "found": found, "tail": text[-2000:]}


def _last_json(text: str) -> Any:
    for line in reversed(text.splitlines()):
        if line.startswith(("{", "[")):
            return json.loads(line)
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Run, show, write; the number of failed steps, or 77 without a GPU."""
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
        results[name] = run(name)
        console.print(f"{name}: {results[name]['status']} after {results[name]['seconds']} s")
        if results[name]["status"] != 0:
            console.print(results[name]["tail"], markup=False, highlight=False)
    _show(console, results)
    written = {"command": "ci/gpu.sh", "device": device.device_kind, "machine": machine(), "steps": results}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(written, indent=1) + "\n")
    return sum(result["status"] != 0 for result in results.values())


def _show(console: Console, results: dict[str, dict[str, Any]]) -> None:
    table = Table("step", "what", "figure", title="Measured", title_justify="left")
    for name, result in results.items():
        for key, value in (result["found"] or {}).items():
            table.add_row(name, key, f"{value:.4g}" if isinstance(value, float) else str(value))
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
