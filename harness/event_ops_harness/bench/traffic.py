"""Bytes that must move through memory in one call of an operator, however well its kernel is written.

Inputs are read once and outputs written once; what is updated in place is read and written. An event-driven
operator must look at every event and write its outputs, but of a matrix it needs only what active events
meet. Nothing is counted twice, so a vector that is gathered from at random counts as one pass.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.discover import Operator
from event_ops.parts.reference.history import lagged

# The arguments of one call by name, and the shapes of its outputs.
Count = Callable[[SimpleNamespace, Sequence[Any]], int]


def bytes_moved(operator: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
    """Bytes that one call of `operator` with these arrays must move."""
    bound = inspect.signature(operator.function).bind(*args, **kwargs)
    bound.apply_defaults()
    outs = jax.tree.leaves(jax.eval_shape(partial(operator.function, **kwargs), *args))
    return int(COUNTS.get(operator.name, everything)(SimpleNamespace(**bound.arguments), outs))


def everything(call: SimpleNamespace, outs: Sequence[Any]) -> int:
    """All arrays among the arguments, and all outputs: the rule for operators that have none of their own."""
    return _size(*(x for x in vars(call).values() if isinstance(x, (np.ndarray, np.generic))), *outs)


def _csr_events(call: SimpleNamespace, outs: Sequence[Any]) -> int:
    """Entries of active rows; without transpose all indices, and the weights of entries that are active."""
    size = call.shape[0 if call.transpose else 1]
    active = active_flags(call.events, size, getattr(call, "encoding", "flags"))
    around = _size(call.events, *outs)
    if call.transpose:
        return around + _active_rows(call.indptr, active, call.data, call.indices)
    met = _met(active, call.indices)
    return around + _size(call.indices, call.indptr) + met * _each(call.data)


def _ell_events(call: SimpleNamespace, outs: Sequence[Any]) -> int:
    active = active_flags(call.events, call.shape[0 if call.transpose else 1])
    around = _size(call.events, *outs)
    if call.transpose:
        entries = int(np.count_nonzero(active)) * call.indices.shape[1]
        return around + entries * (_each(call.data) + _each(call.indices))
    met = _met(active, call.indices)
    return around + _size(call.indices) + met * _each(call.data)


def _dense_events(call: SimpleNamespace, outs: Sequence[Any]) -> int:
    rows, columns = call.weights.shape
    size, others = (rows, columns) if call.transpose else (columns, rows)
    active = int(np.count_nonzero(active_flags(call.events, size)))
    return _size(call.events, *outs) + active * others * _each(call.weights)


def _expsyn(call: SimpleNamespace, outs: Sequence[Any]) -> int:
    active = active_flags(call.spikes, call.shape[0])
    return _size(call.g, call.spikes, *outs) + _active_rows(call.indptr, active, call.data, call.indices)


def _deliver(call: SimpleNamespace, outs: Sequence[Any]) -> int:
    """Of the buffer only what arrives somewhere, read and written; at most all of it."""
    active = active_flags(call.spikes, call.shape[0])
    met = min(_entries(call.indptr, active), call.buffer.size)
    matrix = _active_rows(call.indptr, active, call.data, call.indices, call.delays)
    return _size(call.spikes) + matrix + 2 * met * _each(call.buffer)


def _arrivals(call: SimpleNamespace, outs: Sequence[Any]) -> int:
    """The history, of lists only what they hold, and the rows of what was active in it; sums are added to."""
    history, slot = map(jnp.asarray, (call.history, call.slot))
    active = np.asarray(lagged(history, slot, call.shape[0], call.data.dtype)) != 0
    looked_at = active.sum() * _each(call.history) if history.dtype == jnp.int32 else _size(call.history)
    around = looked_at + _size(*outs) + _added(call, outs)
    return around + _active_rows(call.indptr, active, call.data, call.indices)


def _stdp(spikes: str, trace: str, rate: str, *structure: str) -> Count:
    """Weights of active rows (or columns) read and written, their structure, and the trace at their ends.

    So are the rate and bounds, where each weight has its own.
    """

    def count(call: SimpleNamespace, outs: Sequence[Any]) -> int:
        parts = vars(call)
        active = active_flags(parts[spikes], parts[spikes].size)
        met = min(_entries(call.indptr, active), parts[trace].size)
        rule = [parts[name] for name in (rate, "w_min", "w_max") if np.ndim(parts[name])]
        arrays = (call.w, call.w, *rule, *(parts[name] for name in structure))
        rows = _active_rows(call.indptr, active, *arrays)
        return _size(parts[spikes]) + rows + met * _each(parts[trace])

    return count


def _read_slot(call: SimpleNamespace, outs: Sequence[Any]) -> int:
    """One slot is read, handed out and cleared; the others stay where they are."""
    return 3 * _size(outs[0])


def _poisson(call: SimpleNamespace, outs: Sequence[Any]) -> int:
    """A constant mean is tables of the compiled code; whose they are need not be read anew."""
    means = [call.mean] if isinstance(call.mean, jax.Array) else []
    return _size(np.asarray(call.weight), *means, *outs) + _added(call, outs)


def _added(call: SimpleNamespace, outs: Sequence[Any]) -> int:
    """What the sums begin with, unless that is one value for all."""
    return _size(*outs) if np.ndim(call.initial) else 0


def active_flags(events: np.ndarray, size: int, encoding: str = "flags") -> np.ndarray:
    """Which of `size` neurons have an event, in any column, given as flags or numbers, spike ids or bits."""
    if encoding == "ids":
        return np.bincount(events[(events >= 0) & (events < size)], minlength=size) > 0
    if encoding == "bits":
        return np.unpackbits(events.view(np.uint8), count=size, bitorder="little") != 0
    return (events != 0).any(axis=tuple(range(1, events.ndim)))


def _met(active: np.ndarray, indices: np.ndarray) -> int:
    """How many entries have an active column; those out of range have none."""
    return int(np.count_nonzero(active[indices[(indices >= 0) & (indices < active.size)]]))


def _active_rows(indptr: np.ndarray, active: np.ndarray, *arrays: np.ndarray) -> int:
    """The entries of active rows in every array, and the two ends of each such row."""
    ends = min(2 * int(np.count_nonzero(active)), indptr.size) * indptr.itemsize
    return ends + _entries(indptr, active) * sum(map(_each, arrays))


def _entries(indptr: np.ndarray, active: np.ndarray) -> int:
    return int(np.diff(indptr)[active].sum())


def _each(x: np.ndarray) -> int:
    """Bytes of one entry; 0 for a value that all entries share."""
    return x.dtype.itemsize if np.ndim(x) else 0


def _size(*arrays: Any) -> int:
    return sum(int(np.prod(x.shape)) * x.dtype.itemsize for x in arrays)


COUNTS: Final[Mapping[str, Count]] = {
    "csr_event_arrivals": _arrivals,
    "csr_event_deliver": _deliver,
    "csr_event_matmat": _csr_events,
    "csr_event_matvec": _csr_events,
    "dense_event_matvec": _dense_events,
    "ell_event_matvec": _ell_events,
    "expsyn_step": _expsyn,
    "poisson_input": _poisson,
    "read_slot": _read_slot,
    "stdp_on_post": _stdp("spikes_post", "x_pre", "A_plus", "rows", "permutation"),
    "stdp_on_pre": _stdp("spikes_pre", "x_post", "A_minus", "indices"),
}
