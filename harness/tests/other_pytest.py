"""Run pytest in another process, with the plugins of the harness and the example `outside` at hand."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "outside"
PLUGINS = {
    "event_ops_harness": "event_ops_harness.conformance.plugin",
    "event_ops_harness_bench": "event_ops_harness.bench.plugin",
}


def python_path(*folders):
    return os.pathsep.join([*map(str, folders), str(EXAMPLE), str(Path(__file__).parent), *sys.path])


def run_pytest(folder, *options, **environment):
    """What came of pytest in `folder`, which is not a worker of ours."""
    known = {point.name for point in importlib.metadata.entry_points(group="pytest11")}
    plugins = [word for name, module in PLUGINS.items() if name not in known for word in ("-p", module)]
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *plugins, *options]
    # pytest-benchmark measures nothing in a worker of xdist.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    env = inherited | {"PYTHONPATH": python_path(folder)} | environment
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
