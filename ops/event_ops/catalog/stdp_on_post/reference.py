"""`stdp_on_post` as a rule of one synapse: its definition."""

from __future__ import annotations

from typing import Any

from event_ops.kernels.reference.plasticity import bounded


def potentiated(w: Any, *, x_pre: Any, A_plus: Any, w_min: Any, w_max: Any, spike_post: Any = 1) -> Any:
    """w + A_plus * spike_post * x_pre, within the bounds."""
    return bounded(w + A_plus * spike_post * x_pre, w_min, w_max)
