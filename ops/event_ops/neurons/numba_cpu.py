"""A step of a neuron model on the CPU: one pass without branches, which vectorises."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numba import prange

from event_ops.checks.arrays import reaches
from event_ops.codegen.emit import array_names, defined, filled, tables_of, tuple_of
from event_ops.codegen.function import ALL, Traced
from event_ops.codegen.operations import Loop, walk
from event_ops.codegen.primitives import NUMBA_LOOPS
from event_ops.kernels.numba_cpu import access, encodings, events, jit
from event_ops.kernels.numba_cpu.arithmetic import FUNCTIONS
from event_ops.kernels.numba_cpu.jit import CONTRACT, njit
from event_ops.kernels.numba_cpu.noise import AT_ONCE, ROOM, make_draw
from event_ops.kernels.reference.noise import streams_of
from event_ops.neurons.emit import divided_step
from event_ops.neurons.passes import Passes
from ffi_bridge import numba_kernel

# A step of fewer operations takes less time than a parallel launch.
MIN_OPERATIONS_PARALLEL: Final = 1 << 20
# A number that is drawn takes about 0.7 ns: for fewer the launch costs more than a second thread saves.
MIN_DRAWN_PARALLEL: Final = 1 << 15
_OF_A_FUNCTION: Final = 16  # operations that exp, a division and the like count for
_CHEAP: Final = {
    "add", "and", "convert_element_type", "eq", "ge", "gt", "le", "lt", "max", "min", "mul", "ne", "neg",
    "not", "or", "select_n", "sub",
}  # fmt: skip
_KEPT: Final = 1024  # models
_MODULES: Final = access, encodings, events, jit


def operations_of(neuron: Traced, noise: Sequence[str]) -> int:
    """Return how many cheap operations a step of one neuron takes as long as."""
    each = [(1 if x.primitive in _CHEAP else _OF_A_FUNCTION, n) for x, n in walk(neuron.program.operations)]
    return sum(cost * times for cost, times in each) + _OF_A_FUNCTION * len(noise)


@lru_cache(_KEPT)
def step_range(neuron: Traced, noise: tuple[str, ...] = ()) -> Any:
    """Return the function `(states, variables, low, high)` that steps the neurons of a range in place.

    states: the arrays of states, of spikes, as `stored_spikes` has them, and of observed values; variables:
    what is one for all as a number, and arrays; then, of a model with noise, seed, time, first and table.
    """
    outputs, inputs = _names(neuron, len(noise))
    inputs = [*inputs[neuron.positional :], *_words(noise)]
    unpacked = [f"{tuple_of(inputs)} = variables"] if inputs else []
    body = [f"{tuple_of(outputs)} = states", *unpacked, *_loops(neuron, outputs, len(noise))]
    draws = {f"draw{k}": make_draw(*drawn) for k, drawn in enumerate(streams_of(noise))}
    functions = {**FUNCTIONS, **draws, "AT_ONCE": AT_ONCE, "ROOM": ROOM}
    functions |= {"math": math, "np": np, **tables_of(neuron)}
    # With Python's error model a division would raise where it divides by 0, and so not vectorise.
    compiled = njit(error_model="numpy", fastmath=CONTRACT)
    return compiled(defined("step_range", ["states", "variables", "low", "high"], body, **functions))


def _names(neuron: Traced, drawn: int) -> tuple[list[str], list[str]]:
    """Return the names of the outputs of a step, and of its inputs that are arrays."""
    arrays = array_names(neuron)[: len(neuron.places) - drawn]
    return [f"y{k}" for k in range(neuron.count)], arrays


def _words(noise: Sequence[str]) -> list[str]:
    return ["seed", "time", "first", "table"] if noise else []


# Each state is the same memory as its output (XLA copies it first where it is needed again). The kernels read
# the outputs: they would not vectorise otherwise, since LLVM sees two arrays that overlap.
@lru_cache(_KEPT)
def kernel(neuron: Traced, large: bool, listed: bool, noise: tuple[str, ...] = ()) -> Any:
    """Return the kernel of a model for one thread, or for all threads; `listed`: it lists the spikes, too."""
    outputs, arrays = _names(neuron, len(noise))
    spikes = outputs[neuron.positional] if neuron.count > neuron.positional else ""
    words = _words(noise)
    places = neuron.places[: len(arrays)]
    hoisted = [f"hoist({a})" if place == ALL else a for a, place in zip(arrays, places, strict=True)]
    hoisted += [f"hoist({a})" for a in words]
    names, first, each, last = _list_lines(spikes) if listed else ([], [], [], [])
    body = filled(
        f"""\
