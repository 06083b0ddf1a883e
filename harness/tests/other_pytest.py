"""Run pytest in another process, with the plugins of the harness and the example `outside` at hand."""

import json
import os
import subprocess
import sys
from pathlib import Path

from event_ops_harness.conformance.plugin import command_of_pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "outside"


def python_path(*folders):
    return os.pathsep.join([*map(str, folders), str(EXAMPLE), str(Path(__file__).parent), *sys.path])


def run_benchmark(output, *words):
    """Run a benchmark that writes a file, `output`; return what came of it, and the file's content."""
    command = [sys.executable, "-m", "event_ops_harness.bench", *words, "--benchmark-json", str(output)]
    done = subprocess.run(command, env=_alone(), capture_output=True, text=True, check=False)
    assert output.exists(), done.stdout + done.stderr
    return done, json.loads(output.read_text())


def _alone():
    """Return the environment of a process that is no worker of ours: in one, nothing is measured."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}


def run_pytest(folder, *options, **environment):
    """Run pytest in `folder`, not as a worker of ours, and return what came of it."""
    command = [*command_of_pytest(), "-rs", *options]
    env = _alone() | {"PYTHONPATH": python_path(folder)} | environment
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
