"""deterministic=True: the same bits at every call, in whatever order the blocks and threads of a GPU run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from order_calls import CALLS, COLUMNS, ROWS, SHAPE, wide_numbers

import event_ops as eo
import ffi_bridge
from event_ops.cases.draw import Draw
from event_ops.discover import operators
from ffi_bridge.errors import BackendUnavailableError

pytestmark = pytest.mark.promise(10)

RUNS = 20
SORTED = 3  # runs where entries are sorted, which takes seconds in Python; on a GPU they are RUNS, too
WITHOUT_SORT = ("csr_todense", "dense_event_matmat", "dense_event_matvec")
# The others sort in the same way, or are made of these.
OF_EVERY_KIND = ("csr_matvec", *WITHOUT_SORT)
EMULATED_CALLS = [
    pytest.param(name, marks=[] if name in OF_EVERY_KIND else [pytest.mark.slow]) for name in CALLS
]

TAKE_IT = [operator.name for operator in operators() if "deterministic" in (operator.function.__doc__ or "")]


def bits(result):
    return np.asarray(result).tobytes()


@pytest.mark.parametrize("name", EMULATED_CALLS)
def test_every_run_gives_the_same_bits(on_gpu, name):
    call = jax.jit(lambda: CALLS[name](deterministic=True, backend="numba_cuda"))
    results = [call() for _ in range(RUNS if name in WITHOUT_SORT else SORTED)]
    assert len(set(map(bits, results))) == 1
    expected = CALLS[name](backend="numba_cpu")
    np.testing.assert_allclose(results[0], expected, rtol=1e-4, atol=1e-4 * float(abs(expected).max()))


def test_one_entry_and_one_weight_for_all(on_gpu):
    structure = np.array([2]), np.array([0, 1])
    how = {"shape": (1, 3), "transpose": True, "deterministic": True, "backend": "numba_cuda"}
    y = eo.csr_event_matvec(np.float32(5), *structure, np.array([True]), **how)
    np.testing.assert_array_equal(y, [0, 0, 5])


# segment_sum adds up in 64 bits: what the order changes is rounded away.
@pytest.mark.parametrize("name", [x for x in EMULATED_CALLS if x.values != ("segment_sum",)])
def test_without_it_the_order_shows(on_gpu, name):
    call = jax.jit(lambda: CALLS[name](backend="numba_cuda"))
    first = bits(call())
    assert any(bits(call()) != first for _ in range(RUNS))


def test_every_operator_that_takes_the_keyword_is_tested():
    assert sorted(TAKE_IT) == sorted(CALLS)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("backend", ["reference", "warp"])
def test_a_backend_of_atomics_is_refused_on_a_gpu(name, backend):
    kernel = next(operator.kernel for operator in operators() if operator.name == name)
    with pytest.raises(BackendUnavailableError, match=f"{backend} has no deterministic=True"):
        kernel.explain(backend=backend, platform="gpu", deterministic=True)


@pytest.mark.parametrize("name", CALLS)
def test_a_cpu_sums_in_one_order_anyway(name):
    pytest.importorskip("numba", reason="Numba is not installed")
    with ffi_bridge.use_backend("numba_cpu"):  # a tuning table may choose otherwise without the keyword
        np.testing.assert_array_equal(CALLS[name](deterministic=True), CALLS[name]())


@pytest.mark.slow
def test_a_gradient_keeps_it(on_gpu):
    rng = np.random.default_rng(0)
    data, indices, indptr = map(jnp.asarray, Draw(rng, "float32", "int32").csr(SHAPE, 240))

    def loss(v):  # its gradient in v is the transposed product
        y = eo.csr_matvec(data, indices, indptr, v, shape=SHAPE, deterministic=True, backend="numba_cuda")
        return (y * weights).sum()

    weights, v = wide_numbers(rng, ROWS), wide_numbers(rng, COLUMNS)
    gradient = jax.jit(jax.grad(loss))
    assert len({bits(gradient(v)) for _ in range(SORTED)}) == 1
