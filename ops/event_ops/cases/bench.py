"""Describe an operator to benchmarks: its state, its linear arguments, the bytes of a call.

Inputs are read once and outputs are written once; what is updated in place is read and written. An
event-driven operator must look at every event and write its outputs, but needs only those entries of a matrix
that active events meet. No byte counts twice, so gathering from a vector at random counts as one pass.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

Call = SimpleNamespace  # the arguments of one call, by name
Outs = Sequence[Any]  # the shapes and dtypes of its outputs
Count = Callable[[Call, Outs], int]  # bytes


def every_array(call: Call, outs: Outs) -> int:
    """Count all arrays among the arguments, and all outputs."""
    return size(*(x for x in vars(call).values() if isinstance(x, (np.ndarray, np.generic))), *outs)


@dataclass(frozen=True)
class Bench:
    """Describe an operator to benchmarks; cases without `BENCH` have the defaults.

    Args:
        carried: position of an input -> position of the output that is its next value: state that a step
            updates in place. Steps of such an operator are timed in a loop.
        linear: positions of the arguments in each of which it is linear, and by which its gradient is timed.
        moved: counts the bytes that one call must move, however well its kernel is written.
    """

    carried: Mapping[int, int] = field(default_factory=dict[int, int], hash=False)
    linear: tuple[int, ...] = ()
    moved: Count = every_array


def csr_event_product(call: Call, outs: Outs) -> int:
    """Count active rows; without transpose all indices, and the weights, and places, that events meet."""
    active = active_flags(call.events, call.shape[not call.transpose], getattr(call, "encoding", "flags"))
    around, weight = size(call.events, *outs), [call.data, *permutation_of(call)]
    if call.transpose:
        return around + rows_of(call.indptr, active, *weight, call.indices)
    met_weights = met(active, call.indices) * sum(map(each, weight))
    return around + size(call.indices, call.indptr) + met_weights


def permutation_of(call: Call) -> list[np.ndarray]:
    """Return the permutation that finds the weights, in a list, or nothing where they are in order."""
    permutation = getattr(call, "permutation", None)
    return [] if permutation is None else [permutation]


def stdp(spikes: str, trace: str, rate: str, *structure: str) -> Count:
    """Count the weights of active rows (or columns) twice, their structure, and the trace at their ends.

    The rate and the bounds count where each weight has its own.
    """

    def count(call: Call, outs: Outs) -> int:
        arguments = vars(call)
        active = active_flags(arguments[spikes], arguments[spikes].size)
        reached = min(entries_of(call.indptr, active), arguments[trace].size)
        by_weight = [arguments[name] for name in (rate, "w_min", "w_max") if np.ndim(arguments[name])]
        arrays = (call.w, call.w, *by_weight, *(arguments[name] for name in structure))
        return (
            size(arguments[spikes]) + rows_of(call.indptr, active, *arrays) + reached * each(arguments[trace])
        )

    return count


def active_flags(events: np.ndarray, neurons: int, encoding: str = "flags") -> np.ndarray:
    """Return which neurons have an event, in any column, given in an encoding; numbers are flags here."""
    if encoding == "ids":
        return np.bincount(events[inside(events, 0, neurons)], minlength=neurons) > 0
    if encoding == "bits":
        return np.unpackbits(events.view(np.uint8), count=neurons, bitorder="little") > 0
    return np.any(events != 0, axis=tuple(range(1, events.ndim)))


def met(active: np.ndarray, indices: np.ndarray) -> int:
    """Count the entries whose column is active; one out of range is not."""
    return int(active[indices[inside(indices, 0, active.size)]].sum())


def inside(ids: Any, low: int, high: int) -> np.ndarray:
    """Return which ids are in [low, high)."""
    return (ids >= low) & (ids < high)


def rows_of(indptr: np.ndarray, active: np.ndarray, *arrays: np.ndarray) -> int:
    """Count the bytes of the entries of active rows in every array, and of both ends of each active row."""
    ends = min(2 * int(np.count_nonzero(active)), indptr.size) * indptr.itemsize
    return ends + entries_of(indptr, active) * sum(map(each, arrays))


def entries_of(indptr: np.ndarray, active: np.ndarray) -> int:
    """Count the entries of active rows."""
    return int(np.diff(indptr)[active].sum())


def initial_sums(call: Call, outs: Outs) -> int:
    """Count the values that sums begin with, unless one value is for all."""
    return size(*outs) if np.ndim(call.initial) else 0


def each(x: Any) -> int:
    """Return the bytes of one entry; 0 for a value that all entries share."""
    return x.dtype.itemsize if np.ndim(x) else 0


def size(*arrays: Any) -> int:
    """Return the bytes of all arrays together."""
    return sum(int(np.prod(x.shape)) * x.dtype.itemsize for x in arrays)
