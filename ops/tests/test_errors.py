"""Errors beyond the mistakes that each operator documents."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import (
    CSR,
    ELL,
    Events,
    csr_event_deliver,
    csr_gap_current,
    csr_matvec,
    scatter_add,
    segment_sum,
    trace_decay,
)
from event_ops.checks.arrays import FLOATS, INTEGERS, NUMBERS, cast_advice, check_positive, common_cast
from event_ops.checks.keywords import resolved_mode
from event_ops.checks.ring_buffer import check_delays
from event_ops.discover import operators
from event_ops.kernels.reference.plasticity import rate_and_bounds
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
    ],
)
def test_integers_that_32_bits_would_change_are_refused(call):
    call(np.array([2]))
    with pytest.raises(
        ValueError, match=r"holds 4294967298 to 4294967298, which int32 cannot; enable 64-bit"
    ):
        call(np.array([2**32 + 2]))
    for form in (np.ndarray.tolist, memoryview, lambda big: [np.asarray(x) for x in big]):
        with pytest.raises(ValueError, match="which int32 cannot; enable 64-bit"):
            call(form(np.array([2**32 + 2])))


def test_bytes_of_another_machine_are_read_in_their_order():
    def call(order):
        indices, indptr = np.array([2, 0], f"{order}i4"), np.array([0, 1, 1, 2], f"{order}i4")
        v, weight = np.array([5, 6, 7], f"{order}f4"), np.array(3, f"{order}f4")
        return csr_gap_current(weight, indices, indptr, v, shape=(3, 3))

    np.testing.assert_array_equal(call(">"), call("<"))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.array([1, None]), "an array of object; expected numbers, and these are objects"),
        (np.ones(2, np.longdouble), "an array of float128, which JAX lacks; cast it"),
        ({1, 2}, "a set; expected an array or a number$"),
        (CSR.eye(2), r"a CSR; expected an array or a number: .* use A.todense\(\)"),
        (Events(np.ones(2, bool)), "a Events; expected an array or a number: .* events.values"),
    ],
)
def test_what_is_no_array_of_numbers_is_said(x, message):
    with pytest.raises(TypeError, match=message):
        csr_matvec(np.ones(2, "f"), np.arange(2), np.arange(3), x, shape=(2, 2))


def test_what_counts_or_numbers_is_an_integer():
    A = CSR(np.ones(2, "f"), np.arange(2), np.arange(3), shape=(2, 2))
    for name, call in (
        ("nse", lambda n: CSR.from_dense(np.eye(2), nse=n)),
        ("nse", lambda n: A.rows([0], nse=n)),
        ("nse", lambda n: A.matmul(A, nse=n)),
        ("per_row", lambda n: ELL.from_csr(A, per_row=n)),
        ("parts", A.compact().in_parts),
        ("maxiter", lambda n: A.solve(np.ones(2, "f"), maxiter=n)),
        ("axis", A.sum),
        ("axis", lambda n: A.normalize(1.0, axis=n)),
    ):
        for count in (2.5, True, "2"):
            with pytest.raises(TypeError, match=f"{name} is {count!r}; expected an integer that is known"):
                call(count)
        with pytest.raises(ValueError, match=f"{name} is -3; expected "):
            call(-3)


def test_traced_time_constant_is_not_inspected():
    decayed = jax.jit(lambda tau: trace_decay(np.ones(2, "f"), np.zeros(2, bool), tau=tau, dt=1.0))
    np.testing.assert_allclose(decayed(2.0), np.exp(-0.5), rtol=1e-6)


def test_values_that_lie_with_other_processes_are_not_looked_at():
    class Elsewhere(np.ndarray):
        is_fully_addressable = False

    x = np.array([-1.0, 9.0]).view(Elsewhere)
    check_positive("tau", x)
    check_delays(x, 3)
    assert resolved_mode("error", "ids", x, 0, 3) == "error"
    rate_and_bounds(jnp.ones(2), "A_plus", 0.1, x, x - 1)


FLAGS = ("bool", *FLOATS)
KEEPING = {
    "flags": ([0, 1, 1], FLAGS, "bool"),
    "counts": ([0, 2, 3], FLAGS, "float32"),
    "delays": ([0.0, 200.0], INTEGERS, "int32"),
    "narrow delays": ([0.0, 5.0], ("int8", "int16"), "int8"),
    "many": ([3e9], INTEGERS, "uint32"),
    "bools": ([True, False], NUMBERS, "float32"),
    "narrow": (np.array([1.5, np.nan], np.float16), FLOATS, "float32"),
    "indices": (np.array([1, 2], np.uint8), ("int32", "int64"), "int32"),
    "words": ([7, 8], ("uint32",), "uint32"),
}
NOT_KEEPING = {
    "fractions": ([0.0, 1.5], INTEGERS, r"holds 1.5, which int32 cannot; round it: jnp.round\(x\)"),
    "no number": ([np.nan], INTEGERS, "holds nan, which int32 cannot; pass values that it can"),
    "a sign": ([-1], ("uint32",), "holds -1, which uint32 cannot; pass values"),
    "a high bit": (np.array([2**31], np.uint32), ("int32",), "holds 2147483648, which int32 cannot"),
    "digits": ([2**24 + 1], FLOATS, "holds 16777217, which float32 cannot; enable 64-bit types"),
    "complex": ([1j], FLOATS, r"drop the imaginary part; pass x.real, or jnp.abs\(x\)"),
    "levels": ([0.0, 0.7], ("bool",), "say which are True: x != 0"),
    "a gradient": (np.zeros(2, jax.dtypes.float0), INTEGERS, "the gradient of the weights"),
}


@pytest.mark.parametrize("name", KEEPING)
def test_the_advised_cast_keeps_the_values(name):
    values, allowed, dtype = KEEPING[name]
    x = jnp.asarray(values)
    (advised,) = re.findall(r"^cast it: x.astype\('(\w+)'\)$", cast_advice("x", x, allowed))
    assert advised == dtype
    np.testing.assert_array_equal(np.asarray(x.astype(advised), float), np.asarray(x, float))


@pytest.mark.parametrize("name", NOT_KEEPING)
def test_no_cast_is_advised_that_changes_values(name):
    values, allowed, match = NOT_KEEPING[name]
    x = values if name == "a gradient" else jnp.asarray(values)
    assert re.search(match, cast_advice("x", x, allowed))


@pytest.mark.parametrize(
    ("dtype", "allowed", "match"),
    [
        ("int32", FLAGS, r"cast it: x.astype\('float32'\)"),
        ("float32", INTEGERS, r"where int32 holds its values: jnp.round\(x\).astype\('int32'\)"),
        ("uint8", ("int32",), r"cast it: x.astype\('int32'\)"),
        ("int32", ("uint32",), r"where uint32 holds its values: x.astype\('uint32'\)"),
    ],
)
def test_traced_values_are_advised_by_their_dtype(dtype, allowed, match):
    advice = []
    jax.eval_shape(lambda x: advice.append(cast_advice("x", x, allowed)), jnp.zeros(2, dtype))
    assert re.fullmatch("cast it " + match if match.startswith("where") else match, *advice)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ([1, 2], [0.5], "cast one: x.astype(y.dtype)"),
        ([0.5], [1, 2], "cast one: y.astype(x.dtype)"),
        ([2**24 + 1], [0.5], "cast both: .astype('float32'), which rounds"),
    ],
)
def test_one_of_two_arrays_is_cast_so_that_both_keep_their_values(x, y, expected):
    assert common_cast("x", jnp.asarray(x), "y", jnp.asarray(y)) == expected


def test_counts_and_delays_are_not_cut_down():
    with pytest.raises(TypeError, match=r"values.astype\('float32'\); or say .* encoding='ids'"):
        Events(np.array([0, 2, 3]))
    for encoding, maker in (("ids", r"spike_compact\(flags\)\[0\]"), ("bits", r"pack_events\(flags\)")):
        with pytest.raises(TypeError, match=rf"{maker} returns; or say what they are: encoding='flags'"):
            Events(np.array([True, False]), encoding)
    one, weights = np.zeros(1, int), np.ones(1, "f")
    with pytest.raises(TypeError, match=r"cast it: delays.astype\('int32'\)"):
        csr_event_deliver(
            np.zeros((201, 1), "f"), weights, one, np.arange(2), np.array([200.0]), np.array([True]),
            slot=0, shape=(1, 1),
        )  # fmt: skip
    with pytest.raises(TypeError, match=r"cast target: target.astype\('float32'\)"):
        scatter_add(np.zeros(3, int), one, 1.5)
