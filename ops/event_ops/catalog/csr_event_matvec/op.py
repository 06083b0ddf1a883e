"""The operator `csr_event_matvec`: checks, backends, derivatives."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.products import Factor, csr_product
from event_ops.checks.values import contract
from event_ops.kernels.reference.entries import one_each, rows_of, values_at
from event_ops.rules.products import by_place, fold_into, product_transpose


@contract(
    indices=contracts.columns,
    indptr=contracts.ends_of("indices"),
    events=contracts.spike_ids,
    permutation=contracts.permutation_of("indices"),
)
def csr_event_matvec(
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    events: ArrayLike,
    permutation: ArrayLike | None = None,
    *,
    shape: tuple[int, int],
    transpose: bool = False,
    encoding: str = "flags",
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y = A @ events`, or `y = A.T @ events`, over active events: bools that are True, floats not zero.

    An active bool event counts as 1, a float one as its value. An inactive event contributes exactly 0, even
    where its weight is NaN or infinite. With transpose=True (rows are presynaptic neurons) the cost follows
    the number of spikes, after one pass over events and y; without it every entry is looked at. An entry
    whose column is not in [0, columns) contributes nothing. Differentiable in data and in float events, at
    inactive ones too: the product is linear in an event's value.

    The gradient of a weight is the cotangent times the event that it meets. Bools, counts, ids and bits that
    are inactive give exactly 0, even if the cotangent is NaN or infinite; a float event multiplies, and 0
    times NaN is NaN. One weight for all takes nothing from an output at which nothing arrives.

    Args:
        data: (nse,), the weights; float32, float64, float16 or bfloat16. Or one weight for all
            entries: 0-d, (1,) or a number.
        indices: (nse,), the column of each weight; int32, int64 or unsigned.
        indptr: (rows + 1,), non-decreasing: row i is the entries from indptr[i] up to indptr[i + 1].
        events: (columns,), or (rows,) with transpose=True; bool, or the dtype of y. Or what `encoding`
            says.
        permutation: (nse,), where in data the weight of each entry is, each place once: entry k has weight
            data[permutation[k]], and weight 0 if that is out of range; int32, int64 or unsigned. Default: k.
        shape: (rows, columns) of A, static; not of the transpose.
        transpose: multiply with A.T.
        encoding: "flags"; "counts": integers, how many times each event counts, with its sign if negative,
            best of 8 or 16 bits, since wider ones become floats first; "ids": events is (capacity,)
            int32, as `spike_compact` returns it, in which each id in [0, n) is an active event that counts as
            1, once per occurrence, and others, such as the padding, are ignored; or "bits": (ceil(n / 32),)
            uint32, as `pack_events` returns it.
        deterministic: the same bits at every call, also on a GPU: a transposed product then costs a sort of
            all entries there, not only those of active events.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (rows,), or (columns,) with transpose=True; dtype of data, or float32 if that has 16 bits;
            the sum's order is open unless deterministic.

    Raises:
        TypeError: a dtype that is not taken, or float events of another dtype than y.
        ValueError: a shape that does not fit `shape`, or an unknown encoding.

    Example:
        >>> import numpy as np
        >>> from event_ops import csr_event_matvec
        >>> # [[1, 0, 2], [0, 3, 0]]
        >>> A = np.float32([1, 2, 3]), np.int32([0, 2, 1]), np.int32([0, 2, 3])
        >>> csr_event_matvec(*A, np.array([True, False]), shape=(2, 3), transpose=True)
        Array([1., 0., 2.], dtype=float32)
    """
    factor = Factor("events", events, are_events=True, encoding=encoding)
    return csr_product(
        kernel, data, indices, indptr, factor, shape, transpose, deterministic, backend, permutation
    )


kernel = define_operator(
    "csr_event_matvec", "sparse event-driven", family="csr_products", linear=(0, 3), has_atomics=True
)
_by_product = product_transpose(kernel)


@kernel.def_transpose_rule
def _transpose(
    ct: Any, data: Any, indices: Any, indptr: Any, events: Any, *permutation: Any, **params: Any
) -> list[Any]:
    if ad.is_undefined_primal(events) or data.aval.ndim == 0:
        return _by_product(ct, data, indices, indptr, events, *permutation, **params)
    flat = one_each(events, params["shape"][0 if params["transpose"] else 1], ct.dtype)
    if flat.dtype in (jnp.bool, events.dtype):
        return _by_product(ct, data, indices, indptr, flat, *permutation, **params)
    # Bools choose: a count of 0 or a missing id adds exactly 0, also where the cotangent is infinite.
    unrounded = ad.UndefinedPrimal(data.aval.update(dtype=ct.dtype))
    terms, *others = _by_product(ct, unrounded, indices, indptr, flat != 0, **params)
    sources = rows_of(indptr, indices.shape[0]) if params["transpose"] else indices
    counted = by_place(terms * values_at(flat, sources), *permutation)
    return [counted.astype(data.aval.dtype), *others, *[None] * len(permutation)]


# Transposed products stay apart: with few active events, one vector after another misses the cache less.
_folded = fold_into(kernel, "csr_event_matmat", transposed=False, operand=3)


@kernel.def_batching_rule
def _batch(
    args: Any, axes: Any, *, transpose: bool, shape: tuple[int, int], **params: Any
) -> tuple[Any, int]:
    data, indices, indptr, events, *permutation = args
    if not transpose and axes[3] is not None:
        # A column of the matrix of events has a flag or number per event, unlike spike ids and bits.
        flat = jax.vmap(lambda x: one_each(x, shape[1], params["outs"].dtype), axes[3])
        events, axes = flat(events), (*axes[:3], 0, *axes[4:])
    operands = data, indices, indptr, events, *permutation
    return _folded(operands, axes, transpose=transpose, shape=shape, **params)
