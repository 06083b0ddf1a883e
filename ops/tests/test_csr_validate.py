"""What a `CSR` checks: known arrays when it is built, traced ones through checkify."""

import jax
import numpy as np
import pytest
from jax.experimental import checkify
from small_matrix import DENSE, small

from event_ops import CSR, csr_tocsc, csr_todense

BROKEN = {
    "column": ({"indices": np.array([2, 4, 0])}, r"indices\[1\] is 4, and 1 of 3.*0 to 2.*validate=False"),
    "negative": ({"indices": np.array([-1, 1, 0])}, r"indices\[0\] is -1"),
    "falls": ({"indptr": np.array([0, 4, 3])}, "indptr falls from 4 to 3 at row 1"),
    "begins late": ({"indptr": np.array([1, 2, 3])}, "indptr spans 1 to 3; expected 0 to 3"),
    "ends early": ({"indptr": np.array([0, 1, 2])}, "indptr spans 0 to 2; expected 0 to 3"),
}
MISFITS = {
    "short data": ({"data": np.ones(2, "f")}, ValueError, r"data has shape \(2,\)"),
    "shape": ({"shape": (3, 2)}, ValueError, "it fits shape reversed"),
    "short indptr": ({"indptr": np.array([0, 3])}, ValueError, r"^(?!.*reversed)indptr has shape \(2,\)"),
    "negative columns": ({"shape": (2, -1)}, ValueError, "expected sizes >= 0"),
    "flat": ({"indices": np.zeros((3, 1), int)}, ValueError, "indices has 2 dimensions"),
    "bool": ({"data": np.ones(3, bool)}, TypeError, "data has dtype bool.*cast it"),
    "wide": ({"indices": np.array([2, 1, 2**32])}, ValueError, "jax_enable_x64"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_known_values_are_checked_unless_told_not_to(name):
    changes, match = BROKEN[name]
    with pytest.raises(ValueError, match=match):
        small(**changes)
    A = small(**changes, validate=False)
    assert np.isfinite(A @ np.ones(3, "f")).all()


@pytest.mark.parametrize("name", ["column", "negative", "falls"])
def test_scipy_gets_nothing_that_it_would_read_out_of_bounds(name):
    changes, match = BROKEN[name]
    with pytest.raises(ValueError, match=match.removesuffix("validate=False") + ".*; correct it$"):
        small(**changes, validate=False).to_scipy()


@pytest.mark.parametrize("name", MISFITS)
def test_sizes_and_dtypes_are_checked_always(name):
    changes, error, match = MISFITS[name]
    for validate in (True, False):
        with pytest.raises(error, match=match):
            small(**changes, validate=validate)


@pytest.mark.parametrize("name", BROKEN)
def test_check_works_under_jit_through_checkify(name):
    def product(A):
        A.check()
        return A @ np.ones(3, "f")

    checked = checkify.checkify(jax.jit(product))
    error, y = checked(small())
    assert error.get() is None
    np.testing.assert_array_equal(y, DENSE.sum(1))
    error, _ = checked(small(**BROKEN[name][0], validate=False))
    assert "expected" in error.get()


def test_check_without_jit_raises():
    small().check()
    with pytest.raises(ValueError, match="1 of 3 indices are wrong; expected 0 to 2"):
        small(indices=np.array([2, 3, 0]), validate=False).check()


def test_check_finds_planned_weights_that_were_left_behind():
    A = small(data=np.array([np.nan, 1, 3], "f")).plan()
    A.check()
    A.with_data(np.arange(3.0)).check()
    data, *rest = jax.tree.leaves(A)
    stale = jax.tree.unflatten(jax.tree.structure(A), [data + 1, *rest])
    with pytest.raises(ValueError, match=r"2 of 3 planned weights.*with_data"):
        stale.check()


@pytest.mark.promise(1)
@pytest.mark.parametrize("backend", ["reference", "numba_cpu"])
def test_a_broken_indptr_stays_inside_the_arrays(backend):
    # Its result is not defined, memory outside the arrays is neither read nor written.
    lowest, highest = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    indptr = np.array([lowest, highest, -5, 3, highest], np.int32)
    indices = np.tile([2, -1, 4, highest], 5)
    D = csr_todense(1.0, indices, indptr, shape=(4, 4), backend=backend)
    assert (np.abs(D) <= 4 * indices.size).all()
    rows, ends, permutation = csr_tocsc(indices, indptr, shape=(4, 4), backend=backend)
    assert sorted(permutation.tolist()) == list(range(indices.size))
    assert (rows <= 4).all() and (np.diff(ends) >= 0).all() and ends[-1] <= indices.size


def test_an_empty_matrix_is_valid():
    A = CSR(np.zeros(0, "f"), np.zeros(0, int), np.zeros(4, int), shape=(3, 0))
    A.check()
    assert (A @ np.zeros(0, "f")).tolist() == [0, 0, 0]
    assert A.plan().T.tocsr().shape == (0, 3)
