"""The debug mode of native kernels on CPUs: `FFI_BRIDGE_DEBUG=1` in the environment of the process.

Every output is then filled with NaN, or with -1, before its kernel runs, so that what it leaves unwritten
shows, and lies between canaries: a kernel that writes up to 64 bytes beside an output ends with an error that
names both. An output in place of an input begins with what is there, between canaries, too.

The shares of a parallel loop run one after the other, in an order that changes, and each sees the outputs as
they were when the loop began. So a kernel whose shares add to one element, or read what another share writes,
gives wrong results on small inputs, too; two different values for one element end it with an error.

It costs a copy of every output, and in parallel loops one for each share. Numba's own check of every index is
`NUMBA_BOUNDSCHECK=1`.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Generator
from typing import Final

import jax

VARIABLE: Final = "FFI_BRIDGE_DEBUG"

# A part of `jax.jit`'s keys: a function that was compiled without guards is compiled again for them.
_GUARDED: Final = jax.make_user_context(False)


@contextlib.contextmanager
def guarded() -> Generator[None]:
    """Within the block, in this thread, what is compiled has guarded outputs, as in the debug mode."""
    with _GUARDED(True):
        yield


def turn_on() -> None:
    """The debug mode for the whole process, from here on."""
    _GUARDED.set_global(True)


def is_on() -> bool:
    """Whether handlers that are made now guard their outputs."""
    return bool(_GUARDED.value) or set_by_environment()


@functools.cache
def set_by_environment() -> bool:
    """Whether the process was started in the debug mode; the same for its life."""
    return os.environ.get(VARIABLE, "") not in ("", "0")
