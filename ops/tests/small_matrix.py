"""One matrix of two rows that the tests of `CSR` look at from every side."""

import numpy as np

from event_ops import CSR


def small(**changes):
    """[[0, 1, 2], [3, 0, 0]], the first row unsorted."""
    parts = {
        "data": np.array([2, 1, 3], "f"),
        "indices": np.array([2, 1, 0]),
        "indptr": np.array([0, 2, 3]),
        "shape": (2, 3),
    }
    return CSR(**(parts | changes))


DENSE = np.array([[0, 1, 2], [3, 0, 0]], "f")
