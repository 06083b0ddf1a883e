"""NumPy: sums at places, dense products, packed bits, the places of spikes."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from event_ops_harness.bench.steps import Problem
from event_ops_harness.bench.timing import Steps, repeated


def _scatter_by_ufunc(problem: Problem) -> Steps:
    _, indices, updates = problem.args
    return _in_place(problem, lambda y: np.add.at(y, indices, updates))


def _scatter_by_count(problem: Problem) -> Steps:
    target, indices, updates = problem.args
    places = np.where(indices < 0, indices + target.size, indices)
    return _in_place(problem, lambda y: np.add(y, np.bincount(places, updates, y.size), y, casting="unsafe"))


def _in_place(problem: Problem, update: Callable[[np.ndarray], Any]) -> Steps:
    """Return steps that update one array, as the operator does."""

    def run(steps: int) -> np.ndarray:
        y = problem.args[0].copy()
        for _ in range(steps):
            update(y)
        return y

    return Steps(run)


def _segments_by_ufunc(problem: Problem) -> Steps:
    (data, ids), size = problem.args, problem.kwargs["num_segments"]
    return Steps(repeated(lambda: _added(np.zeros(size, data.dtype), ids, data)))


def _segments_by_count(problem: Problem) -> Steps:
    (data, ids), size = problem.args, problem.kwargs["num_segments"]
    return Steps(repeated(lambda: np.bincount(ids, data, minlength=size)))


def _added(y: np.ndarray, places: np.ndarray, terms: np.ndarray) -> np.ndarray:
    np.add.at(y, places, terms)
    return y


def _dense(problem: Problem) -> Steps:
    by_event = _by_event(problem)
    return _with_other_events(problem, lambda events: events.astype(by_event.dtype) @ by_event)


def _active_rows(problem: Problem) -> Steps:
    by_event = _by_event(problem)
    return _with_other_events(problem, lambda events: by_event[events].sum(axis=0))


def _by_event(problem: Problem) -> np.ndarray:
    return problem.args[0] if problem.kwargs.get("transpose") else problem.args[0].T


def _with_other_events(problem: Problem, product: Callable[[np.ndarray], Any]) -> Steps:
    """Return steps each of which has the events that the operator has in it, not the same ones, in caches."""
    bank = problem.bank

    def run(steps: int) -> Any:
        result = None
        for t in range(steps):
            result = product(bank[t % len(bank)])
        return result

    return Steps(run)


def _packed(problem: Problem) -> Steps:
    (events,) = problem.args
    return Steps(repeated(lambda: np.packbits(events, bitorder="little")), _words)


def _words(octets: np.ndarray) -> np.ndarray:
    return np.pad(octets, (0, -octets.size % 4)).view(np.uint32)


def _unpacked(problem: Problem) -> Steps:
    options: Any = {"count": problem.kwargs["n"], "bitorder": "little"}
    octets = problem.args[0].view(np.uint8)
    return Steps(repeated(lambda: np.unpackbits(octets, **options)))


def _nonzero(problem: Problem) -> Steps:
    (spikes,) = problem.args
    capacity = problem.kwargs.get("capacity") or spikes.size

    def filled(ids: np.ndarray) -> tuple[np.ndarray, int]:
        return np.pad(ids[:capacity], (0, max(0, capacity - ids.size)), constant_values=spikes.size), ids.size

    return Steps(repeated(lambda: np.flatnonzero(spikes)), filled)


OFFERS: Final = {
    "dense_event_matvec": {"NumPy, BLAS": _dense, "NumPy, active rows": _active_rows},
    "pack_events": {"np.packbits": _packed},
    "scatter_add": {"np.add.at": _scatter_by_ufunc, "np.bincount": _scatter_by_count},
    "segment_sum": {"np.add.at": _segments_by_ufunc, "np.bincount": _segments_by_count},
    "spike_compact": {"np.flatnonzero": _nonzero},
    "unpack_events": {"np.unpackbits": _unpacked},
}
