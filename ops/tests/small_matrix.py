"""One matrix of two rows that the tests of sparse matrices look at from every side, in every format."""

import numpy as np
import pytest

from event_ops import CSR, ELL


def small(**changes):
    """[[0, 1, 2], [3, 0, 0]], the first row unsorted."""
    parts = {
        "data": np.array([2, 1, 3], "f"),
        "indices": np.array([2, 1, 0]),
        "indptr": np.array([0, 2, 3]),
        "shape": (2, 3),
    }
    return CSR(**(parts | changes))


def small_ell(*, data=None, **changes):
    """The same with a second row that is padded; three weights are those that are not padding."""
    weights = np.array([2, 1, 3], "f") if data is None else np.asarray(data)
    if weights.shape == (3,):
        weights = np.append(weights, np.zeros(1, weights.dtype)).reshape(2, 2)
    return ELL(weights, **({"indices": np.array([[2, 1], [0, -1]]), "shape": (2, 3)} | changes))


# Replaces `small` in a test that holds for every format.
formats = pytest.mark.parametrize("small", [small, small_ell], ids=["CSR", "ELL"])

DENSE = np.array([[0, 1, 2], [3, 0, 0]], "f")
