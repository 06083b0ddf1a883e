"""Products on a CUDA backend, with rows of any length and in every dtype, are those of a plain loop."""

import jax
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

import event_ops as eo
from event_ops.cases.draw import Draw
from event_ops.cases.matrices import numbers
from event_ops.kernels.numba_cuda import by_length
from event_ops.kernels.numba_cuda.threads import BLOCK, WARP
from event_ops_harness.conformance.cell import types_of

STEPS = 4  # instead of 128: what is long is long for Python
LENGTHS = {
    "a-thread-for-most": [2, 1, 0, 3, 40, 1, 2, 4, 0, 150, 5, 97, 0, 300, *[1] * 200],
    "lanes-for-most": [20, 18, 0, 30, 60, 22, 300, 25, 48, 49],
    "a-warp-for-most": [128, 129, 0, 211, 150, 150],
    "a-block-for-most": [700, 1024, 0, 1025, 1000],
}
CLASSES = {
    "a-thread-for-most": (1, {0, 1, 2}),
    "lanes-for-most": (8, {0, 1, 2}),
    "a-warp-for-most": (WARP, {0, 2}),
    "a-block-for-most": (BLOCK, {0, 2}),
}
COLUMNS = 23
# Other tests have float32. In every run is one whose sums are made in another way.
DTYPES = [
    "complex64",
    *(pytest.param(x, marks=pytest.mark.slow) for x in ("int8", "complex128", "uint16", "uint32", "uint64")),
]


@pytest.fixture(autouse=True)
def few_steps(on_gpu, monkeypatch):
    """On the emulated GPU, rows count as long from few entries on."""
    monkeypatch.setattr(by_length, "STEPS", STEPS)
    monkeypatch.setattr(by_length, "SEVERAL", STEPS)


def matrix(lengths, dtype="float32", index_dtype="int32"):
    """data, indices (some out of range), indptr of a matrix whose rows are of these lengths."""
    rng, nse = np.random.default_rng(5), sum(lengths)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return numbers(rng, nse, dtype), rng.integers(-1, COLUMNS + 1, nse).astype(index_dtype), indptr


def expected(data, indices, rows, x, *, transpose, count):
    """The product, entry by entry; `rows`: that of each entry; `count`: how many rows the result has."""
    wide = {"f": np.float64, "c": np.complex128}.get(data.dtype.kind, np.int64)
    y = np.zeros((count, *x.shape[1:]), wide)
    for weight, i, j in zip(data.astype(wide), rows, indices, strict=True):
        if 0 <= j < COLUMNS:
            y[j if transpose else i] += weight * x[i if transpose else j].astype(wide)
    return y.astype(data.dtype)


def check_csr(product, lengths, dtype, index_dtype="int32", *, transpose=False, trailing=(), events=None):
    """One product with a CSR matrix against `expected`."""
    data, indices, indptr = matrix(lengths, dtype, index_dtype)
    rows, shape = np.repeat(np.arange(len(lengths)), lengths), (len(lengths), COLUMNS)
    size, rng = (shape[0] if transpose else shape[1], *trailing), np.random.default_rng(6)
    x = numbers(rng, size, dtype) if events is None else Draw(rng, dtype, "int32").events(size, 0.5, events)
    with types_of(dtype):
        arrays = map(jax.numpy.asarray, (data, indices, indptr, x))
        y = product(*arrays, shape=shape, transpose=transpose, backend="numba_cuda")
    count = shape[1] if transpose else shape[0]
    check_close(y, expected(data, indices, rows, x, transpose=transpose, count=count))


def check_close(y, wanted):
    assert y.dtype == wanted.dtype
    if wanted.dtype.kind in "fc":
        tolerance = 1e-4 if wanted.dtype.itemsize < 8 or wanted.dtype == np.complex64 else 1e-12
        np.testing.assert_allclose(y, wanted, rtol=tolerance, atol=tolerance * abs(wanted).max())
    else:
        np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("mix", LENGTHS)
def test_mixes_are_what_their_names_say(mix):
    lengths, (lanes, classes) = LENGTHS[mix], CLASSES[mix]
    assert by_length.lanes_of(sum(lengths), len(lengths)) == lanes
    limits = STEPS * lanes, STEPS * max(lanes, WARP)
    assert {sum(length > limit for limit in limits) for length in lengths} == classes


@pytest.mark.slow_cases("a-thread-for-most", "a-warp-for-most")
@pytest.mark.parametrize("transpose", [False, True], ids=["gather", "scatter"])
@pytest.mark.parametrize("mix", LENGTHS)
def test_rows_of_any_length(mix, transpose):
    check_csr(eo.csr_matvec, LENGTHS[mix], "float32", transpose=transpose)


@pytest.mark.slow
@pytest.mark.parametrize("transpose", [False, True], ids=["gather", "scatter"])
@pytest.mark.parametrize("columns", [1, 5, 40])
def test_rows_of_any_length_times_a_matrix(columns, transpose):
    lengths = LENGTHS["lanes-for-most"]
    check_csr(eo.csr_matmat, lengths, "float32", transpose=transpose, trailing=(columns,))


