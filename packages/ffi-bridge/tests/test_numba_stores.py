"""What a Numba kernel never stores to: outputs are refused, inputs may be typed as writable."""

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from llvmlite import binding as llvm
from numba import types

from ffi_bridge import numba_kernel
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.numba_cpu import object_code
from ffi_bridge.targets import targets

X = jnp.arange(4.0)
FOUR, NUMBER = (jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((4,), ()))
RECORD = False


@numba.njit("void(float32[:], float32[:])")
def declared_copy(x, y):
    for i in range(x.size):
        y[i] = x[i]


@numba.njit("void(float32[:])")
def declared_clear(x):
    x[:] = 0


@numba.njit
def fails(x):
    raise ValueError("fails")


def gives_the_name_away(x, y):
    y = x.sum()  # noqa: F841


def gives_the_name_away_and_reads_it(x, y):
    y = x.sum()
    y += 1
    if y > 1e9:
        raise ValueError(y)


def forgets(x, y):
    pass


def reads(x, y):
    if y[0] > x[0]:
        raise ValueError("y")


def writes_a_copy(x, y):
    copied = y.copy()
    copied[:] = x


def writes_in_no_case(x, y):
    if RECORD:
        y[:] = x


REFUSED = [
    gives_the_name_away,
    gives_the_name_away_and_reads_it,
    forgets,
    reads,
    writes_a_copy,
    writes_in_no_case,
]


def by_a_callee(x, y):
    declared_copy(x.copy(), y)


def by_a_ufunc(x, y):
    np.add(x, x, y)


def by_a_library(x, y):
    np.dot(x.reshape(2, 2), x.reshape(2, 2), y.reshape(2, 2))


def by_a_view(x, y):
    part = y[1:].reshape(1, 3)
    part[0, 0] = x[0]


def by_flat(x, y):
    y.flat[0] = x[0]


def by_a_method(x, y):
    y.fill(x[0])


def in_place(x, y):
    y += x


def by_a_closure(x, y):
    def store(i):
        y[i] = x[i]

    for i in range(y.size):
        store(i)


def by_a_tuple(x, y):
    pair = (x, y)
    pair[1][0] = pair[0][0]


def by_a_list(x, y):
    listed = [x.copy()]
    listed.append(y)
    for array in listed:
        array[0] = 1


def by_a_choice(x, y):
    chosen = y if x[0] > 0 else y[1:]
    chosen[0] = 1


def in_one_case(x, y):
    if x[0] > 1e9:
        y[0] = 1


def never_returns(x, y):
    raise ValueError("never")


def never_returns_from_a_callee(x, y):
    fails(x)
    y[:] = x


ACCEPTED = [
    by_a_callee,
    by_a_ufunc,
    by_a_library,
    by_a_view,
    by_flat,
    by_a_method,
    in_place,
    by_a_closure,
    by_a_tuple,
    by_a_list,
    by_a_choice,
    in_one_case,
    never_returns,
    never_returns_from_a_callee,
]


def trace(kernel, *ins, outs=FOUR, **options):
    return jax.eval_shape(numba_kernel(numba.njit(kernel), outs, **options), *ins)


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda kernel: kernel.__name__)
def test_an_output_without_stores_is_refused_by_name(kernel):
    message = rf"'{kernel.__name__}' never stores to its output 'y'.* write `y\[:\] = \.\.\.`"
    with pytest.raises(KernelTypeError, match=message):
        trace(kernel, X)


@pytest.mark.parametrize(("rank", "place"), [(0, r"\(\)"), (1, ":"), (2, r"\.\.\.")])
def test_the_advice_is_for_the_rank_of_the_output(rank, place):
    with pytest.raises(KernelTypeError, match=rf"write `y\[{place}\] = \.\.\.`"):
        trace(gives_the_name_away, X, outs=jax.ShapeDtypeStruct((2,) * rank, jnp.float32))


