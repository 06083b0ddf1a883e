"""Whether two results agree, and what to say where they do not."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

# An oracle may count in wider integers, signed or not, than the operator gives.
_KINDS = {"b": "bool", "i": "integer", "u": "integer", "f": "float", "c": "complex"}


class Mismatch(AssertionError):
    """A result that is not what was expected; the text has place, got, expected and tolerance."""


class NotApplicable(Exception):
    """A property that this operator cannot have, and why: skipped, not passed."""


def assert_same(result: Any, expected: Any, rtol: float) -> None:
    """Equal structure, shapes and dtypes; values within `rtol` of the largest magnitude; NaN equals NaN.

    A value's error is measured against the largest of its array, since a sum's is.
    """
    results, wanted = jax.tree.leaves(result), jax.tree.leaves(expected)
    if len(results) != len(wanted):
        raise Mismatch(f"got {len(results)} outputs; expected {len(wanted)}")
    for number, (a, b) in enumerate(zip(map(np.asarray, results), map(np.asarray, wanted), strict=True)):
        _assert_close(f"output {number}" if len(wanted) > 1 else "the output", a, b, rtol)


def _assert_close(what: str, got: np.ndarray, expected: np.ndarray, rtol: float) -> None:
    if got.shape != expected.shape:
        raise Mismatch(f"{what} has shape {got.shape}; expected {expected.shape}")
    if _KINDS.get(got.dtype.kind) != _KINDS.get(expected.dtype.kind):
        raise Mismatch(f"{what} has dtype {got.dtype}; expected {expected.dtype}")
    finite = np.abs(expected[np.isfinite(expected)])
    atol = rtol * float(finite.max()) if finite.size else 0.0
    wrong = ~np.isclose(got, expected, rtol=rtol, atol=atol, equal_nan=True)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise Mismatch(
            f"{what} is wrong at {int(wrong.sum())} of {wrong.size} places, first at {list(place)}: "
            f"got {got[place]}; expected {expected[place]} within {rtol:.2g} of it and {atol:.2g}"
        )


def assert_same_bits(result: Any, expected: Any, why: str) -> None:
    """Raise Mismatch unless both are the same, bit for bit; `why` says what differed between the calls."""
    for a, b in zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True):
        got, wanted = np.asarray(a), np.asarray(b)
        if got.tobytes() != wanted.tobytes():
            raise Mismatch(f"{why}: got {got.ravel()[:8]}, and before {wanted.ravel()[:8]} (first 8)")
