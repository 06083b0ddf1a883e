"""Wrapped kernels: functions with the kernel's name, docstring and inputs, which can be pickled."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")


def describe_as(
    kernel: Callable[..., Any], surplus: int | None, static: Sequence[inspect.Parameter] | None = None
) -> Callable[[F], F]:
    """Do as `functools.wraps`, but leave the last `surplus` parameters, the outputs, out of the signature.

    None for `surplus`: how many they are depends on the call, which takes any number of inputs. The
    function's keyword-only options stay. With `static`, parameters that become such options, inputs may be
    given by name; without, they are positional-only. JAX binds arguments to this signature, in
    `jax.custom_vjp` for example.
    """
    parameters = [x for x in inspect.signature(kernel).parameters.values() if x not in (static or ())]
    if surplus is None:
        inputs = [inspect.Parameter("ins", inspect.Parameter.VAR_POSITIONAL)]
    else:
        inputs = parameters[: max(0, len(parameters) - surplus)]
    if static is None:
        inputs = [_by_position(x) for x in inputs]
    constants = [x.replace(kind=x.KEYWORD_ONLY) for x in static or ()]

    def describe(call: F) -> F:
        options = [x for x in inspect.signature(call).parameters.values() if x.kind is x.KEYWORD_ONLY]
        options += constants
        functools.update_wrapper(call, kernel)
        vars(call)["__signature__"] = inspect.Signature([*inputs, *options])
        return call

    return describe


class WrappedKernel:
    """A described function that pickles as the call which made it; it has the function's attributes."""

    # Slots, because `functools.update_wrapper` does not copy them to a function that wraps this one. The
    # function is in a slot too: a method `__call__` that calls it would take a quarter of a microsecond.
    __slots__ = ("__call__", "__dict__", "__weakref__", "_made_by")

    def __init__(self, call: Callable[..., Any], made_by: Callable[[], WrappedKernel]) -> None:
        self.__call__, self._made_by = call, made_by
        functools.update_wrapper(self, call)

    def __reduce__(self) -> tuple[Callable[[], WrappedKernel], tuple[()]]:
        return self._made_by, ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__call__, name)


def picklable(wrap: Callable[P, Callable[..., Any]]) -> Callable[P, WrappedKernel]:
    """Return `wrap`, a top-level function, with results that pickle if its arguments do."""

    @functools.wraps(wrap)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> WrappedKernel:
        return WrappedKernel(wrap(*args, **kwargs), functools.partial(wrapped, *args, **kwargs))

    return wrapped


def _by_position(parameter: inspect.Parameter) -> inspect.Parameter:
    if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
        return parameter
    return parameter.replace(kind=parameter.POSITIONAL_ONLY, default=parameter.empty)
