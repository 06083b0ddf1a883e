"""Choose the kernels for all threads on inputs of any size; operators choose them for large inputs only."""

from __future__ import annotations

import importlib
import pkgutil

from event_ops.discover import operators
from event_ops.parts import numba_cpu


def use_all_threads() -> None:
    """Set every constant like MIN_PARALLEL, the size from which on threads share the work, to 0.

    Call it before a Numba backend is loaded, which copies the constants of the parts.
    """
    parts = [part.name for part in pkgutil.iter_modules(numba_cpu.__path__, f"{numba_cpu.__name__}.")]
    backends = [f"event_ops.catalog.{operator.name}.numba_cpu" for operator in operators()]
    for name in (*parts, *backends):
        module = importlib.import_module(name)
        for bound in [constant for constant in vars(module) if constant.isupper() and "PARALLEL" in constant]:
            setattr(module, bound, 0)
