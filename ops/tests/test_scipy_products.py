"""Products of matrices that hypothesis makes are those of SciPy."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from implemented import implementations

from event_ops import csr_event_matvec, csr_matvec

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
