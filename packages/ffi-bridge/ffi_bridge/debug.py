"""The debug mode of native kernels on CPUs: `FFI_BRIDGE_DEBUG=1` in the environment of the process.

Every output is then filled with NaN, or with -1, before its kernel runs, so that elements which the kernel
does not write show. It also lies between canaries: a kernel that writes up to 64 bytes beside an output ends
with an error that names both. An output that is aliased with an input begins with its values. Inputs are
compared before and after: one that has changed is put back, and named.

The shares of a parallel loop run one after the other, in an order that changes, and each sees the outputs as
they were when the loop began. A kernel whose shares add to one element, or read what another share writes, so
gives wrong results even on small inputs; if two shares write different values to one element, it ends with an
error.

The mode costs a copy of every input and output, and in parallel loops one per share. `NUMBA_BOUNDSCHECK=1` is
Numba's own check of every index.
"""

import functools
import os
from contextlib import AbstractContextManager
from typing import Final

import jax

VARIABLE: Final = "FFI_BRIDGE_DEBUG"

# A part of `jax.jit`'s keys: a function that was compiled without guards is compiled again with them.
_GUARDED: Final = jax.make_user_context(False)


def guarded() -> AbstractContextManager[None]:
    """Return a block in which kernels that this thread compiles are compiled as in the debug mode."""
    return _GUARDED(True)


def turn_on() -> None:
    """Turn the debug mode on for the whole process, from here on."""
    _GUARDED.set_global(True)


def is_on() -> bool:
    """Return whether handlers that are compiled now guard their outputs."""
    return bool(_GUARDED.value) or set_by_environment()


@functools.cache
# Read once: what one process compiles early and late is guarded alike.
def set_by_environment() -> bool:
    """Return whether the process was started in the debug mode."""
    return os.environ.get(VARIABLE, "") not in ("", "0")
