"""What the tests of the catalog, of rules and of neuron models do with cells of the conformance matrix."""

import inspect
import subprocess
from pathlib import Path

import pytest

from event_ops_harness.conformance.check import look_at
from event_ops_harness.conformance.plugin import command_of_pytest
from event_ops_harness.conformance.properties import PROPERTIES, VALUES
from event_ops_harness.results import FAILED, SKIPPED

ROOT = Path(__file__).parents[2]
APART = tuple(prop.name for prop in PROPERTIES if prop.apart)  # properties that need a process of their own


def number_of_arguments(operator):
    """Return how much there is to an operator: its kernels take the longer to compile."""
    return len(inspect.signature(operator.function).parameters)


def parameters(cells, takes_long):
    """Return the cells that need no process of their own as parameters of a test, with the marks of tiers."""
    return [
        pytest.param(cell, id=cell.id, marks=[pytest.mark.slow] if takes_long(cell) else tier(cell))
        for cell in cells
        if not cell.prop.apart
    ]


def tier(cell):
    """Return the mark `thorough` for what is neither of the default backend nor a value of the reference."""
    is_default = cell.backend == cell.operator.kernel.defaults["cpu"]
    of_reference = cell.backend == "reference" and cell.prop is VALUES
    return [] if is_default or of_reference else [pytest.mark.thorough]


def assert_holds(cell, module):
    """Fail or skip as the cell of an operator of this module does."""
    outcome = look_at(cell, module)
    if outcome.status == SKIPPED:
        pytest.skip(outcome.reason)
    assert outcome.status != FAILED, outcome.reason


def assert_all_hold(module, properties, *options):
    """Run the kit with these properties on a module of operators, in a process; none may be skipped."""
    command = [
        *command_of_pytest(),
        "-rs",
        "--operators",
        module,
        "--properties",
        ",".join(properties),
        *options,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "skipped" not in done.stdout, done.stdout + done.stderr
