"""What NumPy's functions do with a matrix: ufuncs apply the operators, and nothing makes it dense unasked."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Never

import numpy as np

from event_ops.checks.arrays import as_array

_OPERATORS = {
    np.matmul: operator.matmul,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.add: operator.add,
    np.subtract: operator.sub,
    np.negative: operator.neg,
    np.absolute: operator.abs,
}


def apply_ufunc(A: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """Return what Python's operator for a ufunc gives, or raise TypeError where there is none."""
    if method != "__call__" or options or ufunc not in _OPERATORS:
        raise TypeError(
            f"np.{ufunc.__name__} ({', '.join([method, *options])}) is not an operator of CSR; change the "
            "weights, A.with_data(f(A.data)), or use A.todense()"
        )
    # JAX's arrays leave operators with types that they do not know to those types; NumPy's ask here again.
    known = (as_array(x) if isinstance(x, np.ndarray | np.generic) else x for x in inputs)
    return _OPERATORS[ufunc](*known)


def no_array(instead: str) -> Callable[..., Never]:
    """Return an `__array__` that says what to do, where NumPy would make an array of one Python object."""

    def refuse(x: Any, dtype: Any = None, copy: Any = None) -> Never:
        raise TypeError(f"{type(x).__name__} is not made a NumPy array unasked; {instead}")

    return refuse
