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


@pytest.mark.skipif(bool(gpus()), reason="jax-triton takes the GPU that there is")
def test_an_operator_runs_on_the_emulated_gpu(operator, gpu, monkeypatch):
    monkeypatch.setattr(gpu, "backends", ("triton",))
    before = len(gpu.launches)
    np.testing.assert_array_equal(operator(jnp.zeros(N), outs=OUT, backend="triton"), np.ones(N))
    (launch,) = gpu.launches[before:]
    assert (launch.kernel, launch.grid, launch.block, launch.shapes) == (
        "add_one",
        (1, 1, 1),
        (128, 1, 1),
        ((N,), (N,)),
    )


@pytest.mark.skipif(not gpus(), reason="JAX sees no NVIDIA GPU")
def test_it_runs_on_a_gpu(operator):
    np.testing.assert_array_equal(operator(jnp.zeros(N), outs=OUT, backend="triton"), np.ones(N))
