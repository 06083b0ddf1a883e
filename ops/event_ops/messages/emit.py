"""A pass as lines of Python: where a kernel reads the inputs of a message, and how it combines results."""

import math
from collections.abc import Sequence
from typing import Any, Final

from event_ops.codegen.emit import array_names, defined, function_lines, tuple_of
from event_ops.codegen.function import ALL, Traced
from event_ops.codegen.primitives import Target
from event_ops.messages.passes import COLUMN, ENTRY, ROW, Axes, Pass

STRUCTURE: Final = ("indices", "indptr", "permutation")
_COMBINED_BY: Final = {"sum": "add", "mul": "mul", "max": "max", "min": "min"}
START: Final = {"sum": 0.0, "mul": 1.0, "max": -math.inf, "min": math.inf}


def parameters(of: Pass) -> list[str]:
    """Return the names of a kernel's inputs and outputs."""
    structure = [*STRUCTURE[: of.structure[0]], "limit"]
    return [*structure, *array_names(of.message), *outputs(of)]


def outputs(of: Pass) -> list[str]:
    """Return the names of the arrays of the results."""
    return [f"y{i}" for i in range(len(of.results))]


def offset(axes: Axes, sizes: Sequence[int], index: str = "np.uintp") -> str:
    """Return where in its features an array has that of the indices f0, f1, ..., which has these axes."""
    terms: list[str] = []
    stride = 1
    for k in reversed(range(len(sizes))):
        if axes[k]:
            terms.append(f"f{k} * {index}({stride})" if stride > 1 else f"f{k}")
            stride *= sizes[k]
    return " + ".join(reversed(terms)) or f"{index}(0)"


def reads(of: Pass, index: str, at: str = "") -> list[str]:
    """Return the expression of each input for row i, column j and entry e, whose names end with `at`."""
    places = {ROW: "i", COLUMN: f"j{at}", ENTRY: f"e{at}", ALL: f"{index}(0)"}
    return [
        f"a{k}[{places[place]}, {offset(axes, of.sizes, index)}]"
        for k, (place, axes) in enumerate(zip(of.message.places, of.axes, strict=True))
    ]


def combined(of: Pass, target: Target, dtype: str, x: str, y: str) -> str:
    """Return the expression that combines two messages at a row."""
    name = _COMBINED_BY[of.reduce]
    return target.expression_of(name, dtype).format(x, y)


def message_lines(of: Pass, target: Target, index: str) -> list[str]:
    """Return the lines that compute a message's results r0, r1, ... for row i, column j and entry e."""
    return function_lines(of.message, target, reads(of, index), [f"r{k}" for k in range(len(of.results))])


def message_function(message: Traced, target: Target, **outside: Any) -> Any:
    """Return the function of scalars that returns a message's results, or the one that it has."""
    names = [f"x{k}" for k in range(len(message.places))]
    results = [f"r{k}" for k in range(message.count)]
    returned = results[0] if len(results) == 1 else tuple_of(results)
    lines = [*function_lines(message, target, names, results), f"return {returned}"]
    return defined("message", names, lines, **outside)


def nested(sizes: Sequence[int], over: Sequence[int], body: Sequence[str], counter: str) -> list[str]:
    """Return the loops over the axes of features `over`, around lines."""
    lines = list(body)
    for k in reversed(over):
        lines = [f"for f{k} in range({counter}({sizes[k]})):", *(f"    {line}" for line in lines)]
    return lines
