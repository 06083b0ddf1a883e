"""On a GPU: kernels run, errors arrive, and a captured loop calls the handler once for many steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

import cuda_kernels as kernels
import numba
from cooperative_kernels import others, others_by_counter
from cuda_kernels import out, wrapped_add
from devices import gpus
from llvmlite import ir
from numba import cuda, types
from numba.extending import intrinsic

from ffi_bridge import graph_options, numba_cuda_callable, numba_cuda_kernel
from ffi_bridge.cuda.driver import CudaFunctions, cuda_driver
from ffi_bridge.cuda.program import LAUNCH_TYPE
from ffi_bridge.errors import KernelDefinitionError

pytestmark = pytest.mark.skipif(not gpus(), reason="JAX sees no NVIDIA GPU")

F32 = jnp.float32
STEPS = 10_000


@pytest.fixture
def x():
    return jnp.arange(10, dtype=F32)


def test_eager_jitted_and_batched(x):
    f = wrapped_add(10)
    np.testing.assert_array_equal(f(x, x), 2 * x)
    np.testing.assert_array_equal(jax.jit(lambda x: f(x, f(x, x)) + 1)(x), 3 * x + 1)
    rows = np.stack([x, x + 1, x * 2])
    np.testing.assert_array_equal(
        jax.vmap(jax.vmap(f, (0, None)), (None, 0))(rows, rows), rows[:, None] + rows
    )


def test_shared_memory_warps_and_atomics():
    v = jnp.arange(100, dtype=F32)
    f = numba_cuda_kernel(kernels.block_sum, out(2), grid=2, block=kernels.BLOCK)
    np.testing.assert_array_equal(f(v), [np.arange(64).sum(), np.arange(64, 100).sum()])
    g = numba_cuda_kernel(kernels.warp_sum, out(2), grid=1, block=64)
    np.testing.assert_array_equal(g(v[:64]), [np.arange(32).sum(), np.arange(32, 64).sum()])
    flags, none = jnp.asarray(np.arange(70) % 3 == 0), jnp.zeros(1, jnp.int32)
    outs = (out(70, dtype=jnp.int32), out(1, dtype=jnp.int32))
    compact = numba_cuda_kernel(kernels.compact, outs, grid=3, block=32, input_output_aliases={1: 1})
    ids, count = compact(flags, none)
    np.testing.assert_array_equal(np.sort(ids[: int(count[0])]), np.flatnonzero(flags))


def test_more_shared_memory_than_is_free_to_ask_for():
    @cuda.jit
    def touch(x, y):
        shared = cuda.shared.array(0, numba.float32)
        shared[shared.size - 1] = x[0]
        y[0] = shared[shared.size - 1]

    f = numba_cuda_kernel(touch, out(1), grid=1, block=1, shared_mem=96 * 1024)
    np.testing.assert_array_equal(f(jnp.array([3.0])), [3])


def test_a_callable_with_a_temporary(x):
    def twice(x, y, stream):
        once = cuda.device_array(x.shape, dtype=np.float32)
        kernels.add[1, 32, stream](x, x, once)
        kernels.add[1, 32, stream](once, once, y)

    np.testing.assert_array_equal(numba_cuda_callable(twice, out(10))(x), 4 * x)


def test_a_failed_launch_has_the_name_of_the_error(x):
    f = wrapped_add(10, launch_dims=None, grid=1, block=32, shared_mem=1024 * 1024)  # no GPU has as much
    with pytest.raises(Exception, match=r"CUDA_ERROR|shared memory"):
        f(x, x).block_until_ready()


OUTS = out(4096), out(100), out(1, dtype=jnp.int32)  # 4096: more blocks than a GPU runs at once


def wrapped_others(**options):
    return numba_cuda_kernel(others, OUTS, cooperative=True, **({"block": 256} | options))


def test_a_cooperative_kernel_fills_the_gpu():
    v = jnp.arange(100, dtype=F32)
    _, y, blocks = wrapped_others()(v)
    np.testing.assert_array_equal(y, v.sum() - v)
    assert int(blocks[0]) > 0 == int(blocks[0]) % cuda_driver().multiprocessors
    few = wrapped_others(grid=cuda_driver().multiprocessors)
    np.testing.assert_array_equal(jax.vmap(few)(jnp.stack([v, v + 1]))[1][1], v.sum() + 99 - v)


def test_a_cooperative_kernel_with_a_counter_for_a_barrier_fills_the_gpu():
    v = jnp.arange(100, dtype=F32)
    by_counter = numba_cuda_kernel(
        others_by_counter,
        (out(1, dtype=jnp.int32), *OUTS),
        block=256,
        cooperative=True,
        input_output_aliases={1: 0},
    )
    arrived, _, y, blocks = by_counter(v, jnp.zeros(1, jnp.int32))
    np.testing.assert_array_equal(y, v.sum() - v)
    assert int(arrived[0]) == int(blocks[0]) > 0


def test_more_cooperative_blocks_than_run_at_once_are_refused_before_the_launch():
    v = jnp.arange(100, dtype=F32)
    most = int(wrapped_others()(v)[2][0])
    np.testing.assert_array_equal(wrapped_others(grid=most)(v)[1], v.sum() - v)
    with pytest.raises(KernelDefinitionError, match=f"and {most} do on this GPU.*leave out grid"):
        wrapped_others(grid=most + 1)(v)
    with pytest.raises(KernelDefinitionError, match="all have to run at once"):
        wrapped_others(shared_mem=100 << 10, grid=most)(v)
    np.testing.assert_array_equal(wrapped_others(shared_mem=100 << 10)(v)[1], v.sum() - v)


def test_a_cooperative_kernel_in_a_captured_loop():
    f, v = wrapped_others(), jnp.arange(100, dtype=F32) % 2

    def run(v):
        return jax.lax.scan(lambda v, _: (f(v)[1] % 2, None), v, length=100)[0]

    plain, captured = jax.jit(run), jax.jit(run, compiler_options=graph_options())
    for _ in range(3):
        np.testing.assert_array_equal(captured(v), plain(v))


COUNTED = np.zeros(2, np.int64)  # launches; the address of the driver's function


@intrinsic
def launch(typing, function, kernel, extents, stream, parameters):
    def emit(context, builder, signature, arguments):
        function, kernel, extents, stream, parameters = arguments
        pointer = LAUNCH_TYPE.args[0]
        sizes = [builder.extract_value(extents, i) for i in range(7)]
        given = [kernel, *sizes, stream, parameters, pointer(None)]
        return builder.call(builder.inttoptr(function, LAUNCH_TYPE.as_pointer()), given)

    return types.int32(function, kernel, extents, stream, parameters), emit


@intrinsic
def address_of_state(typing):
    def emit(context, builder, signature, arguments):
        return builder.inttoptr(ir.IntType(64)(COUNTED.ctypes.data), ir.IntType(8).as_pointer())

    return types.voidptr(), emit


@numba.cfunc(types.int32(types.voidptr, *[types.uint32] * 7, *[types.voidptr] * 3))
def counting_launch(kernel, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra):
    state = numba.carray(address_of_state(), 2, np.int64)
    state[0] += 1
    return launch(state[1], kernel, (gx, gy, gz, bx, by, bz, shared), stream, parameters)


def test_a_captured_loop_calls_the_handler_once_for_many_steps(monkeypatch, x):
    real = cuda_driver().functions()
    COUNTED[:] = 0, real.launch
    counting = CudaFunctions(counting_launch.address, real.error_name)
    monkeypatch.setattr(type(cuda_driver()), "functions", lambda self: counting)

    @cuda.jit
    def step(x, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = x[i] + 2

    f = numba_cuda_kernel(step, out(10), launch_dims=10)

    def run(x):
        return jax.lax.scan(lambda x, _: (f(x), None), x, length=STEPS)[0]

    plain, captured = jax.jit(run), jax.jit(run, compiler_options=graph_options())
    counts = []
    for program in (plain, plain, captured, captured, captured):
        COUNTED[0] = 0
        np.testing.assert_array_equal(program(x), x + 2 * STEPS)
        counts.append(int(COUNTED[0]))
    assert counts[:2] == [STEPS, STEPS]
    assert counts[-1] == 0, counts
