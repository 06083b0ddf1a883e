"""Count the operations of products, sums at places and steps of neurons, for `Bench.operations`."""

import math
from typing import Any

import numpy as np

from event_ops.cases.bench import Call, Count, Outs, active_counts, inside, met
from event_ops.cases.matrices import unpacked


def sparse_product(call: Call, outs: Outs) -> int:
    """Count a multiplication and an addition for each entry and each column of the result."""
    indices, indptr = _structure(call)
    columns_of_result = math.prod(outs[0].shape[1:])
    return 2 * terms(np.full(indptr.size - 1, columns_of_result), indices, indptr, call.shape[1])


def sparse_event_product(call: Call, outs: Outs) -> int:
    """Count `each_term` for each entry and each active event that it meets."""
    indices, indptr = _structure(call)
    encoding = getattr(call, "encoding", "flags")
    counts = active_counts(call.events, call.shape[not call.transpose], encoding)
    each = each_term(call.events, encoding)
    if call.transpose:
        return each * terms(counts, indices, indptr, call.shape[1])
    return each * met(counts, spanned(indices, indptr))


def arrivals(call: Call, indices: np.ndarray) -> int:
    """Count `each_term` for each entry of the rows of active spikes."""
    active = active_counts(call.spikes, call.shape[0])
    return each_term(call.spikes) * terms(active, indices, call.indptr, call.shape[1])


def each_term(events: Any, encoding: str = "flags") -> int:
    """Return 2 for numbers and counts, which multiply before they are added, and 1 for flags, ids, bits."""
    return 1 + (events.dtype.kind == "f" or encoding == "counts")


def terms(counts: np.ndarray, indices: np.ndarray, indptr: np.ndarray, columns: int) -> int:
    """Add up, over all entries whose column is in range, the counts of their rows."""
    inside_columns = inside(spanned(indices, indptr), 0, columns)
    return int(np.repeat(counts, np.diff(indptr))[inside_columns].sum())


def spanned(indices: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Return the columns of the entries that rows have."""
    return indices[indptr[0] : indptr[-1]]


def _structure(call: Call) -> tuple[np.ndarray, np.ndarray]:
    """Return indices and indptr, of words and of an ELLPACK matrix, whose rows are equally long, too."""
    if hasattr(call, "entries"):
        _, *structure = unpacked(call.entries, call.indptr, call.shape[1])
        return structure[0], structure[1]
    if hasattr(call, "indptr"):
        return call.indices, call.indptr
    rows, per_row = call.indices.shape
    return call.indices.reshape(-1), per_row * np.arange(rows + 1)


def added_at(ids: np.ndarray, low: int, high: int, mode: str, out: Any) -> int:
    """Count an operation for each element whose id is in [low, high), or whose id "clip" moves there."""
    places = int(np.count_nonzero(inside(ids, low, high)))
    if mode == "clip" and out.shape[0]:
        places = ids.size
    return places * math.prod(out.shape[1:])


def in_segments(call: Call, outs: Outs) -> int:
    """Count an operation for each element of data that has a segment."""
    return added_at(call.segment_ids, 0, outs[0].shape[0], call.mode, outs[0])


def in_target(call: Call, outs: Outs) -> int:
    """Count an operation for each update that has a place; a negative index counts from the end."""
    size = outs[0].shape[0]
    return added_at(call.indices, -size, size, call.mode, outs[0])


def per_element(operations: int) -> Count:
    """Count `operations` for each element of the first output."""
    return lambda call, outs: operations * math.prod(outs[0].shape)


def neuron_step(*, free: int, held: int, inputs: tuple[str, ...]) -> Count:
    """Count `free` or `held` operations for a neuron that is free or held.

    A free one also adds each of the inputs of which it has its own.
    """

    def count(call: Call, outs: Outs) -> int:
        holding = int(np.count_nonzero(call.refractory > np.asarray(call.dt, call.V_m.dtype) / 2))
        separate = sum(np.ndim(vars(call)[name]) > 0 for name in inputs)
        return holding * held + (call.V_m.size - holding) * (free + separate)

    return count


def stdp_change(spikes: str, trace: str, ends: str, places: str | None = None) -> Count:
    """Count a product of rate and trace, a sum and two bounds for each entry of active rows (or columns).

    A spike that is a number multiplies, too. `ends` names where in the trace each entry is, `places` where in
    the weights, if they are not in its order.
    """

    def count(call: Call, outs: Outs) -> int:
        arguments = vars(call)
        events, ids, size = arguments[spikes], arguments[ends], arguments[trace].size
        if places:
            ids = np.where(inside(arguments[places], 0, call.w.size), ids, size)
        entries = terms(active_counts(events, events.size), ids, call.indptr, size)
        return (3 + each_term(events)) * entries

    return count


def generated_product(call: Call, active: int, each: int) -> int:
    """Count the operations of a product of active neurons with a random matrix of the expected size.

    A random number places an entry, in all rows or, transposed, in active ones. Where it meets an active
    neuron it counts `each`, and, unless weights are constant, a random number, a product and a sum for its
    weight.
    """
    rows, columns = call.shape
    met_by_active = active * (columns if call.transpose else rows)
    placed = met_by_active if call.transpose else rows * columns
    weight = 0 if call.distribution == "constant" else 3
    return round(call.prob * (placed + met_by_active * (weight + each)))
