"""The identity of a function before it is traced: its code, and all that it reads from outside.

Of two functions with equal identities the same is traced. Values that can change in place have none, so that
a function that reads a dictionary or an object is traced each time.
"""

import dataclasses
import dis
import functools
import operator
import sys
from collections.abc import Hashable, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import jax
import numpy as np
from jax.core import Tracer

from ffi_bridge.identity.references import references

# What these export never changes, and computes from its arguments alone.
_LIBRARIES: Final = {"builtins", "event_ops", "jax", "math", "numpy"}
_PLAIN: Final = frozenset({bool, bytes, complex, float, int, str, type(None)})

# Builtins by which code reads what it does not name.
_READERS: Final = {"__import__", "eval", "exec", "globals", "id", "input", "locals", "open", "vars"}
_KEPT: Final = 1024  # functions


def identity_of(function: Any) -> Hashable | None:
    """Return the identity of a function; None if it reads a value that can change in place."""
    try:
        return _Walk().of(function)
    except _ChangeableError:
        return None


class _ChangeableError(Exception):
    """A value has no identity that is sure to stay."""


class _Same:
    """Stand for an object in an identity: equal to itself alone, and alive as long as that is kept."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class _Walk:
    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, Any]] = {}  # values, too, so that no other one gets the place of one

    def of(self, value: Any) -> Hashable:
        kind = type(value)
        if kind in _PLAIN:
            return kind, repr(value)  # 0.0 and -0.0 are equal, and so are 1 and True
        if kind is CodeType:
            return value, value.co_exceptiontable  # Python 3.11 compares all but the table
        if kind is not tuple:
            if isinstance(value, np.generic):
                return kind, value.tobytes()
            if _is_exported(value) or (isinstance(value, jax.Array) and not isinstance(value, Tracer)):
                return _Same(value)
        if id(value) in self._seen:
            return kind, self._seen[id(value)][0]
        self._seen[id(value)] = len(self._seen), value
        return kind, *map(self.of, _parts(value))


def _is_exported(value: Any) -> bool:
    """Return whether a library exports the value by its name: a module, a function, a type."""
    is_module = isinstance(value, ModuleType)
    module = value.__name__ if is_module else getattr(value, "__module__", None)
    if not isinstance(module, str) or module.partition(".")[0] not in _LIBRARIES:
        return False
    if is_module:
        return True
    try:
        name = getattr(value, "__qualname__", None) or value.__name__
        return operator.attrgetter(name)(sys.modules[module]) is value
    except (AttributeError, KeyError):
        return False


def _parts(value: Any) -> tuple[Any, ...]:
    """Return the parts of a value, where nothing else can change its result."""
    kind = type(value)
    if kind is tuple:
        return value
    if kind is FunctionType and not _reads_unnamed(value.__code__):
        defaults = value.__defaults__, _items(value.__kwdefaults__ or {})
        read = tuple(references(value, value.__code__))
        return value.__code__, *defaults, read, _items(vars(value))
    if kind is functools.partial:
        return value.func, value.args, _items(value.keywords), _items(vars(value))
    if kind is jax.custom_jvp:
        return _items(vars(value))
    if getattr(getattr(kind, "__dataclass_params__", None), "frozen", False):
        return kind, *(getattr(value, field.name) for field in dataclasses.fields(value))
    raise _ChangeableError


def _items(values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return names and values in order, without Python's notes on every function."""
    if not values:
        return ()
    return tuple(sorted(item for item in values.items() if not item[0].startswith("__")))


@functools.lru_cache(_KEPT)
def _reads_unnamed(code: CodeType) -> bool:
    """Return whether code reads values that it does not name, or imports."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    imports = any(instruction.opname == "IMPORT_NAME" for instruction in dis.get_instructions(code))
    return imports or not _READERS.isdisjoint(code.co_names) or any(map(_reads_unnamed, inner))
