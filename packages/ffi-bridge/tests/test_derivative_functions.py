"""Derivatives of functions that return their results, and of programs that another process calls."""

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from derivatives import check, needs_enzyme, normal, struct
from kernels_elsewhere import call_exported

import ffi_bridge
from ffi_bridge import numba_function, numba_kernel

pytestmark = needs_enzyme


@numba.njit
def parts(x, scale):
    squares = np.empty(x.size)
    for i in range(x.size):
        squares[i] = scale * x[i] * x[i]
    return squares, x.size, squares.sum()


def outs(x, scale):
    return {"each": x, "whole": (struct(dtype="int32"), struct())}


PARTS = numba_function(parts, outs, differentiable=True)


def floats(x, scale):
    found = PARTS(x, scale)
    return {"each": found["each"], "total": found["whole"][1]}


def twin(x, scale):
    return {"each": scale * x * x, "total": (scale * x * x).sum()}


def loss(f):
    return lambda x, scale: jnp.sin(f(x, scale)["each"]).sum() * f(x, scale)["total"]


@pytest.mark.parametrize("order", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_several_results_in_a_tree(order):
    check(jax.jit(floats), normal(4), 1.5, order=order)


@pytest.mark.slow
@pytest.mark.parametrize("axes", [(0, None), (None, 0)], ids=str)
def test_batches(axes):
    given = [
        normal(3, *shape) if axis == 0 else normal(*shape)
        for axis, shape in zip(axes, [(4,), ()], strict=True)
    ]
    found, wanted = (jax.vmap(jax.grad(loss(f), (0, 1)), axes)(*given) for f in (floats, twin))
    for got, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-10)


@numba.njit
def cubes(x, y):
    for i in range(x.size):
        y[i] = x[i] ** 3


@pytest.mark.slow
def test_another_process_calls_an_exported_gradient_without_enzyme(tmp_path, monkeypatch):
    pytest.importorskip("flatbuffers", reason="jax.export needs flatbuffers to serialise")
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(tmp_path / "kernels"))
    f = numba_kernel(cubes, lambda x: x, differentiable=True)
    gradient = jax.jit(jax.grad(lambda x: f(x).sum()))
    program = tmp_path / "program"
    exported = ffi_bridge.export.export(gradient)(jnp.ones(4, "float32"))
    program.write_bytes(exported.serialize())
    monkeypatch.setenv("FFI_BRIDGE_ENZYME_PYTHON", str(tmp_path / "nowhere"))
    called = call_exported(program)
    assert called.stdout == "[ 0.  3. 12. 27.]\n", called.stderr
