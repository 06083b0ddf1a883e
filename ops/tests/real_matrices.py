"""Sparse matrices that nobody here made, out of packages; and one that numerical practice is full of."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse


def laplacian():
    """The five-point Laplacian on a grid of 20 x 30 points."""
    second = [scipy.sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)) for n in (20, 30)]
    return scipy.sparse.kronsum(*second)


def least_squares():
    """The test problem of SciPy's singular value decompositions."""
    path = Path(scipy.sparse.__file__).parent / "linalg/tests/propack_test_data.npz"
    if not path.exists():
        pytest.skip("this SciPy comes without its test data")
    with np.load(path, allow_pickle=True) as data:
        return data["A_real"].item()


def digits():
    """300 handwritten digits of 64 pixels, half of them blank."""
    datasets = pytest.importorskip("sklearn.datasets", reason="the digits come with scikit-learn")
    return scipy.sparse.coo_array(datasets.load_digits().data[:300])


def karate_club():
    """Who met whom, how often, in Zachary's karate club."""
    networkx = pytest.importorskip("networkx", reason="the graph comes with networkx")
    return networkx.to_scipy_sparse_array(networkx.karate_club_graph(), dtype=float)


REAL = [pytest.param(make, id=make.__name__) for make in (laplacian, least_squares, digits, karate_club)]
