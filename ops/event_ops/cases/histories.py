"""Draw histories in every encoding, make wrong calls with them, and count their bytes."""

import numpy as np

from event_ops.cases import InvalidCall, Wrong
from event_ops.cases.bench import Call, Outs, active_flags, initial_sums, size
from event_ops.cases.draw import Draw, Shape


def drawn_history(draw: Draw, shape: Shape, rate: float, events: str) -> tuple[np.ndarray, dict[str, str]]:
    """Return a history of (slots, rows), and its encoding; `events` is "bits", "ids" or a kind of events."""
    kind = "bool" if events in ("bits", "ids") else events
    history = draw.events(shape[0] * shape[1], rate, kind).reshape(shape)
    if events == "bits":
        return packed_rows(history), {"encoding": "bits"}
    if events == "ids":
        return listed(history, shape[1]), {"encoding": "ids"}
    return history, {"encoding": "counts"} if history.dtype.kind in "iu" else {}


def packed_rows(flags: np.ndarray) -> np.ndarray:
    """Return the rows of flags as words of 32 bits."""
    wide = np.pad(flags, ((0, 0), (0, -flags.shape[1] % 32)))
    return np.packbits(wide, axis=1, bitorder="little").view(np.uint32)


def listed(flags: np.ndarray, capacity: int) -> np.ndarray:
    """Return the rows of flags as the spike ids that `spike_compact` lists."""
    ids = np.full((len(flags), capacity), flags.shape[1], np.int32)
    for row, active in zip(ids, flags, strict=True):
        active_ids = np.flatnonzero(active)[:capacity]
        row[: active_ids.size] = active_ids
    return ids


def invalid_histories(wrong: Wrong) -> tuple[InvalidCall, ...]:
    """Return calls that are wrong in a history of (3, 2) flags, its slot or the initial sums of 4 columns."""
    return (
        wrong("integer", TypeError, "history has dtype int8", history=np.ones((3, 2), "b")),
        wrong("other-float", TypeError, "history has dtype float16", history=np.ones((3, 2), "e")),
        wrong("words", TypeError, "expected uint32", history=np.ones((3, 1), "i"), encoding="bits"),
        wrong("ids", TypeError, "history has dtype bool; expected int32", encoding="ids"),
        wrong("flat-ids", ValueError, "1 dimensions", encoding="ids", history=np.ones(3, "i")),
        wrong("coding", ValueError, "encoding is 'words'; expected 'flags', 'count", encoding="words"),
        wrong("flat-history", ValueError, "history has 1 dimensions", history=np.ones(6, bool)),
        wrong("no-slots", ValueError, "at least one slot", history=np.ones((0, 2), bool)),
        wrong("wide", ValueError, r"expected \(3, 2\): slots, and the", history=np.ones((3, 5), bool)),
        wrong("float-slot", TypeError, "slot has dtype float32", slot=np.float32(1)),
        wrong("narrow-slot", TypeError, "slot has dtype int8", slot=np.int8(1)),
        wrong("slots", ValueError, r"slot has shape \(3,\)", slot=np.zeros(3, np.int32)),
        wrong("initial", ValueError, r"initial has shape \(3,\)", initial=np.ones(3, "f")),
        wrong("whole-initial", TypeError, "initial has dtype int32", initial=np.ones(4, "i")),
    )


def recent_events(call: Call) -> np.ndarray:
    """Return whether there is an event for each neuron and delay."""
    slots, encoding = len(call.history), getattr(call, "encoding", "flags")
    steps = (int(call.slot) - np.arange(slots)) % slots
    flags = [active_flags(call.history[step], call.shape[0], encoding) for step in steps]
    return np.stack(flags, axis=1).reshape(-1)


def around_arrivals(call: Call, outs: Outs, active: np.ndarray) -> int:
    """Count the bytes of the history, lists only as far as they are filled, and of the sums."""
    lists = call.history.dtype == np.int32
    history = int(active.sum()) * call.history.itemsize if lists else size(call.history)
    return history + size(*outs) + initial_sums(call, outs)
