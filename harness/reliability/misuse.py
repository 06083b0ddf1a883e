"""One wrong thing that a program can do, and how it has to end."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax


@dataclass(frozen=True)
class Misuse:
    """`act` must raise `error` with a text in which `match` is found.

    Where `error` is None what it does is documented: `act` then asserts that the result is that one. `slow`
    ones are left out where time is short.
    """

    name: str
    act: Callable[[], object]
    match: str = ""
    error: type[Exception] | tuple[type[Exception], ...] | None = Exception
    slow: bool = False

    def __post_init__(self) -> None:
        if (self.error is None) == bool(self.match):
            raise ValueError(f"{self.name}: give the text of its error, or error=None")

    def problem(self) -> str:
        """What was wrong with how it ended; nothing if it ended as it must."""
        try:
            jax.block_until_ready(self.act())
        except Exception as error:
            return self._problem_of(error)
        return "" if self.error is None else "it was not refused"

    def _problem_of(self, error: Exception) -> str:
        text = f"{type(error).__name__}: {error}"
        if self.error is None:
            return f"expected a result, got {text}"
        if not isinstance(error, self.error):
            return f"expected {self.error}, got {text}"
        return "" if re.search(self.match, str(error), re.DOTALL) else f"expected {self.match!r} in {text}"


def called(make: Callable[[], Callable[..., Any]], *ins: Any) -> Callable[[], object]:
    """An act: what `make` gives is called without jit and under it; both have to raise."""

    def act() -> object:
        call = make()
        try:
            call(*ins)
        except Exception:
            return jax.jit(lambda: call(*ins))()
        return "the call without jit was served"

    return act


# What a kernel raises while it runs; JAX raises the second, with the same text, where dispatch meets it.
RUN_ERRORS = (jax.errors.JaxRuntimeError, ValueError)
