"""Change the code in one place at a time, and see whether tests notice: `mutate.py TARGET [--sample N]`.

cosmic-ray makes the changes, in a copy of the repository. Prints every change that no test noticed, for
somebody to look at: some mean the same as the code before them, others are a test that is missing.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkResult

ROOT: Final = Path(__file__).parents[2]
BRIDGE: Final = "packages/ffi-bridge"
# What is changed -> modules, and words for pytest: what is quick comes first, since a failure ends a run.
TARGETS: Final = {
    "abi": (
        [f"{BRIDGE}/ffi_bridge/abi.py", f"{BRIDGE}/ffi_bridge/targets.py"],
        [f"{BRIDGE}/tests/test_{name}.py" for name in ("targets", "abi", "handler", "numba_python")],
    ),
    "handler": (
        [
            f"{BRIDGE}/ffi_bridge/handler/{name}.py"
            for name in ("c_code", "frame", "guards", "interruption", "launch")
        ]
        + [f"{BRIDGE}/ffi_bridge/{name}.py" for name in ("cuda/program", "numba_cpu/emit", "warp/compile")]
        + [f"{BRIDGE}/ffi_bridge/numba_cpu/{name}.py" for name in ("exception", "isolation")],
        [f"{BRIDGE}/tests/test_{name}.py" for name in ("handler", "cuda_handler", "debug")]
        + [f"{BRIDGE}/tests/test_{name}.py" for name in ("huge_pages", "interruption")]
        + ["harness/reliability/test_kernel_exceptions.py"]
        + [f"{BRIDGE}/tests/test_{name}.py" for name in ("numba_kernel", "warp_kernel", "numba_vmap")],
    ),
    "csr": (
        ["ops/event_ops/checks/csr.py"]
        + [f"ops/event_ops/sparse/{name}.py" for name in ("csr", "arithmetic", "convert")]
        + [f"ops/event_ops/sparse/{name}.py" for name in ("products", "matrix", "plasticity", "pytree")],
        [f"ops/tests/test_{name}.py" for name in ("csr_validate", "csr_convert", "csr", "csr_transforms")]
        + ["ops/tests/test_csr_operands.py"]
        # The documented invalid calls of every operator.
        + ["--operators=catalog_operators", "--properties=invalid_calls"],
    ),
}
# Annotations are not evaluated, so what changes `A | B` in them changes nothing.
IGNORED: Final = "BitOr"
LONGEST: Final = 3600.0  # seconds for the tests on the code as it is
PATIENCE: Final = 3  # times what those took: a change may make a loop endless
LEFT_OUT: Final = (".git", ".nox", ".venv", "build", "dist", "results", "__pycache__")


def configure(copy: Path, target: str, timeout: float) -> Path:
    """Write the configuration of a session into a copy of the repository; returns its file."""
    modules, tests = TARGETS[target]
    command = f"{sys.executable} -m pytest -x -q -m 'not slow' -p no:cacheprovider {' '.join(tests)}"
    config = copy / "mutation.toml"
    config.write_text(
        "[cosmic-ray]\n"
        f"module-path = {json.dumps(modules)}\ntimeout = {timeout}\nexcluded-modules = []\n"
        f'test-command = {json.dumps(command)}\n[cosmic-ray.distributor]\nname = "local"\n'
    )
    return config


def environment(copy: Path) -> dict[str, str]:
    """Return the environment of tests in the copy, in which a run reads kernels of the run before."""
    kept = copy.parent
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(str(copy / part) for part in (BRIDGE, "ops", "harness")),
        "PYTHONDONTWRITEBYTECODE": "1",
        "FFI_BRIDGE_CACHE_DIR": str(kept / "kernels"),  # found by the sources of the bridge, too
        "JAX_COMPILATION_CACHE_DIR": str(kept / "programs"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def leave_out(session: WorkDB, sample: int | None, seed: int) -> None:
    """Skip changes that mean nothing, and all but a sample."""
    items = sorted(session.work_items, key=lambda item: [str(m) for m in item.mutations])
    wanted = [item for item in items if IGNORED not in item.mutations[0].operator_name]
    if sample is not None and sample < len(wanted):
        wanted = random.Random(seed).sample(wanted, sample)
    kept = {item.job_id for item in wanted}
    skipped = WorkResult(worker_outcome=WorkerOutcome.SKIPPED)
    session.set_multiple_results([item.job_id for item in items if item.job_id not in kept], skipped)


def reviewed(session: WorkDB) -> list[WorkResult]:
    """The results of the changes that were made."""
    results = [result for _, result in session.completed_work_items]
    return [result for result in results if result.worker_outcome != WorkerOutcome.SKIPPED]


def main(argv: list[str] | None = None) -> int:
    """Mutate one target; 0 whatever survives, since somebody has to look."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument(
        "--sample", type=int, metavar="N", help="so many changes, drawn by --seed; default: all"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
        env, file = environment(copy), copy / "mutation.sqlite"

        def cosmic_ray(*words: str) -> float:
            start = time.monotonic()
            subprocess.run(["cosmic-ray", *words], cwd=copy, env=env, check=True)
            return time.monotonic() - start

        # The tests pass on the code as it is, also where the second run reads what the first has kept.
        config = configure(copy, options.target, LONGEST)
        unchanged = max(cosmic_ray("baseline", config.name) for _ in range(2))
        configure(copy, options.target, PATIENCE * unchanged)
        cosmic_ray("init", config.name, file.name)
        with use_db(file, WorkDB.Mode.open) as session:
            leave_out(session, options.sample, options.seed)
        cosmic_ray("exec", config.name, file.name)
        with use_db(file, WorkDB.Mode.open) as session:
            results = reviewed(session)
    unnoticed = [str(x.diff) for x in results if x.test_outcome == TestOutcome.SURVIVED]
    endless = sum(x.output == "timeout" for x in results)
    print("\n\n".join(unnoticed))
    noticed = f"{len(results) - len(unnoticed)} noticed, {endless} by tests that did not end"
    print(f"{options.target}: {len(results)} changes, {noticed}; {len(unnoticed)} not noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