@pytest.mark.parametrize("kernel", ACCEPTED, ids=lambda kernel: kernel.__name__)
def test_an_output_that_may_be_stored_to_is_accepted(kernel):
    assert trace(kernel, X).shape == (4,)


def test_the_advice_is_for_stores_behind_an_exception_too():
    def divides(x, y):
        for i in range(x.size):
            y[i] = int(x[i]) // 0

    with pytest.raises(KernelTypeError, match="if it does, all that comes before always raises, as a divi"):
        trace(divides, X)


def test_in_a_parallel_kernel_too():
    @numba.njit(parallel=True)
    def shares(x, y, z):
        for i in numba.prange(x.size):
            y[i] = x[i]
        z = y.sum()  # noqa: F841

    with pytest.raises(KernelTypeError, match=r"never stores to its output 'z'"):
        jax.eval_shape(numba_kernel(shares, (FOUR, NUMBER)), X)


def test_outputs_that_begin_as_inputs_and_empty_ones_may_stay_as_they_are():
    assert trace(forgets, X, input_output_aliases={0: 0}).shape == (4,)
    before = targets().keys()
    assert trace(forgets, X, outs=jax.ShapeDtypeStruct((4, 0), jnp.float32)).shape == (4, 0)
    (name,) = (found := targets().keys()) - before
    with pytest.raises(KernelTypeError, match="never stores"):  # the same types, another shape
        trace(forgets, X, outs=jax.ShapeDtypeStruct((4, 1), jnp.float32))
    assert targets().keys() == found  # nothing is compiled for it
    assert object_code.find(name)[1].unwritten == ["y"]  # in another process, too


def test_an_empty_output_has_the_machine_code_of_any_other():
    @numba.njit
    def doubles(x, y):
        for i in range(y.size):
            y[i] = 2 * x[i]

    call, before = numba_kernel(doubles, lambda x: x), targets().keys()
    for size in (0, 3, 0):
        np.testing.assert_array_equal(call(X[:size]), 2 * X[:size])
    assert len(targets().keys() - before) == 1


def by_a_declared_callee(x, y):
    declared_copy(x, y)


def read_in_a_tuple(x, y):
    total = 0
    for array in (x, y):
        total += array.size
    y[:] = x + total


def written_in_a_tuple(x, y):
    for array in (x, y):
        array[0] = 1


def written_by_a_declared_callee(x, y):
    declared_clear(x)
    y[:] = x


def in_place_of_an_input(x, y):
    x += 1
    y[:] = x


needs_a_new_llvm = pytest.mark.skipif(
    llvm.llvm_version_info[0] < 22,
    reason="an older LLVM follows no array into what was compiled before",
)


@pytest.mark.parametrize(
    ("kernel", "added"), [pytest.param(by_a_declared_callee, 0, marks=needs_a_new_llvm), (read_in_a_tuple, 8)]
)
def test_inputs_are_typed_as_writable_where_nothing_writes_them(kernel, added):
    np.testing.assert_array_equal(numba_kernel(numba.njit(kernel), FOUR)(X), X + added)


@pytest.mark.parametrize("kernel", [written_in_a_tuple, written_by_a_declared_callee])
def test_where_something_may_write_them_the_message_names_both_ways_to_mend_it(kernel):
    message = (
        r"input 'x' where Numba expects an array that it may write to.*readonly=True.*tuples of their own"
    )
    with pytest.raises(KernelTypeError, match=message):
        trace(kernel, X)


def test_a_callee_may_be_declared_for_read_only_arrays():
    given = types.Array(types.float32, 1, "C", readonly=True)

    @numba.njit(types.float32(given))
    def total(x):
        return x.sum()

    def sums(x, y):
        y[()] = total(x)

    assert numba_kernel(numba.njit(sums), NUMBER)(X) == 6


def test_in_place_arithmetic_on_an_input_is_a_write():
    with pytest.raises(KernelTypeError, match="'in_place_of_an_input' writes into its input 'x'"):
        trace(in_place_of_an_input, X)
