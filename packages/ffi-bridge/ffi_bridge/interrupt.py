"""Ctrl-C while a program of kernels runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import jax
import numpy as np

_SIDE: Final = 32  # 2 * 32**3 operations are enough, although XLA subtracts one for every kernel
_WORK: Final = "_work_for_xla_to_count"  # a keyword, so that the numbers of arguments stay what they are


def interruptible(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """`jax.jit(function, **options)` on a thread of XLA's, so that Ctrl-C arrives while it runs.

    On a CPU, XLA runs a program on the caller's thread, where no signal reaches Python, if it counts fewer
    than 1000 operations: a kernel counts as none, a loop as one of its steps. So a loop of kernels alone is
    over before KeyboardInterrupt is raised, and so is a loop of scalars in plain JAX. This function adds a
    small product of matrices to the outputs, and drops it: the call then returns at once, and to wait for
    its results can be interrupted.

    That costs a change of threads at every call, tens of microseconds: it is for programs of seconds. XLA has
    no way to stop a program: after KeyboardInterrupt the rest of it runs in the background, and the process
    ends after it. Within another `jax.jit` this is plain `jax.jit`; what counts is the outermost.

    Args:
        function: what `jax.jit` takes.
        options: those of `jax.jit`, except in_shardings and out_shardings.

    Returns:
        A function with the arguments and results of `function`.

    Source: `cheap_computation_` in xla/pjrt/cpu/cpu_client.cc, and xla/service/hlo_cost_analysis.cc.

    Example:
        >>> import jax, numba
        >>> from ffi_bridge import interruptible, numba_kernel
        >>> @numba.njit
        ... def grow(x, y):
        ...     y[0] = 2 * x[0]
        >>> step = numba_kernel(grow, jax.ShapeDtypeStruct((1,), "float32"))
        >>> run = interruptible(lambda x: jax.lax.fori_loop(0, 10, lambda i, x: step(x), x))
        >>> run(jax.numpy.ones(1))
        Array([1024.], dtype=float32)
    """

    @functools.wraps(function)
    def counted(*args: Any, **keywords: Any) -> Any:
        work = keywords.pop(_WORK)
        return function(*args, **keywords), work @ work

    jitted = jax.jit(counted, **options)
    work = np.zeros((_SIDE, _SIDE), np.float32)

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        return jitted(*args, **keywords, **{_WORK: work})[0]

    return call
