"""Kernels and Python callbacks in one program, many calls in flight: `python callbacks_in_child.py KIND`.

KIND is a kind of callback. Kernels come before, after and between callbacks, serial and parallel, in nested
jits, in a scan and in several Python threads; nothing is waited for until all calls have been made.
"""

import sys
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
from parallel_kernels import add_parallel, add_serial, in_threads

from ffi_bridge import numba_kernel

N, CALLS = 1000, 50
LIKE: Final = jax.ShapeDtypeStruct((N,), jnp.float32)
seen: list[float] = []


def _on_host(x: Any) -> Any:
    seen.append(float(x[0]))
    return np.asarray(x) + np.float32(1)


def _debug(x: Any) -> Any:
    jax.debug.callback(_on_host, x)
    return x + 1


CALLBACKS: Final[dict[str, Callable[[Any], Any]]] = {
    "pure_callback": lambda x: jax.pure_callback(_on_host, LIKE, x),
    "io_callback": lambda x: io_callback(_on_host, LIKE, x),
    "ordered_io_callback": lambda x: io_callback(_on_host, LIKE, x, ordered=True),
    "debug_callback": _debug,
}


def _program(plus_one: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """x -> 8 x + 7, by doubling with kernels and adding 1 with callbacks, three times."""
    serial, parallel = (numba_kernel(kernel, LIKE) for kernel in (add_serial, add_parallel))

    def inner(x: Any) -> Any:
        return plus_one(jax.jit(parallel)(x, x))

    def outer(x: Any) -> Any:
        x = plus_one(serial(x, x))
        return plus_one(serial(*[jax.jit(inner)(x)] * 2))

    return jax.jit(outer)


def _scanned(plus_one: Callable[[Any], Any]) -> Callable[[Any], Any]:
    parallel = numba_kernel(add_parallel, LIKE)
    return jax.jit(
        lambda x: jax.lax.scan(lambda c, _: (plus_one(parallel(c, c)), None), x, None, length=3)[0]
    )


def _in_flight(program: Callable[[Any], Any]) -> None:
    inputs = [np.full(N, i, "f") for i in range(CALLS)]
    for x, y in zip(inputs, [program(x) for x in inputs], strict=True):
        np.testing.assert_array_equal(y, 8 * x + 7)


if __name__ == "__main__":
    plus_one = CALLBACKS[sys.argv[1]]
    programs = [_program(plus_one), _scanned(plus_one)]
    for program in programs:
        _in_flight(program)
    if not sys.argv[1].startswith("ordered"):
        in_threads(4, lambda i: _in_flight(programs[i % 2]))
    jax.effects_barrier()
    print(len(seen))
