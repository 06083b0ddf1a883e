"""`gspmm` and `gsddmm`, a table of storages and reductions, for the conformance kit.

`pytest --operators message_operators`.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops import CSR, ELL, gsddmm, gspmm
from event_ops.cases import Arguments, Case, Rounding, changes_to
from event_ops.cases.draw import Draw, Shape, drawn
from event_ops.discover import Operator
from event_ops.kernels.oracle import csr_entries, wide
from event_ops.messages.passes import kernel

STORAGES = "csr", "planned", "transposed", "ell", "dense"
REDUCTIONS = "sum", "mean", "max", "min", "mul"


def message(weight: Any, x_src: Any, x_dst: Any) -> Any:
    """Return a message that reads at every place, with a choice and a function."""
    return weight * jnp.where(x_src > x_dst, x_src - x_dst, jnp.tanh(x_dst)) + 1


def message_in_numpy(weight: Any, x_src: Any, x_dst: Any) -> Any:
    """The same, of NumPy's numbers."""
    return weight * np.where(x_src > x_dst, x_src - x_dst, np.tanh(x_dst)) + 1


def matrix(data: Any, indices: Any, indptr: Any, shape: Shape, storage: str) -> Any:
    """Return the matrix of a storage; a dense one has the entries of all rows, one behind the other."""
    if storage == "dense":
        return data.reshape(shape)
    if storage == "ell":
        grid = shape[0], -1
        return ELL(data.reshape(grid), indices.reshape(grid), shape=shape, validate=False)
    A = CSR((data, indices, indptr), shape=shape, validate=False)
    return A.T if storage == "transposed" else A.plan() if storage == "planned" else A


def along_edges(
    data: Any, indices: Any, indptr: Any, x_src: Any, x_dst: Any,
    *, shape: Shape, storage: str, at_edges: bool = False, **named: Any,
) -> jax.Array:  # fmt: skip
    """Call `gspmm`, or `gsddmm` whose results stay at edges."""
    A = matrix(data, indices, indptr, shape, storage)
    product = gsddmm if at_edges else gspmm
    y = product(message, A, x_src=x_src, x_dst=x_dst, **named)
    return y.reshape(-1, *x_src.shape[1:]) if at_edges else y


def oracle(
    data: Any, indices: Any, indptr: Any, x_src: Any, x_dst: Any,
    *, shape: Shape, storage: str, at_edges: bool = False, reduce: str | None = None,
) -> Any:  # fmt: skip
    """Visit the entries in a loop, and reduce the messages of each row."""
    data, x_src, x_dst = map(wide, (data, x_src, x_dst))
    entries = csr_entries(indices, indptr, shape)
    if storage == "dense":
        entries = [(k // shape[1], k % shape[1], k) for k in range(data.size)]
    z = np.zeros((data.size, *x_src.shape[1:]))
    messages: list[list[Any]] = [[] for _ in x_dst]
    for i, j, k in entries:
        row, column = (j, i) if storage == "transposed" else (i, j)
        z[k] = message_in_numpy(data[k], x_src[column], x_dst[row])
        messages[row].append(z[k])
    if at_edges:
        return z
    empty = np.ones(x_src.shape[1:]) if reduce == "mul" else np.zeros(x_src.shape[1:])
    reduced = getattr(np, "prod" if reduce == "mul" else str(reduce))
    return np.stack([reduced(each, axis=0) if each else empty for each in messages])


@drawn
def _edges(
    draw: Draw, storage: str, shape: Shape = (7, 9), width: tuple[int, ...] = (3,), **options: Any
) -> Arguments:
    """Return edges, some of them to no column, so that one row has none."""
    per_row = shape[1] if storage == "dense" else 4
    data, indices, indptr = draw.fixed_degree_csr(shape, per_row)
    indices[:per_row] = indices[::5] = shape[1] + 2
    sources, targets = shape if storage == "transposed" else shape[::-1]
    x_src, x_dst = (draw.rng.uniform(-1, 1, (n, *width)).astype(draw.dtype) for n in (sources, targets))
    arrays = data, indices, indptr, x_src, x_dst
    return arrays, {"shape": shape, "storage": storage} | options


_MOVING = 0, 3, 4
_case = partial(Case, differentiable=_MOVING, tolerance=4)
# Each reduction on CSR, and each storage with one that a transposed visit serves.
_REDUCED = [("csr", reduce) for reduce in REDUCTIONS] + [(storage, "sum") for storage in STORAGES[1:]]
_X = np.ones((2, 1), np.float32)
_wrong = changes_to(
    {
        "data": np.ones(2, np.float32), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]),
        "x_src": _X, "x_dst": _X,
    },
    shape=(2, 2), storage="csr",
)  # fmt: skip
_WRONG = (
    _wrong("reduce", ValueError, "reduce is 'median'; expected 'sum' or", reduce="median"),
    _wrong("short", ValueError, r"x_src has shape \(1, 1\); expected a number", x_src=_X[:1]),
    _wrong("mixed", TypeError, "expected one dtype", x_src=_X.astype(np.float16)),
    _wrong("integer", TypeError, "x_dst has dtype int32", x_dst=_X.astype(np.int32)),
)

_DTYPES = "float32", "float64"
OPERATORS = (
    Operator(
        "gspmm",
        along_edges,
        kernel,
        _DTYPES,
        (
            *(_case(f"{storage}-{x}", _edges(storage, reduce=x)) for storage, x in _REDUCED),
            _case("no-features", _edges("csr", width=(), reduce="sum")),
            Case("threads", _edges("csr", (90_000, 500), reduce="sum")),
        ),
        _WRONG,
        oracle,
        Rounding(16),
    ),
    Operator(
        "gsddmm",
        along_edges,
        kernel,
        _DTYPES,
        tuple(_case(storage, _edges(storage, at_edges=True)) for storage in STORAGES),
        (),
        oracle,
        Rounding(16),
    ),
)
