"""Time one call: a kernel that adds 8 floats, behind every way into JAX, beside XLA's own add."""

# Warp's annotations are calls.
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numba
import numpy as np
import warp as wp
from rich.console import Console

from event_ops_harness.bench.python_handler import register_python_handler
from event_ops_harness.bench.suite import Parser, amount, count, write
from event_ops_harness.bench.timing import Work, repeated, seconds_per_step
from event_ops_harness.results import Row, as_json, show
from ffi_bridge import numba_kernel, warp_kernel

_OUT: Final = jax.ShapeDtypeStruct((8,), jnp.float32)
_STEPS: Final = {"pure_callback": 200, "ctypes callback": 500, "warp.jax_kernel": 200}
_DEFAULT_STEPS: Final = 5000

XLA: Final = "XLA a + b"
OURS: Final = ("numba_kernel", "warp_kernel")

Operation = Callable[[Any, Any], Any]


@numba.njit
def add(x: Any, y: Any, out: Any) -> None:
    """out = x + y."""
    for i in range(out.size):
        out[i] = x[i] + y[i]


@wp.kernel(enable_backward=False)
def add_in_warp(
    x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)
):
    """out = x + y."""
    i = wp.tid()
    out[i] = x[i] + y[i]


def operations() -> dict[str, Operation]:
    """Return the same sum of two vectors, by name."""
    register_python_handler("harness_ctypes_add", add, 2, 1, np.float32)
    through_warp = wp.jax_kernel(add_in_warp)
    through_ctypes = jax.ffi.ffi_call("harness_ctypes_add", _OUT)
    return {
        "numba_kernel": numba_kernel(add, _OUT),
        "warp_kernel": warp_kernel(add_in_warp, _OUT),
        XLA: lambda x, y: x + y,
        "warp.jax_kernel": lambda x, y: through_warp(x, y)[0],
        "ctypes callback": through_ctypes,
        "pure_callback": lambda x, y: jax.pure_callback(np.add, _OUT, x, y),
    }


def measure(rounds: int, budget: float) -> list[Row]:
    """Time a step inside `lax.fori_loop`, a jitted call and an eager call."""
    x = jnp.arange(8, dtype=jnp.float32)
    ways = operations()
    steps = {name: _STEPS.get(name, _DEFAULT_STEPS) for name in ways}
    once = dict.fromkeys(ways, 1)
    groups: dict[str, tuple[Mapping[str, Work], dict[str, int]]] = {
        "step in fori_loop": ({n: _loop(op, steps[n], x) for n, op in ways.items()}, steps),
        "jitted call": ({n: _blocking(jax.jit(op), x) for n, op in ways.items()}, once),
        "eager call": ({n: _blocking(op, x) for n, op in ways.items()}, once),
    }
    return [
        Row(group, name, seconds / counts[name], XLA, {"ours": name in OURS})
        for group, (works, counts) in groups.items()
        for name, seconds in _seconds(works, rounds, budget).items()
    ]


def _seconds(works: Mapping[str, Work], rounds: int, budget: float) -> dict[str, float]:
    for work in works.values():
        work()  # compiles
    runs = {name: repeated(work) for name, work in works.items()}
    return seconds_per_step(runs, rounds=rounds, budget=budget)


def _loop(operation: Operation, steps: int, x: jax.Array) -> Work:
    run = jax.jit(lambda a: jax.lax.fori_loop(0, steps, lambda _, c: operation(c, a), a))
    return lambda: jax.block_until_ready(run(x))


def _blocking(operation: Operation, x: jax.Array) -> Work:
    return lambda: jax.block_until_ready(operation(x, x))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show and write; return the exit status."""
    parser = Parser("call", __doc__)
    parser.add_argument("--rounds", type=count, default=15)
    parser.add_argument("--budget", type=amount, default=3.0, help="seconds per rival and way")
    options, console = parser.parse(argv), Console()
    with console.status("measuring"):
        rows = measure(options.rounds, options.budget)
    show(console, "What one call costs", rows)
    write(options, as_json(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
