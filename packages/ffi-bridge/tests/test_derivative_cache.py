"""Derivatives are kept on disk, made by several threads at once, and called without Python."""

import textwrap

import child_python
import pytest
from derivatives import needs_enzyme
from test_numba_threads import run

pytestmark = needs_enzyme

PROGRAM = """
import jax, numba, numpy as np
from ffi_bridge import numba_kernel
@numba.njit
def cubes(x, y):
    for i in range(x.size):
        y[i] = x[i] ** 3
f = numba_kernel(cubes, lambda x: x, differentiable=True)
loss = lambda x: f(x).sum()
x = np.arange(3, dtype=np.float32)
print(jax.grad(loss)(x), jax.jvp(f, (x,), (x,))[1], np.diag(jax.hessian(loss)(x)))
"""


def call(folder, **environment):
    done = child_python.run("-c", PROGRAM, new=True, FFI_BRIDGE_CACHE_DIR=str(folder), **environment)
    return done.stdout, done.stderr


def test_another_process_needs_no_enzyme(tmp_path):
    first, errors = call(tmp_path / "kernels")
    assert first == "[ 0.  3. 12.] [ 0.  3. 24.] [ 0.  6. 12.]\n", errors
    again, errors = call(tmp_path / "kernels", FFI_BRIDGE_ENZYME_PYTHON="/nonexistent")
    assert again == first, errors
    nothing, errors = call(tmp_path / "empty", FFI_BRIDGE_ENZYME_PYTHON="/nonexistent")
    assert not nothing
    assert "/nonexistent" in errors


def test_threads_make_and_call_them_at_once():
    run("""
    @numba.njit
    def square(x, out):
        for i in range(out.size):
            out[i] = x[i] * x[i]
    f = numba_kernel(square, lambda x: x, differentiable=True)
    shared = jax.jit(jax.grad(lambda x: f(x).sum()))
    def work(i):
        own = jax.jit(jax.grad(lambda x: (i + 1) * f(x).sum()))
        x = jnp.full(1000 + i, 3.0)
        for _ in range(50):
            assert (shared(x) == 6).all() and (own(x) == 6 * (i + 1)).all()
        assert (jax.jvp(f, (x,), (x,))[1] == 18).all()
    in_threads(6, work)
    """)


@pytest.mark.parametrize("of", ["jax.jvp(f, (x,), (x,))[1]", "jax.grad(lambda x: f(x).sum())(x)"])
def test_it_runs_while_another_thread_keeps_the_gil(of):
    program = f"""
    @numba.njit
    def spin(x, out):
        for i in range(out.size):
            s = x[i]
            for j in range(500_000):
                s = s * np.float32(0.999) + np.float32(0.5)
            out[i] = s * x[i]
    f = numba_kernel(spin, lambda x: x, differentiable=True)
    call = jax.jit(lambda x: {of})
    """
    run(textwrap.dedent(program) + textwrap.dedent(WITHOUT_GIL), JAX_CPU_ENABLE_ASYNC_DISPATCH="1")


WITHOUT_GIL = """
x = jnp.ones(16)
jax.block_until_ready(call(x))
started = time.perf_counter()
jax.block_until_ready(call(x))
took = time.perf_counter() - started
sys.setswitchinterval(1000)  # from here on nobody takes the GIL from this thread
out = call(x + 1)
end = time.perf_counter() + 4 * took + 1
while time.perf_counter() < end:
    pass
assert out.is_ready(), "the derivative waited for the GIL"
"""
