"""numba_function: functions that return arrays, numbers and tuples of them."""

import inspect
import pickle

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest

from ffi_bridge import numba_function
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError

Struct = jax.ShapeDtypeStruct
X = jnp.array([3.0, 1.0, 2.0])


@numba.njit
def ordered(x):
    return np.sort(x)


@numba.njit
def solution(a, b):
    return np.linalg.solve(a, b)


@numba.njit
def summary(x, scale=2.0, power=2):
    count = 0
    for value in x.flat:
        count += value > 0
    return x.T, scale * x.sum() ** power, count


@numba.njit(parallel=True)
def doubled(x):
    y = np.empty_like(x)
    for i in numba.prange(x.size):
        y[i] = 2 * x[i]
    return y


@numba.njit
def itself(x):
    return x


@numba.njit
def large(x):
    return 2**40 * int(x[0])


@numba.njit
def widened(x):
    return x * 2.0


@numba.njit
def raising(x):
    if x[0] < 0:
        raise ValueError("x must not be negative")
    return x


@numba.njit
def text(x):
    return "text"


def like(x):
    return x


def of_summary(x, *_, **__):
    return {"T": Struct(x.shape[::-1], x.dtype), "a": Struct((), x.dtype), "n": Struct((), "int32")}


@pytest.mark.slow
def test_sorting():
    call = numba_function(ordered, like)
    np.testing.assert_array_equal(call(X), [1, 2, 3])
    np.testing.assert_array_equal(jax.jit(call)(jnp.array([2, 1])), [1, 2])
    np.testing.assert_array_equal(jax.vmap(call)(jnp.array([[2.0, 1.0], [0.0, -1.0]])), [[1, 2], [-1, 0]])
    np.testing.assert_array_equal(jax.lax.scan(lambda x, _: (call(-x), None), X, length=2)[0], [1, 2, 3])
    assert call(jnp.zeros(0)).shape == (0,)


@pytest.mark.slow
def test_linear_systems():
    a, b = jnp.array([[2.0, 1.0], [1.0, 3.0]]), jnp.array([[1.0, 2.0], [0.0, 1.0], [5.0, -1.0]])
    call = numba_function(solution, lambda a, b: b)
    np.testing.assert_allclose(jax.vmap(call, (None, 0))(a, b), np.linalg.solve(a, b.T).T, rtol=1e-6)
    with pytest.raises(jax.errors.JaxRuntimeError, match="Matrix is singular"):
        call(jnp.zeros((2, 2)), b[0]).block_until_ready()


@pytest.mark.slow
def test_a_tuple_of_arrays_of_any_layout_and_numbers():
    call = numba_function(summary, of_summary, static_argnames="power")
    x = jnp.arange(6.0).reshape(2, 3)
    for given, scale, power in (((), 2, 2), ((3.0,), 3, 2)):
        found = call(x, *given)
        np.testing.assert_array_equal(found["T"], x.T)
        assert (found["a"], found["n"]) == (scale * 15**power, 5)
    assert call(x, scale=1, power=1)["a"] == 15
    assert call(x=x)["n"].dtype == "int32"
    assert list(inspect.signature(call).parameters) == ["x", "scale", "power"]
    batch = jax.vmap(call, (0, None))(jnp.stack([x, -x]), 1.0)
    np.testing.assert_array_equal(batch["n"], [5, 0])
    np.testing.assert_array_equal(batch["T"], [x.T, -x.T])


@numba.njit
def reduced(x, kind, axis=None, y=1):
    if kind == "dot":
        return np.dot(x, x)
    if axis is not None:
        return x.sum(axis) * y
    return x.sum() * y


@pytest.mark.slow
def test_only_the_returns_that_constants_allow_are_compiled():
    def shape(x, y=None, *, kind, axis):
        return Struct(x.shape[1:] if axis == 0 else (), x.dtype)

    call = numba_function(reduced, shape, static_argnames=("kind", "axis"))
    x = jnp.arange(6.0).reshape(2, 3)
    assert call(X, kind="dot") == 14
    assert call(x, kind="sum") == 15
    np.testing.assert_array_equal(call(x, kind="sum", axis=0, y=2), [6, 10, 14])


@numba.njit
def of_awkward_names(function, store, out=True):
    return function + store if out else function


def test_a_default_is_no_matter_of_outs_and_names_do_not_collide():
    np.testing.assert_array_equal(numba_function(of_awkward_names, lambda x, y: x)(X, X), 2 * X)


@numba.njit
def of_positions(x, y, scale=2, /):
    return scale * x + y


def test_parameters_by_position_only():
    np.testing.assert_array_equal(numba_function(of_positions, lambda x, *_: x)(X, X, 1.0), 2 * X)
    np.testing.assert_array_equal(numba_function(of_positions, lambda x, y: x)(X, X), 3 * X)


def test_what_is_returned_is_a_copy():
    call = numba_function(itself, like)
    np.testing.assert_array_equal(call(X), X)
    assert call(X).unsafe_buffer_pointer() != X.unsafe_buffer_pointer()


def test_functions_on_all_threads():
    np.testing.assert_array_equal(numba_function(doubled, like)(X), 2 * X)


def test_it_pickles():
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(numba_function(ordered, like)))(X), [1, 2, 3])


@pytest.mark.parametrize(
    ("function", "outs", "message"),
    [
        (ordered, Struct((3,), "int32"), "result 0 is float32 with 1 dimensions; expected int32 with 1"),
        (
            ordered,
            Struct((3, 1), "float32"),
            "result 0 is float32 with 1 dimensions; expected float32 with 2",
        ),
        (ordered, (X, X), "it returns 1 values; expected 2, as many as outs has"),
        (summary, (X, X), "it returns 3 values; expected 2"),
        (widened, like, "result 0 is float64 with 1 dimensions; expected float32 with 1.*or cast it"),
        (text, like, "result 0 is unicode_type; expected an array or a number"),
        (large, Struct((), "bool"), "result 0 is int64 with 0 dimensions; expected bool"),
    ],
)
def test_results_that_outs_cannot_take(function, outs, message):
    with pytest.raises(KernelTypeError, match=message):
        numba_function(function, outs)(X)


@pytest.mark.parametrize(
    ("function", "outs", "x", "message"),
    [
        (ordered, Struct((4,), "float32"), X, r"array of shape', \(3,\), 'where outs says', \(4,\)"),
        (ordered, Struct((2,), "float32"), X, r"array of shape', \(3,\), 'where outs says', \(2,\)"),
        (large, Struct((), "int32"), X, "OverflowError.*the dtype of outs cannot hold', 3298534883328"),
        (raising, like, -X, "kernel 'raising' raised ValueError: x must not be negative"),
    ],
)
def test_errors_while_it_runs(function, outs, x, message):
    with pytest.raises(jax.errors.JaxRuntimeError, match=message):
        numba_function(function, outs)(x).block_until_ready()


def test_wrong_calls():
    with pytest.raises(KernelTypeError, match="'summary': got an unexpected keyword argument 'q'"):
        numba_function(summary, of_summary)(X, q=1)
    with pytest.raises(
        TypeError, match=r"numba_function needs a Numba CPU kernel.*decorate it with @numba.njit"
    ):
        numba_function(lambda x: x, like)
    with pytest.raises(KernelDefinitionError, match="vmap_method='some' is not known"):
        numba_function(itself, like, vmap_method="some")(X)
