"""Where there is no derivative the error says why, and a kernel that raises does so in its derivatives."""

import stat
import sys

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest
from derivatives import differentiable, needs_enzyme

from ffi_bridge.errors import KernelDefinitionError, MissingRuleError
from ffi_bridge.numba_cpu.derivatives import enzyme

pytestmark = needs_enzyme


@numba.njit
def roots(x, y):
    for i in range(x.size):
        if x[i] < 0:
            raise ValueError("negative", x[i])
        y[i] = np.sqrt(x[i])


ROOTS = differentiable(roots, lambda x: x)
BATCH = jnp.array([[1.0, 4.0], [4.0, -2.0]])


def slope(x):
    return jax.grad(lambda x: ROOTS(x).sum())(x)


@pytest.mark.parametrize(
    ("derivative", "kernel"),
    [
        (lambda x: jax.jvp(ROOTS, (x[1],), (x[1],))[1], "roots_jvp"),
        (lambda x: slope(x[1]), "roots_vjp"),
        (lambda x: jax.vmap(slope)(x), "roots_vjp"),
        (lambda x: jax.jvp(slope, (x[1],), (x[1],))[1], "roots_jvp_of_vjp"),
    ],
    ids=["jvp", "grad", "vmap", "second"],
)
def test_a_derivative_raises_what_its_kernel_raises(derivative, kernel):
    call = jax.jit(derivative)
    call(jnp.abs(BATCH))
    for _ in range(2):
        with pytest.raises(Exception, match=rf"kernel '{kernel}' raised ValueError: \('negative', -2\.0\)"):
            jax.block_until_ready(call(BATCH))
    assert np.isfinite(call(jnp.abs(BATCH))).all()


@numba.njit
def root(x):
    if x < 0:
        raise ValueError
    return np.sqrt(x)


@numba.njit
def caught(x, y):
    for i in range(x.size):
        try:
            y[i] = root(x[i])
        except Exception:
            y[i] = 3.0 * x[i]


def test_a_kernel_may_catch_what_a_function_raises():
    f = differentiable(caught, lambda x: x)
    assert jax.grad(lambda x: f(x).sum())(jnp.array([4.0, -1.0])).tolist() == [0.25, 3.0]


@numba.njit
def in_a_loop(x, y):
    """Is 1 / x[i] where a product of all before is not 0, and raises otherwise, within two loops."""
    for i in range(x.size):
        total = 1.0
        for j in range(i + 1):
            total *= root(x[j])
        y[i] = 1.0 / total


def test_what_raises_within_loops_leaves_them():
    f = differentiable(in_a_loop, lambda x: x)
    gradient = jax.jit(jax.grad(lambda x: f(x).sum()))
    x = jnp.array([1.0, 4.0, 0.25])
    np.testing.assert_allclose(gradient(x), jax.grad(lambda x: (1 / jnp.cumprod(jnp.sqrt(x))).sum())(x))
    for bad, message in ((0.0, "ZeroDivisionError"), (-1.0, "ValueError")):
        with pytest.raises(Exception, match=f"kernel 'in_a_loop_vjp' raised {message}"):
            jax.block_until_ready(gradient(x.at[1].set(bad)))


@numba.njit
def divides(x, y):
    for i in range(x.size):
        y[i] = 1.0 / x[i]


@numba.njit(boundscheck=True)
def beyond(x, y):
    y[:] = x[x.size]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [(divides, "ZeroDivisionError: division by zero"), (beyond, "IndexError: index is out of bounds")],
)
def test_numba_itself_raises(kernel, message):
    f = differentiable(kernel, lambda x: x)
    with pytest.raises(Exception, match=f"kernel '{kernel.__name__}_vjp' raised {message}"):
        jax.block_until_ready(jax.jit(jax.grad(lambda x: f(x).sum()))(jnp.zeros(2)))


@numba.njit
def cube(x, y):
    for i in np.ndindex(x.shape):
        y[i] = x[i] ** 3


CUBE = differentiable(cube, lambda x: x)


def test_a_third_derivative_is_refused():
    third = jax.grad(jax.grad(jax.grad(lambda x: CUBE(x))))
    with pytest.raises(MissingRuleError, match=r"'cube': its derivative of order 3 .* orders up to 2 exist"):
        third(jnp.float64(2))


@pytest.mark.parametrize("effect", ["has_side_effect", "ordered"])
def test_side_effects_are_refused(effect):
    with pytest.raises(KernelDefinitionError, match="'cube' is differentiable and has side effects"):
        differentiable(cube, lambda x: x, **{effect: True})(1.0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_are_refused(dtype):
    with pytest.raises(
        MissingRuleError, match=f"'cube': 'x' is {dtype}.* or give a complex number as its parts"
    ):
        jax.grad(lambda x: CUBE(x).real)(jnp.ones((), dtype))


@numba.njit
def never_kept(x, y):
    for i in range(x.size):
        y[i] = x[i] * 11.25


@pytest.fixture
def uncached(tmp_path, monkeypatch):
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path


def grad_of_never_kept():
    f = differentiable(never_kept, lambda x: x)
    return jax.grad(lambda x: f(x).sum())(jnp.ones(3))


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    ("does", "says"),
    [
        ("kill -ABRT $$", "'never_kept': Enzyme cannot differentiate it"),
        ("echo 'LLVM ERROR: out of luck' >&2; kill -ABRT $$", "LLVM ERROR: out of luck"),
        (f'exec {sys.executable} -S -I "$2" "$3"', "this Python has no package enzyme-ad"),
    ],
    ids=["abort", "abort with a message", "no package"],
)
def test_a_compiler_that_dies_is_no_end_of_the_process(uncached, monkeypatch, does, says):
    monkeypatch.setenv(enzyme.VARIABLE, script(uncached / "python", does))
    with pytest.raises(MissingRuleError, match=says):
        grad_of_never_kept()


def test_a_python_that_is_not_there_is_named(uncached, monkeypatch):
    monkeypatch.setenv(enzyme.VARIABLE, str(uncached / "nowhere"))
    with pytest.raises(MissingRuleError, match=f"{enzyme.VARIABLE} is '.*/nowhere', which does not run"):
        grad_of_never_kept()


def test_without_enzyme_it_says_what_to_install(uncached, monkeypatch):
    monkeypatch.delenv(enzyme.VARIABLE, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingRuleError, match=rf"ffi-bridge\[enzyme\].*{enzyme.VARIABLE}"):
        enzyme.python()
