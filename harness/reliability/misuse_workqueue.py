"""Parallel kernels beside the `workqueue` layer of Numba, which no two threads may enter."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import jax
import numba
import numpy as np
from misuse import RUN_ERRORS, Misuse
from parallel_kernels import (
    N,
    X,
    add_parallel,
    add_serial,
    adds,
    in_threads,
    many_at_once,
    region_in_region,
    through_a_function,
    two_regions,
    without_a_loop,
)
from raising_kernels import BAD, GOOD, TEXTS, function_of, raises_in_prange

ENV = {"NUMBA_THREADING_LAYER": "workqueue", "NUMBA_NUM_THREADS": "4"}
KERNELS: Final = (add_parallel, through_a_function, two_regions, without_a_loop, region_in_region)


def _alone(kernel: Any) -> None:
    np.testing.assert_array_equal(adds(kernel)(X, X), X + X)


def _at_once(kernel: Any) -> None:
    f = adds(kernel)
    in_threads(4, lambda _: many_at_once(f))


def _in_threads(kernel: Any) -> None:
    f = jax.jit(adds(kernel))

    def work(i: int) -> None:
        for _ in range(20):
            np.testing.assert_array_equal(f(X, X + i), X + (X + i))

    in_threads(8, work)


def _vmapped(kernel: Any) -> None:
    np.testing.assert_array_equal(jax.vmap(adds(kernel), (0, None))(np.stack([X, X]), X), [X + X] * 2)


def _two_kernels(kernel: Any) -> None:
    """Of which one is serial, in programs of two threads."""
    both = jax.jit(lambda x: (adds(kernel)(x, x), adds(add_serial)(x, x)))
    in_threads(2, lambda _: [np.testing.assert_array_equal(out, X + X) for out in both(X)])


def _with_another_count(kernel: Any) -> None:
    before = numba.get_num_threads()
    for count in (1, 3, 2):
        numba.set_num_threads(count)
        _alone(kernel)
    numba.set_num_threads(before)


def _beside_numba() -> None:
    """Numba's own call of a parallel function while ours are in flight."""
    f, out = jax.jit(adds(add_parallel)), np.empty(N, "f")
    pending = [f(X, X + i) for i in range(50)]
    for _ in range(50):
        add_parallel(X, X, out)
    for i, y in enumerate(pending):
        np.testing.assert_array_equal(y, X + (X + i))


def _raises_in_threads() -> object:
    f = jax.jit(function_of(raises_in_prange))

    def work(_: int) -> None:
        for _ in range(20):
            try:
                jax.block_until_ready(f(BAD))
            except RUN_ERRORS:
                np.testing.assert_array_equal(f(GOOD), GOOD)
            else:
                raise AssertionError("an exception was lost")

    in_threads(8, work)
    return f(BAD)


USES: dict[str, Callable[[Any], None]] = {
    "alone": _alone,
    "six at once": _at_once,
    "in eight threads": _in_threads,
    "vmapped": _vmapped,
    "beside a serial kernel": _two_kernels,
    "with another count of threads": _with_another_count,
}

QUICK: Final = ("six at once", "in eight threads")

CASES = (
    *(
        Misuse(
            f"{kernel.__name__}, {name}",
            partial(use, kernel),
            error=None,
            slow=not (name in QUICK and kernel in (add_parallel, through_a_function, region_in_region)),
        )
        for kernel in KERNELS
        for name, use in USES.items()
    ),
    Misuse("beside Numba's own calls", _beside_numba, error=None),
    Misuse("raises in eight threads", _raises_in_threads, TEXTS[raises_in_prange], RUN_ERRORS),
)
