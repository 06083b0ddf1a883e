"""The functions of a neuron and their adjoints as functions of arrays, which Numba compiles."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from event_ops.codegen.emit import defined, function_lines, tables_of
from event_ops.codegen.function import Traced
from event_ops.codegen.primitives import NUMBA_LOOPS
from event_ops.eventprop.models.functions import Functions, pulled_back
from event_ops.kernels.numba_cpu.arithmetic import FUNCTIONS
from event_ops.kernels.numba_cpu.jit import CONTRACT, njit


class Emitted(NamedTuple):
    """Hold functions `(x, p, j, h, out)` of neuron j: of states x, parameters p[:, j], and a time h.

    Those of adjoints take cotangents in front, and fill in those of states, parameters and the time.
    """

    flow: Callable[..., Any]
    held: Callable[..., Any]
    level: Callable[..., Any]
    rise: Callable[..., Any]
    reset: Callable[..., Any]
    flow_back: Callable[..., Any]
    held_back: Callable[..., Any]
    level_back: Callable[..., Any]
    reset_back: Callable[..., Any]


def emitted(functions: Functions) -> Emitted:
    """Return the functions; a model without a refractory time holds no state."""
    parameters = len(functions.level.dtypes) - functions.states
    held = functions.flow if functions.held is None else functions.held
    plain = functions.flow, held, functions.level, functions.rise, functions.reset
    adjoints = functions.flow, held, functions.level, functions.reset
    return Emitted(
        *(_compiled(x, ["x"], _reads(x, parameters)) for x in plain),
        *(_compiled(pulled_back(x), ["c", "x"], _cotangents(x) + _reads(x, parameters)) for x in adjoints),
    )


def _cotangents(function: Traced) -> list[str]:
    return [f"c[{k}]" for k in range(function.count)]


def _reads(function: Traced, parameters: int) -> list[str]:
    """Return where the inputs of a function are: states, parameters, and then the time, if it takes one."""
    places = [*(f"x[{k}]" for k in range(function.positional)), *(f"p[{k}, j]" for k in range(parameters))]
    return [*places, f"np.{function.dtypes[0]}(h)"][: len(function.dtypes)]


def _compiled(function: Traced, arrays: Sequence[str], reads: Sequence[str]) -> Any:
    writes = [f"out[{k}]" for k in range(function.count)]
    lines = function_lines(function, NUMBA_LOOPS, reads, writes)
    outside = {**FUNCTIONS, **tables_of(function), "math": math, "np": np}
    compiled = njit(error_model="numpy", fastmath=CONTRACT)
    return compiled(defined("of_neuron", [*arrays, "p", "j", "h", "out"], lines, **outside))
