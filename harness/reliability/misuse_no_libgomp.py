"""Parallel kernels on a machine without libgomp and TBB: Numba takes `workqueue` there, without a word."""

import sys
from functools import partial
from typing import Any, Final

import numba
import numpy as np
from misuse import Misuse
from parallel_kernels import X, add_parallel, adds, many_at_once, region_in_region, two_regions

ENV = {"NUMBA_THREADING_LAYER": "default", "NUMBA_NUM_THREADS": "4"}
_LAYERS: Final = ("omppool", "tbbpool")  # extension modules that cannot be imported without their library


def _without_libgomp(kernel: Any) -> None:
    for module in _LAYERS:
        sys.modules[f"numba.np.ufunc.{module}"] = None  # type: ignore[assignment]
    f = adds(kernel)
    np.testing.assert_array_equal(f(X, X), X + X)
    assert numba.threading_layer() == "workqueue"
    many_at_once(f)


CASES = tuple(
    Misuse(kernel.__name__, partial(_without_libgomp, kernel), error=None, slow=kernel is two_regions)
    for kernel in (add_parallel, two_regions, region_in_region)
)
