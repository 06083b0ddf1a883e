"""Time `leaky_sum` beside SciPy's filter: `pytest test_speed.py` shows the table of pytest-benchmark."""

import jax
import numpy as np
import pytest
import scipy.signal
from leaky_ops import leaky_sum

X = np.random.default_rng(0).normal(size=100_000).astype(np.float32)
OURS = jax.jit(lambda x: leaky_sum(x, 0.5, backend="numba_cpu"))
SCIPY = np.float32([1]), np.float32([1, -0.5])
MEMBERS = {"leaky_sum": lambda: OURS(X), "SciPy": lambda: scipy.signal.lfilter(*SCIPY, X)}


@pytest.mark.parametrize("member", MEMBERS)
def test_leaky_sum(in_turns, member):
    in_turns(MEMBERS, member, rtol=1e-4)
