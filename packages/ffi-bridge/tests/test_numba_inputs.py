"""Inputs of Numba kernels stay as they are: what would write to them is refused by name, or gets a copy."""

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from input_kernels import (
    COPIED,
    ORDINARY,
    REFUSED,
    by_a_function_of_c,
    by_a_number,
    centred,
    clear,
    in_a_tuple,
    in_shares,
    overlapping,
    shares,
)

from ffi_bridge import numba_function, numba_kernel
from ffi_bridge.errors import CopiedInputWarning, KernelTypeError
from ffi_bridge.numba_cpu import object_code
from ffi_bridge.targets import targets

X = jnp.array([1.0, 2.0, 6.0, 0.5])


def stays(call, *ins):
    """Return the result of a call that leaves its inputs as they are."""
    before = [np.array(x) for x in ins]
    result = np.array(call(*ins))
    for x, old in zip(ins, before, strict=True):
        np.testing.assert_array_equal(x, old)
    return result


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_a_function_that_writes_into_an_input_is_refused_by_name(function):
    message = rf"'{function.__name__}' writes into its input 'x', as .* copy: `x = x\.copy\(\)`"
    with pytest.raises(KernelTypeError, match=message):
        jax.eval_shape(numba_function(numba.njit(function), lambda x: x), X)


def test_the_advice_mends_it():
    def on_a_copy(x):
        x = x.copy()
        z = np.ascontiguousarray(x)
        z -= z.mean()
        return z

    np.testing.assert_array_equal(stays(numba_function(numba.njit(on_a_copy), lambda x: x), X), X - X.mean())


def test_parallel_and_batched_and_tupled_writes_are_refused_too():
    for function, options in ((in_shares, {"parallel": True}), (in_a_tuple, {})):
        with pytest.raises(KernelTypeError, match=rf"'{function.__name__}' writes into its input 'x'"):
            jax.eval_shape(numba_function(numba.njit(**options)(function), lambda x: x), X)
    call = numba_function(numba.njit(centred), lambda x: x)
    with pytest.raises(KernelTypeError, match="'centred' writes into its input 'x'"):
        jax.eval_shape(jax.vmap(call), jnp.ones((2, 3)))


def test_only_the_input_that_is_written_is_named():
    @numba.njit
    def second(a, b, y):
        z = np.ascontiguousarray(b)
        z[0] = a[0]
        y[:] = z

    with pytest.raises(KernelTypeError, match="writes into its input 'b', as"):
        jax.eval_shape(numba_kernel(second, X), X, X)
    aliased = numba_kernel(second, X, input_output_aliases={1: 0})
    np.testing.assert_array_equal(jax.jit(aliased)(X, X + 1), [1, 3, 7, 1.5])


@pytest.mark.parametrize("function", COPIED, ids=lambda function: function.__name__)
def test_where_an_input_cannot_be_followed_each_call_copies_it_and_says_so(function):
    call = numba_function(numba.njit(function), lambda x: x)
    with pytest.warns(
        CopiedInputWarning, match=rf"'{function.__name__}' may write into inputs.* 'x' goes to"
    ):
        result = stays(call, X)
    if function in (by_a_function_of_c, by_a_number):
        assert (result == X).sum() == 3 and not result.all()
    batch = jnp.stack([X, 2 * X, 3 * X])
    np.testing.assert_array_equal(stays(jax.jit(call), X), result)
    with pytest.warns(CopiedInputWarning):
        assert stays(jax.vmap(call), batch).shape == (3, 4)


def test_an_input_that_a_batch_shares_is_copied_for_each_element():
    @numba.njit
    def takes(shared, x, y):
        y[()] = shared[0] + x[()]
        clear(shared.ctypes, 0, 4)

    call = jax.vmap(numba_kernel(takes, jax.ShapeDtypeStruct((), "float32")), (None, 0))
    with pytest.warns(CopiedInputWarning, match="'shared' goes to"):
        result = stays(call, X, jnp.arange(3.0))
    np.testing.assert_array_equal(result, [1, 2, 3])


def test_constants_of_a_program_and_donated_inputs_stay_right():
    @numba.njit
    def of_a_constant(x):
        clear(x.ctypes, 0, 4)
        return x.copy()

    program = jax.jit(lambda y: numba_function(of_a_constant, lambda x: x)(X) + y)
    with pytest.warns(CopiedInputWarning):
        stays(program, jnp.zeros(4))
    for _ in range(3):
        np.testing.assert_array_equal(program(jnp.zeros(4)), [0, 2, 6, 0.5])
    ordinary = numba_kernel(numba.njit(overlapping), X)
    np.testing.assert_array_equal(jax.jit(ordinary, donate_argnums=0)(X + 1), X + 1)


@pytest.mark.parametrize("kernel", ORDINARY, ids=lambda kernel: kernel.__name__)
def test_ordinary_kernels_read_inputs_where_they_are(kernel):
    # A copy would warn, and warnings are errors here.
    options = {"parallel": True} if kernel is shares else {}
    stays(numba_kernel(numba.njit(**options)(kernel), X), X)


def test_a_kernel_that_is_kept_says_so_in_the_next_process_too(monkeypatch, tmp_path):
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(tmp_path))

    @numba.njit
    def kept(x, y):
        clear(x.ctypes, 0, 4)
        y[:] = x

    with pytest.warns(CopiedInputWarning):
        np.testing.assert_array_equal(stays(numba_kernel(kept, X), X), [0, 2, 6, 0.5])
    (name,) = [x for x in targets() if x.startswith("kept.numba_cpu.")]
    with pytest.warns(CopiedInputWarning, match="'kept' may write"):
        assert object_code.find(name) is not None
