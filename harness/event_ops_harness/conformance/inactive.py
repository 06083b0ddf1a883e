"""Check that inactive events hide NaN, also in derivatives."""

from collections.abc import Iterator
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops_harness.conformance.cell import Trial
from event_ops_harness.conformance.compare import Mismatch, NotApplicable, assert_same
from event_ops_harness.conformance.select import EVENT_DRIVEN

_PLACES: Final = 32  # of an array that are looked at
_ACTIVE: Final = 1e-6  # in place of 0: a float event of 0 has a derivative, in which NaN times 0 is NaN


def nan_derivatives(trial: Trial) -> None:
    """NaN in a cotangent or a tangent shows only where that counts; in an input that does not, nowhere."""
    if EVENT_DRIVEN not in trial.operator.kernel.tags:
        raise NotApplicable(f"it is not tagged {EVENT_DRIVEN!r}: other factors of 0 make NaN of NaN")
    f, xs = trial.differentiable()
    f, xs = jax.jit(f), [jnp.where(x == 0, _ACTIVE, x) for x in xs]
    forward = jax.jit(lambda *dots: jax.jvp(f, tuple(xs), dots)[1])
    back = jax.jit(lambda xs, cts: list(jax.vjp(f, *xs)[1](cts)))
    ys = f(*xs)
    _check_reach("cotangent", lambda *cts: back(xs, list(cts)), ys)
    _check_reach("tangent", forward, xs)
    cts = [jnp.cos(jnp.arange(y.size, dtype=y.dtype)).reshape(y.shape) for y in ys]
    hidden = _without_what_does_not_count(f, xs, ys)
    assert_same(back(hidden, cts), back(xs, cts), 1e-12)


def _without_what_does_not_count(f: Any, xs: list[Any], ys: list[Any]) -> list[Any]:
    """Return the inputs with NaN in every element that changes no output by being NaN."""
    hidden = list(xs)
    for i, place in _some_places(xs):
        poisoned = _with(xs[i], place, np.nan)
        if all(map(jnp.array_equal, f(*xs[:i], poisoned, *xs[i + 1 :]), ys)):
            hidden[i] = _with(hidden[i], place, np.nan)
    return hidden


def _check_reach(kind: str, linear: Any, likes: list[Any]) -> None:
    """Raise Mismatch if a NaN given to `linear` shows where another number at its place changes nothing."""
    for i, place in _some_places(likes):
        zeros = [np.zeros_like(x) for x in likes]
        for plain, poisoned in zip(
            *(linear(*zeros[:i], _with(zeros[i], place, x), *zeros[i + 1 :]) for x in (1, np.nan)),
            strict=True,
        ):
            if wrong := np.argwhere(np.isnan(poisoned) & (np.asarray(plain) == 0)).tolist():
                raise Mismatch(
                    f"a {kind} of NaN at {list(place)} of array {i} shows at {wrong[0]}, which does not "
                    f"depend on it, and at {len(wrong)} such places in all"
                )


def _some_places(xs: list[Any]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield (number of an array, place in it): all places of small arrays, some of larger ones."""
    for i, x in enumerate(xs):
        for flat in range(0, x.size, x.size // _PLACES + 1):
            yield i, tuple(map(int, np.unravel_index(flat, x.shape)))


def _with(x: Any, place: tuple[int, ...], value: float) -> np.ndarray:
    changed = np.array(x)
    changed[place] = value
    return changed
