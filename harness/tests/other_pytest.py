"""Run pytest in another process, with the plugins of the harness and the example `outside` at hand."""

import json
import os
import sys
from pathlib import Path

import child_python

from event_ops_harness.conformance.plugin import command_of_pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "outside"


def python_path(*folders):
    return os.pathsep.join([*map(str, folders), str(EXAMPLE), str(Path(__file__).parent), *sys.path])


def run_benchmark(output, *words):
    """Run a benchmark that writes a file, `output`; return what came of it, and the file's content."""
    command = ("-m", "event_ops_harness.bench", *words, "--benchmark-json", output)
    done = child_python.run(*command, timeout=900)
    assert output.exists(), done.stdout + done.stderr
    return done, json.loads(output.read_text())


def run_pytest(folder, *options, **environment):
    """Run pytest in `folder`, not as a worker of ours, and return what came of it."""
    words = (*command_of_pytest()[1:], "-rs", *options)
    environment = {"PYTHONPATH": python_path(folder)} | environment
    return child_python.run(*words, cwd=folder, timeout=900, **environment)
