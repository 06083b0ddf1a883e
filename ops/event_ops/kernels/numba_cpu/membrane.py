"""A membrane with a refractory time, and how conductances move it.

The functions take the numbers of one neuron, and compile into the loop that calls them.
"""

from __future__ import annotations

from typing import Any

from event_ops.kernels.numba_cpu.exponential import exp
from event_ops.kernels.numba_cpu.jit import CONTRACT, njit


@njit(fastmath=CONTRACT)
def is_held(left: Any, dt: Any) -> Any:
    """Return whether the refractory time that is left lasts through this step."""
    return left > type(left)(0.5) * dt


# With Python's error model a division would raise where it divides by 0, and so not vectorise.
@njit(fastmath=CONTRACT, error_model="numpy")
def relax(V: Any, g_ex: Any, g_in: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any, rate: Any) -> Any:
    """Return where conductances of a step move V: see kernels/reference/membrane.py."""
    total = g_L + g_ex + g_in
    V_inf = (leak + g_ex * E_ex + g_in * E_in) / total
    return V_inf + (V - V_inf) * exp(-rate * total)
