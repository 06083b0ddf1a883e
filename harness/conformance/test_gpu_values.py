"""On a GPU: every backend of every operator gives what a plain loop gives, large cases included."""

import jax
import numpy as np
import pytest
from cells import arguments, assert_close, bound, needs_x64
from devices import gpus
from oracles import oracle
from order_calls import CALLS

from event_ops.case import CONFORMANCE
from event_ops.discover import operators

pytestmark = pytest.mark.skipif(not gpus(), reason="JAX sees no NVIDIA GPU")

CELLS = [
    pytest.param(operator, backend, case, dtype, id=f"{operator.name}-{backend}-{case.name}-{dtype}")
    for operator in operators()
    for backend in (operator.kernel.available_backends("gpu") if gpus() else ("numba_cuda",))
    for case in operator.tagged(CONFORMANCE)
    for dtype in (operator.dtypes if case is operator.cases[0] else operator.dtypes[:1])
]


@pytest.mark.parametrize(("operator", "backend", "case", "dtype"), CELLS)
def test_values(operator, backend, case, dtype):
    outs_lacking = operator.kernel._kernels["gpu"][backend].obstacle("cuda", (dtype,))
    if outs_lacking:
        pytest.skip(outs_lacking)
    with needs_x64(dtype):
        args, kwargs = arguments(case, dtype)
        result = bound(operator, backend, kwargs)(*args)
        expected = oracle(operator.name)(*map(np.asarray, args), **kwargs)
    assert_close(result, expected, case.relative_tolerance(dtype))


@pytest.mark.parametrize("name", CALLS)
def test_deterministic_sums_have_the_same_bits_in_20_runs(name):
    call = jax.jit(lambda: CALLS[name](deterministic=True, backend="numba_cuda"))
    results = {np.asarray(call()).tobytes() for _ in range(20)}
    assert len(results) == 1
