"""Every CUDA kernel, compiled for a GPU and run on an emulated one, gives what a plain loop gives.

One operator of each family, and `procedural_matvec`, are checked in the quick run, and one case of each
operator in the slow one; `nox -s gpu` looks at all properties, cases and dtypes.
"""

import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
pytest.importorskip("warp", reason="warp-lang is not installed")

from all_operators import OPERATORS
from catalog_operators import OPERATORS as CATALOG
from neuron_operators import OPERATORS as NEURONS
from plasticity_operators import OPERATORS as RULES
from reviewed import number_of_arguments
from value_cells import value_cells

from event_ops_harness.table import by_family
from ptx_on_cpu import Checks

BACKENDS = ("numba_cuda", "warp")
QUICK = [min(members, key=number_of_arguments) for members in (*by_family(CATALOG).values(), NEURONS, RULES)]
# Its normal weights take functions of the device that no operator of another family calls.
QUICK += [operator for operator in CATALOG if operator.name == "procedural_matvec"]
CELLS = [
    pytest.param(cell, id=cell.id, marks=[] if operator in QUICK else [pytest.mark.slow])
    for operator in OPERATORS
    for backend in BACKENDS
    for cell in [next(value_cells(operator, backend))]
]


@pytest.mark.parametrize("cell", CELLS)
def test_values(gpu, monkeypatch, cell):
    monkeypatch.setattr(gpu, "backends", BACKENDS)
    monkeypatch.setattr(gpu, "seed", 0)
    monkeypatch.setattr(gpu, "checks", Checks(initialised=True, races=True))
    before = len(gpu.launches)
    cell.check()
    assert len(gpu.launches) > before
