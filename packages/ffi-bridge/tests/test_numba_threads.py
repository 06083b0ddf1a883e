"""numba_kernel from many threads: no abort, no deadlock, no GIL."""

import textwrap

import child_python
import pytest

# Numba's own pool that ends the process where two threads enter it: nobody may.
LAYER = "workqueue"

COMMON = """
import sys, threading, time
import jax, jax.numpy as jnp, numba, numpy as np
from ffi_bridge import numba_kernel
from ffi_bridge.targets import targets

def struct(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)

def in_threads(count, work):
    failures = []
    def guarded(i):
        try:
            work(i)
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    if failures:
        raise failures[0]

@numba.njit(parallel=True)
def add(x, y, out):
    for i in numba.prange(out.size):
        out[i] = x[i] + y[i]
"""


def run(program, timeout=120, **env):
    """Run `program` after COMMON in a process of its own; a signal, a wrong exit or a hang fails the test."""
    return child_python.output("-c", COMMON + textwrap.dedent(program), timeout=timeout, **env)


@pytest.mark.promise(1)
def test_eight_devices_under_shard_map():
    program = """
    from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
    assert jax.device_count() == 8
    n = 80_000
    f = numba_kernel(add, struct(n // 8))
    def body(x, y):
        return jax.lax.scan(lambda c, _: (f(c, y), None), x, None, length=5)[0]
    for axis_type in AxisType.Auto, AxisType.Explicit:
        mesh = jax.make_mesh((8,), ("i",), axis_types=(axis_type,))
        x = jax.device_put(jnp.arange(n, dtype=jnp.float32), NamedSharding(mesh, P("i")))
        part = jax.device_put(jnp.arange(n // 8, dtype=jnp.float32), NamedSharding(mesh, P()))
        mapped = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=(P("i"), P("i")), out_specs=P("i")))
        for _ in range(20):
            np.testing.assert_array_equal(mapped(x, x), 6 * np.asarray(x))
        same = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i")))
        np.testing.assert_array_equal(same(x, part), np.asarray(x) + np.tile(part, 8))
    """
    flags = "--xla_force_host_platform_device_count=8"
    run(program, NUMBA_THREADING_LAYER=LAYER, NUMBA_NUM_THREADS="4", XLA_FLAGS=flags)


@pytest.mark.slow
def test_the_thread_count_is_honoured_and_left_alone():
    program = """
    @numba.njit(parallel=True)
    def threads(out):
        for i in numba.prange(out.size):
            out[i] = numba.get_num_threads()
    f = numba_kernel(threads, struct(100_000))
    for count in (4, 2, 3):
        numba.set_num_threads(count)
        under_jit = jax.jit(lambda: f() * 1)  # traced now
        many = jax.jit(lambda: [f() + i for i in range(4)])
        for out in (f(), under_jit(), *(y - i for i, y in enumerate(many()))):
            np.testing.assert_array_equal(out, count)
        assert numba.get_num_threads() == count
    """
    run(program, NUMBA_THREADING_LAYER=LAYER, NUMBA_NUM_THREADS="4")


@pytest.mark.promise(1)
def test_first_compilation_from_many_threads_gives_one_target():
    program = """
    barrier = threading.Barrier(16)
    f = numba_kernel(add, struct(64))
    def work(_):
        barrier.wait()
        np.testing.assert_array_equal(jax.jit(lambda x: f(x, x))(jnp.ones(64)), 2)
    in_threads(16, work)
    assert len(targets()) == 1, targets()
    """
    run(program)


@pytest.mark.promise(2)
@pytest.mark.parametrize("options", [pytest.param("", marks=pytest.mark.slow), "parallel=True"])
def test_a_kernel_runs_while_another_thread_keeps_the_gil(options):
    program = f"""
    @numba.njit({options})
    def spin(x, out):
        for i in numba.prange(out.size):
            s = x[0]
            for j in range(60_000_000 // out.size):
                s = np.float32(s * 0.999 + 0.5)
            out[i] = s
    f = jax.jit(numba_kernel(spin, struct(64)))
    x = jnp.ones(1)
    started = time.perf_counter()
    jax.block_until_ready(f(x))
    took = time.perf_counter() - started
    jax.block_until_ready(f(x))
    sys.setswitchinterval(1000)  # from here on nobody takes the GIL from this thread
    out = f(x + 1)
    end = time.perf_counter() + 4 * took + 1
    while time.perf_counter() < end:
        pass
    assert out.is_ready(), "the kernel waited for the GIL"
    """
    run(program, JAX_CPU_ENABLE_ASYNC_DISPATCH="1")


@pytest.mark.promise(5)
def test_an_exception_needs_no_luck_to_be_seen():
    program = """
    @numba.njit
    def checked(v):
        if v < 0:
            raise ValueError("negative", v)
        return v
    @numba.njit(parallel=True)
    def strict(x, out):
        for i in numba.prange(out.size):
            out[i] = checked(x[i])
    n = 100_000
    f = jax.jit(numba_kernel(strict, struct(n)))
    good = jnp.ones(n)
    bads = [good.at[n * k // 4 + 5].set(-1.0) for k in range(4)]  # one for each thread's share
    for _ in range(50):
        for bad in bads:
            try:
                jax.block_until_ready(f(bad))
            except Exception as error:
                assert "kernel 'strict' raised ValueError: ('negative', -1.0)" in str(error)
            else:
                raise SystemExit("an exception was lost")
            jax.block_until_ready(f(good))
    """
    run(program, NUMBA_NUM_THREADS="4")
