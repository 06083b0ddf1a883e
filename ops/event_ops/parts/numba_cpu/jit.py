"""`njit` for kernels and what they call, without entries for Python and C: less to compile."""

from __future__ import annotations

from functools import partial
from typing import Any

import numba

numba_njit: Any = numba.njit  # its declared overloads lack these options
njit: Any = partial(numba_njit, no_cpython_wrapper=True, no_cfunc_wrapper=True)
