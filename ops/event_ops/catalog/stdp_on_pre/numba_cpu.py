"""Depression on the CPU: the rows of the neurons that spiked, in place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from event_ops.checks.arrays import reaches
from event_ops.parts.numba_cpu.access import hoist
from event_ops.parts.numba_cpu.deliver import MIN_ENTRIES_PARALLEL
from event_ops.parts.numba_cpu.jit import njit
from event_ops.parts.numba_cpu.plasticity import move_rows
from event_ops.parts.numba_cpu.sparse_visits import visiting
from ffi_bridge import numba_kernel


@cache
def kernel(large: bool) -> Any:
    """Return the kernel for one thread, or for all threads.

    w and y are the same memory; XLA copies w first where it is needed again.
    """
    visit = visiting(move_rows, large)

    @njit(parallel=large)
    def stdp_on_pre(
        w: Any, indices: Any, indptr: Any, spikes: Any, x: Any, amount: Any, w_min: Any, w_max: Any, y: Any
    ) -> None:
        variables = spikes, x, hoist(amount), hoist(w_min), hoist(w_max)
        visit((y,), indices, indptr, None, spikes, x.size, variables)

    return stdp_on_pre


def build(*, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many entries."""

    def call(w: Any, *others: Any) -> Any:
        large = reaches(w.size, MIN_ENTRIES_PARALLEL)
        return numba_kernel(kernel(large), outs, input_output_aliases={0: 0})(w, *others)

    return call
