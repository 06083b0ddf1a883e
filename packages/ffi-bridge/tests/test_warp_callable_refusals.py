"""What `warp_callable` cannot record is refused by name, and so are calls that do not fit."""

import jax
import numpy as np
import pytest

pytest.importorskip("warp", reason="warp-lang is not installed")

import warp as wp
from warp_functions import X, cube, out, scaled

from ffi_bridge import warp_callable, warp_kernel
from ffi_bridge.errors import KernelDefinitionError, KernelTypeError, MissingRuleError

OTHERS = wp.zeros(10, dtype=float, device="cpu")


def reading(x: wp.array[float], y: wp.array[float]):
    if x.numpy()[0] > 0:
        cube(x, y)


def printing(x: wp.array[float], y: wp.array[float]):
    print(x)


def listing(x: wp.array[float], y: wp.array[float]):
    x.list()


def through_numpy(x: wp.array[float], y: wp.array[float]):
    np.asarray(x)


def with_an_array_of_others(x: wp.array[float], y: wp.array[float]):
    wp.launch(scaled, dim=10, inputs=[OTHERS, 2.0], outputs=[y])


def on_a_device(x: wp.array[float], y: wp.array[float]):
    wp.launch(scaled, dim=10, inputs=[x, 2.0], outputs=[y], device="cpu")


def with_values(x: wp.array[float], y: wp.array[float]):
    wp.copy(y, wp.array([1.0] * 10, dtype=float))


def tiled(x: wp.array[float], y: wp.array[float]):
    wp.launch_tiled(scaled, dim=[1], inputs=[x, 2.0], outputs=[y], block_dim=64)


def scanning(x: wp.array[float], y: wp.array[float]):
    wp.utils.array_scan(x, y)


def backwards(x: wp.array[float], y: wp.array[float]):
    wp.launch(scaled, dim=10, inputs=[x, 2.0], outputs=[y], adjoint=True, adj_inputs=[x, 0.0])


def with_a_tape(x: wp.array[float], y: wp.array[float]):
    with wp.Tape():
        wp.launch(scaled, dim=10, inputs=[x, 2.0], outputs=[y])


def into_an_input(x: wp.array[float], y: wp.array[float]):
    wp.launch(scaled, dim=10, inputs=[y, 2.0], outputs=[x])


def filled_input(x: wp.array[float], y: wp.array[float]):
    x[2:].zero_()


def idle(x: wp.array[float], y: wp.array[float]):
    pass


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (reading, "'reading' cannot be recorded: it reads an array outside of a kernel"),
        (printing, "reads an array outside of a kernel"),
        (listing, "reads an array outside of a kernel"),
        (with_an_array_of_others, "'scaled' an array that is neither.*'x': give that as an input"),
        (on_a_device, "names the device 'cpu'.*leave `device` out"),
        (with_values, "names the device 'cpu'|array that is neither"),
        (tiled, r"calls wp\.launch_tiled"),
        (scanning, "cannot be recorded"),
        (backwards, "'scaled' with more than dim, inputs, outputs and block_dim"),
        (with_a_tape, r"wp\.Tape"),
        (into_an_input, "kernel 'scaled' has its input 'x' among the outputs.*in_out_argnames"),
        (filled_input, "its input 'x' among the outputs"),
        (idle, "launches no kernel"),
    ],
)
def test_what_cannot_be_recorded_is_refused_by_name(function, match):
    with pytest.raises(KernelTypeError, match=match):
        warp_callable(function, out(10))(X)


def test_numpy_has_no_way_into_an_array():
    with pytest.raises((TypeError, RuntimeError)):  # of Warp's
        warp_callable(through_numpy, out(10))(X)


def launching(*arguments, **options):
    def function(x: wp.array[float], y: wp.array[float]):
        given = {"x": x, "y": y, "wide": x.reshape((5, 2))}
        wp.launch(*(given.get(a, a) if isinstance(a, str) else a for a in arguments[:1]), **{
            "dim": 10, "inputs": [given.get(a, a) if isinstance(a, str) else a for a in arguments[1:]]
        } | options)  # fmt: skip

    return function


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (launching(scaled, "x", 2.0), "'function' launches kernel 'scaled': it takes 3 arguments, and .* 2"),
        (launching(scaled, "wide", 2.0, "y"), "launches kernel 'scaled': .*1 dimension"),
        (launching(scaled, "x", "word", "y"), "launches kernel 'scaled': .*factor"),
        (launching(scaled, np.ones(10), 2.0, "y"), "launches kernel 'scaled': .*'x' expects an array"),
        (launching(cube, "x", "y"), "launches <function cube.*which is no Warp kernel"),
        (launching(scaled, "x", 2.0, "y", dim=(2**31 + 1,)), r"launch dimensions .*wp\.tid"),
    ],
)  # fmt: skip
def test_launches_that_do_not_fit(function, match):
    with pytest.raises(KernelTypeError, match=match):
        warp_callable(function, out(10))(X)


@pytest.mark.parametrize(
    "options", [{"dim": 2.5}, {"dim": (1,) * 5}, {"block_dim": 1.5}, {"block_dim": 2000}]
)
def test_extents_that_do_not_fit(options):
    with pytest.raises(KernelDefinitionError, match=r"dim=|a block of"):
        warp_callable(launching(scaled, "x", 2.0, "y", **options), out(10))(X)


def test_calls_and_definitions_that_do_not_fit():
    f = warp_callable(cube, out(10))
    with pytest.raises(KernelTypeError, match=r"function 'cube' takes 1 inputs \(x\), but the call has 2"):
        f(X, X)
    with pytest.raises(KernelTypeError, match="function 'cube': argument 'x' is int32"):
        f(X.astype(int))
    with pytest.raises(MissingRuleError, match="'cube' has no derivative"):
        jax.grad(lambda x: f(x).sum())(X)
    with pytest.raises(TypeError, match="a single kernel needs warp_kernel"):
        warp_callable(scaled, out(10))
    with pytest.raises(TypeError, match="needs a Python function"):
        warp_callable(3, out(10))
    with pytest.raises(KernelDefinitionError, match=r"'y' has no annotation; .*y: warp\.array\[float\]"):
        warp_callable(lambda y: None, out(10))
    with pytest.raises(KernelDefinitionError, match="choose one of None, 'sequential'"):
        warp_callable(cube, out(10), vmap_method="broadcast_all")
    with pytest.raises(TypeError, match=r"decorate the function with @warp\.kernel"):
        warp_kernel(cube, out(10))
