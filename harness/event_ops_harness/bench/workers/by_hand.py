"""Multiply as one writes it in five minutes, with Numba's own cache on disk.

Alone in a module: `bench cold` times its import, which loads Numba and nothing of ours.
"""

from typing import Any

import numba
import numpy as np


# On disk, as whoever waits for a compiler has it: the second process of `bench cold` reads it.
@numba.njit(cache=True)
def matvec(data: Any, indices: Any, indptr: Any, v: Any) -> Any:
    """y = A @ v, serial, without checks."""
    y = np.empty(indptr.size - 1, v.dtype)
    for i in range(y.size):
        total = v.dtype.type(0)
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * v[indices[k]]
        y[i] = total
    return y
