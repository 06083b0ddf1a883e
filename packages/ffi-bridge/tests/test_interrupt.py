"""Ctrl-C arrives while a program of kernels runs, and the program is otherwise what jax.jit makes of it."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ffi_bridge import interruptible

# It would run for some ten seconds.
PROGRAM = """
import os, signal, threading
import jax, numba
import jax.numpy as jnp
from ffi_bridge import interruptible, numba_kernel

@numba.njit
def slow(x, y):
    s = x[0]
    for _ in range(3000):
        s = s * 1.0000001 + 1e-7 * s
    y[0] = s

step = numba_kernel(slow, jax.ShapeDtypeStruct((1,), "float32"))

def steps(i, x):
    for _ in range(20):
        x = step(x)
    return x

run = interruptible(lambda x, n: jax.lax.fori_loop(0, n, steps, x))
run(jnp.ones(1), 1).block_until_ready()
try:
    result = run(jnp.ones(1), 50_000)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    result.block_until_ready()
except KeyboardInterrupt:
    print("over" if result.is_ready() else "under way", flush=True)
os._exit(0)  # which does not wait for the rest
"""


def test_ctrl_c_arrives_while_kernels_run():
    pytest.importorskip("numba", reason="Numba is not installed")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout == "under way\n", done.stderr


def scaled(x, factor, *, power=1):
    return {"y": factor * x["x"] ** power}


X = jnp.arange(4.0)


def test_it_takes_what_jit_takes():
    run = interruptible(scaled, static_argnames=("power",), static_argnums=1)
    assert run.__name__ == "scaled"
    np.testing.assert_array_equal(run({"x": X}, 3.0, power=2)["y"], 3 * X**2)
    np.testing.assert_array_equal(run(x={"x": X}, factor=3.0)["y"], 3 * X)


def test_it_can_be_transformed():
    run = interruptible(lambda x: jnp.sin(x) * 2)
    np.testing.assert_allclose(jax.jit(run)(X), 2 * jnp.sin(X), rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(run)(X), 2 * jnp.sin(X), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(lambda x: run(x).sum())(X), 2 * jnp.cos(X), rtol=1e-6)
