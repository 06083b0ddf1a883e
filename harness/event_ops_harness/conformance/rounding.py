"""`|error| <= (ulps + gamma_n / eps) * eps * scale`: the rounding allowed in results of an operator.

gamma_n = n u / (1 - n u) bounds what adding n products does, in any order, relative to the sum of their
magnitudes; u = eps / 2 (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1).
"""

from __future__ import annotations

from typing import Any, Final

import jax
import numpy as np

from event_ops.cases import Rounding
from event_ops_harness.conformance.cell import Trial
from event_ops_harness.conformance.compare import Bound, assert_within, eps_of, largest_of
from event_ops_harness.conformance.oracle import oracle

_ORACLE: Final = float(np.finfo(np.float64).eps)  # it rounds, too


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
