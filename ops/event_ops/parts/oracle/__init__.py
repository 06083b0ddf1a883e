import numpy as np


def wide(x):
    x = np.asarray(x)
    return x.astype({"f": "float64", "c": "complex128"}.get(x.dtype.kind, x.dtype))
