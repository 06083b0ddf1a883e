"""The functions of a neuron and their adjoints as functions of arrays, which Numba compiles."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from event_ops.codegen.emit import body_lines, defined, filled, function_lines, tables_of
from event_ops.codegen.function import ALL, Traced
from event_ops.codegen.primitives import NUMBA_LOOPS
from event_ops.eventprop.models.blocks import ROOM, Places
from event_ops.eventprop.models.functions import Functions, pulled_back
from event_ops.kernels.numba_cpu.arithmetic import FUNCTIONS
from event_ops.kernels.numba_cpu.jit import CONTRACT, njit
from event_ops.neurons.emit import divided


class Emitted(NamedTuple):
    """Hold functions `(x, p, j, out)` of neuron j: of states x and parameters p[:, j].

    `moved` and `reach` take a time and whether states are held in front of out, `rise` a time. Adjoints take
    cotangents in front, and fill in those of all inputs. Those of all neurons of a block are `(w, p, h,
    size)`: they change its rows w.
    """

    moved: Callable[..., Any]
    level: Callable[..., Any]
    rise: Callable[..., Any]
    reach: Callable[..., Any]
    reset: Callable[..., Any]
    moved_back: Callable[..., Any]
    level_back: Callable[..., Any]
    reset_back: Callable[..., Any]
    move_all: Callable[..., Any]
    reach_all: Callable[..., Any]
    move_all_back: Callable[..., Any]


def emitted(functions: Functions) -> Emitted:
    """Return the functions."""
    f, states = functions, range(functions.states)
    parameters = range(len(f.level.dtypes) - f.states)
    sizes = f.states, len(parameters)
    places = Places.of(*sizes)
    back = pulled_back(f.moved)
    of_states, of_parameters = back.program.results[: f.states], back.program.results[f.states : -2]
    cotangents = [_row(places.cotangents, k) for k in states]
    sums = [_row(places.of_parameters, k) for k in parameters]
    after = [_row(places.after, k) for k in states]
    read = [_row(0, k) for k in states]
    every = [
        _row(places.parameters, k) if f.level.places[f.states + k] != ALL else f"p[{k}, 0]"
        for k in parameters
    ]
    every = [*read, *every, f"np.{back.dtypes[0]}(h)", _row(places.held)]
    zero = f"np.{back.dtypes[0]}(0.0)"  # what does not depend on a parameter
    backwards = [
        *zip(cotangents, of_states, strict=True),
        *((y, f"{y} + {x}") for y, x in zip(sums, of_parameters, strict=True) if x != zero),
        (_row(places.over), back.program.results[-2]),
    ]
    reached = [*after, _row(places.over)]
    plain = [_of_neuron(x, *sizes) for x in (f.moved, f.level, f.rise, f.reach, f.reset)]
    adjoints = [_of_neuron(pulled_back(x), *sizes, x.count) for x in (f.moved, f.level, f.reset)]
    return Emitted(
        *(*plain, *adjoints),
        move_all=_of_block(f.moved, every, list(zip(after, f.moved.program.results, strict=True))),
        reach_all=_of_block(f.reach, every, list(zip(reached, f.reach.program.results, strict=True))),
        move_all_back=_of_block(back, [*cotangents, *every], backwards),
    )


def _row(begin: int, number: int = 0) -> str:
    return f"w[i + np.uintp({begin + number * ROOM})]"


def _of_neuron(function: Traced, states: int, parameters: int, cotangents: int = 0) -> Any:
    """Return the function of one neuron."""
    reads = [f"c[{k}]" for k in range(cotangents)] + [f"x[{k}]" for k in range(states)]
    reads += [f"p[{k}, j]" for k in range(parameters)]
    times = ["h", "held"][: len(function.dtypes) - len(reads)]
    reads += [f"np.{function.dtypes[0]}({x})" for x in times]
    lines = function_lines(function, NUMBA_LOOPS, reads, [f"out[{k}]" for k in range(function.count)])
    arrays = ["c", "x"] if cotangents else ["x"]
    return _compiled(function, [*arrays, "p", "j", *times, "out"], lines)


def _of_block(function: Traced, reads: Sequence[str], writes: Sequence[tuple[str, str]]) -> Any:
    """Return the function of all neurons of a block, in which each operation on shared numbers is one."""
    places = [(f"x{k}", read) for k, read in enumerate(reads)]
    each = {f"x{k}" for k, place in enumerate(function.places) if place != ALL}
    shared, of_neuron = divided(function.program.operations, {*each}, True)
    once = [x for x in places if x[0] not in each]
    lines = filled(
        "{once}\nfor i in range(np.uintp(size)):\n    {own}",
        once=body_lines(NUMBA_LOOPS, once, shared, ()),
        own=body_lines(NUMBA_LOOPS, [x for x in places if x[0] in each], of_neuron, writes),
    )
    return _compiled(function, ["w", "p", "h", "size"], lines)


def _compiled(function: Traced, parameters: Sequence[str], lines: Sequence[str]) -> Any:
    outside = {**FUNCTIONS, **tables_of(function), "math": math, "np": np}
    compiled = njit(error_model="numpy", fastmath=CONTRACT)
    return compiled(defined("of_neurons", parameters, lines, **outside))
