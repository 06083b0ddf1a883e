"""The operator `compact_event_arrivals`: checks, backends, derivatives."""

from __future__ import annotations

from typing import Any

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import as_array
from event_ops.checks.csr import matrix_shape, readable
from event_ops.checks.inputs import as_input, reshaped
from event_ops.checks.keywords import initial_sums
from event_ops.checks.packed_entries import ascending, check_parts, equal_starts, scale_of
from event_ops.checks.values import contract
from event_ops.kernels.reference.arrivals import Part, arrivals
from event_ops.kernels.reference.history import checked_slot_of
from event_ops.rules.linear_inputs import transpose_of
from ffi_bridge import get_operator


@contract(
    history=contracts.recent_ids,
    starts=contracts.starts,
    entries=contracts.words,
    indptr=contracts.ends_of("entries"),
)
def compact_event_arrivals(
    history: ArrayLike,
    entries: ArrayLike,
    indptr: ArrayLike,
    scale: ArrayLike,
    slot: ArrayLike,
    *,
    shape: tuple[int, int],
    starts: ArrayLike | None = None,
    initial: ArrayLike = 0,
    encoding: str = "flags",
    backend: str | None = None,
) -> jax.Array:
    """`y[column[k]] += code[k] * scale[i] * history[(slot - d) % slots, i]`, word k in row i * slots + d.

    What `csr_event_arrivals` computes, for a matrix whose entries are words, in parts: part p has the columns
    from starts[p] up to starts[p + 1]. The low `(columns - 1).bit_length()` bits of a 32-bit word are its
    column, counted from the first of its part, the others its code, signed; a 16-bit word is a column, and
    its code is 1. A word whose column is not one of its part contributes nothing, nor do words that no row
    holds. Differentiable in scale, initial and float histories.

    On a CPU each part is the work of one thread, so that no two threads add to one sum, and the bits of y
    depend neither on the number of threads nor on that of parts. Parts of equal work are best, as many as
    there are threads: `CompactCSR.in_parts` makes them.

    Args:
        history: (slots, rows), slots >= 1, the events of the last steps, as for `csr_event_arrivals`: bool,
            or the dtype of scale, or what `encoding` says.
        entries: (nse,), uint32 or uint16, the words, those of the first part in front.
        indptr: (parts, rows * slots + 1), or (rows * slots + 1,) of one part: row i * slots + d of part p is
            the words from indptr[p, i * slots + d] up to indptr[p, i * slots + d + 1]; int32, int64 or
            unsigned.
        scale: (), or a number, of all weights; or (rows,), one for each row of history; float32 or float64,
            finite.
        slot: 0-d or a Python int, the slot of the current step, taken modulo slots, so that the number of the
            step will do; int32, int64 or uint32. A counter in int32 loses its place after 2**31 steps, 59 h
            of 0.1 ms each, unless slots divides 2**32: for longer runs, carry (slot + 1) % slots.
        shape: (rows, columns): how many neurons send and receive; static.
        starts: (parts + 1,), non-decreasing from 0 to columns: where the parts begin; int32, int64 or
            unsigned. Default: parts of ceil(columns / parts) columns, of which the last may have fewer.
        initial: (columns,), 0-d or a number, what the sums begin with; dtype of scale. An array is updated
            in place where it is not needed again.
        encoding: "flags", "counts", "bits" or "ids", as for `csr_event_arrivals`.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (columns,); dtype of scale; on a GPU the sum's order is open.

    Raises:
        TypeError: a dtype that is not taken, or a float history of another dtype than scale.
        ValueError: a shape that does not fit, too many columns, or an unknown encoding.

    Example:
        >>> import numpy as np
        >>> from event_ops import compact_event_arrivals
        >>> # neuron 0 sends 5 to neuron 1 after a step, 6 to neuron 2 after two; neuron 1 sends 7 to neuron 0
        >>> entries = np.array([5 << 2 | 1, 6 << 2 | 2, 7 << 2 | 0], np.uint32)
        >>> indptr = np.array([0, 0, 1, 2, 2, 3, 3])  # rows i * 3 + d
        >>> history = np.array([[True, False], [False, True], [False, False]])  # of steps 0, 1 and 2
        >>> compact_event_arrivals(history, entries, indptr, 1.0, 2, shape=(2, 3))
        Array([7., 0., 6.], dtype=float32)

    Source: the compressed sparse row format; weights in fixed point.
    """
    history, entries, indptr = map(as_input, (history, entries, indptr))
    scale, shape = scale_of(scale, history.dtype), matrix_shape(shape)
    indptr = reshaped(indptr, (1, indptr.size)) if indptr.ndim == 1 else indptr
    slot = checked_slot_of(history, scale, shape[0], slot, encoding, "scale")
    starts_array, columns = None if starts is None else as_array(starts, "starts"), shape[1]
    check_parts(entries, indptr, scale, starts_array, shape, history.shape[0])
    edges = equal_starts(columns, len(indptr)) if starts_array is None else ascending(starts_array, columns)
    outs = jax.ShapeDtypeStruct((columns,), scale.dtype)
    history = readable(history, encoding, outs.dtype)
    first = initial_sums(initial, outs, "scale", scale)
    return kernel(
        history, entries, indptr, scale, slot, edges, first, outs=outs, backend=backend, shape=shape
    )


def _formula(*inputs: Any, outs: Any, shape: Any, backend: Any) -> Any:
    """Return the arrivals as products with the transposes of the parts, without `initial`."""

    def product(part: Part) -> jax.Array:
        *operands, size = part
        sums, operator = jax.ShapeDtypeStruct(size[1:], outs.dtype), get_operator("compact_event_matvec")
        return operator(*operands, shape=size, outs=sums, transpose=True, backend=backend)

    return arrivals(product, shape, outs.dtype)(*inputs[:-1], 0)


kernel = define_operator(
    "compact_event_arrivals",
    "sparse event-driven synapse atomic",
    family="arrivals",
    linear=(0, 3),
    initial=6,
)
kernel.def_transpose_rule(transpose_of(_formula, 0, 3))
