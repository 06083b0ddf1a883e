"""The operator `compact_event_matvec`: checks, backends, derivatives."""

from __future__ import annotations

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.products import Factor, compact_product
from event_ops.checks.values import contract
from event_ops.rules.packed_entries import product_transpose


@contract(entries=contracts.words, indptr=contracts.ends_of("entries"), events=contracts.spike_ids)
def compact_event_matvec(
    entries: ArrayLike,
    indptr: ArrayLike,
    scale: ArrayLike,
    events: ArrayLike,
    *,
    shape: tuple[int, int],
    transpose: bool = False,
    encoding: str = "flags",
    backend: str | None = None,
) -> jax.Array:
    """`y = A @ events`, or `y = A.T @ events`, for a CSR matrix A whose entries are words.

    The weight of entry k of row i is code[k] * scale[i], or code[k] * scale; `compact_matvec` says what a
    word holds, and `csr_event_matvec` what is active. With transpose=True (rows are presynaptic neurons) the
    cost follows the number of spikes, after one pass over events and y; without it every word is looked at.
    Inactive events contribute exactly 0. A word whose column is not below `columns` contributes nothing.
    Differentiable in scale and in float events, at inactive ones too.

    Args:
        entries: (nse,), uint32, the words; or uint16.
        indptr: (rows + 1,), non-decreasing: row i is the words from indptr[i] up to indptr[i + 1]; int32,
            int64 or unsigned. Of uint16 also (parts, rows + 1), for parts of ceil(columns / parts) columns,
            in which columns are counted from the first of the part.
        scale: (), or a number, of all weights; or (rows,), one for each row; float32 or float64, finite.
        events: (columns,), or (rows,) with transpose=True; bool, or the dtype of scale. Or what `encoding`
            says.
        shape: (rows, columns) of A, static; not of the transpose; at most 2**31 columns, and 2**16 in a
            part of uint16.
        transpose: multiply with A.T.
        encoding: "flags", "counts", "ids" or "bits", as in `csr_event_matvec`.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (rows,), or (columns,) with transpose=True; dtype of scale; the sum's order is open.

    Raises:
        TypeError: a dtype that is not taken, or float events of another dtype than scale.
        ValueError: a shape that does not fit `shape`, too many columns, or an unknown encoding.

    Source: the compressed sparse row format; weights in fixed point.
    """
    factor = Factor("events", events, are_events=True, encoding=encoding)
    return compact_product(kernel, entries, indptr, scale, factor, shape, transpose, backend)


kernel = define_operator(
    "compact_event_matvec", "sparse event-driven", family="compact_products", linear=(2, 3)
)
kernel.def_transpose_rule(product_transpose(kernel))
