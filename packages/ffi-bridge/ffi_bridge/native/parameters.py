"""Tell a kernel's parameters apart: inputs, outputs, numbers and compile-time constants."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ffi_bridge.errors import KernelDefinitionError, KernelTypeError

Constants = tuple[tuple[str, Any], ...]  # static parameters and their values, in the order of the signature


@dataclass(frozen=True)
class Parameters:
    """The parameters of a kernel; `static` ones are constants when it is compiled, `scalars` are numbers."""

    function: Any
    static: tuple[str, ...]
    scalars: tuple[str, ...]

    @classmethod
    def of(cls, function: Any, static: Any, scalars: Any) -> Parameters:
        """Raise KernelDefinitionError for a name that the kernel does not have, or that is given twice."""
        names = _names("static_argnames", static, function), _names("scalar_argnames", scalars, function)
        if both := set(names[0]) & set(names[1]):
            raise KernelDefinitionError(
                f"{', '.join(sorted(both))} is in static_argnames and in scalar_argnames; expected one of "
                "them: a static argument is known when the kernel is compiled, a scalar one is an input"
            )
        return cls(function, *names)

    @property
    def buffers(self) -> tuple[inspect.Parameter, ...]:
        """Return the parameters that are inputs, then those that are outputs."""
        every = inspect.signature(self.function).parameters.values()
        return tuple(x for x in every if x.name not in self.static)

    @property
    def constant(self) -> tuple[inspect.Parameter, ...]:
        """Return the static parameters."""
        every = inspect.signature(self.function).parameters.values()
        return tuple(x for x in every if x.name in self.static)

    def constants(self, given: Mapping[str, Any]) -> Constants:
        """Return the value of every static parameter, as given or its default."""
        missing = [x.name for x in self.constant if x.name not in given and x.default is x.empty]
        if missing:
            raise KernelTypeError(
                f"kernel '{self.function.__name__}': the call has no {', '.join(missing)}, which is in "
                f"static_argnames and has no default; give it by name: {missing[0]}=..."
            )
        return tuple((x.name, given.get(x.name, x.default)) for x in self.constant)

    def inputs(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """Return the inputs of a call in order; raise KernelTypeError for a name that is no further input."""
        names = [x.name for x in self.buffers]
        following = names[len(args) : len(args) + len(named)]
        if set(following) != set(named):
            raise KernelTypeError(
                f"kernel '{self.function.__name__}' got {len(args)} inputs by position and "
                f"{', '.join(named)} by name; expected its first parameters, each once, of {', '.join(names)}"
            )
        return [*args, *(named[name] for name in following)]


def _names(option: str, given: Any, function: Any) -> tuple[str, ...]:
    """Return the names that an option gives, as one string or as several."""
    names = (given,) if isinstance(given, str) else tuple(given)
    parameters = list(inspect.signature(function).parameters)
    for name in names:
        if name not in parameters:
            raise KernelDefinitionError(
                f"{option} has {name!r}; expected parameters of kernel '{function.__name__}': "
                f"{', '.join(parameters)}"
            )
    return names