states = {tuple_of([f"stored_spikes({y})" if y == spikes else y for y in outputs])}
variables = {tuple_of(hoisted[neuron.positional :])}
size, parts = y0.size, {"num_threads()" if large else "1"}
{{first}}
for part in {"prange" if large else "range"}(parts):
    low, high = size * part // parts, size * (part + 1) // parts
    step_range(states, variables, low, high)
    {{each}}
{{last}}""",
        first=first,
        each=each,
        last=last,
    )
    taken, step = [*arrays, *words, *outputs, *names], step_range(neuron, noise)
    outside = {"prange": prange, "step_range": step}
    return njit(parallel=large)(defined("neuron_step", taken, body, *_MODULES, **outside))


def _loops(neuron: Traced, outputs: Sequence[str], drawn: int) -> list[str]:
    """Return the lines that run once, and the loops over neurons.

    Those that draw numbers, or take turns, go by as many neurons as stay in the nearest cache.
    """
    numbers = [f"numbers{k}[i - begin{k}]" for k in range(drawn)]
    takes_turns = any(isinstance(x, Loop) for x in neuron.program.operations)
    divided = divided_step(neuron, NUMBA_LOOPS, outputs, numbers)
    shared = divided.shared_lines(NUMBA_LOOPS)
    if not takes_turns:
        neuron_lines = divided.neuron_lines(NUMBA_LOOPS)
        every = "{shared}\nfor i in range(np.uintp(low), np.uintp(high)):\n    {own}"
        if not drawn:
            return filled(every, shared=shared, own=neuron_lines)
        rooms, block, each = [], "AT_ONCE", filled("for i in range(start, end):\n    {own}", own=neuron_lines)
    else:
        passes = Passes(divided.of_neuron, divided.differ, divided.loads, divided.writes, NUMBA_LOOPS)
        rooms, block, each = passes.rooms(), f"np.uintp({passes.neurons})", passes.lines()
    draws = [
        f"begin{k} = start - draw{k}(np.uintp(first) + start, end - start, time, seed, table, numbers{k})"
        for k in range(drawn)
    ]
    return filled(
        f"""\
{{shared}}
{{rooms}}
for start in range(np.uintp(low), np.uintp(high), {block}):
    end = min(start + {block}, np.uintp(high))
    {{draws}}
    {{each}}""",
        shared=shared,
        rooms=[*rooms, *(f"numbers{k} = np.empty(ROOM, np.float32)" for k in range(drawn))],
        draws=draws,
        each=each,
    )


def _list_lines(spikes: str) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return the names of the list's outputs, and the lines before, in and after the loop over parts."""
    return (
        ["spike_ids", "num_spikes"],
        ["lists, lengths = lists_of(size, parts, spike_ids)"],
        [f"lengths[part] = list_part(flags_of({spikes}[low:high]), low, lists[part])"],
        ["finish(joined(lists, lengths, spike_ids), size, spike_ids, num_spikes)"],
    )


def build(*, neuron: Traced, outs: Any, noise: tuple[str, ...] = (), **_: Any) -> Callable[..., Any]:
    """Return the function of arrays: on one thread, or on all for many neurons."""
    size = outs[0].size
    large = reaches(size * operations_of(neuron, noise), MIN_OPERATIONS_PARALLEL)
    large |= reaches(size * len(noise), MIN_DRAWN_PARALLEL)
    aliases = {k: k for k in range(neuron.positional)}
    listed = len(outs) > neuron.count
    return numba_kernel(kernel(neuron, large, listed, noise), outs, input_output_aliases=aliases)
