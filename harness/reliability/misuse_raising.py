"""Kernels that raise, called in every way: what arrives is a JAX error, and the next call is right."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numba
from misuse import RUN_ERRORS, Misuse
from raising_kernels import BAD, GOOD, TEXTS, WAYS, function_of, indexes, raises_in_prange, raises_own

from ffi_bridge import numba_kernel


def _raises(kernel: Any, way: str) -> Callable[[], object]:
    """The fourth failing call, each followed by one that works."""

    def act() -> object:
        program = WAYS[way](function_of(kernel))
        for _ in range(3):
            try:
                jax.block_until_ready(program(BAD))
            except RUN_ERRORS:
                jax.block_until_ready(program(GOOD))
            else:
                return "an exception was lost"
        return program(BAD)

    return act


@numba.njit
def _raises_a_text_that_is_no_ascii(x, out):
    raise ValueError("Größe µ > 0 \N{SNOWMAN} %s %d {0}")


@numba.njit
def _raises_a_long_text(x, out):
    raise ValueError(LONG)


LONG = "long " * 20_000


QUICK = (raises_own, indexes, raises_in_prange)


def _always(kernel: Any) -> Callable[[], object]:
    return lambda: numba_kernel(kernel, jax.ShapeDtypeStruct((3,), jnp.float32))(GOOD)


CASES = (
    *(
        Misuse(
            f"{kernel.__name__}, {way}",
            _raises(kernel, way),
            text,
            RUN_ERRORS,
            slow=way != "vmap" or kernel not in QUICK,
        )
        for kernel, text in TEXTS.items()
        for way in WAYS
    ),
    Misuse(
        "a text that is no ASCII",
        _always(_raises_a_text_that_is_no_ascii),
        "ValueError: Größe µ > 0 \N{SNOWMAN} %s %d {0}",
        RUN_ERRORS,
    ),
    Misuse("a text of 100 kB", _always(_raises_a_long_text), "ValueError: (long ){1000}", RUN_ERRORS),
)
