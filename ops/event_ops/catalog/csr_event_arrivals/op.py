"""The operator `csr_event_arrivals`: checks, backends, derivatives."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import FLOAT_WEIGHTS, FLOATS, check_dtype, check_shape, summed_in
from event_ops.checks.csr import check_flat, check_weight_count, event_weights, matrix_shape, readable
from event_ops.checks.inputs import as_input
from event_ops.checks.keywords import initial_sums, known_flags
from event_ops.checks.values import contract
from event_ops.kernels.reference.entries import rows_of, values_at
from event_ops.kernels.reference.history import checked_slot_of, lagged
from event_ops.rules.linear_inputs import transpose_of
from ffi_bridge import get_operator


@contract(history=contracts.recent_ids, indices=contracts.columns, indptr=contracts.ends_of("indices"))
def csr_event_arrivals(
    history: ArrayLike,
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    slot: ArrayLike,
    *,
    shape: tuple[int, int],
    initial: ArrayLike = 0,
    encoding: str = "flags",
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`y[indices[k]] += data[k] * history[(slot - d) % slots, i]` for each entry k of row i * slots + d.

    What arrives in a step through synapses with delays, added to `initial`. Row i * slots + d of the CSR
    matrix is what neuron i sends with a delay of d steps; history is a ring of the events of the last `slots`
    steps, of which the step writes one row: `history.at[step % slots].set(events)`. Write it after this call,
    and delays begin at 1; before, and a delay of 0 arrives in the step of its spike. Only rows of active
    events are looked at, as in `csr_event_matvec`; an entry whose column is not in [0, columns) contributes
    nothing. Differentiable in data, initial and float histories; what a cotangent of NaN does is as there.

    With spike ids a step costs what its spikes do, and nothing for neurons that are silent; with flags and
    bits it looks at all of the history.

    Large networks are faster so than with `csr_event_deliver`: entries add to one vector of the targets,
    which stays in a processor's cache, in place of all slots of a ring buffer. Where those fit into it, too,
    up to some 10,000 neurons, the other is as fast, and takes rows in any order, with a delay per entry.

    In a loop over steps write the step's events before this call where no entry has a delay of 0: the sums
    are the same. XLA copies a history that is read before it is written, all of it and in every step, unless
    `y, history = jax.lax.optimization_barrier((y, history))` says so (jaxlib 0.12 heeds it, 0.10 does not).

    Args:
        history: (slots, rows), slots >= 1; bool, or the dtype of y. With encoding="counts":
            integers, best of 8 or 16 bits, since wider ones become floats first. With encoding="bits":
            (slots, ceil(rows / 32)), uint32, each row as `pack_events` returns it. With encoding="ids":
            (slots, capacity), int32, each row as `spike_compact` returns it: the ids of the active ones, then
            only padding, which is out of range; begin with `jnp.full((slots, capacity), rows, jnp.int32)`.
            Whether an id behind padding counts is open, and `event_ops.validate()` refuses it.
        data: (nse,), the weights; float32, float64, float16 or bfloat16. Or one weight for all
            entries: 0-d, (1,) or a number.
        indices: (nse,), the column of each weight; int32, int64 or unsigned.
        indptr: (rows * slots + 1,), non-decreasing: row i * slots + d is the entries from
            indptr[i * slots + d] up to indptr[i * slots + d + 1].
        slot: 0-d or a Python int, the slot of the current step, taken modulo slots, so that the number of the
            step will do; int32, int64 or uint32. A counter in int32 loses its place after 2**31 steps, 59 h
            of 0.1 ms each, unless slots divides 2**32: for longer runs, carry (slot + 1) % slots.
        shape: (rows, columns): how many neurons send and receive; static.
        initial: (columns,), 0-d or a number, what the sums begin with; dtype of y. An array is updated
            in place where it is not needed again.
        encoding: "flags", one element for each event, "counts", "bits" or "ids".
        deterministic: the same bits at every call, also on a GPU: it then costs a sort of all entries there,
            not only those of active events.
        backend: run on this one or not at all; default: choose.

    Returns:
        y: (columns,); dtype of data, or float32 if that has 16 bits; the sum's order is open unless
            deterministic.

    Raises:
        TypeError: a dtype that is not taken, or a float history of another dtype than y.
        ValueError: a shape that does not fit, or an unknown encoding.

    Example:
        >>> import numpy as np
        >>> from event_ops import CSR, csr_event_arrivals
        >>> pre, post, delay, slots = np.int32([0, 0, 1]), np.int32([1, 2, 0]), np.int32([1, 2, 1]), 3
        >>> A = CSR.from_coo(pre * slots + delay, post, np.float32([5, 6, 7]), shape=(2 * slots, 3))
        >>> history = np.array([[True, False], [False, True], [False, False]])  # of steps 0, 1 and 2
        >>> csr_event_arrivals(history, A.data, A.indices, A.indptr, 2, shape=(2, 3))
        Array([7., 0., 6.], dtype=float32)
    """
    history, indices, indptr = map(as_input, (history, indices, indptr))
    data = event_weights(data, indices, history.dtype if history.dtype in FLOATS else float)
    shape = matrix_shape(shape)
    check_dtype("data", data, FLOAT_WEIGHTS)
    slot = checked_slot_of(history, data, shape[0], slot, encoding)
    check_flat(indices=indices, indptr=indptr)
    rows, slots = shape[0], history.shape[0]
    why = f"rows * slots + 1 for {rows} rows and {slots} slots: row i * slots + d has the delay d"
    check_shape("indptr", indptr, (rows * slots + 1,), why=why)
    check_weight_count(data, indices)
    outs = jax.ShapeDtypeStruct((shape[1],), summed_in(data))
    history = readable(history, encoding, outs.dtype)
    static = {"shape": shape, **known_flags(deterministic=deterministic)}
    first = initial_sums(initial, outs, "data", data)
    return kernel(history, data, indices, indptr, slot, first, outs=outs, backend=backend, **static)


def _formula(
    history: Any, data: Any, indices: Any, indptr: Any, slot: Any, _: Any, *, shape: Any, **params: Any
) -> Any:
    """Return the arrivals as a product with the transpose of the matrix, without `initial`."""
    slots = history.shape[0]
    events = lagged(history, slot, shape[0], params["outs"].dtype)
    if events.dtype not in (jnp.bool, history.dtype) and data.ndim:
        # Counts, of ids too, multiply the weights; bools choose, which hides NaN of silent rows.
        counts = values_at(events, rows_of(indptr, indices.shape[0]))
        data, events = data.astype(counts.dtype) * counts, events != 0
    params |= {"shape": (shape[0] * slots, shape[1]), "transpose": True}
    return get_operator("csr_event_matvec")(data, indices, indptr, events, **params)


kernel = define_operator(
    "csr_event_arrivals",
    "sparse event-driven synapse",
    family="arrivals",
    linear=(0, 1),
    initial=5,
    has_atomics=True,
)
kernel.def_transpose_rule(transpose_of(_formula, 0, 1))
