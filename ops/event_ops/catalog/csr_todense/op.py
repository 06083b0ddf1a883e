"""The operator `csr_todense`: checks, backends, derivatives."""

from __future__ import annotations

from typing import Any

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import WEIGHTS, as_array, summed_in
from event_ops.checks.csr import check_csr, event_weights, matrix_shape
from event_ops.checks.keywords import known_flags
from event_ops.checks.values import contract
from event_ops.kernels.reference.entries import dense_at, rows_of


@contract(indices=contracts.columns, indptr=contracts.ends_of("indices"))
def csr_todense(
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    *,
    shape: tuple[int, int],
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`D[i, indices[k]] += data[k]` for the entries k of every row i: a CSR matrix as a dense array.

    Entries may be unsorted, and duplicates add up. An entry whose column is not in [0, columns) is left out,
    and so are entries outside of what indptr spans. Linear in data, and differentiable in it.

    Args:
        data: (nse,), the weights; any real, complex or integer dtype of 32 or 64 bits; float16, bfloat16 or
            an integer of 8 or 16 bits. Or one weight for all entries: 0-d, (1,) or a number.
        indices: (nse,), the column of each weight; int32, int64 or unsigned.
        indptr: (rows + 1,), non-decreasing: row i is the entries from indptr[i] up to indptr[i + 1].
        shape: (rows, columns), static.
        deterministic: the same bits at every call, also on a GPU: a row is one thread's there.
        backend: run on this one or not at all; default: choose.

    Returns:
        D: (rows, columns); dtype of data, into which sums of 16 bits are rounded once; 0 where there is no
            entry.

    Raises:
        TypeError: a dtype that is not taken.
        ValueError: a shape that does not fit `shape`.
    """
    indices, indptr = as_array(indices), as_array(indptr)
    data = event_weights(data, indices, float)
    shape = matrix_shape(shape)
    check_csr(data, indices, indptr, shape, WEIGHTS)
    return todense(
        data, indices, indptr, shape=shape, **known_flags(deterministic=deterministic), backend=backend
    )


def todense(data: jax.Array, *structure: jax.Array, shape: tuple[int, int], **static: Any) -> jax.Array:
    """Return the dense array of a matrix that has been checked, rounded once where weights have 16 bits."""
    outs = jax.ShapeDtypeStruct(shape, summed_in(data))
    return kernel(data, *structure, outs=outs, **static).astype(data.dtype)


kernel = define_operator("csr_todense", "sparse float", family="conversions", linear=(0,), has_atomics=True)


@kernel.def_transpose_rule
def _transpose(ct: Any, data: Any, indices: Any, indptr: Any, **_: Any) -> list[Any]:
    terms = dense_at(ct, rows_of(indptr, indices.shape[0]), indices)
    return [(terms if data.aval.ndim else terms.sum()).astype(data.aval.dtype), None, None]
