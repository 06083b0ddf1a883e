"""Every operator of the catalog has every property on every backend of a CPU: the quick profile."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from catalog_operators import OPERATORS

from event_ops_harness.conformance.check import look_at
from event_ops_harness.conformance.properties import VALUES, cells
from event_ops_harness.conformance.select import large
from event_ops_harness.statuses import FAILED, SKIPPED

ROOT = Path(__file__).parents[2]
# The longest to compile; `nox -s conformance`, a row of CI, looks at them, too.
LONG = ("nan_derivatives", "second", "threads", "vmap_grad")


def takes_long(cell):
    """Each dtype is compiled anew."""
    other_dtype = cell.prop is VALUES and cell.dtype != cell.operator.dtypes[0]
    return cell.prop.name in LONG or other_dtype or cell.case in large(cell.operator)


CELLS = [
    pytest.param(cell, id=cell.id, marks=[pytest.mark.slow] if takes_long(cell) else [])
    for cell in cells(OPERATORS)
    if not cell.prop.apart
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
@pytest.mark.parametrize(
    "options",
    [
        ("catalog_operators", "--properties", "bounds,shard_map,races"),
        # On small inputs operators choose kernels for one thread.
        ("operators_on_all_threads", "--properties", "races,values", "--profile", "full"),
    ],
    ids=["as they are", "on all threads"],
)
def test_kernels_stay_in_bounds_run_on_8_devices_and_do_not_race(options):
    known = any(point.name == "event_ops_harness" for point in entry_points(group="pytest11"))
    plugin = () if known else ("-p", "event_ops_harness.conformance.plugin")
    command = [sys.executable, "-m", "pytest", *plugin, "-q", "-rs", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--operators", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "skipped" not in done.stdout, done.stdout + done.stderr
