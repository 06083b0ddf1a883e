"""Every CUDA kernel, compiled for a GPU and run on an emulated one, gives what a plain loop gives.

One case of each operator is checked here; `nox -s gpu` looks at all properties, cases and dtypes.
"""

import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
pytest.importorskip("warp", reason="warp-lang is not installed")

from catalog_operators import OPERATORS
from neuron_operators import OPERATORS as NEURONS
from plasticity_operators import OPERATORS as RULES
from value_cells import value_cells

from ptx_on_cpu import Checks

BACKENDS = ("numba_cuda", "warp")
ALL = *OPERATORS, *NEURONS, *RULES
CELLS = [next(value_cells(operator, backend)) for operator in ALL for backend in BACKENDS]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.id)
def test_values(gpu, monkeypatch, cell):
    monkeypatch.setattr(gpu, "backends", BACKENDS)
    monkeypatch.setattr(gpu, "seed", 0)
    monkeypatch.setattr(gpu, "checks", Checks(initialised=True, races=True))
    before = len(gpu.launches)
    cell.check()
    assert len(gpu.launches) > before