@pytest.mark.slow
@pytest.mark.parametrize(("trailing", "events"), [((), "bool"), ((3,), "float32")], ids=["vector", "matrix"])
def test_rows_of_any_length_times_events(trailing, events):
    product = eo.csr_event_matmat if trailing else eo.csr_event_matvec
    check_csr(product, LENGTHS["a-thread-for-most"], "float32", trailing=trailing, events=events)


@pytest.mark.slow
@pytest.mark.parametrize("transpose", [False, True], ids=["gather", "scatter"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype, transpose):
    check_csr(eo.csr_matvec, LENGTHS["lanes-for-most"], dtype, transpose=transpose)


@pytest.mark.slow
@pytest.mark.parametrize("transpose", [False, True], ids=["gather", "scatter"])
@pytest.mark.parametrize(
    ("dtype", "index_dtype"), [("complex64", "uint32"), ("int8", "uint64"), ("float64", "int64")]
)
def test_every_dtype_times_a_matrix(dtype, index_dtype, transpose):
    lengths = LENGTHS["lanes-for-most"]
    check_csr(eo.csr_matmat, lengths, dtype, index_dtype, transpose=transpose, trailing=(5,))


@pytest.mark.slow_cases("gather")
@pytest.mark.parametrize("transpose", [False, True], ids=["gather", "scatter"])
@pytest.mark.parametrize(
    ("per_row", "dtype"),
    [
        pytest.param(90, "complex64", marks=pytest.mark.slow),
        (120, "float32"),
        pytest.param(800, "int16", marks=pytest.mark.slow),
    ],
    ids=["warps", "a-block-each", "blocks"],
)
def test_ell_rows(per_row, dtype, transpose):
    data, indices, _ = matrix([per_row] * 3, dtype)
    x = numbers(np.random.default_rng(6), 3 if transpose else COLUMNS, dtype)
    y = eo.ell_matvec(
        jax.numpy.asarray(data.reshape(3, per_row)),
        jax.numpy.asarray(indices.reshape(3, per_row)),
        jax.numpy.asarray(x),
        shape=(3, COLUMNS),
        transpose=transpose,
        backend="numba_cuda",
    )
    rows, count = np.repeat(np.arange(3), per_row), COLUMNS if transpose else 3
    check_close(y, expected(data, indices, rows, x, transpose=transpose, count=count))


@pytest.mark.slow
@pytest.mark.parametrize("transpose", [False, True], ids=["gather", "scatter"])
def test_a_batch_of_weights(transpose):
    lengths = LENGTHS["lanes-for-most"]
    data, indices, indptr = matrix(lengths)
    shape, weights = (len(lengths), COLUMNS), np.stack([data, -data, 2 * data])
    x = numbers(np.random.default_rng(6), shape[0] if transpose else shape[1], "float32")

    def product(weights):
        arrays = map(jax.numpy.asarray, (indices, indptr, x))
        return eo.csr_matvec(weights, *arrays, shape=shape, transpose=transpose, backend="numba_cuda")

    rows, count = np.repeat(np.arange(len(lengths)), lengths), shape[1] if transpose else shape[0]
    wanted = [expected(d, indices, rows, x, transpose=transpose, count=count) for d in weights]
    check_close(jax.vmap(product)(jax.numpy.asarray(weights)), np.stack(wanted))


def test_a_row_is_added_up_in_one_order():
    lengths = LENGTHS["a-thread-for-most"]
    data, indices, indptr = matrix(lengths)
    spread = (data * 10.0 ** (np.arange(data.size) % 9)).astype(np.float32)
    arrays = tuple(map(jax.numpy.asarray, (spread, indices, indptr, np.ones(COLUMNS, np.float32))))
    shape = len(lengths), COLUMNS
    results = [eo.csr_matvec(*arrays, shape=shape, backend="numba_cuda") for _ in range(5)]
    assert len({np.asarray(y).tobytes() for y in results}) == 1


def test_lanes_follow_the_mean_length(monkeypatch):
    monkeypatch.undo()
    means = (0, 3, 4, 10, 100, 191, 192, 1000, 4096, 5000)
    assert [by_length.lanes_of(10 * mean, 10) for mean in means] == [1, 1, 2, 8, 8, 8, 16, 32, 32, BLOCK]
    several = [1, 1, 2, 4, 4, 4, 4, BLOCK // 8, BLOCK // 8, BLOCK // 8]
    assert [by_length.lanes_of(10 * mean, 10, 8) for mean in means] == several
    assert by_length.lanes_of(5, 0) == 2


@pytest.mark.parametrize("transpose", [False, True])
def test_a_row_that_ends_before_it_begins_is_empty(transpose):
    data, indices, _ = matrix([400])
    indptr = np.array([0, 207, 203, 400], np.int32)  # threads begin with the sector at 200
    x = numbers(np.random.default_rng(6), 3 if transpose else COLUMNS, "float32")
    of_rows = np.concatenate([np.arange(207), np.arange(203, 400)])
    rows = np.repeat([0, 2], [207, 197])
    y = eo.csr_matvec(data, indices, indptr, x, shape=(3, COLUMNS), transpose=transpose, backend="numba_cuda")
    count = COLUMNS if transpose else 3
    check_close(y, expected(data[of_rows], indices[of_rows], rows, x, transpose=transpose, count=count))
