"""The operators that take a CSR structure, each with its definition in NumPy over the entries that count.

An entry counts if indptr spans it and its column is in range; `k` are those entries, `row` and `col` where
they are. The definitions know no kernel and no reference.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import event_ops as eo

Array = np.ndarray[Any, Any]
ROWS, COLUMNS, NSE = 6, 7, 24
SHAPE: Final = (ROWS, COLUMNS)
_rng = np.random.default_rng(0)
DATA: Final = _rng.integers(1, 9, NSE).astype("f")  # sums of small integers are exact in any order
V, U = _rng.integers(1, 9, COLUMNS).astype("f"), _rng.integers(1, 9, ROWS).astype("f")
B, C = _rng.integers(1, 9, (COLUMNS, 3)).astype("f"), _rng.integers(1, 9, (ROWS, 3)).astype("f")
ON_COLUMNS, ON_ROWS = V > 3, U > 3
DELAYS: Final = _rng.integers(0, 4, NSE).astype(np.int32)
BUFFER: Final = _rng.integers(1, 9, (4, COLUMNS)).astype("f")
W: Final = _rng.uniform(0.25, 0.75, NSE).astype("f")
STDP: Final = {"w_min": 0.0, "w_max": 1.0}


@dataclass(frozen=True)
class Operator:
    """`call(indices, indptr, backend)` and `expected(k, row, col)`; by_column: the structure is of A.T."""

    name: str
    call: Callable[[Any, Any, str], Any]
    expected: Callable[[Array, Array, Array], Any]
    by_column: bool = False


def _added(shape: tuple[int, ...], where: Any, terms: Array, start: Any = 0) -> Array:
    out = np.zeros(shape, "f") + np.asarray(start, "f")
    np.add.at(out, where, terms.astype("f"))
    return out


def _sampled(k: Array, row: Array, col: Array) -> Array:
    out = np.zeros(NSE, "f")
    out[k] = (C[row] * B[col]).sum(1)
    return out


def _depressed(k: Array, row: Array, col: Array) -> Array:
    on, out = ON_ROWS[row], W.copy()
    out[k[on]] = np.clip(W[k[on]] - np.float32(0.01) * V[col[on]], 0, 1)
    return out


def _potentiated(k: Array, col: Array, row: Array) -> Array:
    """k are places in the transpose, of which PLACES says where in W they are."""
    on, out = ON_COLUMNS[col], W.copy()
    places = PLACES[k[on]]
    out[places] = np.clip(W[places] + np.float32(0.01) * U[row[on]], 0, 1)
    return out


def _product(function: Callable[..., Any], x: Array, transpose: bool) -> Operator:
    """Of the matrix, or its transpose, and a vector or the columns of x."""

    def call(indices: Any, indptr: Any, backend: str) -> Any:
        return function(DATA, indices, indptr, x, shape=SHAPE, transpose=transpose, backend=backend)

    def expected(k: Array, row: Array, col: Array) -> Array:
        to, of, size = (col, row, COLUMNS) if transpose else (row, col, ROWS)
        weights = DATA[k].reshape(-1, *[1] * (x.ndim - 1))
        return _added((size, *x.shape[1:]), to, weights * x[of])

    return Operator(f"{function.__name__}{', transposed' * transpose}", call, expected)


PRODUCTS: Final = {
    eo.csr_matvec: (V, U),
    eo.csr_event_matvec: (ON_COLUMNS, ON_ROWS),
    eo.csr_matmat: (B, C),
    eo.csr_event_matmat: (B > 3, C > 3),
}
PLACES: Final = _rng.permutation(NSE).astype(np.int32)
OPERATORS: Final = (
    *(
        _product(function, x, transpose)
        for function, operands in PRODUCTS.items()
        for transpose, x in zip((False, True), operands, strict=True)
    ),
    Operator(
        "csr_todense",
        lambda i, p, backend: eo.csr_todense(DATA, i, p, shape=SHAPE, backend=backend),
        lambda k, row, col: _added(SHAPE, (row, col), DATA[k]),
    ),
    Operator(
        "csr_tocsc",
        lambda i, p, backend: eo.csr_tocsc(i, p, shape=SHAPE, backend=backend)[1],
        lambda k, row, col: np.append(0, np.cumsum(np.bincount(col, minlength=COLUMNS))),
    ),
    Operator(
        "csr_sddmm", lambda i, p, backend: eo.csr_sddmm(i, p, C, B, shape=SHAPE, backend=backend), _sampled
    ),
    Operator(
        "csr_gap_current",  # of one row more, which is empty, so that there are as many as columns
        lambda i, p, backend: eo.csr_gap_current(
            DATA, i, np.append(p, p[-1:]), V, shape=(COLUMNS, COLUMNS), backend=backend
        ),
        lambda k, row, col: _added((COLUMNS,), row, DATA[k] * (V[col] - V[row])),
    ),
    Operator(
        "expsyn_step",
        lambda i, p, backend: eo.expsyn_step(
            V, DATA, i, p, ON_ROWS, shape=SHAPE, tau=1.0, dt=1e30, backend=backend
        ),
        lambda k, row, col: _added((COLUMNS,), col, DATA[k] * ON_ROWS[row]),  # everything has decayed
    ),
    Operator(
        "csr_event_arrivals",  # of one slot, so that rows are those of the other operators
        lambda i, p, backend: eo.csr_event_arrivals(
            ON_ROWS[None], DATA, i, p, 3, shape=SHAPE, backend=backend
        ),
        lambda k, row, col: _added((COLUMNS,), col, DATA[k] * ON_ROWS[row]),
    ),
    Operator(
        "csr_event_deliver",
        lambda i, p, backend: eo.csr_event_deliver(
            BUFFER, DATA, i, p, DELAYS, ON_ROWS, 3, shape=SHAPE, backend=backend
        ),
        lambda k, row, col: _added(
            BUFFER.shape, ((3 + DELAYS[k]) % 4, col), DATA[k] * ON_ROWS[row], start=BUFFER
        ),
    ),
    Operator(
        "stdp_on_pre",
        lambda i, p, backend: eo.stdp_on_pre(
            W, i, p, ON_ROWS, V, shape=SHAPE, A_minus=0.01, backend=backend, **STDP
        ),
        _depressed,
    ),
    Operator(
        "stdp_on_post",
        lambda i, p, backend: eo.stdp_on_post(
            W, i, p, PLACES, ON_COLUMNS, U, shape=SHAPE, A_plus=0.01, backend=backend, **STDP
        ),
        _potentiated,
        by_column=True,
    ),
)
