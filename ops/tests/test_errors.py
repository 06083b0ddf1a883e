"""Errors beyond the mistakes that each operator documents."""

import jax
import numpy as np
import pytest

from event_ops import csr_matvec, read_slot, scatter_add, segment_sum, trace_decay
from event_ops.discover import operators
from ffi_bridge.errors import UnknownBackendError


@pytest.mark.parametrize("operator", operators(), ids=lambda operator: operator.name)
def test_unknown_backend_is_refused_with_a_list(operator):
    args, kwargs = operator.cases[0].make(np.random.default_rng(0), operator.dtypes[0], "int32")
    with pytest.raises(UnknownBackendError, match=r"fortran.*numba_cpu"):
        operator.function(*args, **kwargs, backend="fortran")


@pytest.mark.parametrize(
    "call",
    [
        lambda big: csr_matvec(np.ones(1, "f"), big, np.array([0, 1]), np.ones(3, "f"), shape=(1, 3)),
        lambda big: scatter_add(np.zeros(3, "f"), big, np.ones(1, "f")),
        lambda big: segment_sum(np.ones(1, "f"), big, 3),
        lambda big: read_slot(np.zeros((3, 2), "f"), big[0]),
    ],
)
def test_integers_that_32_bits_would_change_are_refused(call):
    call(np.array([2]))
    with pytest.raises(
        ValueError, match=r"holds 4294967298 to 4294967298, which int32 cannot; enable 64-bit"
    ):
        call(np.array([2**32 + 2]))


def test_traced_time_constant_is_not_inspected():
    decayed = jax.jit(lambda tau: trace_decay(np.ones(2, "f"), np.zeros(2, bool), tau=tau, dt=1.0))
    np.testing.assert_allclose(decayed(2.0), np.exp(-0.5), rtol=1e-6)
