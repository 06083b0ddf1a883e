"""How long each operator of a compiled program takes, within the program itself.

Alone an operator finds other things in the caches, and other threads awake, than among the others. So the
program reads the clock before and after each of them. What it carries through the operators' own operands
and results keeps XLA from moving an operator past a clock, and their arrays are updated in place as before.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numba
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun
from numba import types

from ffi_bridge import numba_kernel

# Of libc, by its name: Numba compiles no clock of Python's.
_clock_gettime: Any = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.voidptr))
_MONOTONIC = time.CLOCK_MONOTONIC


@numba.njit
def read_clock(x: Any, clocks: Any, part: Any, x_out: Any, clocks_out: Any) -> None:
    """clocks_out[part] += ns since the last reading, clocks_out[0]; x goes through in place."""
    now = np.empty(2, np.int64)  # seconds and nanoseconds
    _clock_gettime(_MONOTONIC, now.ctypes)
    ns = np.uint32(now[0] * 1_000_000_000 + now[1])  # modulo 2**32: differences hold up to 4 s
    clocks_out[part[()]] += ns - clocks_out[0]
    clocks_out[0] = ns


def clocked(step: Callable[..., Any], operators: Sequence[str]) -> Callable[..., Any]:
    """Return `(carry, clocks) -> (carry, clocks)`, the step with a clock around these operators.

    clocks is as of `no_clocks`: clocks[1 + i] counts the ns of operator i, clocks[-1] those of all the rest.
    """

    def run(carry: Any, clocks: jax.Array, *arguments: Any) -> tuple[Any, jax.Array]:
        closed, shapes = jax.make_jaxpr(step, return_shape=True)(carry, *arguments)
        values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
        values.update(zip(closed.jaxpr.invars, jax.tree.leaves((carry, *arguments)), strict=True))

        def value(x: Any) -> Any:
            return x.val if isinstance(x, Literal) else values[x]

        done: list[Any] = []
        for equation in closed.jaxpr.eqns:
            same = equation.primitive, equation.invars, equation.params
            # XLA, too, would do it once.
            if twin := [x for x in done if (x.primitive, x.invars, x.params) == same]:
                values.update((y, values[x]) for x, y in zip(twin[0].outvars, equation.outvars, strict=True))
                continue
            name = equation.primitive.name
            if name in operators:
                done.append(equation)
                # The smallest: XLA copies a large one that has just been updated in place.
                first = min(
                    (x for x in equation.invars if not isinstance(x, Literal)), key=lambda x: x.aval.size
                )
                values[first], clocks = _read(value(first), clocks, len(operators) + 1)
            results = _evaluated(closed.jaxpr, equation, value)
            if name in operators:
                results[-1], clocks = _read(results[-1], clocks, 1 + operators.index(name))
            values.update(zip(equation.outvars, results, strict=True))
        return jax.tree.unflatten(jax.tree.structure(shapes), map(value, closed.jaxpr.outvars)), clocks

    return run


def no_clocks(operators: Sequence[str]) -> jax.Array:
    """(2 + operators,), uint32: the time of the last reading, and no time for anything."""
    return jnp.zeros(len(operators) + 2, jnp.uint32)


def _evaluated(whole: Any, equation: Any, value: Callable[[Any], Any]) -> list[Any]:
    inputs = list(dict.fromkeys(x for x in equation.invars if not isinstance(x, Literal)))
    alone = whole.replace(constvars=[], invars=inputs, outvars=equation.outvars, eqns=[equation])
    return jaxpr_as_fun(ClosedJaxpr(alone, ()))(*map(value, inputs))


def _read(x: Any, clocks: jax.Array, part: int) -> Any:
    outs = jax.eval_shape(lambda *args: args, x, clocks)
    return numba_kernel(read_clock, outs, input_output_aliases={0: 0, 1: 1})(x, clocks, np.int32(part))
