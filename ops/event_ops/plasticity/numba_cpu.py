"""A rule applied on the CPU to the synapses of the neurons that spiked, in place."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from event_ops.checks.arrays import reaches
from event_ops.codegen.emit import tables_of
from event_ops.codegen.function import Traced
from event_ops.codegen.primitives import NUMBA
from event_ops.kernels.numba_cpu import dense_visits, sparse_visits
from event_ops.kernels.numba_cpu.blocks import AT_ONCE, Change, changing
from event_ops.kernels.numba_cpu.deliver import MIN_ENTRIES_PARALLEL
from event_ops.kernels.numba_cpu.exponential import exp
from event_ops.kernels.numba_cpu.jit import njit
from event_ops.kernels.numba_cpu.power import power
from event_ops.plasticity.emit import (
    DENSE_COLUMNS,
    DENSE_ROWS,
    OTHER,
    SPIKING,
    STORAGES,
    Storage,
    block_functions,
    kernel_function,
    sources_in_rows,
    update,
)
from ffi_bridge import numba_kernel

_KEPT = 1024  # rules
_LONG: Final = {"exp", "pow"}  # take long, and vectorise


@lru_cache(_KEPT)
def kernel(rule: Traced, storage: Storage, large: bool) -> Any:
    """Return the kernel of a rule for one thread, or for all threads.

    Its outputs are the memory of the synaptic variables; XLA copies those first that are needed again.
    """
    room, turned = _room_of(storage)
    visit = room.visiting(make_visit_rows(rule, storage), large, *turned)
    return njit(parallel=large)(kernel_function(rule, storage, visit=visit, hoist=dense_visits.laid_flat))


@lru_cache(_KEPT)
def make_visit_rows(rule: Traced, storage: Storage) -> Any:
    """Return the function that changes each synapse of the rows of neurons that spiked.

    A rule with an operation that takes long, and that vectorises, changes synapses in blocks.
    """
    room, turned = _room_of(storage)
    called = called_by(rule)
    inlined = njit(error_model="numpy", _nrt=False, forceinline=True)
    if rule.uses(_LONG):
        # Blocks go along rows: where columns spike, the neuron that spiked differs within one.
        sources = sources_in_rows(rule, SPIKING if storage is DENSE_COLUMNS else OTHER)
        functions = block_functions(rule, sources, ("k", "neuron"), NUMBA, AT_ONCE=AT_ONCE, **called)
        change = changing(Change(*map(inlined, functions)), len(rule.places))
        return room.make_visit_rows_in_blocks(*change, *turned)
    return room.make_visit_rows(inlined(update(rule, NUMBA, **called)), *turned)


def called_by(rule: Traced) -> dict[str, Any]:
    """Return the functions, modules and tables that the lines of a rule read, by name."""
    return {"math": math, "np": np, "exp": exp, "power": power, **tables_of(rule)}


def _room_of(storage: Storage) -> tuple[Any, tuple[bool, ...]]:
    """Return the module of visits, and, of a dense matrix, whether columns are visited."""
    if storage in (DENSE_ROWS, DENSE_COLUMNS):
        return dense_visits, (storage is DENSE_COLUMNS,)
    return sparse_visits, ()


def build(*, rule: Traced, outs: Any, storage: str, **_: Any) -> Callable[..., Any]:
    """Return the function of arrays for synapses that are stored so: on one thread, or on all for many."""
    aliases = {i: i for i in range(rule.count)}

    def call(*arrays: Any) -> Any:
        large = reaches(arrays[0].size, MIN_ENTRIES_PARALLEL)
        function = kernel(rule, STORAGES[storage], large)
        return numba_kernel(function, outs, input_output_aliases=aliases)(*arrays)

    return call
