"""A Triton kernel needs no wrapper of ours: jax-triton's call is what a builder returns.

Without a GPU its kernels run on the emulated one, with all checks.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip(
    "jax_triton", reason="jax-triton with JAX's CUDA plugin is not installed", exc_type=ImportError
)

import jax_triton as jt
import triton
from devices import gpus
from triton import language as tl

from ffi_bridge import XLACustomKernel
from ffi_bridge.errors import KernelTypeError
from ptx_on_cpu import Checks

N = 8
OUT = jax.ShapeDtypeStruct((N,), jnp.float32)
HOPPER = 90


@triton.jit
def add_one(x, y, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(y + i, tl.load(x + i) + 1)


def build(*, outs, **_):
    target = {} if gpus() else {"compute_capability": HOPPER}
    return lambda x: jt.triton_call(x, kernel=add_one, out_shape=outs, grid=(1,), n=N, **target)


@pytest.fixture
def operator(request):
    made = XLACustomKernel(f"triton_{request.node.name}")
    made.def_triton_kernel(build)
    made.def_reference(lambda **_: lambda x: x + 1)
    return made


def test_a_program_for_a_gpu_calls_the_compiled_kernel(operator):
    program = jax.jit(lambda x: operator(x, outs=OUT)).trace(jnp.zeros(N)).lower(lowering_platforms=("cuda",))
    assert "triton_kernel_call" in program.as_text()


def test_batches_and_derivatives_are_those_of_the_registry(operator):
    def loss(x):
        return operator(x, outs=OUT).sum()

    gradient = jax.vmap(jax.grad(loss))(jnp.zeros((3, N)))
    np.testing.assert_array_equal(gradient, np.ones((3, N)))


def test_a_cpu_takes_the_reference(operator):
    if not gpus():
        np.testing.assert_array_equal(operator(jnp.zeros(N), outs=OUT), np.ones(N))
    assert operator.explain(platform="cpu").backend == "reference"
    assert operator.explain(platform="gpu").backend == "triton"


@pytest.fixture
def emulated(gpu, monkeypatch):
    """The emulated GPU with all checks; operators on JAX's CPU have their backend for Triton."""
    if gpus():
        pytest.skip("jax-triton takes the GPU that there is")
    monkeypatch.setattr(gpu, "backends", ("triton",))
    monkeypatch.setattr(gpu, "checks", Checks(initialised=True, races=True))
    monkeypatch.setattr(gpu, "seed", 0)
    return gpu


def test_an_operator_runs_on_the_emulated_gpu(operator, emulated):
    before = len(emulated.launches)
    np.testing.assert_array_equal(operator(jnp.zeros(N), outs=OUT, backend="triton"), np.ones(N))
    (launch,) = emulated.launches[before:]
    assert (launch.kernel, launch.grid, launch.block, launch.shapes) == (
        "add_one",
        (1, 1, 1),
        (128, 1, 1),
        ((N,), (N,)),
    )


@triton.jit
def add_scaled(x, y, factor, n, out, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + factor * tl.load(y + i, mask=mask), mask=mask)


@pytest.mark.parametrize("factor", [1, 2.5])
def test_numbers_masks_and_a_grid_by_constants(emulated, factor):
    x = jnp.arange(1000, dtype=jnp.float32)
    options = {
        "kernel": add_scaled,
        "out_shape": jax.ShapeDtypeStruct(x.shape, x.dtype),
        "grid": lambda constants: (triton.cdiv(1000, constants["block"]),),
        "block": 256,
    }
    call = jax.jit(lambda x, y: jt.triton_call(x, y, factor, 1000, **options))
    np.testing.assert_array_equal(call(x, x + 1), x + factor * (x + 1))
    assert emulated.launches[-1].grid == (4, 1, 1)


@triton.jit
def softmax(x, y, n, block: tl.constexpr):
    i = tl.arange(0, block)
    row = tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=-float("inf"))
    row = tl.exp(row - tl.max(row, 0))
    tl.store(y + tl.program_id(0) * n + i, row / tl.sum(row, 0), mask=i < n)


def test_reductions_over_the_threads_of_a_block(emulated):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 300)), jnp.float32)
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    y = jt.triton_call(x, kernel=softmax, out_shape=out, grid=(5,), n=300, block=512)
    np.testing.assert_allclose(y, jax.nn.softmax(x, -1), rtol=1e-5)


@triton.jit
def add_at(places, x, n, y, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    tl.atomic_add(y + tl.load(places + i, mask=i < n), tl.load(x + i, mask=i < n), mask=i < n)


def added(places, x, **options):
    """The sums of the elements of x for each of 50 places."""
    out = jax.ShapeDtypeStruct((50,), x.dtype)
    return jt.triton_call(places, x, x.size, kernel=add_at, out_shape=out, grid=(4,), block=256, **options)


def test_atomics_on_an_output_of_zeros(emulated):
    x = jnp.arange(1000, dtype=jnp.float32)
    places = (7 * jnp.arange(1000) % 50).astype(jnp.int32)
    y = added(places, x, zeroed_outputs=(0,))
    np.testing.assert_allclose(y, jnp.zeros(50).at[places].add(x))
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"argument 'y' .*: nobody has written them"):
        added(places, x)


def test_an_access_out_of_bounds_names_the_argument(emulated):
    with pytest.raises(jax.errors.JaxRuntimeError, match="out of bounds, at byte 32 of argument 'x'"):
        jt.triton_call(jnp.zeros(N), kernel=add_one, out_shape=OUT, grid=(1,), n=4 * N)


def test_an_input_that_the_output_takes_the_place_of(emulated):
    @triton.jit
    def double(x, y, n: tl.constexpr):
        i = tl.arange(0, n)
        tl.store(y + i, 2 * tl.load(y + i))

    x = jnp.ones(128)  # as many as threads: of fewer, Triton's other threads would read what these write
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    y = jt.triton_call(x, kernel=double, out_shape=out, grid=(1,), n=128, input_output_aliases={0: 0})
    np.testing.assert_array_equal(y, 2 * x)


def test_the_first_configuration_of_an_autotuner_runs(emulated):
    configs = [triton.Config({"n": N}, num_warps=2), triton.Config({"n": N}, num_warps=8)]
    tuned = triton.autotune(configs, key=[])(add_one)
    np.testing.assert_array_equal(
        jt.triton_call(jnp.zeros(N), kernel=tuned, out_shape=OUT, grid=(1,)), np.ones(N)
    )
    assert emulated.launches[-1].block == (64, 1, 1)


def test_tensor_cores_are_refused_by_name(emulated):
    @triton.jit
    def square(x, y, n: tl.constexpr):
        i = tl.arange(0, n)[:, None] * n + tl.arange(0, n)[None, :]
        tl.store(y + i, tl.dot(tl.load(x + i), tl.load(x + i)))

    out = jax.ShapeDtypeStruct((32, 32), jnp.float32)
    with pytest.raises(KernelTypeError, match=r"cannot run 'square'.*ldmatrix"):
        jt.triton_call(jnp.ones((32, 32), jnp.float16), kernel=square, out_shape=out, grid=(1,), n=32)


@pytest.mark.skipif(not gpus(), reason="JAX sees no NVIDIA GPU")
def test_it_runs_on_a_gpu(operator):
    np.testing.assert_array_equal(operator(jnp.zeros(N), outs=OUT, backend="triton"), np.ones(N))
