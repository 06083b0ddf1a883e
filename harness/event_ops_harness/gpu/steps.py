"""The steps that need a GPU: commands in fresh processes, with the sources that results depend on."""

import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from event_ops_harness.results import when

ROOT: Final = Path(__file__).parents[3]
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

# Folders below the root, from which a kernel and its launch follow.
BRIDGE: Final = ("packages/ffi-bridge/ffi_bridge",)
KERNELS: Final = (*BRIDGE, "ops/event_ops")
NETWORKS: Final = (*KERNELS, "harness/event_ops_harness/networks")


@dataclass(frozen=True)
class Step:
    """Hold a command, its limit in seconds, the sources of its result, and the obstacle here, if any."""

    command: tuple[str, ...]
    seconds: int
    sources: tuple[str, ...] = KERNELS
    obstacle: str | None = None

    @classmethod
    def of_module(cls, seconds: int, name: str, *words: str, sources: tuple[str, ...] = KERNELS) -> Self:
        """Return the step that runs a module of this package."""
        own = f"harness/event_ops_harness/gpu/{name}.py"
        return cls((sys.executable, "-m", f"{__package__}.{name}", *words), seconds, (*sources, own))

    @classmethod
    def sanitized(cls, tool: str) -> Self:
        """Return the step that runs the checked cases under a tool of compute-sanitizer."""
        options = "--target-processes", "all", "--tool", tool, "--error-exitcode", "9"
        words = (SANITIZER or "", *options, sys.executable, *PYTEST, *IN_PARALLEL, *CHECKED)
        return cls(words, 300, obstacle=None if SANITIZER else "compute-sanitizer is not on the path")

    @property
    def digest(self) -> str:
        """Return a digest of the files that the result depends on."""
        content = hashlib.sha256()
        for source in (ROOT / source for source in self.sources):
            for path in sorted(source.rglob("*.py")) if source.is_dir() else [source]:
                content.update(str(path.relative_to(ROOT)).encode())
                content.update(path.read_bytes())
        return content.hexdigest()[:16]


# In order of worth: wrong values first, then figures.
STEPS: Final = {
    "bridge": Step((sys.executable, *PYTEST, "packages/ffi-bridge/tests/test_gpu.py"), 300, BRIDGE),
    "operators": Step((sys.executable, *PYTEST, *IN_PARALLEL, VALUES), 600),
    "microcircuit": Step.of_module(300, "networks", "microcircuit", sources=NETWORKS),
    "cuba": Step.of_module(180, "networks", "cuba", sources=NETWORKS),
    "energy": Step.of_module(180, "energy", sources=NETWORKS),
    # Twenty billion synapses, as many as an H100 holds with room to spare.
    "hpc_benchmark": Step.of_module(
        240, "networks", "hpc_benchmark", "--scales", "160", "--seconds", "0.05", sources=NETWORKS
    ),
    "learning": Step.of_module(120, "networks", "learning", "--seconds", "0.2", sources=NETWORKS),
    "catalog": Step.of_module(600, "catalog"),
    "halves": Step.of_module(180, "halves"),
    "products": Step.of_module(300, "products"),
    "launch": Step.of_module(120, "launch", sources=BRIDGE),
    "tutorial": Step(
        (sys.executable, str(TUTORIALS), "--only", "numba_cuda"),
        180,
        BRIDGE,
        None if TUTORIALS.exists() else "the tutorials are not beside this project",
    ),
    "racecheck": Step.sanitized("racecheck"),
    "memcheck": Step.sanitized("memcheck"),
    "hardware": Step.of_module(300, "hardware"),
    "emulated": Step.of_module(600, "compare"),
}


def run(step: Step, seconds: float | None = None) -> dict[str, Any]:
    """Run a step, for as many seconds as it or the caller allows.

    Return its status, its seconds, its last line of JSON, the end of its output, the digest of its sources,
    and when it was.
    """
    about = {"digest": step.digest, **when()}
    if step.obstacle is not None:
        return {"status": "skipped", "seconds": 0.0, "found": None, "tail": step.obstacle} | about
    started, limit = time.perf_counter(), min(step.seconds, seconds or step.seconds)
    process = subprocess.Popen(
        step.command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, err = process.communicate(timeout=limit)
        status = "passed" if process.returncode == 0 else f"failed with {process.returncode}"
    except subprocess.TimeoutExpired:
        out, err = _interrupted(process)
        status = f"failed: more than {limit:.0f} s"
    took = time.perf_counter() - started
    return {
        "status": status,
        "seconds": round(took, 1),
        "found": _last_json(out),
        "tail": (out + err).replace(f"{ROOT}/", "")[-2000:],  # a record names no folder of a machine
    } | about


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
