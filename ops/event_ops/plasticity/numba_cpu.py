"""A rule applied on the CPU to the synapses of the neurons that spiked, in place."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from event_ops.checks.arrays import reaches
from event_ops.parts.numba_cpu import dense_visits, sparse_visits
from event_ops.parts.numba_cpu.access import hoist
from event_ops.parts.numba_cpu.deliver import MIN_ENTRIES_PARALLEL
from event_ops.parts.numba_cpu.jit import njit
from event_ops.plasticity.emit import (
    DENSE_COLUMNS,
    DENSE_ROWS,
    STORAGES,
    Storage,
    kernel_source,
    update_source,
)
from event_ops.scalar_functions.emit import defined
from event_ops.scalar_functions.function import Traced
from ffi_bridge import numba_kernel

_KEPT = 1024  # rules


@lru_cache(_KEPT)
def kernel(rule: Traced, storage: Storage, large: bool) -> Any:
    """Return the kernel of a rule for one thread, or for all threads.

    Its outputs are the memory of the synaptic variables; XLA copies those first that are needed again.
    """
    update = njit(error_model="numpy", _nrt=False)(defined(update_source(rule), "update", math=math, np=np))
    visit = visits_with(update, storage, large)
    source = kernel_source(rule, storage)
    return njit(parallel=large)(defined(source, storage.name, visit=visit, hoist=hoist))


def visits_with(update: Any, storage: Storage, large: bool) -> Any:
    """Return the function that calls `update` for each synapse of the neurons that spiked."""
    if storage is DENSE_ROWS:
        return dense_visits.visiting_rows(update, large)
    if storage is DENSE_COLUMNS:
        return dense_visits.visiting_columns(update, large)
    return sparse_visits.visiting(sparse_visits.rows_with(update), large)


def build(*, rule: Traced, outs: Any, storage: str, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for synapses that are stored so: on one thread, or on all for many."""
    aliases = {i: i for i in range(rule.count)}

    def call(*arrays: Any) -> Any:
        large = reaches(arrays[0].size, MIN_ENTRIES_PARALLEL)
        function = kernel(rule, STORAGES[storage], large)
        return numba_kernel(function, outs, input_output_aliases=aliases)(*arrays)

    return call
