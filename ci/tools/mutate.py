"""Change the code in one place at a time, and see whether tests notice: `mutate.py TARGET [--sample N]`.

cosmic-ray makes the changes, in a copy of the repository. Prints every change that no test noticed, for
somebody to look at: some mean the same as the code before them, others are a test that is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkResult

ROOT: Final = Path(__file__).parents[2]
BRIDGE: Final = "packages/ffi-bridge"
# What is changed -> modules and tests.
TARGETS: Final = {
    "abi": (
        [f"{BRIDGE}/ffi_bridge/abi.py", f"{BRIDGE}/ffi_bridge/frame_reader.py"],
        [f"{BRIDGE}/tests/test_{name}.py" for name in ("abi", "handler", "numba_python", "numba_vmap")],
    ),
    "handler": (
        [
            f"{BRIDGE}/ffi_bridge/handler/{name}.py"
            for name in ("c_code", "canaries", "exception", "frame", "launch", "numba_cpu", "warp_cpu")
        ],
        [
            f"{BRIDGE}/tests/test_{name}.py"
            for name in ("handler", "numba_kernel", "numba_vmap", "debug", "numba_python", "warp_kernel")
        ]
        + ["harness/reliability/test_kernel_exceptions.py"],
    ),
    "csr": (
        [f"ops/event_ops/{name}.py" for name in ("csr", "csr_arithmetic", "csr_base", "csr_checks")]
        + [f"ops/event_ops/{name}.py" for name in ("csr_convert", "csr_formats", "csr_plan", "csr_validate")],
        [f"ops/tests/test_{name}.py" for name in ("csr", "csr_convert", "csr_validate", "csr_transforms")],
    ),
}
# Annotations are not evaluated, so what changes `A | B` in them changes nothing.
IGNORED: Final = "BitOr"
LEFT_OUT: Final = (".git", ".nox", ".venv", "build", "dist", "results", "__pycache__")


def prepare(copy: Path, target: str, timeout: float) -> tuple[Path, Path]:
    """The configuration of a session in a copy of the repository, and its file."""
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
    modules, tests = TARGETS[target]
    command = f"{sys.executable} -m pytest -x -q -m 'not slow' -p no:cacheprovider {' '.join(tests)}"
    config = copy / "mutation.toml"
    config.write_text(
        "[cosmic-ray]\n"
        f"module-path = {json.dumps(modules)}\ntimeout = {timeout}\nexcluded-modules = []\n"
        f'test-command = {json.dumps(command)}\n[cosmic-ray.distributor]\nname = "local"\n'
    )
    return config, copy / "mutation.sqlite"


def leave_out(session: WorkDB, sample: int | None, seed: int) -> int:
    """Skip what means nothing, and all but a sample; returns how many are left."""
    items = sorted(session.work_items, key=lambda item: [str(m) for m in item.mutations])
    wanted = [item for item in items if IGNORED not in item.mutations[0].operator_name]
    if sample is not None and sample < len(wanted):
        wanted = random.Random(seed).sample(wanted, sample)
    kept = {item.job_id for item in wanted}
    skipped = WorkResult(worker_outcome=WorkerOutcome.SKIPPED)
    session.set_multiple_results([item.job_id for item in items if item.job_id not in kept], skipped)
    return len(kept)


def survivors(session: WorkDB) -> list[str]:
    """The changes that no test noticed, as differences."""
    return [
        str(result.diff)
        for _, result in session.completed_work_items
        if result.worker_outcome != WorkerOutcome.SKIPPED and result.test_outcome == TestOutcome.SURVIVED
    ]


def main(argv: list[str] | None = None) -> int:
    """Mutate one target; 0 whatever survives, since somebody has to look."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument(
        "--sample", type=int, metavar="N", help="so many changes, drawn by --seed; default: all"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=180.0, help="seconds for the tests; default: 180")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "copy"
        config, file = prepare(copy, options.target, options.timeout)
        paths = os.pathsep.join(str(copy / part) for part in (BRIDGE, "ops", "harness"))
        env = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}

        def cosmic_ray(*words: str) -> None:
            subprocess.run(["cosmic-ray", *words], cwd=copy, env=env, check=True)

        cosmic_ray("baseline", config.name)  # the tests pass on the code as it is
        cosmic_ray("init", config.name, file.name)
        with use_db(file, WorkDB.Mode.open) as session:
            made = leave_out(session, options.sample, options.seed)
        cosmic_ray("exec", config.name, file.name)
        with use_db(file, WorkDB.Mode.open) as session:
            unnoticed = survivors(session)
    print("\n\n".join(unnoticed))
    print(f"{options.target}: {made} changes, {made - len(unnoticed)} noticed, {len(unnoticed)} not")
    return 0


if __name__ == "__main__":
    sys.exit(main())
