"""Check that CUDA steps read and write four neurons at once, and are right for any number of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from numba import cuda

from event_ops import lif_step, neuron_step
from event_ops.cases import BENCHMARK
from event_ops.catalog.lif_step.cases import CUBA
from event_ops.discover import operators
from event_ops.kernels.numba_cuda.wide import is_aligned
from ffi_bridge import numba_cuda_kernel

counters = pytest.importorskip("event_ops_harness.gpu.counters")

OPERATORS = {operator.name: operator for operator in operators()}
SIZES = (*range(1, 10), 133, 4001)
WARP, PER_THREAD = 32, 4


@pytest.fixture(autouse=True)
def on_numba_cuda(gpu, monkeypatch):
    monkeypatch.setattr(gpu, "backends", ("numba_cuda",))


# Arrays that a thread reads or writes; those of one number for all neurons are asked for by each warp, too.
@pytest.mark.parametrize(("name", "arrays"), [("izhikevich_step", 13), ("lif_step", 13), ("trace_decay", 4)])
def test_a_warp_asks_once_for_four_neurons_of_each_lane(gpu, monkeypatch, name, arrays):
    made, operator = [], OPERATORS[name]
    row_of = counters.row_of
    monkeypatch.setattr(
        counters, "row_of", lambda *arguments: made.extend(arguments[4]) or row_of(*arguments)
    )
    counters.count(gpu, operator, operator.tagged(BENCHMARK)[0], "numba_cuda")
    (launch,) = made
    assert launch.counts.global_memory.requests <= arrays * -(-4000 // (WARP * PER_THREAD))


def lif(n, x64=False, backend="numba_cuda"):
    rng = np.random.default_rng(n)
    dtype = np.float64 if x64 else np.float32
    V, held = rng.uniform(-60, -49, n).astype(dtype), (rng.random(n) < 0.3).astype(dtype)
    return [
        np.asarray(x) for x in lif_step(V, held, rng.normal(0, 20, n).astype(dtype), **CUBA, backend=backend)
    ]


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_the_last_thread_may_have_fewer_neurons(n, x64):
    with jax.enable_x64(x64):
        for result, expected in zip(lif(n, x64), lif(n, x64, "reference"), strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-12 if x64 else 1e-6)


def test_a_value_does_not_depend_on_the_place_of_its_neuron():
    n = 4 * WARP + 3
    V, _, spikes = lif_step(jnp.full(n, -51.3), jnp.zeros(n), jnp.full(n, 7.7), **CUBA, backend="numba_cuda")
    assert np.unique(V).size == np.unique(spikes).size == 1


def test_counters_and_flags_have_widths_of_their_own():
    step = neuron_step(
        lambda V_m, count, *, rises: (jnp.where(rises, V_m + 1, V_m), count),
        threshold=lambda V_m, count: V_m - 1,
        reset=lambda V_m, count: (jnp.zeros_like(V_m), count + 1),
    )
    n = 21
    V, rises = np.arange(n, dtype=np.float32) % 3, np.arange(n) % 5 > 1
    for dtype in (np.int32, np.uint32):
        inputs = V, np.arange(n, dtype=dtype)
        results = step(*inputs, rises=rises, backend="numba_cuda")
        for each, expected in zip(results, step(*inputs, rises=rises, backend="reference"), strict=True):
            np.testing.assert_array_equal(each, expected)


def test_arrays_that_begin_within_a_wide_element_are_found():
    @cuda.jit
    def kernel(x, y):
        for k in range(y.size):
            y[k] = is_aligned(x[k:])

    aligned = numba_cuda_kernel(kernel, jax.ShapeDtypeStruct((9,), jnp.bool_), launch_dims=1)(jnp.zeros(9))
    assert list(aligned) == [k % PER_THREAD == 0 for k in range(9)]
