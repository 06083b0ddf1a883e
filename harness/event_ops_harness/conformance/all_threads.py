"""Choose the kernels for all threads on inputs of any size; operators choose them for large inputs only."""

import importlib
import pkgutil

from event_ops.discover import operators
from event_ops.kernels import numba_cpu


def use_all_threads() -> None:
    """Set every constant like MIN_PARALLEL, the size from which on threads share the work, to 0.

    Call it before a Numba backend is loaded, which copies the constants of the parts.
    """
    shared = [part.name for part in pkgutil.iter_modules(numba_cpu.__path__, f"{numba_cpu.__name__}.")]
    builders = [operator.kernel.backends["cpu"]["numba_cpu"].builder for operator in operators()]
    backends = {builder.partition(":")[0] for builder in builders}
    for name in (*shared, *backends):
        module = importlib.import_module(name)
        for bound in [constant for constant in vars(module) if constant.isupper() and "PARALLEL" in constant]:
            setattr(module, bound, 0)
