"""Kernels for the CPU: the samples of a batch on all threads, forwards and backwards."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
from numba import prange

from event_ops.codegen.emit import defined, tuple_of
from event_ops.eventprop import entry_steps, row_steps
from event_ops.eventprop.adjoint import Gradients
from event_ops.eventprop.arrivals import Sample
from event_ops.eventprop.entries import Entries, sorted_rows
from event_ops.eventprop.forward import Record
from event_ops.eventprop.rows import Rows
from event_ops.kernels.numba_cpu.jit import njit, num_threads
from ffi_bridge import numba_kernel


@njit
def unsorted_rows(weights: Any, delays: Any, indices: Any, indptr: Any) -> tuple[Any, Any]:
    """Return the order of dense rows, which they do not need, and the first delay of each."""
    return indices, delays


@njit
def rows_of(weights: Any, delays: Any, indices: Any, indptr: Any, order: Any, first: Any) -> Rows:
    """Return dense synapses."""
    return Rows(weights, first)


@njit
def is_runnable(delays: Any, first: Any, parameters: Any, input_rows: int) -> bool:
    """Return whether no delay is NaN, and none between neurons shorter than a step."""
    faults = 0
    for e in range(delays.size):
        faults += np.isnan(delays[e])
    for i in range(input_rows, first.size):
        faults += first[i] < parameters[0]
    return faults == 0


@njit
def add_share(total: Any, spare: Any, part: int, parts: int) -> None:
    """Add all other parts to the first one, in one of `parts` shares of its elements."""
    begin, end = part * total.size // parts, (part + 1) * total.size // parts
    for other in range(parts - 1):
        for k in range(begin, end):
            total[k] += spare[other * total.size + k]


def make_run_one(simulate: Any) -> Any:
    """Return the function that runs one sample, and makes NaN of one that cannot be run."""

    @njit
    def run_one(
        synapses: Any, sample: Sample, state: Any, parameters: Any, is_right: bool, record: Record
    ) -> None:
        """Run one sample; where it cannot be right, all times and potentials are NaN."""
        record.times[:] = np.inf
        record.ids[:] = state.shape[1]
        record.currents[:] = 0
        record.releases[:] = 0
        count = -1
        if is_right:
            count = simulate(synapses, sample, state, parameters, record)
        if not 0 <= count <= record.times.size:
            record.times[:] = np.nan
            record.trace[:] = np.nan
            record.ends[:] = count
            # Not padding, which a next layer would take for silence.
            for p in range(record.ids.size):
                record.ids[p] = p % max(state.shape[1], 1)

    return run_one


def make_differentiate_one(differentiate: Any) -> Any:
    """Return the function that goes back through one sample, if it could be run."""

    @njit
    def differentiate_one(
        synapses: Any, sample: Sample, record: Record, state: Any, cotangents: Any, parameters: Any,
        gradients: Gradients, ct_times: Any, ct_state: Any,
    ) -> None:  # fmt: skip
        """Go back through one sample; all derivatives of one that could not be run are NaN."""
        count = record.ends[record.ends.size - 1]
        if 0 <= count <= record.times.size:
            differentiate(synapses, sample, record, state, cotangents, ct_state, parameters, gradients)
            for i in range(ct_times.size):
                ct_times[i] = gradients.arrivals[i]
        else:
            gradients.weights[:] = np.nan
            gradients.delays[:] = np.nan
            gradients.levels[:] = np.nan
            ct_times[:] = np.nan
            ct_state[:] = np.nan

    return differentiate_one


def of_arrays(run: Any, *parts: str) -> Any:
    """Return the kernel that calls `run` with tuples of its arrays; a native call passes arrays alone.

    parts: for each argument of `run` the names of the arrays in its tuple, or the name of an argument.
    """
    names, given = [part.split() for part in parts], []
    for each in names:
        given.append(tuple_of(each) if len(each) > 1 else each[0])
    taken = [name for each in names for name in each]
    return njit(parallel=True)(defined(run.__name__, taken, [f"run({', '.join(given)})"], run=run))


def make_kernels(steps: Any, prepare: Any, synapses_of: Any) -> tuple[Any, Any]:
    """Return the kernels forwards and backwards, on all threads.

    `prepare(weights, delays, indices, indptr)` returns arrays that `synapses_of` takes behind these.
    """
    run_one, differentiate_one = make_run_one(steps.simulate), make_differentiate_one(steps.differentiate)

    # Inlined, since only the parallel regions of a kernel itself are entered without the GIL. They capture
    # arrays, so that tuples are taken apart in front of them.
    @njit(inline="always")
    def forward(shared: Any, inputs: Any, states: Any, parameters: Any, results: Any, trace: Any) -> None:
        """Run all samples."""
        (weights, delays, levels, indices, indptr), (times, ids) = shared, inputs
        spikes, out_ids, ends = results
        order, first = prepare(weights, delays, indices, indptr)
        input_rows = np.int64(parameters[1])
        is_right = is_runnable(delays, first, parameters, input_rows)
        parts = min(num_threads(), times.shape[0])
        for part in prange(parts):
            for b in range(part, times.shape[0], parts):
                record = Record(spikes[b, 0], out_ids[b], spikes[b, 1], spikes[b, 2], ends[b], trace[b])
                sample = Sample(times[b], ids[b], record.times, record.ids, input_rows, levels)
                synapses = synapses_of(weights, delays, indices, indptr, order, first)
                run_one(synapses, sample, states[b], parameters, is_right, record)

    @njit(inline="always")
    def backward(
        shared: Any, inputs: Any, states: Any, parameters: Any, results: Any, cotangents: Any, sums: Any,
        of_samples: Any, of_inputs: bool,
    ) -> None:  # fmt: skip
        """Go back through all samples, and sum derivatives in weights, delays and levels over each group."""
        (weights, delays, levels, indices, indptr), (times, ids) = shared, inputs
        (spikes, out_ids, ends), (ct_spikes, ct_trace) = results, cotangents
        (ct_weights, ct_delays, ct_levels), (ct_times, ct_states) = sums, of_samples
        batch, groups = times.shape[0], ct_weights.shape[0]
        order, first = prepare(weights, delays, indices, indptr)
        input_rows = np.int64(parameters[1])
        parts = max(1, min(num_threads(), batch))  # one fills in the sums of an empty batch, too
        spare_weights = np.empty((parts - 1, *ct_weights.shape), ct_weights.dtype)
        spare_delays = np.empty((parts - 1, *ct_delays.shape), ct_delays.dtype)
        spare_levels = np.empty((parts - 1, *ct_levels.shape), ct_levels.dtype)
        for part in prange(parts):
            of_weights = ct_weights if part == 0 else spare_weights[part - 1]
            of_delays = ct_delays if part == 0 else spare_delays[part - 1]
            of_levels = ct_levels if part == 0 else spare_levels[part - 1]
            of_weights.fill(0)
            of_delays.fill(0)
            of_levels.fill(0)
            arrivals = np.empty(times.shape[1] + out_ids.shape[1])
            of_releases, released = np.empty(out_ids.shape[1]), np.empty(1, np.int64)
            for b in range(part, batch, parts):
                record = Record(spikes[b, 0], out_ids[b], spikes[b, 1], spikes[b, 2], ends[b], ct_trace[b])
                sample = Sample(times[b], ids[b], record.times, record.ids, input_rows, levels)
                group = b * groups // batch
                gradients = Gradients(
                    of_weights[group], of_delays[group], of_levels[group], arrivals, of_inputs,
                    of_releases, released,
                )  # fmt: skip
                synapses = synapses_of(weights, delays, indices, indptr, order, first)
                differentiate_one(
                    synapses, sample, record, states[b], ct_spikes[b, 0], parameters, gradients, ct_times[b],
                    ct_states[b],
                )  # fmt: skip
        for part in prange(parts):
            add_share(ct_weights.reshape(-1), spare_weights.reshape(-1), np.int64(part), parts)
            add_share(ct_delays.reshape(-1), spare_delays.reshape(-1), np.int64(part), parts)
            add_share(ct_levels.reshape(-1), spare_levels.reshape(-1), np.int64(part), parts)

    shared, inputs, results = "weights delays levels indices indptr", "times ids", "spikes out_ids ends"
    gradients = "ct_weights ct_delays ct_levels", "ct_times ct_states"
    return (
        of_arrays(forward, shared, inputs, "states", "parameters", results, "trace"),
        of_arrays(
            backward,
            shared,
            inputs,
            "states",
            "parameters",
            results,
            "ct_spikes ct_trace",
            *gradients,
            "of_inputs",
        ),
    )


# By the dimensions of weights.
_KERNELS: Final = {
    1: make_kernels(entry_steps, sorted_rows, Entries),
    2: make_kernels(row_steps, unsorted_rows, rows_of),
}


def build_forward(*, ndim: int, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function that runs a batch."""
    return numba_kernel(_KERNELS[ndim][0], outs)


def build_backward(*, ndim: int, of_inputs: bool, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function that goes back through a batch."""
    return partial(numba_kernel(_KERNELS[ndim][1], outs, static_argnames="of_inputs"), of_inputs=of_inputs)
