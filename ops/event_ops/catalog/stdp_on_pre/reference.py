"""`stdp_on_pre` as a rule of one synapse: its definition."""

from __future__ import annotations

from typing import Any

from event_ops.kernels.reference.plasticity import bounded


def depressed(w: Any, *, x_post: Any, A_minus: Any, w_min: Any, w_max: Any, spike_pre: Any = 1) -> Any:
    """w - A_minus * spike_pre * x_post, within the bounds."""
    return bounded(w - A_minus * spike_pre * x_post, w_min, w_max)
