"""The kernel of a run on a GPU: its loop over turns, around the lines of neurons and deliveries."""

import math
from functools import lru_cache
from typing import Any, Final

import numba
import numpy as np
from numba import cuda

from event_ops.codegen.emit import defined, filled
from event_ops.kernels.numba_cuda import access, row_products, threads, wide
from event_ops.kernels.numba_cuda.packed_entries import bits_for, code_of, narrow_bits
from event_ops.kernels.numba_cuda.random_numbers import random_functions
from event_ops.kernels.numba_cuda.threads import WARP, make_sum_before
from event_ops.network.cuda import device
from event_ops.network.cuda.delivery import deliver_lines
from event_ops.network.cuda.division import How, Rows
from event_ops.network.cuda.learning import functions, kept, learn_lines
from event_ops.network.cuda.neurons import Lines, functions_of, neuron_lines
from event_ops.network.cuda.pulled import BEGIN, pull_lines
from event_ops.network.plan import Plan, changed, outputs

_KEPT: Final = 1024  # plans
_MODULES: Final = device, access, row_products, threads, wide

_RUN: Final = """\
noted, ages_of = cuda.shared.array(THREADS, numba.int32), cuda.shared.array(THREADS, numba.int32)
begins, ends = cuda.shared.array(THREADS, numba.int64), cuda.shared.array(THREADS, COUNTED)
of_warp, entries_of_warp = cuda.shared.array(WARP, numba.int32), cuda.shared.array(WARP, COUNTED)
thread, lane, block, blocks = cuda.threadIdx.x, cuda.laneid, cuda.blockIdx.x, cuda.gridDim.x
start, stop = np.int64(begin[0]), np.int64(begin[0]) + steps[0]
words, slots, span = np.int64(numbers[0]), np.int64(numbers[1]), np.int64(numbers[2])
share = -(-np.int64(places[POPULATIONS]) // blocks)
low, high = min(block * share, places[POPULATIONS]), min((block + 1) * share, places[POPULATIONS])
{begin}
found, target = np.int64(0), np.int32(0)
# The first turn delivers the spikes of the history.
row, rows, offset = np.int64(0), np.int64(numbers[3]), -np.int64(numbers[3])
base, base_slot = start, np.int64(0)
half, first_step, last_step, slot = np.int64(0), start, start, np.int64(0)
for turn in range(numbers[4]):
    {ahead}
    {learn}
    {deliver}
    {between}
    {neurons}
    arrive(arrived)
    target = np.int32(target + blocks)
    {meanwhile}
    wait_for_all(arrived, target)
    row, rows, offset = half, min(last_step, stop) - first_step, np.int64(0)
    base, base_slot, half = first_step, slot, span - half
    slot += last_step - first_step
    while slot >= slots:
        slot -= slots
    first_step, last_step = last_step, min(last_step + span, stop + 1)
{end}
for k in range(found + cuda.grid(1), ids.size, cuda.gridsize(1)):
    times[k], ids[k] = -1, first[POPULATIONS]
if cuda.grid(1) == 0:
    num_spikes[()] = min(found, np.int64(MOST))"""


@lru_cache(_KEPT)
def kernel(plan: Plan, names: tuple[str, ...], parts: tuple[Rows, ...], how: How) -> Any:
    """Return the kernel of a plan: of arrays with these names, then of updated arrays, and results."""
    lines, outside, count = Lines(), {}, np.int64 if how.wide else np.int32
    for p in range(len(plan.populations)):
        outside |= functions_of(plan, p, lines)
        neuron_lines(plan, p, how, lines)
    shared = [f"pulled{j} = cuda.shared.array(THREADS, numba.{x})" for j, x in enumerate(how.pulled) if x]
    shared += [f"pulled{j}[thread] = 0" for j, x in enumerate(how.pulled) if x]
    between = ["arrive(arrived)", "target = np.int32(target + blocks)", "wait_for_all(arrived, target)"]
    first = learn_lines(plan, 1, post_first=True)
    arriving = [line for x in (False, True) for line in learn_lines(plan, 0, post_first=x)]
    body = filled(
        _RUN,
        begin=[*(BEGIN if how.pulled else ()), *shared, *lines.begin],
        ahead=[] if how.two else lines.ahead,
        learn=[*first, *(between if first else ()), *arriving],
        deliver=pull_lines(plan) if how.pulled else deliver_lines(plan, parts),
        between=[*([] if how.pulled else between), *lines.ahead] if how.two else [],
        neurons=[*lines.neurons, *learn_lines(plan, 1, post_first=False)],
        meanwhile=lines.meanwhile,
        end=lines.end,
    )
    outside |= {"word_in": _word_in(False), "narrow_word_in": _word_in(True)}
    outside |= functions(plan)
    outside |= {
        "sum_before": make_sum_before(how.threads // WARP, np.int32),
        "entries_before": make_sum_before(how.threads // WARP, count),
        "known_poisson": random_functions.known_poisson,
    }
    outside |= {"cuda": cuda, "math": math, "np": np, "numba": numba, **random_functions.numbers}
    outside |= {"COUNT": count, "COUNTED": numba.int64 if how.wide else numba.int32}
    outside |= {"THREADS": how.threads, "WARPS": how.threads // WARP, "ITEMS": len(parts)}
    outside |= {"POPULATIONS": len(plan.populations), "MOST": np.iinfo(np.int32).max}
    old = [f"old_{name}" for name in updated(plan)]
    function = defined("network_run", [*names, *old, *results(plan)], body, *_MODULES, **outside)
    return cuda.jit(launch_bounds=(how.threads, 1))(function)


def _word_in(narrow: bool) -> Any:
    words = np.empty(0, np.uint16 if narrow else np.uint32)
    return device.make_word_in(narrow_bits if narrow else bits_for, code_of(words))


def updated(plan: Plan) -> list[str]:
    """Return the names of the arrays that a run updates: states, histories, counters, rings, kept spikes."""
    rings = [f"ring{k}" for k, sums in enumerate(plan.sums) if sums.projections]
    return [*changed(plan), "arrived", "fired", *rings, *(f"kept{p}" for p in kept(plan))]


def results(plan: Plan) -> list[str]:
    """Return the names of all outputs of a run."""
    return [*updated(plan), *outputs(plan)[len(changed(plan)) :]]
