"""What tests of derivatives share: the mark that they need Enzyme, and a comparison with differences."""

import functools

import jax
import numpy as np
import pytest
from jax.test_util import check_grads

from ffi_bridge import numba_kernel
from ffi_bridge.errors import MissingRuleError
from ffi_bridge.numba_cpu.derivatives import enzyme


def why_not():
    """Return why there are no derivatives here; nothing where there are."""
    try:
        enzyme.python()
    except MissingRuleError as error:
        return str(error)
    return ""


needs_enzyme = [pytest.mark.skipif(bool(why_not()), reason=why_not()), pytest.mark.usefixtures("wide")]
differentiable = functools.partial(numba_kernel, differentiable=True)


def struct(*shape, dtype="float64"):
    return jax.ShapeDtypeStruct(shape, dtype)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def check(call, *ins, order=1):
    """Compare derivatives in `ins`, forward and reverse, with differences."""
    check_grads(call, ins, order=order, modes=["fwd", "rev"], atol=1e-6, rtol=1e-6, eps=1e-5)


def name(kernel):
    return kernel.__name__
