"""`|error| <= (ulps + gamma_n / eps) * eps * scale`: the rounding allowed in results of an operator.

gamma_n = n u / (1 - n u) bounds what adding n products does, in any order, relative to the sum of their
magnitudes; u = eps / 2 (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1).
"""

from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.cases import Rounding
from event_ops.checks.arrays import HALVES
from event_ops_harness.conformance.cell import Trial
from event_ops_harness.conformance.compare import Bound, assert_within, eps_of, largest_of

_ORACLE: Final = float(np.finfo(np.float64).eps)  # it rounds, too
_WIDER: Final = {"f": "float64", "c": "complex128"}


def check_values(trial: Trial, result: Any) -> None:
    """Raise Mismatch unless a result is the oracle's, within the operator's rounding."""
    expected, rounding = oracle(trial), trial.operator.rounding
    if rounding is None:
        trial.same(result, expected)
    elif rounding.sums and np.dtype(trial.dtype).kind in "fc":
        # The operator of magnitudes gives the sums of magnitudes; of ones, how many terms these have.
        terms = oracle(trial, lambda x: (x != 0).astype("float64"))
        assert_within(result, expected, _bounds(rounding, result, oracle(trial, np.abs), terms))
    else:
        scales = jax.tree.map(largest_of, expected)
        assert_within(result, expected, _bounds(rounding, result, scales, jax.tree.map(lambda _: 0, scales)))


def _bounds(rounding: Rounding, result: Any, scales: Any, terms: Any) -> list[Bound]:
    # Where outputs are missing, `assert_within` says so.
    leaves = zip(*map(jax.tree.leaves, (result, scales, terms)), strict=False)
    return [Bound(scale, _ulps_of(np.ceil(n), rounding.ulps, eps_of(x))) for x, scale, n in leaves]


def _ulps_of(n: Any, more: float, eps: float) -> Any:
    """Return gamma_n plus the extra ulps, of the operator and of its oracle, in the operator's ulps."""
    if eps == 0:
        return 0.0
    return sum(n * e / 2 / (1 - n * e / 2) + more * e for e in (eps, _ORACLE)) / eps


def oracle(trial: Trial, change: Callable[[Any], Any] = lambda x: x) -> Any:
    """Return the oracle's result, or else the reference's in 64 bits; `change` changes inexact inputs."""
    operator, arrays = trial.operator, [np.asarray(x) for x in trial.args]
    # In some floats of 16 bits NumPy does not compute.
    arrays = [x.astype("float32") if x.dtype in HALVES else x for x in arrays]
    arrays = [change(x) if x.dtype.kind in _WIDER else x for x in arrays]
    if operator.oracle is not None:
        return operator.oracle(*arrays, **trial.kwargs)
    with jax.enable_x64(True):
        wide = [jnp.asarray(x.astype(_WIDER.get(x.dtype.kind, x.dtype))) for x in arrays]
        # A kernel that is checked without an operator is told its outputs, which get wide, too.
        outs = trial.kwargs.get("outs")
        kwargs = trial.kwargs if outs is None else trial.kwargs | {"outs": jax.tree.map(_wide, outs)}
        return jax.tree.map(np.asarray, operator.function(*wide, backend="reference", **kwargs))


def _wide(out: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(out.shape, _WIDER.get(np.dtype(out.dtype).kind, out.dtype))
