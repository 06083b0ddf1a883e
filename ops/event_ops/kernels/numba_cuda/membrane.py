"""How conductances move a membrane in a step."""

from __future__ import annotations

import math
from typing import Any

from numba import cuda


@cuda.jit(device=True)
def relax(V: Any, g_ex: Any, g_in: Any, g_L: Any, leak: Any, E_ex: Any, E_in: Any, rate: Any) -> Any:
    """Return where conductances of a step move V: see kernels/reference/membrane.py."""
    total = g_L + g_ex + g_in
    V_inf = (leak + g_ex * E_ex + g_in * E_in) / total
    return V_inf + (V - V_inf) * math.exp(-rate * total)
