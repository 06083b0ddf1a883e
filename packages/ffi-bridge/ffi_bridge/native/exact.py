"""Make keys of static values, which are equal only where a kernel cannot tell the values apart.

To Python 0.0 equals -0.0, and 1 equals 1.0 and True; compiled into a kernel they give other results.
"""

import dataclasses
import enum
import functools
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import jax
import numpy as np
from jax.core import Tracer

from ffi_bridge.errors import KernelTypeError

# Methods of a function under `jax.jit` that take its arguments.
_METHODS: Final = ("lower", "trace", "eval_shape")


def exact_key(x: Any) -> Any:
    """Return a key that is equal for values of one type and the same bits, also in tuples and dataclasses.

    A class whose `==` tells bits apart already says so by `is_exact = True`, and is not looked into.
    """
    kind = type(x)
    if kind in (bool, int, str, bytes, type(None)) or getattr(kind, "is_exact", False):
        return kind, x
    if isinstance(x, enum.Enum):
        return kind, x.name
    if isinstance(x, float | complex):
        # By bits: the sign of 0 counts, and a NaN equals itself.
        return kind, struct.pack("dd", complex(x).real, complex(x).imag)
    if isinstance(x, np.ndarray | np.generic):
        return kind, x.dtype.str, x.shape, x.tobytes()
    if isinstance(x, tuple | list):
        return kind, tuple(map(exact_key, x))
    if isinstance(x, set | frozenset):
        return kind, frozenset(map(exact_key, x))
    if isinstance(x, Mapping):
        return kind, tuple((exact_key(key), exact_key(value)) for key, value in x.items())
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return (
            kind,
            x,
            tuple(exact_key(getattr(x, field.name)) for field in dataclasses.fields(x) if field.compare),
        )
    return kind, x


class Exact:
    """A value that equals another one if their contents do; hashed as itself, so that JAX can refuse it."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value, self._key = value, exact_key(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Exact) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return repr(self.value)


class Constants(tuple[tuple[Any, Any], ...]):
    """Static parameters, by name or place, and their values; equal if the contents of all are."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constants) and exact_key(tuple(self)) == exact_key(tuple(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self))


def plain(named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a call was given, with static ones taken out of `Exact`."""
    return {name: x.value if isinstance(x, Exact) else x for name, x in named.items()}


def exactly(jitted: Any, static: Sequence[str]) -> Callable[..., Any]:
    """Return a function under `jax.jit` that compiles anew for each static value that differs in a bit."""
    if not static:
        return jitted  # itself, since each call in between takes a quarter of a microsecond

    def through(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(jitted)
        def call(*args: Any, **named: Any) -> Any:
            for name in static:
                if isinstance(named.get(name), Tracer):
                    raise KernelTypeError(
                        f"kernel '{jitted.__name__}': '{name}' is in static_argnames, but the call gives it "
                        f"a traced value; make it static in jax.jit(..., static_argnames='{name}') of the "
                        "function that passes it, too, or an input of the kernel"
                    )
            return function(*args, **{n: Exact(x) if n in static else x for n, x in named.items()})

        return call

    # Ahead-of-time calls take the same arguments: they go the same way.
    call: Any = through(jitted)
    for name in _METHODS:
        setattr(call, name, through(getattr(jitted, name)))
    return call


def jitted(describe: Callable[[Any], Any], static: Sequence[str]) -> Callable[[Any], Callable[..., Any]]:
    """Return the decorator of wrappers: a described function under `jax.jit`, compiled for each constant."""
    return lambda call: exactly(jax.jit(describe(call), inline=True, static_argnames=static), static)
