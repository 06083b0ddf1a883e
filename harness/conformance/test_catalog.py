"""Every operator of the catalog has every property on every backend of a CPU: the quick profile."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from catalog_operators import OPERATORS

from event_ops_harness.conformance.check import look_at
from event_ops_harness.conformance.properties import GUARDED, VALUES, cells
from event_ops_harness.statuses import FAILED, SKIPPED

ROOT = Path(__file__).parents[2]
IN_A_PROCESS_OF_THEIR_OWN = ("bounds", "shard_map")
# The longest to compile; `nox -s conformance`, a row of CI, looks at them, too.
LONG = ("nan_derivatives", "second", "threads", "vmap_grad")


def takes_long(cell):
    """Each dtype is compiled anew."""
    return cell.prop.name in LONG or (cell.prop is VALUES and cell.dtype != cell.operator.dtypes[0])


CELLS = [
    pytest.param(cell, id=cell.id, marks=[pytest.mark.slow] if takes_long(cell) else [])
    for cell in cells(OPERATORS)
    if cell.prop.name not in IN_A_PROCESS_OF_THEIR_OWN
]


@pytest.mark.parametrize("cell", CELLS)
def test_cell(cell):
    outcome = look_at(cell, "catalog_operators")
    if outcome.status == SKIPPED:
        pytest.skip(outcome.reason)
    assert outcome.status != FAILED, outcome.reason


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_every_operator_has_cases_of_different_names_and_mistakes(operator):
    assert len({case.name for case in operator.cases}) == len(operator.cases) > 0
    assert operator.mistakes


@pytest.mark.slow
def test_kernels_stay_in_bounds_and_run_on_8_devices():
    options = ("-q", "-rs", "-p", "no:cacheprovider", "--properties", ",".join(IN_A_PROCESS_OF_THEIR_OWN))
    known = any(point.name == "event_ops_harness" for point in entry_points(group="pytest11"))
    plugin = () if known else ("-p", "event_ops_harness.conformance.plugin")
    command = [sys.executable, "-m", "pytest", *plugin, "--operators", "catalog_operators", *options]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | GUARDED, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "skipped" not in done.stdout, done.stdout + done.stderr
