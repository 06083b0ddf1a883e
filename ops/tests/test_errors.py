"""Errors beyond the mistakes that each operator documents."""

import jax
import numpy as np
import pytest

from event_ops import trace_decay
from event_ops.discover import operators
from ffi_bridge.errors import UnknownBackendError


@pytest.mark.parametrize("operator", operators(), ids=lambda operator: operator.name)
def test_unknown_backend_is_refused_with_a_list(operator):
    args, kwargs = operator.cases[0].make(np.random.default_rng(0), operator.dtypes[0], "int32")
    with pytest.raises(UnknownBackendError, match=r"fortran.*numba_cpu"):
        operator.function(*args, **kwargs, backend="fortran")


def test_traced_time_constant_is_not_inspected():
    decayed = jax.jit(lambda tau: trace_decay(np.ones(2, "f"), np.zeros(2, bool), tau=tau, dt=1.0))
    np.testing.assert_allclose(decayed(2.0), np.exp(-0.5), rtol=1e-6)
