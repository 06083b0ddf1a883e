"""Operators in exported programs whose sizes are symbolic: one program, called with several sizes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

import event_ops
from event_ops.discover import operators
from ffi_bridge import export

pytest.importorskip("numba", reason="Numba is not installed")
pytest.importorskip("flatbuffers", reason="jax.export needs flatbuffers to serialise")

ROWS, COLUMNS, ENTRIES, WIDTH, BATCH = jax.export.symbolic_shape("rows, columns, entries, width, batch")
STRUCTURE = [((ENTRIES,), "int32"), ((ROWS + 1,), "int32")]


def matrix(rows, columns):
    a = scipy.sparse.random(rows, columns, density=0.3, format="csr", dtype=np.float32, random_state=rows)
    return [a.data, a.indices.astype(np.int32), a.indptr.astype(np.int32)]


def random(*shape):
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def shape_of(indptr, x):
    return indptr.shape[0] - 1, x.shape[0]


def product(data, indices, indptr, v):
    return event_ops.CSR(data, indices, indptr, shape=shape_of(indptr, v)) @ v


def event_product(data, indices, indptr, v):
    return event_ops.CSR(data, indices, indptr, shape=shape_of(indptr, v)) @ event_ops.Events(v > 0)


def slopes(*arrays):
    return jax.grad(lambda *xs: (product(*xs) ** 2).sum(), argnums=(0, 3))(*arrays)


def decay(x):
    return event_ops.trace_decay(x, x > 0, tau=10.0, dt=1.0)


def vectors(rows, columns, width):
    return [*matrix(rows, columns), random(columns)]


def matrices(rows, columns, width):
    return [*matrix(rows, columns), random(columns, width)]


def traces(rows, columns, width):
    return [random(rows)]


@pytest.mark.slow_cases("event product", "product")
@pytest.mark.parametrize(
    ("function", "types", "make"),
    [
        (product, [((ENTRIES,), "float32"), *STRUCTURE, ((COLUMNS,), "float32")], vectors),
        (event_product, [((ENTRIES,), "float32"), *STRUCTURE, ((COLUMNS,), "float32")], vectors),
        pytest.param(
            *(slopes, [((ENTRIES,), "float32"), *STRUCTURE, ((COLUMNS,), "float32")], vectors),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(product, [((ENTRIES,), "float32"), *STRUCTURE, ((COLUMNS, WIDTH), "float32")], matrices),
            marks=pytest.mark.slow,
        ),
        (decay, [((ROWS,), "float32")], traces),
    ],
    ids=["product", "event product", "slopes", "product with a matrix", "decay"],
)
def test_the_program_takes_every_size(function, types, make):
    structs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in types]
    call = export.deserialize(export.export(jax.jit(function))(*structs).serialize()).call
    for sizes in ((5, 4, 2), (20, 30, 37)):
        arrays = list(map(jnp.asarray, make(*sizes)))
        assert_equal(call(*arrays), function(*arrays))


@pytest.mark.slow
@pytest.mark.parametrize("operator", operators(), ids=lambda operator: operator.name)
def test_a_batch_of_every_operator_takes_every_size(operator):
    case = operator.tagged("conformance")[0]
    arrays, static = case.make(np.random.default_rng(0), operator.dtypes[0], "int32")
    arrays = list(map(jnp.asarray, arrays))
    mapped = next((i for i, x in enumerate(arrays) if x.ndim and jnp.issubdtype(x.dtype, jnp.floating)), 0)
    axes = [0 if i == mapped else None for i in range(len(arrays))]
    function = jax.vmap(lambda *xs: operator.function(*xs, backend="numba_cpu", **static), axes)
    structs = [
        jax.ShapeDtypeStruct((BATCH,) * (i == mapped) + x.shape, x.dtype) for i, x in enumerate(arrays)
    ]
    call = export.deserialize(export.export(jax.jit(function))(*structs).serialize()).call
    for size in (2, 5):
        given = [jnp.stack([x] * size) if i == mapped else x for i, x in enumerate(arrays)]
        assert_equal(call(*given), function(*given))


def test_a_limit_is_met_by_a_constraint():
    (size,) = jax.export.symbolic_shape("size", constraints=["size <= 1000000"])
    spikes = jax.ShapeDtypeStruct((size,), "bool")
    call = jax.export.export(jax.jit(lambda x: event_ops.spike_compact(x, backend="reference")))(spikes).call
    flags = jnp.array([False, True, True])
    assert_equal(call(flags), event_ops.spike_compact(flags))


def assert_equal(found, expected):
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)
