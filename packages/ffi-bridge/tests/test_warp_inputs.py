"""A Warp kernel that stores to an input, or never to an output, is refused by name."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("warp", reason="Warp is not installed")

import warp as wp

from ffi_bridge import warp_callable, warp_kernel
from ffi_bridge.errors import KernelTypeError

FIVE = jax.ShapeDtypeStruct((5,), jnp.float32)
X = jnp.arange(5.0)


@wp.func
def set_to_nine(a: wp.array(dtype=float), i: int):
    a[i] = 9.0


@wp.kernel
def stores(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 7.0
    y[i] = x[i]


@wp.kernel
def adds(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(x, 0, 1.0)
    y[i] = x[i]


@wp.kernel
def calls(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    set_to_nine(x, i)
    y[i] = x[i]


@wp.kernel
def augments(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    x[i] += 1.0
    y[i] = x[i]


@wp.kernel
def into_a_row(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    row = x[0]
    row[i] = 3.0
    y[i] = row[i]


@wp.kernel
def into_a_component(x: wp.array(dtype=wp.vec2), y: wp.array(dtype=float)):
    i = wp.tid()
    x[i][0] = 3.0
    y[i] = 1.0


@wp.func
def itself(a: wp.array(dtype=float)):
    return a


@wp.func
def set_by_another_name(a: wp.array(dtype=float), i: int):
    b = a
    b[i] = 9.0


@wp.kernel
def by_another_name(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    z = y
    if y[i] == 0.0:
        z = x
    z[i] = 3.0
    y[i] = 1.0


@wp.kernel
def as_returned(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    z = itself(itself(x))
    z[i] = 3.0
    y[i] = 1.0


@wp.kernel
def calls_by_another_name(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    set_by_another_name(x, i)
    y[i] = 1.0


@wp.kernel
def by_a_tile(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.tile_store(x, wp.tile_ones(shape=1, dtype=float), offset=i)
    y[i] = 1.0


@wp.kernel
def reads_by_another_name(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    z, written = itself(x), itself(y)
    written[i] = 2.0 * z[i]
    written[i] = written[i] + 0.0


@wp.kernel
def reads(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]
    y[i] = y[i] + 0.0


REFUSED = [
    stores, adds, calls, augments, into_a_row, into_a_component, by_another_name, as_returned,
    calls_by_another_name, by_a_tile,
]  # fmt: skip


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda kernel: kernel.key)
def test_a_kernel_that_stores_to_an_input_is_refused_by_name(kernel):
    x = {into_a_row: jnp.ones((2, 5)), into_a_component: jnp.ones((5, 2))}.get(kernel, X)
    message = rf"'{kernel.key}' writes into 'x', which is the input 'x' .*; .* in_out_argnames"
    with pytest.raises(KernelTypeError, match=message):
        jax.eval_shape(warp_kernel(kernel, FIVE, launch_dims=5), x)


def test_what_the_advice_says_works():
    call = warp_kernel(stores, (FIVE, FIVE), launch_dims=5, in_out_argnames=["x"])
    np.testing.assert_array_equal(call(X)[1], np.full(5, 7.0))
    np.testing.assert_array_equal(X, np.arange(5))


@pytest.mark.parametrize("kernel", [reads, reads_by_another_name], ids=lambda kernel: kernel.key)
def test_what_reads_its_inputs_is_as_it_was(kernel, capfd):
    np.testing.assert_array_equal(warp_kernel(kernel, FIVE, launch_dims=5)(X), 2 * np.arange(5))
    assert "written to after it has been read" not in "".join(capfd.readouterr())


def test_launches_of_a_function_too():
    def launches(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        wp.launch(reads, 5, inputs=[x], outputs=[y])
        wp.launch(set_both, 5, inputs=[y, x])

    with pytest.raises(KernelTypeError, match="'set_both' writes into 'b', which is the input 'x'"):
        jax.eval_shape(warp_callable(launches, FIVE), X)


@wp.kernel
def set_both(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    set_to_nine(a, wp.tid())
    set_to_nine(b, wp.tid())


@wp.kernel
def never(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if i < y.shape[0]:
        y_i = x[i] + y[i]  # noqa: F841


@wp.struct
class Held:
    values: wp.array(dtype=float)


@wp.kernel
def in_a_struct(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    held = Held()
    held.values = y
    held.values[i] = 2.0 * x[i]


@wp.func_native("y.data[i] = 2.0f * x.data[i];")
def doubled(x: wp.array(dtype=float), i: int, y: wp.array(dtype=float)): ...


@wp.kernel
def natively(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    doubled(x, wp.tid(), y)


def test_an_output_without_stores_is_refused_by_name():
    with pytest.raises(KernelTypeError, match="'never' never stores to its output 'y'"):
        jax.eval_shape(warp_kernel(never, FIVE), X)
    begun = warp_kernel(never, FIVE, in_out_argnames=["y"])
    np.testing.assert_array_equal(begun(X, X + 1), X + 1)

    def launches(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        wp.launch(reads, 0, inputs=[x], outputs=[y])
        wp.launch(never, 5, inputs=[x], outputs=[y])
        wp.empty(3, dtype=float)

    with pytest.raises(KernelTypeError, match="'launches' never stores to its output 'y'"):
        jax.eval_shape(warp_callable(launches, FIVE), X)


@pytest.mark.parametrize("kernel", [in_a_struct, natively], ids=lambda kernel: kernel.key)
def test_an_output_that_may_be_stored_to_is_accepted(kernel):
    np.testing.assert_array_equal(warp_kernel(kernel, FIVE)(X), 2 * np.arange(5))
