"""The operator `csr_event_deliver`: checks, backends, derivatives."""

from __future__ import annotations

from typing import Any

import jax
from jax.typing import ArrayLike

from event_ops.catalog import define_operator
from event_ops.checks import contracts
from event_ops.checks.arrays import (
    FLOAT_WEIGHTS,
    FLOATS,
    INTEGERS,
    check_dtype,
    check_factor_dtype,
    check_rank,
    check_shape,
)
from event_ops.checks.csr import check_csr, check_events, check_operand, event_weights, matrix_shape
from event_ops.checks.inputs import as_input
from event_ops.checks.keywords import known_flags
from event_ops.checks.ring_buffer import arrival_places, check_delays, checked_slot
from event_ops.checks.values import contract
from event_ops.rules.linear_inputs import transpose_of
from ffi_bridge import get_operator


@contract(indices=contracts.columns, indptr=contracts.ends_of("indices"), delays=contracts.delays)
def csr_event_deliver(
    buffer: ArrayLike,
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    delays: ArrayLike,
    spikes: ArrayLike,
    slot: ArrayLike,
    *,
    shape: tuple[int, int],
    deterministic: bool = False,
    backend: str | None = None,
) -> jax.Array:
    """`buffer[(slot + delays[k]) % slots, indices[k]] += data[k] * spikes[i]` for each entry k of row i.

    Rows of A are presynaptic neurons; only the entries of those that spike are looked at, and the buffer is
    updated in place where it is not needed again: the cost follows the number of spikes, after one pass over
    spikes. What is active, what it adds, and what a cotangent of NaN does is as in `csr_event_matvec`; an
    entry whose column is not in [0, columns) contributes nothing. Differentiable in buffer, data and float
    spikes. On the CPU many active entries are shared by the threads where rows are in the order of their
    delays; in any other, one thread adds them.

    `read_slot` takes out what arrives in a step. Call it after this one, and a delay of 0 arrives in the step
    of its spike; call it before, and delays begin at 1, since a 0 would arrive `slots` steps later.

    Args:
        buffer: (slots, columns), pending input, one row for each of the next `slots` steps, slots >= 1;
            float32 or float64; in the unit of data.
        data: (nse,), the weights; dtype of buffer, float16 or bfloat16. Or one weight for all
            entries: 0-d, (1,) or a number.
        indices: (nse,), the column of each weight; int32, int64 or unsigned.
        indptr: (rows + 1,), non-decreasing: row i is the entries from indptr[i] up to indptr[i + 1].
        delays: (nse,), in steps, in [0, slots), in the order of data, which `CSR.from_coo` changes and tells
            with return_order=True; or 0-d: the same for all; any integers. Values that are known when the
            call is traced are checked then: once for a jitted function that closes over them, in every call
            without jit. Traced ones, such as arguments of a jitted function, are checked in
            `event_ops.validate()`, and not without: an entry whose delay is out of range adds nothing.
        spikes: (rows,); bool, or the dtype of buffer.
        slot: 0-d or a Python int, the slot of the current step, taken modulo slots, so that the number of the
            step will do; int32, int64 or uint32. A counter in int32 loses its place after 2**31 steps, 59 h
            of 0.1 ms each, unless slots divides 2**32: for longer runs, carry (slot + 1) % slots.
        shape: (rows, columns) of A, static.
        deterministic: the same bits at every call, also on a GPU: it then costs a sort of all entries there,
            not only those of active spikes.
        backend: run on this one or not at all; default: choose.

    Returns:
        buffer: shape and dtype of buffer. The order of the sum, so its rounding, is open, unless
            deterministic.

    Raises:
        TypeError: a dtype that is not taken, or that does not fit that of buffer.
        ValueError: a shape that does not fit, or a delay that is out of range where it is known when traced.
    """
    as_given = delays
    buffer, indices, indptr, delays = map(as_input, (buffer, indices, indptr, delays))
    spikes = as_input(spikes)
    check_dtype("buffer", buffer, FLOATS)
    data = event_weights(data, indices, buffer.dtype)
    shape = matrix_shape(shape)
    check_csr(data, indices, indptr, shape, FLOAT_WEIGHTS)
    check_factor_dtype("buffer", buffer, "data", data)
    check_events("spikes", spikes, data)
    check_operand("spikes", spikes, shape, transpose=True)
    slot = _checked_slot(buffer, slot, shape)
    check_dtype("delays", delays, INTEGERS)
    check_shape("delays", delays, indices.shape, (), why="one per entry, as many as indices, or one for all")
    check_delays(as_given, buffer.shape[0])
    outs = jax.ShapeDtypeStruct(buffer.shape, buffer.dtype)
    static = {"shape": shape, **known_flags(deterministic=deterministic)}
    return kernel(buffer, data, indices, indptr, delays, spikes, slot, outs=outs, backend=backend, **static)


def _checked_slot(buffer: jax.Array, slot: Any, shape: tuple[int, int]) -> jax.Array:
    """Return `slot` as an array; raise unless `buffer` has slots of as many columns as the matrix."""
    check_rank("buffer", buffer, 2, "(slots, columns)")
    array = checked_slot("buffer", buffer, slot)
    why = f"slots, and one column per column of shape={shape}"
    check_shape("buffer", buffer, (buffer.shape[0], shape[1]), why=why)
    return array


def _formula(_: Any, data: Any, *structure: Any, outs: Any, **params: Any) -> Any:
    """Return the sums to add: a transposed product, with a column for each place of the buffer."""
    indices, indptr, delays, spikes, slot = structure
    columns = arrival_places(indices, delays, slot, outs)
    params |= {"shape": (indptr.shape[0] - 1, outs.size), "transpose": True}
    flat, product = jax.ShapeDtypeStruct((outs.size,), outs.dtype), get_operator("csr_event_matvec")
    return product(data, columns, indptr, spikes, outs=flat, **params).reshape(outs.shape)


kernel = define_operator(
    "csr_event_deliver",
    "sparse event-driven synapse",
    family="arrivals",
    linear=(1, 5),
    initial=0,
    has_atomics=True,
)
kernel.def_transpose_rule(transpose_of(_formula, 1, 5, initial=0))
