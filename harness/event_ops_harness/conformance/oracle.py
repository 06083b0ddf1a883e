"""Compute the right result on the inputs of a trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.checks.arrays import HALVES
from event_ops_harness.conformance.cell import Trial

_WIDER: Final = {"f": "float64", "c": "complex128"}


def oracle(trial: Trial, change: Callable[[Any], Any] = lambda x: x) -> Any:
    """Return the oracle's result, or else the reference's in 64 bits; `change` changes inexact inputs."""
    operator, arrays = trial.operator, [_readable(np.asarray(x)) for x in trial.args]
    arrays = [change(x) if x.dtype.kind in _WIDER else x for x in arrays]
    if operator.oracle is not None:
        return operator.oracle(*arrays, **trial.kwargs)
    with jax.enable_x64(True):
        wide = [jnp.asarray(x.astype(_WIDER.get(x.dtype.kind, x.dtype))) for x in arrays]
        outs = trial.kwargs.get("outs")
        kwargs = trial.kwargs if outs is None else trial.kwargs | {"outs": jax.tree.map(_wide, outs)}
        return jax.tree.map(np.asarray, operator.function(*wide, backend="reference", **kwargs))


def _readable(x: np.ndarray) -> np.ndarray:
    """Return floats of 16 bits, in some of which NumPy does not compute, as float32."""
    return x.astype("float32") if x.dtype in HALVES else x


def _wide(out: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(out.shape, _WIDER.get(np.dtype(out.dtype).kind, out.dtype))
