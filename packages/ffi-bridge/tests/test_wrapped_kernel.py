"""What a wrapped kernel is to Python: a function of inputs, given by position, that can be pickled."""

import copy
import copyreg
import inspect
import pickle

import child_python
import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
pytest.importorskip("warp", reason="Warp is not installed")

import cuda_kernels
import importable_kernels
import warp as wp

from ffi_bridge import numba_cuda_callable, numba_cuda_kernel, numba_kernel, warp_kernel
from ffi_bridge.errors import KernelDefinitionError

X = jnp.arange(4.0)
FOUR = jax.ShapeDtypeStruct((4,), jnp.float32)

CALL = """
import pickle
import sys
import jax.numpy as jnp
call = pickle.load(open(sys.argv[1], "rb"))
print(call(jnp.arange(4.0), 3.0).tolist())
"""


@numba.njit
def scale(x, factor, out):
    out[:] = x * factor[()]


@numba.njit(parallel=True)
def scale_in_shares(x, factor, out):
    number = factor[()]
    for i in numba.prange(out.size):
        out[i] = x[i] * number


def wrapped_by_numba():
    return numba_kernel(scale, FOUR)


def wrapped_with_shares():
    return numba_kernel(scale_in_shares, FOUR)


def wrapped_by_warp():
    return warp_kernel(importable_kernels.scale, FOUR)


WRAPPED = [wrapped_by_numba, wrapped_with_shares, wrapped_by_warp]


@pytest.mark.parametrize(
    ("wrapped", "options"),
    [
        (wrapped_by_numba, ""),
        (wrapped_with_shares, ""),
        (wrapped_by_warp, ", *, outs: Any = None, launch_dims: Any = None"),
    ],
)
def test_inputs_are_given_by_position_or_by_name(wrapped, options):
    call = wrapped()
    signature = inspect.signature(call)
    bare = [x.replace(annotation=x.empty) for x in list(signature.parameters.values())[:2]]
    rest = list(signature.parameters.values())[2:]
    assert str(signature.replace(parameters=[*bare, *rest])) == f"(x, factor{options})"
    expected = call(X, 3.0)
    for found in (call(X, factor=3.0), call(factor=3.0, x=X)):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("wrapped", WRAPPED)
def test_it_has_the_name_and_the_text_of_its_kernel(wrapped):
    call = wrapped()
    assert call.__name__.startswith("scale")
    assert call.__module__ in (__name__, "importable_kernels")


def test_so_it_is_for_functions_that_launch_kernels(gpu):
    wrapped = [
        numba_cuda_kernel(cuda_kernels.add, FOUR, launch_dims=4),
        numba_cuda_callable(importable_kernels.add_by_launch, FOUR),
    ]
    for call in wrapped:
        assert str(inspect.signature(call)) == "(x, y)"
        again = pickle.loads(pickle.dumps(call))
        np.testing.assert_array_equal(again(X, X), 2 * X)


def test_another_process_calls_what_was_pickled(tmp_path):
    (tmp_path / "call").write_bytes(pickle.dumps(wrapped_by_numba()))
    assert child_python.output("-c", CALL, tmp_path / "call") == "[0.0, 3.0, 6.0, 9.0]\n"


def test_warp_kernels_are_found_by_their_names():
    for call in (wrapped_by_warp(), warp_kernel(outs=FOUR, kernel=importable_kernels.scale)):
        again = pickle.loads(pickle.dumps(call))
        np.testing.assert_array_equal(again(X, 3.0), 3 * X)


def test_kernels_of_warp_itself_are_copied_by_warp():
    # Warp makes overloads so; `harness/reliability/test_other_libraries.py` has what depends on it.
    assert copy.copy(importable_kernels.scale) is not importable_kernels.scale
    assert wp.Kernel not in copyreg.dispatch_table


@pytest.mark.parametrize("wrapped", WRAPPED)
def test_a_copy_is_the_same_function(wrapped):
    call = wrapped()
    assert copy.copy(call) is call
    assert copy.deepcopy(call) is call


def test_options_are_pickled_with_it():
    call = numba_kernel(scale, {"scaled": FOUR}, vmap_method="sequential", input_output_aliases={0: 0})
    again = pickle.loads(pickle.dumps(call))
    np.testing.assert_array_equal(again(X, 2.0)["scaled"], 2 * X)
    assert "scan" in str(jax.make_jaxpr(jax.vmap(again, (0, None)))(jnp.stack([X, X]), 2.0))


def test_what_is_made_of_it_does_not_pickle_in_its_place():
    call = wrapped_by_numba()
    for made in (jax.jit(call), jax.custom_vjp(call)):
        assert not {"_call", "_made_by"} & vars(made).keys()


def test_it_has_what_a_jitted_function_has():
    assert "scale.numba_cpu" in wrapped_by_numba().lower(X, 2.0).as_text()
    assert not hasattr(wrapped_by_numba(), "nothing_of_the_kind")


def test_a_warp_kernel_within_a_function_says_why_it_does_not_pickle():
    @wp.kernel
    def within(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[wp.tid()] = x[wp.tid()]

    with pytest.raises(pickle.PicklingError, match=r" is not what .*<locals>\.within names.*at the top"):
        pickle.dumps(warp_kernel(within, FOUR))


def test_definitions_are_checked_as_ever():
    with pytest.raises(KernelDefinitionError, match="outs is empty"):
        numba_kernel(scale, ())
