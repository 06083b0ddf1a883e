"""Calls of operators with corrupt structure, as hypothesis strategies: what is drawn are the data alone.

Sizes come from a small pool, so that thousands of calls run few compiled programs.
"""

import inspect
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from corrupt_arrays import Draw
from hypothesis import strategies as st


@dataclass(frozen=True)
class Call:
    """One call: arrays by name; static arguments; whether its result is defined; which end has a guard."""

    operator: str
    arrays: dict[str, np.ndarray]
    static: dict[str, Any]
    defined: bool
    at_end: bool


Made = tuple[dict[str, np.ndarray], dict[str, Any]]


def csr_matvec(d: Draw) -> Made:
    arrays = {"data": d.floats(d.sizes.nse), **d.structure(), "v": d.floats(d.operand)}
    return arrays, {"shape": d.shape, "transpose": d.transpose}


def csr_matmat(d: Draw) -> Made:
    arrays = {"data": d.floats(d.sizes.nse), **d.structure(), "B": d.floats(d.operand, d.sizes.width)}
    return arrays, {"shape": d.shape, "transpose": d.transpose}


def csr_gap_current(d: Draw) -> Made:
    n, nse = d.sizes.rows, d.sizes.nse
    structure = {"indices": d.ids(n, nse), "indptr": d.indptr(n, nse)}
    return {"data": d.weights(nse), **structure, "v": d.floats(n)}, {"shape": (n, n)}


def csr_sddmm(d: Draw) -> Made:
    width = d.sizes.width
    return {**d.structure(), "X": d.floats(d.shape[0], width), "Y": d.floats(d.shape[1], width)}, {
        "shape": d.shape
    }


def csr_scale_rows(d: Draw) -> Made:
    x = d.events(d.shape[0])
    return {"data": d.floats(d.sizes.nse), "indptr": d.structure()["indptr"], "x": x}, {}


def csr_tocsc(d: Draw) -> Made:
    return d.structure(), {"shape": d.shape}


def csr_todense(d: Draw) -> Made:
    return {"data": d.weights(d.sizes.nse), **d.structure()}, {"shape": d.shape}


