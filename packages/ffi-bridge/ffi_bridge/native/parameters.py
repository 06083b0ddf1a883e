"""Tell a kernel's parameters apart: inputs, outputs, numbers and compile-time constants."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import jax
from jax.typing import ArrayLike

from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.native.exact import Constants, jitted, plain
from ffi_bridge.native.outs import Outs
from ffi_bridge.native.primitive import as_array
from ffi_bridge.native.wrapped_kernel import describe_as


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
        """Return the parameters that are inputs, then the outputs."""
        every = inspect.signature(self.function).parameters.values()
        return tuple(x for x in every if x.name not in self.static)

    @property
    def constant(self) -> tuple[inspect.Parameter, ...]:
        """Return the static parameters."""
        every = inspect.signature(self.function).parameters.values()
        return tuple(x for x in every if x.name in self.static)

    def constants(self, named: Mapping[str, Any]) -> Constants:
        """Return the value of every static parameter, as given or its default."""
        missing = [x.name for x in self.constant if x.name not in named and x.default is x.empty]
        if missing:
            raise KernelTypeError(
                f"kernel '{self.function.__name__}': the call has no {', '.join(missing)}, which is in "
                f"static_argnames and has no default; give it by name: {missing[0]}=..."
            )
        return Constants((x.name, named.get(x.name, x.default)) for x in self.constant)

    def of_call(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[jax.Array], Constants]:
        """Return the inputs of a call in order, as arrays, and the value of every static parameter."""
        named = plain(named)
        subject, names = f"kernel '{self.function.__name__}'", [x.name for x in self.buffers]
        by_name = {name: x for name, x in named.items() if name not in self.static}
        ins = in_order(subject, names, args, by_name)
        # Too many inputs are refused later, where their number is compared.
        names += [f"input {i}" for i in range(len(names), len(ins))]
        return [as_array(subject, *x) for x in zip(names, ins, strict=False)], self.constants(named)

    def arguments(self, buffers: Iterable[Any], constants: Iterable[tuple[str, Any]]) -> list[Any]:
        """Return the function's arguments, in its order: buffers, and constants between them."""
        every, values = list(buffers), dict(constants)
        # From first to last, so that each place is right when it is filled.
        for place, name in enumerate(inspect.signature(self.function).parameters):
            if name in values:
                every.insert(place, values[name])
        return every

    def check_number(self, name: str, ndim: int, is_written: bool) -> None:
        """Raise KernelTypeError where a kernel cannot take a buffer as a number."""
        subject = f"kernel '{self.function.__name__}': '{name}' is in scalar_argnames"
        if is_written:
            raise KernelTypeError(
                f"{subject}, and the kernel writes to it; expected an input that is not aliased with an "
                "output"
            )
        if ndim:
            raise KernelTypeError(
                f"{subject} and has {ndim} dimensions; expected a number, or under jax.vmap one for each "
                "element of the batch"
            )

    def wrap(self, outs: Any, others: int = 0) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return the decorator that makes of `work(inputs, constants)` the function that users call.

        JAX traces it for each set of types and static values; `outs`, `others`: as for `describe`.
        """

        def decorate(work: Callable[[list[jax.Array], Constants], Any]) -> Callable[..., Any]:
            def call(*args: ArrayLike, **named: Any) -> Any:
                return work(*self.of_call(args, named))

            return jitted(self.describe(outs, others), self.static)(call)

        return decorate

    def describe(self, outs: Any, others: int = 0) -> Callable[[Any], Any]:
        """Return the decorator that gives a call the function's signature without outputs.

        `outs`: the outputs, or the function that returns them, whose own parameters tell how many inputs
        there are; `others`: parameters behind the outputs.
        """
        if isinstance(outs, Outs):
            return describe_as(self.function, len(outs.flat) + others, self.constant)
        inputs = count_inputs(outs, self.static)
        surplus = None if inputs is None else len(self.buffers) - inputs
        return describe_as(self.function, surplus, self.constant)


def in_order(subject: str, names: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """Return the inputs of a call in order; raise KernelTypeError for a name that is no further input."""
    following = names[len(args) : len(args) + len(named)]
    if set(following) != set(named):
        raise KernelTypeError(
            f"{subject} got {len(args)} inputs by position and {', '.join(named)} by name; expected its "
            f"first parameters, each once, of {', '.join(names)}"
        )
    return [*args, *(named[name] for name in following)]


def with_defaults(function: FunctionType, constants: Mapping[str, Any]) -> FunctionType:
    """Return the function with constants as defaults, which Numba freezes where a call omits them.

    Every parameter behind the first of them has a default, too, and a call gives it by name.
    """
    every = list(inspect.signature(function).parameters)
    first = next((i for i, name in enumerate(every) if name in constants), len(every))
    defaults = tuple(constants.get(name) for name in every[first:])
    code = function.__code__.replace(co_posonlyargcount=0)
    return FunctionType(code, function.__globals__, function.__name__, defaults, function.__closure__)


def count_inputs(outs: Callable[..., Any], static: Sequence[str]) -> int | None:
    """Return how many inputs a function of their shapes takes; None where it takes any number."""
    inputs = [x for x in inspect.signature(outs).parameters.values() if x.name not in static]
    if any(x.kind is x.VAR_POSITIONAL for x in inputs):
        return None
    return sum(x.kind is not x.VAR_KEYWORD for x in inputs)


def _names(option: str, value: Any, function: Any) -> tuple[str, ...]:
    """Return the names that an option gives, as one string or as several."""
    names = (value,) if isinstance(value, str) else tuple(value)
    parameters = list(inspect.signature(function).parameters)
    for name in names:
        if name not in parameters:
            raise KernelDefinitionError(
                f"{option} has {name!r}; expected parameters of kernel '{function.__name__}': "
                f"{', '.join(parameters)}"
            )
    return names
