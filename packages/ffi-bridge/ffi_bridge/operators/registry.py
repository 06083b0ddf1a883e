"""Names of operators: each is bound by one definition, which may be executed again."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from types import FrameType
from typing import Generic, TypeVar

from ffi_bridge.errors import DuplicateNameError, UnknownOperatorError

T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """The line that defines an operator, and when its file was last changed."""

    module: str
    scope: str
    file: str
    line: int
    changed: float | None

    @classmethod
    def of(cls, frame: FrameType) -> Origin:
        """Return the line that `frame` executes; `changed` is None where there is no file (a notebook)."""
        code = frame.f_code
        try:
            changed = os.path.getmtime(code.co_filename)
        except OSError:
            changed = None
        module = str(frame.f_globals.get("__name__", "?"))
        return cls(module, code.co_qualname, code.co_filename, frame.f_lineno, changed)

    def repeats(self, earlier: Origin) -> bool:
        """Return whether this is the definition `earlier` executed again, not a second one."""
        if (self.module, self.scope) != (earlier.module, earlier.scope):
            return False
        # In a file that was edited the definition may have moved.
        same_line = (self.file, self.line) == (earlier.file, earlier.line)
        return same_line or self.changed is None or self.changed != earlier.changed

    def __str__(self) -> str:
        return f"{self.file}:{self.line} (module {self.module})"


class Registry(Generic[T]):
    """Operators by name; safe from several threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._definitions: dict[str, tuple[T, Origin]] = {}

    def register(self, name: str, operator: T, origin: Origin) -> None:
        """Bind `name` to `operator`, for good or until the same definition is executed again.

        A definition is the same if it is in the same module and function, and on the same line, or in a
        file that has changed since (`importlib.reload`), or in no file at all (a notebook cell): then it
        replaces the operator. Raises DuplicateNameError if another definition takes an existing name.
        """
        with self._lock:
            earlier = self._definitions.get(name)
            if earlier is not None and not origin.repeats(earlier[1]):
                raise DuplicateNameError(
                    f"operator {name!r} is defined at {origin} and already at {earlier[1]}; "
                    f"give one of them another name. Taken names: {self._listing()}"
                )
            self._definitions[name] = (operator, origin)

    def get(self, name: str) -> T:
        """Return the operator called `name`; raise UnknownOperatorError, which lists the names that exist."""
        with self._lock:
            if name not in self._definitions:
                raise UnknownOperatorError(f"no operator is called {name!r}; there are: {self._listing()}")
            return self._definitions[name][0]

    def all(self) -> dict[str, T]:
        """Return name -> operator, sorted by name."""
        with self._lock:
            return {name: self._definitions[name][0] for name in sorted(self._definitions)}

    def _listing(self) -> str:
        return ", ".join(sorted(self._definitions)) or "none yet"
