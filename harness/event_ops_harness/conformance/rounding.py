"""`|error| <= (ulps + gamma_n / eps) * eps * scale`: what rounding may do to the results of an operator.

gamma_n = n u / (1 - n u) bounds what adding n products does, in any order, relative to the sum of their
magnitudes; u = eps / 2 (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1).
"""

from __future__ import annotations

from typing import Any, Final

import jax
import numpy as np

from event_ops.case import Rounding
from event_ops_harness.conformance.cell import Trial
from event_ops_harness.conformance.compare import Bound, assert_within, eps_of, largest_of
from event_ops_harness.conformance.oracle import oracle

_ORACLE: Final = float(np.finfo(np.float64).eps)  # it rounds, too


def check_values(trial: Trial, result: Any) -> None:
    """Raise Mismatch unless a result is the oracle's, within what the operator's rounding allows."""
    expected, rounding = oracle(trial), trial.operator.rounding
    if rounding is None:
        trial.same(result, expected)
    elif rounding.sums and np.dtype(trial.dtype).kind in "fc":
        assert_within(result, expected, _of_sums(trial, rounding, result))
    else:
        assert_within(result, expected, _of_values(rounding, result, expected))


def _of_values(rounding: Rounding, result: Any, expected: Any) -> list[Bound]:
    # Where outputs are missing, `assert_within` says so.
    pairs = zip(map(eps_of, jax.tree.leaves(result)), jax.tree.leaves(expected), strict=False)
    return [Bound(largest_of(y), rounding.ulps * (1 + _ORACLE / eps) if eps else 0.0) for eps, y in pairs]


def _of_sums(trial: Trial, rounding: Rounding, result: Any) -> list[Bound]:
    """The operator of magnitudes gives the sums of magnitudes; of ones, how many terms these have."""
    magnitudes = jax.tree.leaves(oracle(trial, np.abs))
    terms = jax.tree.leaves(oracle(trial, lambda x: (x != 0).astype("float64")))
    leaves = zip(map(eps_of, jax.tree.leaves(result)), magnitudes, terms, strict=False)
    return [Bound(scale, _ulps_of(np.ceil(n), rounding.ulps, eps)) for eps, scale, n in leaves]


def _ulps_of(n: Any, more: float, eps: float) -> Any:
    """gamma_n, and so many ulps more, of the operator and of its oracle, in the operator's ulps."""
    if eps == 0:
        return 0.0
    return sum(n * e / 2 / (1 - n * e / 2) + more * e for e in (eps, _ORACLE)) / eps
