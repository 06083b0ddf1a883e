"""On a GPU: every backend of every operator gives what a plain loop gives, large cases included."""

import jax
import numpy as np
import pytest
from catalog_operators import OPERATORS
from devices import gpus
from order_calls import CALLS
from value_cells import value_cells

if not gpus():  # a skip of each cell would take longer than many a test
    pytest.skip("JAX sees no NVIDIA GPU", allow_module_level=True)

CELLS = [
    cell
    for operator in OPERATORS
    for backend in operator.kernel.available_backends("gpu")
    for cell in value_cells(operator, backend)
]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.id)
def test_values(cell):
    lacking = cell.operator.kernel.backends["gpu"][cell.backend].obstacle("cuda", (cell.dtype,))
    if lacking:
        pytest.skip(lacking)
    cell.check()


@pytest.mark.parametrize("name", CALLS)
def test_deterministic_sums_have_the_same_bits_in_20_runs(name):
    call = jax.jit(lambda: CALLS[name](deterministic=True, backend="numba_cuda"))
    results = {np.asarray(call()).tobytes() for _ in range(20)}
    assert len(results) == 1
