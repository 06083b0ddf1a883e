"""Compare two results, and say where and how they differ."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

# An oracle may count in wider integers, signed or not, than the operator gives.
_KINDS = {"b": "bool", "i": "integer", "u": "integer", "f": "float", "c": "complex"}


class Mismatch(AssertionError):
    """Report a result that differs from the expected one: the place, both values and the tolerance."""


class NotApplicable(Exception):
    """The operator cannot have this property, and the text says why: the cell is skipped, not passed."""


class Bound(NamedTuple):
    """The error that is allowed: a number of units in the last place of `scale`, each eps * scale."""

    scale: Any  # one for all values of an output, or one for each
    ulps: Any


def eps_of(x: Any) -> float:
    """Return the machine epsilon of an array's dtype; 0 for integers and bools, which are exact."""
    dtype = np.asarray(x).dtype
    return float(np.finfo(dtype).eps) if dtype.kind in "fc" else 0.0


def largest_of(x: Any) -> float:
    """Return the largest finite magnitude of an array."""
    values = np.asarray(x)
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0


def assert_same(result: Any, expected: Any, rtol: float) -> None:
    """Raise Mismatch unless structures, shapes and dtypes are equal, and values are within a tolerance.

    The tolerance is `rtol` times the largest magnitude of the array, as the error of a sum depends on its
    terms. NaN equals NaN.
    """
    results, wanted = jax.tree.leaves(result), jax.tree.leaves(expected)
    relative = [rtol / eps if (eps := eps_of(x)) else 0.0 for x in results]
    scales = [np.abs(np.asarray(x)) + largest_of(x) for x in wanted]
    assert_within(result, expected, list(map(Bound, scales, relative)))


def assert_within(result: Any, expected: Any, bounds: Sequence[Bound]) -> None:
    """Raise Mismatch as `assert_same` does, with a bound for each output."""
    results, wanted = jax.tree.leaves(result), jax.tree.leaves(expected)
    if len(results) != len(wanted):
        raise Mismatch(f"got {len(results)} outputs; expected {len(wanted)}")
    pairs = zip(map(np.asarray, results), map(np.asarray, wanted), strict=True)
    for number, ((a, b), bound) in enumerate(zip(pairs, bounds, strict=True)):
        _assert_close(f"output {number}" if len(wanted) > 1 else "the output", a, b, bound)


def _assert_close(label: str, got: np.ndarray, expected: np.ndarray, bound: Bound) -> None:
    if got.shape != expected.shape:
        raise Mismatch(f"{label} has shape {got.shape}; expected {expected.shape}")
    if _KINDS.get(got.dtype.kind) != _KINDS.get(expected.dtype.kind):
        raise Mismatch(f"{label} has dtype {got.dtype}; expected {expected.dtype}")
    # Most results have the oracle's bits, and to compare these takes no floats.
    if got.dtype == expected.dtype and got.tobytes() == expected.tobytes():
        return
    scale, ulps = (np.broadcast_to(x, expected.shape) for x in bound)
    # A scale that is not finite belongs to a value that is not, which has to be the same.
    unit = np.nan_to_num(eps_of(got) * scale, nan=0.0, posinf=0.0)
    wrong = ~np.isclose(got, expected, rtol=0.0, atol=ulps * unit, equal_nan=True)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        text = f"{label} is wrong at {int(wrong.sum())} of {wrong.size} places, first at {list(place)}: "
        text += f"got {got[place]}; expected {expected[place]}"
        if unit[place]:
            off = abs(got[place] - expected[place]) / unit[place]
            text += f": {off:.3g} ulps of {scale[place]:.3g} off; allowed {ulps[place]:.3g}"
        raise Mismatch(text)


def assert_same_bits(result: Any, expected: Any, why: str) -> None:
    """Raise Mismatch unless both are the same, bit for bit; `why` says how the calls differed."""
    for a, b in zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True):
        got, wanted = np.asarray(a), np.asarray(b)
        if got.tobytes() != wanted.tobytes():
            raise Mismatch(f"{why}: got {got.ravel()[:8]}, and before {wanted.ravel()[:8]} (first 8)")