def csr_event_matvec(d: Draw) -> Made:
    encoding = d.one_of("ids", "flags", "bits", "counts")
    events = {
        "flags": d.events,
        "counts": lambda n: d.filled((0, 1, -2, 127, -128), (n,), np.int8),
        "ids": lambda n: d.ids(n, 9, dtype="int32"),
        "bits": lambda n: d.filled((0, 1, 5, 2**31, 2**32 - 1), (-(-n // 32),), np.uint32),
    }[encoding](d.operand)
    static = {"shape": d.shape, "transpose": d.transpose, "encoding": encoding}
    return {"data": d.weights(d.sizes.nse), **d.structure(), "events": events, **_permutation(d)}, static


def _words(d: Draw) -> dict[str, np.ndarray]:
    """Return words that hold any columns, and codes that add up without rounding."""
    bits = max(d.shape[1] - 1, 0).bit_length()
    few = [code % 2 ** (32 - bits) << bits | low for code in (0, 1, -1, 2) for low in range(1 << bits)]
    scale = d.floats(d.shape[0]) if d.one_of(True, False) else d.floats()
    words = d.filled(few, (d.sizes.nse,), np.uint32)
    if d.one_of(False, True):
        words = d.filled((*range(d.shape[1] + 2), 2**16 - 1), (d.sizes.nse,), np.uint16)
    return {"entries": words, "indptr": d.structure()["indptr"], "scale": scale}


def compact_matvec(d: Draw) -> Made:
    return {**_words(d), "v": d.floats(d.operand)}, {"shape": d.shape, "transpose": d.transpose}


def compact_event_matvec(d: Draw) -> Made:
    arrays, static = csr_event_matvec(d)
    return {**_words(d), "events": arrays["events"]}, static


def compact_event_arrivals(d: Draw) -> Made:
    arrays, static = csr_event_arrivals(d)
    scale = {"scale": d.floats()}  # the rows of the matrix are those of one neuron
    words = _words(d)
    ends = np.stack([words["indptr"], d.indptr(d.sizes.rows, d.sizes.nse)])
    by_part = {"indptr": ends, "starts": d.ids(d.shape[1] + 1, 3)}
    return {"history": arrays["history"], **words, **scale, **by_part, "slot": arrays["slot"]}, static


def csr_event_matmat(d: Draw) -> Made:
    events = d.events(d.operand, d.sizes.width)
    static = {"shape": d.shape, "transpose": d.transpose}
    return {"data": d.weights(d.sizes.nse), **d.structure(), "events": events, **_permutation(d)}, static


def _permutation(d: Draw) -> dict[str, np.ndarray]:
    """Return places in data, some of them out of range or twice, or none."""
    return {"permutation": d.ids(d.sizes.nse, d.sizes.nse)} if d.draw(st.booleans()) else {}


def csr_event_arrivals(d: Draw) -> Made:
    # The rows of the matrix are those of one neuron and as many slots, of which there is at least one.
    d.sizes = replace(d.sizes, rows=max(d.sizes.rows, 1))
    encoding = d.one_of("flags", "bits", "counts")
    history = d.filled((0, 1, 2**32 - 1), (d.shape[0], 1), np.uint32)
    if encoding == "counts":
        history = d.filled((0, 1, -2, 127, -128), (d.shape[0], 1), np.int8)
    if encoding == "flags":
        history = d.events(d.shape[0])[:, None]
    arrays = {"history": history, "data": d.weights(d.sizes.nse), **d.structure()}
    return arrays | {"slot": d.ids(3, dtype="int32")}, {"shape": (1, d.shape[1]), "encoding": encoding}


def csr_event_deliver(d: Draw) -> Made:
    delays = d.ids(3, d.sizes.nse, dtype=d.one_of("int64", "int8", "uint64"))
    arrays = {
        "buffer": d.floats(3, d.shape[1]), "data": d.weights(d.sizes.nse), **d.structure(),
        "delays": delays, "spikes": d.events(d.shape[0]), "slot": d.ids(3, dtype="int32"),
    }  # fmt: skip
    return arrays, {"shape": d.shape}


def expsyn_step(d: Draw) -> Made:
    arrays = {"g": d.floats(d.shape[1]), "data": d.weights(d.sizes.nse), **d.structure()}
    # A decay of exactly 0: no factor that backends round in different ways.
    return arrays | {"spikes": d.events(d.shape[0])}, {"shape": d.shape, "tau": 1e-3, "dt": 1.0}


def ell_matvec(d: Draw) -> Made:
    rows, per_row = d.shape[0], 3
    arrays = {"data": d.floats(rows, per_row), "indices": d.ids(d.shape[1], rows, per_row)}
    return arrays | {"v": d.floats(d.operand)}, {"shape": d.shape, "transpose": d.transpose}


def ell_event_matvec(d: Draw) -> Made:
    rows, per_row = d.shape[0], 3
    arrays = {"data": d.weights(rows, per_row), "indices": d.ids(d.shape[1], rows, per_row)}
    return arrays | {"events": d.events(d.operand)}, {"shape": d.shape, "transpose": d.transpose}


def scatter_add(d: Draw) -> Made:
    row = d.one_of((), (d.sizes.width,))
    dtype = d.one_of(d.index_dtype, "int8", "uint8", "uint64")
    arrays = {
        "target": d.floats(d.shape[1], *row), "indices": d.ids(d.shape[1], d.sizes.nse, dtype=dtype),
        "updates": d.floats(d.sizes.nse, *row),
    }  # fmt: skip
    return arrays, {"mode": d.one_of("drop", "clip")}


def segment_sum(d: Draw) -> Made:
    row = d.one_of((), (d.sizes.width,))
    dtype = d.one_of(d.index_dtype, "int8", "uint8", "uint64")
    ids = d.ids(d.shape[0], d.sizes.nse, dtype=dtype)
    ascending = d.one_of(False, True)
    d.defined &= not ascending or bool((ids[1:] >= ids[:-1]).all())
    static = {"num_segments": d.shape[0], "indices_are_sorted": ascending, "mode": d.one_of("drop", "clip")}
    return {"data": d.floats(d.sizes.nse, *row), "segment_ids": ids}, static


scatter_max = scatter_min = scatter_mul = scatter_add
segment_max = segment_min = segment_sum


def stdp_on_pre(d: Draw) -> Made:
    arrays = {"w": d.floats(d.sizes.nse), **d.structure(), "spikes_pre": d.events(d.shape[0])}
    static = {"shape": d.shape, "A_minus": 0.5, "w_min": -1.0, "w_max": 2.0}
    return arrays | {"x_post": d.floats(d.shape[1])}, static


def _permutation_once(d: Draw) -> np.ndarray:
    """Return places in data, most often each once, as the operator asks for."""
    nse = d.sizes.nse
    permutation = d.ids(nse, nse)
    if d.draw(st.booleans()):
        permutation = d.draw(st.permutations(range(nse)))
        permutation = np.array(permutation, d.index_dtype)
    inside = permutation[(permutation >= 0) & (permutation < nse)]
    d.defined &= np.unique(inside).size == inside.size
    return permutation


def stdp_on_post(d: Draw) -> Made:
    nse = d.sizes.nse
    arrays = {
        "w": d.floats(nse), "rows": d.ids(d.shape[0], nse), "indptr": d.indptr(d.shape[1], nse),
        "permutation": _permutation_once(d), "spikes_post": d.events(d.shape[1]),
        "x_pre": d.floats(d.shape[0]),
    }  # fmt: skip
    return arrays, {"shape": d.shape, "A_plus": 0.5, "w_min": -1.0, "w_max": 2.0}


def csr_normalize(d: Draw) -> Made:
    # Rows add up to 0 afterwards, for which every weight of theirs is 0: no quotient is rounded.
    arrays = {"data": d.floats(d.sizes.nse), **d.structure(), "target": np.zeros((), np.float32)}
    permutation = {"permutation": _permutation_once(d)} if d.one_of(True, False) else {}
    return arrays | {"active": d.bools(d.shape[0])} | permutation, {"shape": d.shape}


def csr_rewire(d: Draw) -> Made:
    has_targets = d.one_of(False, True)
    nse = d.sizes.nse
    chosen = {"targets": d.ids(d.shape[1], nse)} if has_targets else {"seed": d.ids(9), "step": d.ids(9)}
    static = {"shape": d.shape} | {
        name: d.one_of(False, True) for name in ("allow_autapses", "allow_multapses")
    }
    return d.structure() | {"rewired": d.bools(nse)} | chosen, static


def dense_event_matvec(d: Draw) -> Made:
    return {"weights": d.floats(*d.shape), "events": d.events(d.operand)}, {"transpose": d.transpose}


def dense_event_matmat(d: Draw) -> Made:
    arrays = {"weights": d.floats(*d.shape), "events": d.events(d.operand, d.sizes.width)}
    return arrays, {"transpose": d.transpose}


def procedural_event_matmat(d: Draw) -> Made:
    arrays, static = procedural_event_matvec(d)
    return arrays | {"events": d.events(d.operand, d.sizes.width)}, static


def procedural_event_matvec(d: Draw) -> Made:
    arrays = {"weight": np.float32(0.5), "seed": d.ids(9), "events": d.events(d.operand)}
    return arrays, {"prob": 0.3, "shape": d.shape, "transpose": d.transpose}


def read_slot(d: Draw) -> Made:
    return {"buffer": d.floats(3, d.shape[1]), "slot": d.ids(3, dtype="int32")}, {}


def spike_compact(d: Draw) -> Made:
    capacity = d.one_of(None, 0, 2, 70)
    return {"spikes": d.bools(d.sizes.nse)}, {"capacity": capacity}


def pack_events(d: Draw) -> Made:
    return {"events": d.bools(d.sizes.nse)}, {}


def unpack_events(d: Draw) -> Made:
    n = d.sizes.nse
    return {"words": d.filled((0, 1, 2**31, 2**32 - 1), (-(-n // 32),), np.uint32)}, {"n": n}


# Operator -> how to draw a call of it.
OPERATORS = {
    name: make
    for name, make in list(globals().items())
    if inspect.isfunction(make) and inspect.get_annotations(make).get("return") == Made
}


@st.composite
def calls(draw: Any, operator: str, quick: bool) -> Call:
    """A call of one operator, its data corrupt or not."""
    drawn = Draw(draw, quick)
    arrays, static = OPERATORS[operator](drawn)
    return Call(operator, arrays, static, drawn.defined, draw(st.booleans()))
