"""Hold a kernel to the values that it read from outside when it was wrapped.

The forms of a kernel are compiled one by one, where they are first needed: for other shapes and dtypes, for a
batch, its derivatives. Each freezes globals, closure cells and callees as they are at that moment. Together
they are one function only if nothing of that has changed, so a form that would differ is refused.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, cast

import numpy as np

from ffi_bridge.errors import KernelChangedError
from ffi_bridge.identity.fingerprint import Walk, digest_of, fingerprint
from ffi_bridge.identity.references import references

_LONGEST: Final = 60  # characters of a value in an error
_PLAIN: Final = (bool, int, float, complex, str, bytes, np.generic, np.ndarray)
_FEW: Final = 8  # elements of an array that are worth to be written out


class Reading(NamedTuple):
    """A value as it was read: a hash of its contents, without functions in it, and its text."""

    digest: str
    text: str


# By the names that lead to a value: those of callees, and its own. A name may stand for several values, such
# as the same one of each function in a tuple.
Readings = Mapping[tuple[str, ...], tuple[Reading, ...]]


class Outside:
    """Record the values that a kernel reads from outside, and hold the kernel to them."""

    def __init__(self, subject: str, read: Callable[[], Readings]) -> None:
        self._subject, self._read, self._recorded = subject, read, read()

    @classmethod
    def of(cls, subject: str, function: Any) -> Outside:
        """Return the values that a function of Python or a dispatcher reads, and all that it calls."""
        return cls(subject, lambda: readings(function))

    @classmethod
    def of_launches(cls, subject: str, function: Any, of_kernel: Callable[[Any], Readings | None]) -> Outside:
        """Return the values read by a function that Python runs, and by the kernels that it names.

        `of_kernel`: what a kernel reads; None for anything else.
        """
        return cls(subject, lambda: _of_launches(function, of_kernel))

    def check(self) -> None:
        """Raise KernelChangedError for a value that is another one now.

        A name that was not bound yet is held to what it stands for now.
        """
        if (current := self._read()) == self._recorded:
            return
        for path, before in self._recorded.items():
            if (now := current.get(path, ())) != before:
                raise KernelChangedError(self._changed(path, before, now))
        self._recorded = current

    def _changed(self, path: tuple[str, ...], before: tuple[Reading, ...], now: tuple[Reading, ...]) -> str:
        *callers, name = path
        texts = [", ".join(dict.fromkeys(x.text for x in side)) or "not there" for side in (before, now)]
        if texts[0] == texts[1]:
            # Different values may have one text, as arrays of one shape have.
            texts[1] = f"another {texts[1].removeprefix('the ')}"
        where = f", in {callers[-1]}" if len(callers) > 1 else ""
        return (
            f"{self._subject} was wrapped when {name}{where} was {texts[0]}, and now it is {texts[1]}: "
            "compiled now, for other shapes or dtypes, a batch or a derivative, it would be another function "
            f"than it was; wrap it again for the new value, or set {name} back; pass what changes as an input"
        )


def readings(function: Any) -> Readings:
    """Return the values that a function of Python or a dispatcher reads, and all that it calls."""
    walk = _Reader()
    walk.read(getattr(function, "__name__", "the function"), function)
    return {path: tuple(values) for path, values in walk.by_path.items()}


def _of_launches(function: Any, of_kernel: Callable[[Any], Readings | None]) -> Readings:
    """Return the values that a function reads, itself or through functions of its module.

    Other objects, such as a list that it adds to, may change as it runs.
    """
    by_path: dict[tuple[str, ...], tuple[Reading, ...]] = {}
    seen: set[int] = set()
    unwrapped = inspect.unwrap(function)

    def visit(path: tuple[str, ...], value: Any) -> None:
        is_of_module = isinstance(value, types.FunctionType) and value.__module__ == unwrapped.__module__
        if (inside := of_kernel(value)) is not None:
            by_path.update(((*path[:-1], *below), values) for below, values in inside.items())
        elif isinstance(value, _PLAIN):
            reading = Reading(fingerprint(value).digest, text_of(value))
            by_path[path] = (*by_path.get(path, ()), reading)
        elif isinstance(value, tuple):
            for each in cast(tuple[Any, ...], value):
                visit(path, each)
        elif is_of_module and id(value) not in seen:
            seen.add(id(value))
            visit((*path, "its defaults"), value.__defaults__)
            for name, read in references(value, value.__code__):
                visit((*path, name), read)

    visit((unwrapped.__name__,), unwrapped)
    return by_path


class _Reader(Walk):
    """A walk that notes each value that it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.by_path: dict[tuple[str, ...], list[Reading]] = {}
        self._path: tuple[str, ...] = ()

    def function(self, function: types.FunctionType) -> None:
        # The code belongs to whoever reads the function, and the rest to the function.
        self.tokens.append(self.code(function.__code__))
        outer, self.tokens = self.tokens, []
        super().function(function)
        self.tokens = outer

    def read(self, name: str, value: object) -> None:
        caller, first = self._path, len(self.tokens)
        self._path = (*caller, name)
        super().read(name, value)
        reading = Reading(digest_of(self.tokens[first:]), text_of(value))
        self.by_path.setdefault(self._path, []).append(reading)
        self._path = caller


def text_of(value: Any) -> str:
    """Return a value as an error has it: short."""
    if isinstance(value, np.ndarray) and value.size > _FEW:
        return f"an array {value.dtype}{list(value.shape)}"
    if isinstance(value, types.ModuleType):
        return f"the module {value.__name__}"
    if isinstance(named := getattr(value, "py_func", value), types.FunctionType):
        return f"the function {named.__name__}"
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
