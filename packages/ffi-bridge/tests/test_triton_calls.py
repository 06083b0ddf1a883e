"""Calls of jax-triton run on the emulated GPU, with all checks; what they cannot do is refused by name."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

pytest.importorskip(
    "jax_triton", reason="jax-triton with JAX's CUDA plugin is not installed", exc_type=ImportError
)

import jax_triton as jt
import triton
from devices import gpus
from triton import language as tl

from ffi_bridge.errors import KernelTypeError, UntestedVersionWarning
from ptx_on_cpu import Checks

N = 8
OUT = jax.ShapeDtypeStruct((N,), jnp.float32)


@triton.jit
def add_one(x, y, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(y + i, tl.load(x + i) + 1)


@pytest.fixture
def emulated(gpu, monkeypatch):
    """The emulated GPU with all checks."""
    if gpus():
        pytest.skip("jax-triton takes the GPU that there is")
    monkeypatch.setattr(gpu, "checks", Checks(initialised=True, races=True))
    monkeypatch.setattr(gpu, "seed", 0)
    return gpu


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


def test_configurations_are_pruned_as_on_a_gpu(emulated):
    seen = {}

    def prune(configs, named, **constants):
        seen.update(named, **constants)
        return [config for config in configs if config.num_warps > 2]

    configs = [triton.Config({}, num_warps=warps) for warps in (2, 8)]
    tuned = triton.autotune(configs, key=[], prune_configs_by={"early_config_prune": prune})(add_one)
    jt.triton_call(jnp.zeros(N), kernel=tuned, out_shape=OUT, grid=(1,), n=N)
    assert emulated.launches[-1].block == (256, 1, 1)
    assert (seen["x"].shape, seen["n"]) == ((N,), N)
    assert tuned.configs == configs


def test_a_hook_of_an_autotuner_is_refused(emulated):
    hooked = triton.Config({"n": N}, pre_hook=lambda arguments: None)
    tuned = triton.autotune([hooked], key=[])(add_one)
    with pytest.raises(NotImplementedError, match="'add_one' has a pre_hook"):
        jt.triton_call(jnp.zeros(N), kernel=tuned, out_shape=OUT, grid=(1,))


def test_constants_that_no_configuration_has_are_an_error(emulated):
    tuned = triton.autotune([triton.Config({"n": N})], key=[])(add_one)
    with pytest.raises(KernelTypeError, match=r"no configuration of 'add_one' has the constants \{'n': 4\}"):
        jt.triton_call(jnp.zeros(N), kernel=tuned, out_shape=OUT, grid=(1,), n=4)


def test_a_function_that_triton_has_not_seen_is_an_error(emulated):
    class Plain:
        arg_names = ("x", "y")
        __name__ = "plain"

    with pytest.raises(KernelTypeError, match=r"a function with @triton\.jit.*a Plain"):
        jt.triton_call(jnp.zeros(N), kernel=Plain(), out_shape=OUT, grid=(1,))


def test_an_output_in_place_of_an_input_is_not_zeroed(emulated):
    @triton.jit
    def add_ones(x, y, n: tl.constexpr):
        i = tl.arange(0, n)
        tl.store(y + i, tl.load(y + i) + 1)

    x = jnp.full(128, 5.0)
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    y = jt.triton_call(
        x,
        kernel=add_ones,
        out_shape=out,
        grid=(1,),
        n=128,
        input_output_aliases={0: 0},
        zeroed_outputs=(0,),
    )
    np.testing.assert_array_equal(y, x + 1)


def test_a_bool_among_the_arguments_is_refused_with_what_to_do(emulated):
    with pytest.raises(KernelTypeError, match=r"argument 2 of Triton kernel 'add_scaled' is False.*pass 0"):
        jt.triton_call(
            jnp.zeros(N), jnp.zeros(N), False, N, kernel=add_scaled, out_shape=OUT, grid=(1,), block=N
        )


def test_a_branch_on_what_is_given(emulated):
    @triton.jit
    def add_or_copy(x, other, y, n: tl.constexpr):
        i = tl.arange(0, n)
        value = tl.load(x + i)
        if other is not None:
            value += other
        tl.store(y + i, value)

    y = jt.triton_call(jnp.ones(N), 2.5, kernel=add_or_copy, out_shape=OUT, grid=(1,), n=N)
    np.testing.assert_array_equal(y, np.full(N, 3.5))


def test_a_cumulative_sum(emulated):
    @triton.jit
    def sums(x, y, n: tl.constexpr):
        i = tl.arange(0, n)
        tl.store(y + i, tl.cumsum(tl.load(x + i), 0))

    x = jnp.arange(256, dtype=jnp.float32)
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    y = jt.triton_call(x, kernel=sums, out_shape=out, grid=(1,), n=256)
    np.testing.assert_array_equal(y, np.cumsum(x))


def test_rows_of_a_sparse_matrix_in_loops(emulated):
    @triton.jit
    def csr_matvec(data, indices, indptr, x, y, block: tl.constexpr):
        row = tl.program_id(0)
        low, high = tl.load(indptr + row), tl.load(indptr + row + 1)
        total = tl.zeros((block,), tl.float32)
        for first in range(low, high, block):
            k = first + tl.arange(0, block)
            j = tl.load(indices + k, mask=k < high, other=0)
            total += tl.load(data + k, mask=k < high, other=0.0) * tl.load(x + j)
        tl.store(y + row, tl.sum(total, 0))

    matrix = scipy.sparse.random_array((60, 500), density=0.1, format="csr", dtype="float32", rng=0)
    x = np.random.default_rng(0).normal(size=500).astype("float32")
    arguments = (matrix.data, matrix.indices.astype("int32"), matrix.indptr.astype("int32"), x)
    out = jax.ShapeDtypeStruct((60,), jnp.float32)
    y = jt.triton_call(*map(jnp.asarray, arguments), kernel=csr_matvec, out_shape=out, grid=(60,), block=32)
    np.testing.assert_allclose(y, matrix @ x, rtol=1e-4, atol=1e-5)


def test_a_newer_release_is_no_matter_until_a_call(emulated, monkeypatch):
    calls = sys.modules["ffi_bridge.emulated.triton"]
    monkeypatch.setattr(calls, "TESTED", (0, 0))
    calls._compiler.cache_clear()
    with pytest.warns(UntestedVersionWarning, match="jax-triton"):
        jt.triton_call(jnp.zeros(N), kernel=add_one, out_shape=OUT, grid=(1,), n=N)
    calls._compiler.cache_clear()


def test_tensor_cores_are_refused_by_name(emulated):
    @triton.jit
    def square(x, y, n: tl.constexpr):
        i = tl.arange(0, n)[:, None] * n + tl.arange(0, n)[None, :]
        tl.store(y + i, tl.dot(tl.load(x + i), tl.load(x + i)))

    out = jax.ShapeDtypeStruct((32, 32), jnp.float32)
    with pytest.raises(KernelTypeError, match=r"cannot run 'square'.*ldmatrix"):
        jt.triton_call(jnp.ones((32, 32), jnp.float16), kernel=square, out_shape=out, grid=(1,), n=32)
