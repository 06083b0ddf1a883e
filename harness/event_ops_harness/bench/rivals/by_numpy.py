"""NumPy: sums at places, dense products, packed bits, the places of spikes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from event_ops_harness.bench.steps import Problem
from event_ops_harness.bench.timing import Run, repeated


def _scatter(problem: Problem) -> dict[str, Run]:
    target, indices, updates = problem.args
    positive = np.where(indices < 0, indices + target.size, indices)
    return {
        "np.add.at": repeated(lambda: _added(target.copy(), positive, updates)),
        "np.bincount": repeated(lambda: target + np.bincount(positive, updates, minlength=target.size)),
    }


def _segments(problem: Problem) -> dict[str, Run]:
    (data, ids), size = problem.args, problem.kwargs["num_segments"]
    return {
        "np.add.at": repeated(lambda: _added(np.zeros(size, data.dtype), ids, data)),
        "np.bincount": repeated(lambda: np.bincount(ids, data, minlength=size)),
    }


def _added(y: np.ndarray, places: np.ndarray, terms: np.ndarray) -> np.ndarray:
    np.add.at(y, places, terms)
    return y


def _dense(problem: Problem) -> dict[str, Run]:
    weights, events = problem.args
    by_event = weights if problem.kwargs.get("transpose") else weights.T
    numbers = events.astype(weights.dtype)
    return {
        "NumPy, BLAS": repeated(lambda: numbers @ by_event),
        "NumPy, active rows": repeated(lambda: by_event[events].sum(axis=0)),
    }


def _packed(problem: Problem) -> dict[str, Run]:
    (events,) = problem.args
    return {"np.packbits": repeated(lambda: np.packbits(events, bitorder="little"))}


def _unpacked(problem: Problem) -> dict[str, Run]:
    options: Any = {"count": problem.kwargs["n"], "bitorder": "little"}
    octets = problem.args[0].view(np.uint8)
    return {"np.unpackbits": repeated(lambda: np.unpackbits(octets, **options))}


def _nonzero(problem: Problem) -> dict[str, Run]:
    (spikes,) = problem.args
    return {"np.flatnonzero": repeated(lambda: np.flatnonzero(spikes))}


OFFERS: Final = {
    "dense_event_matvec": _dense,
    "pack_events": _packed,
    "scatter_add": _scatter,
    "segment_sum": _segments,
    "spike_compact": _nonzero,
    "unpack_events": _unpacked,
}
