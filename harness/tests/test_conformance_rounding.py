"""Values in units in the last place: what rounding cannot explain is found, and nothing else."""

import jax
import numpy as np
import pytest

pytest.importorskip("numba", reason="Numba is not installed")

from numba import njit

from event_ops.cases import EXACT
from event_ops_harness.conformance import Case, Operator, Rounding, check_operator
from event_ops_harness.conformance.compare import Mismatch, assert_same
from ffi_bridge import XLACustomKernel, numba_kernel

TERMS = 50


def reference(**_):
    return lambda x: x.sum(1)


def wide(rng, dtype, index_dtype):
    """Rows whose terms nearly cancel: their sums are small beside the sums of their magnitudes."""
    x = rng.normal(size=(4, TERMS)).astype(dtype)
    x[:, 1::2] = -x[:, ::2]
    return (x + np.asarray(1e-3, dtype),), {"outs": jax.ShapeDtypeStruct((4,), x.dtype)}


@njit
def forwards(x, y):
    for i in range(y.size):
        y[i] = 0
        for j in range(x.shape[1]):
            y[i] += x[i, j]


@njit
def with_7_terms_in_8_bits(x, y):
    for i in range(y.size):
        y[i] = 0
        for j in range(x.shape[1]):
            y[i] += x[i, j] if j > 6 else round(x[i, j] * 256) / 256


@njit
def almost_the_first(x, y):
    for i in range(y.size):
        y[i] = np.nextafter(x[i, 0], np.float32(9))


def report(request, kernel, rounding, define=reference):
    made = XLACustomKernel(f"rounding_{request.node.name}")
    made.def_reference(define)
    made.def_numba_kernel(lambda *, outs, **_: numba_kernel(kernel, outs))
    case = Case("wide", wide, tolerance=1e4)
    operator = Operator(made.name, made, made, ("float32",), (case,), rounding=rounding)
    return check_operator(operator, properties=["values"])


def test_a_sum_in_any_order_is_right(request):
    assert not report(request, forwards, Rounding(0, sums=True)).failures


def test_terms_that_lost_bits_are_found(request):
    found = report(request, with_7_terms_in_8_bits, Rounding(0, sums=True))
    (failure,) = found.failures
    assert "ulps of" in failure.reason and "; allowed 25" in failure.reason  # gamma of 50 terms
    assert not report(request, with_7_terms_in_8_bits, None).failures  # by the case's tolerance


def test_the_last_bit_of_a_copy_is_found(request):
    found = report(request, almost_the_first, EXACT, lambda **_: lambda x: x[:, 0])
    assert len(found.failures) == 1 and "allowed 0" in str(found)
    assert not report(request, almost_the_first, Rounding(1), lambda **_: lambda x: x[:, 0]).failures


def test_what_is_not_finite_has_to_be_the_same():
    expected = np.array([np.inf, np.nan, 1e30], "f")
    assert_same(expected, expected, 1e-5)
    for wrong in ([1e30, np.nan, 1e30], [np.inf, 0, 1e30], [-np.inf, np.nan, 1e30], [np.inf, np.nan, np.nan]):
        with pytest.raises(Mismatch, match="wrong at 1 of 3 places"):
            assert_same(np.array(wrong, "f"), expected, 1e-5)
