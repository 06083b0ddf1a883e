"""Every backend of every operator gives what a plain loop in wide types gives, for every case and dtype."""

import hypothesis.extra.numpy as hnp
import jax
import numpy as np
import pytest
import scipy.sparse
from cells import arguments, assert_close, bound, cells, dtype_pairs, implementations, needs_x64
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import oracle

from event_ops import csr_event_matvec, csr_matvec
from event_ops.discover import operators

MATRIX = [
    pytest.param(*cell.values, *pair, id=f"{cell.id}-{'-'.join(pair)}")
    for cell in cells()
    for pair in dtype_pairs(*cell.values)
]


@pytest.mark.parametrize(("operator", "backend", "case", "dtype", "index_dtype"), MATRIX)
def test_values(operator, backend, case, dtype, index_dtype):
    with needs_x64(dtype, index_dtype):
        args, kwargs = arguments(case, dtype, index_dtype)
        result = bound(operator, backend, kwargs)(*args)
        expected = oracle(operator.name)(*map(np.asarray, args), **kwargs)
    floats = [x.dtype for x in jax.tree.leaves(result) if x.dtype.kind in "fc"]
    assert all(x == dtype for x in floats)
    assert_close(result, expected, case.relative_tolerance(dtype))


def test_every_operator_has_an_oracle_and_cases():
    for operator in operators():
        assert callable(oracle(operator.name))
        assert len({case.name for case in operator.cases}) == len(operator.cases) > 0
        assert operator.mistakes


# Few shapes, and one number of stored entries: every new one would be compiled.
SHAPES = ((0, 3), (4, 0), (1, 9), (12, 7))
STORED = 90


@st.composite
def products(draw):
    shape = draw(st.sampled_from(SHAPES))
    elements = st.sampled_from([0, 0, 0, 1, -2, 5])
    dense = draw(hnp.arrays(np.int64, shape, elements=elements))
    transpose = draw(st.booleans())
    v = draw(hnp.arrays(np.int64, shape[1 - transpose], elements=st.integers(-3, 3)))
    return scipy.sparse.csr_matrix(dense.astype(np.float32)), v.astype(np.float32), transpose


def stored(A):
    """data, indices, indptr with places that indptr leaves out behind the entries."""
    unused = STORED - A.nnz
    return np.pad(A.data, (0, unused)), np.pad(A.indices, (0, unused)), A.indptr


CSR_BACKENDS = [p.values[1] for p in implementations() if p.values[0].name == "csr_matvec"]


@pytest.mark.parametrize("backend", CSR_BACKENDS)
@settings(max_examples=40)
@given(products())
def test_products_are_those_of_scipy(backend, product):
    # Small integers in floats: every order of the sum is exact.
    A, v, transpose = product
    B = A.T if transpose else A
    options = {"shape": A.shape, "transpose": transpose, "backend": backend}
    np.testing.assert_array_equal(csr_matvec(*stored(A), v, **options), B @ v)
    np.testing.assert_array_equal(csr_event_matvec(*stored(A), v, **options), B @ v)
    hits = B @ (v > 0).astype(np.float32)
    np.testing.assert_array_equal(csr_event_matvec(*stored(A), v > 0, **options), hits)
