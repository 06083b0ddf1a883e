"""Names -> operators: a private dict, one register function, read-only getters."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING

from ffi_bridge.errors import DuplicateNameError, UnknownOperatorError

if TYPE_CHECKING:
    from ffi_bridge.operators.kernel import XLACustomKernel


@dataclass(frozen=True)
class Place:
    """Where an operator was defined, and how old that file was then."""

    module: str
    scope: str
    file: str
    line: int
    changed: float | None

    @classmethod
    def of(cls, frame: FrameType) -> Place:
        """The line that `frame` executes; `changed` is None where there is no file (a notebook)."""
        code = frame.f_code
        try:
            changed = os.path.getmtime(code.co_filename)
        except OSError:
            changed = None
        module = str(frame.f_globals.get("__name__", "?"))
        return cls(module, code.co_qualname, code.co_filename, frame.f_lineno, changed)

    def repeats(self, earlier: Place) -> bool:
        """True where this is the definition `earlier` executed again, not a second one."""
        if (self.module, self.scope) != (earlier.module, earlier.scope):
            return False
        same_line = (self.file, self.line) == (earlier.file, earlier.line)
        return same_line or self.changed is None or self.changed != earlier.changed

    def __str__(self) -> str:
        return f"{self.file}:{self.line} (module {self.module})"


_LOCK = threading.RLock()
_OPERATORS: dict[str, tuple[XLACustomKernel, Place]] = {}


def register(operator: XLACustomKernel, place: Place) -> None:
    """Bind `operator.name`, for good or until the same definition is executed again.

    The same definition is the same module and the same enclosing function, on the same line, or in
    a file that changed meanwhile (`importlib.reload`), or in no file at all (a notebook cell run
    again): it replaces the operator silently. Anything else that takes an existing name raises
    DuplicateNameError.
    """
    with _LOCK:
        known = _OPERATORS.get(operator.name)
        if known is not None and not place.repeats(known[1]):
            raise DuplicateNameError(
                f"operator {operator.name!r} is defined at {place} and already at {known[1]}; "
                f"give one of them another name. Taken names: {_listing(_OPERATORS)}"
            )
        _OPERATORS[operator.name] = (operator, place)


def get_operator(name: str) -> XLACustomKernel:
    """The operator called `name`; raises UnknownOperatorError, which lists the names that exist."""
    with _LOCK:
        if name not in _OPERATORS:
            raise UnknownOperatorError(f"no operator is called {name!r}; there are: {_listing(_OPERATORS)}")
        return _OPERATORS[name][0]


def get_operators(tag: str | None = None) -> dict[str, XLACustomKernel]:
    """Name -> operator, sorted by name; only those that carry `tag` where one is given. A copy."""
    with _LOCK:
        operators = {name: _OPERATORS[name][0] for name in sorted(_OPERATORS)}
    return {name: op for name, op in operators.items() if tag is None or tag in op.tags}


def get_place(name: str) -> Place:
    """Where the operator called `name` was defined; raises UnknownOperatorError."""
    get_operator(name)
    with _LOCK:
        return _OPERATORS[name][1]


def _listing(names: dict[str, tuple[XLACustomKernel, Place]]) -> str:
    return ", ".join(sorted(names)) or "none yet"
