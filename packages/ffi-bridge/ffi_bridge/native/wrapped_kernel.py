"""Wrapped kernels: functions with the kernel's name, docstring and inputs, which can be pickled."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

import jax
import numpy as np

from ffi_bridge.errors import FFIBridgeError, KernelTypeError

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
        inputs = [
            x.replace(kind=x.POSITIONAL_ONLY, default=x.empty) if x.kind is x.POSITIONAL_OR_KEYWORD else x
            for x in inputs
        ]
    constants = [x.replace(kind=x.KEYWORD_ONLY) for x in static or ()]

    def describe(call: F) -> F:
        options = [x for x in inspect.signature(call).parameters.values() if x.kind is x.KEYWORD_ONLY]
        options += constants
        functools.update_wrapper(call, kernel)
        vars(call)["__signature__"] = inspect.Signature([*inputs, *options])
        return call

    return describe


def function_of_text(name: str, text: str, scope: dict[str, Any], origin: str) -> FunctionType:
    """Return the function that a text defines as `def _written_(...)`, under the name of a kernel.

    That need not be one that a definition may have: a lambda is called `<lambda>`. `origin`: for tracebacks.
    """
    exec(compile(text, f"<{origin}>", "exec"), scope)
    function: FunctionType = scope.pop("_written_")
    # Tracebacks and profilers read the name in the code.
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    function.__name__ = function.__qualname__ = name
    return function


def refusing(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return `call`, which names the input where JAX refuses one: a text, say, or a record array."""

    @functools.wraps(call)
    def refusing(*args: Any, **named: Any) -> Any:
        try:
            # JAX takes their bytes as they are where it has compiled for such a shape before.
            for x in args:
                if type(x) is np.ndarray and not x.dtype.isnative:
                    raise TypeError(x.dtype)
            if named and any(isinstance(x, np.ndarray) and not x.dtype.isnative for x in named.values()):
                raise TypeError(named)
            return call(*args, **named)
        except TypeError as error:
            # Ours name the input already.
            if not isinstance(error, FFIBridgeError):
                subject, names = f"kernel '{call.__name__}'", inspect.signature(call).parameters
                for name, x in (*zip(names, args, strict=False), *named.items()):
                    if found := obstacle(x):
                        raise KernelTypeError(f"{subject}: input '{name}' is {found}") from None
            raise

    return refusing


def obstacle(x: Any) -> str | None:
    """Return why a value can be no input of any kernel, and the remedy; None where it may be one."""
    if isinstance(x, str | bytes):
        return f"the text {x!r}; expected an array or a number: name a constant in static_argnames"
    if not isinstance(x, np.ndarray | np.generic):
        is_array_like = isinstance(x, bool | int | float | complex | list | tuple | jax.Array) or hasattr(
            x, "dtype"
        )
        return None if is_array_like else f"a {type(x).__name__}; expected an array or a number"
    dtype = x.dtype
    if dtype.names:
        fields = ", ".join(f"x['{name}']" for name in dtype.names)
        return f"an array of records, {dtype}; expected numbers: pass each field as an input, {fields}"
    if not dtype.isnative:
        return f"an array of {dtype}, in the order of bytes of another machine: x.astype({dtype.name!r})"
    remedies = {
        "U": "expected numbers: pass codes of the texts, as np.unique(x, return_inverse=True) gives them",
        "S": "expected numbers: pass its bytes, x.view(np.uint8)",
        "V": "expected numbers: pass its bytes, x.view(np.uint8)",
        "O": "expected numbers, and these are objects of Python: x.astype(float), if all are numbers",
        "M": "expected numbers: x.view(np.int64) counts its units",
        "m": "expected numbers: x.view(np.int64) counts its units",
    }
    if dtype.kind in remedies:
        return f"an array of {dtype}; {remedies[dtype.kind]}"
    wide = dtype.kind in "fc" and dtype.itemsize > {"f": 8, "c": 16}[dtype.kind]
    return f"an array of {dtype}, which JAX lacks; cast it to float64 or complex128" if wide else None


class WrappedKernel:
    """A described function that pickles as the call which made it; it has the function's attributes.

    `made_by`: returns that call as it is pickled.
    """

    # Slots, because `functools.update_wrapper` does not copy them to a function that wraps this one. The
    # function is in a slot too: a method `__call__` that calls it would take a quarter of a microsecond.
    __slots__ = ("__call__", "__dict__", "__weakref__", "_call", "_made_by")

    def __init__(self, call: Callable[..., Any], made_by: Callable[[], Callable[[], WrappedKernel]]) -> None:
        self.__call__, self._call, self._made_by = refusing(call), call, made_by
        functools.update_wrapper(self, call)

    def __reduce__(self) -> tuple[Callable[[], WrappedKernel], tuple[()]]:
        return self._made_by(), ()

    def __copy__(self) -> WrappedKernel:
        return self  # as a copy of a function is that function

    def __deepcopy__(self, _: Any) -> WrappedKernel:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)


def picklable(
    wrap: Callable[P, Callable[..., Any]], stand_in: Callable[[Any], Any] = lambda x: x
) -> Callable[P, WrappedKernel]:
    """Return `wrap`, a top-level function, with results that pickle if its arguments do.

    `stand_in(x)` is pickled in place of an argument, for those that another library does not let pickle.
    """

    @functools.wraps(wrap)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> WrappedKernel:
        def made_by() -> Callable[[], WrappedKernel]:
            named = {name: stand_in(x) for name, x in kwargs.items()}
            return functools.partial(cast(Any, wrapped), *map(stand_in, args), **named)

        return WrappedKernel(wrap(*args, **kwargs), made_by)

    return wrapped
