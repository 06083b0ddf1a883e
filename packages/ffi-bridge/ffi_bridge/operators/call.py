"""Keep the static part of an operator's call, and check the results of backends and builders."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ffi_bridge.errors import KernelDefinitionError, KernelTypeError, StaticArgumentError
from ffi_bridge.native.exact import exact_key
from ffi_bridge.native.outs import Outs
from ffi_bridge.operators.backends import Backend


class Call:
    """The outputs, static keyword arguments and backend of a call: a parameter of the primitive."""

    __slots__ = ("_hash", "_key", "backend", "operator", "outs", "static")

    def __init__(self, operator: str, outs: Outs, static: Mapping[str, Any], backend: str | None) -> None:
        self.operator, self.outs, self.backend = operator, outs, backend
        # The order of keywords is no part of a call.
        self.static = tuple(sorted(static.items()))
        # 1, 1.0 and True are equal, as are 0.0 and -0.0, and are not the same argument to a builder.
        self._key = (operator, outs, self.static, exact_key(self.static), backend)
        # Once, as JAX hashes parameters of primitives at every call.
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Call) and self._key == other._key)

    def __repr__(self) -> str:
        outs = ", ".join(f"{out.dtype}{list(out.shape)}" for out in self.outs.flat)
        static = "".join(f", {name}={value!r}" for name, value in self.static)
        return f"{self.operator}(outs={outs}{static}, backend={self.backend})"

    def for_builder(self) -> dict[str, Any]:
        """Return a builder's keywords: `outs` in its original structure and the static arguments."""
        return {**dict(self.static), "outs": self.outs.restore(self.outs.flat)}

    def for_rule(self) -> dict[str, Any]:
        """Return a rule's keywords: a builder's, and `backend`, for the calls that the rule makes."""
        return {**self.for_builder(), "backend": self.backend}


def needs_of(static: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the static arguments that are plain values as "name=value"."""
    return tuple(f"{name}={value}" for name, value in static.items() if isinstance(value, (bool, int, str)))


def check_static(operator: str, arguments: Mapping[str, Any]) -> None:
    """Raise StaticArgumentError, by name, for a keyword argument that is traced or unhashable."""
    for name, value in arguments.items():
        if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(value)):
            raise StaticArgumentError(
                f"operator {operator!r}: keyword argument {name!r} is a traced value, and keyword "
                "arguments are static; pass it as an input (positional), or make it static in the "
                f"function that is transformed: jax.jit(f, static_argnames={name!r})"
            )
        try:
            hash(value)
        except TypeError:
            is_array = isinstance(value, (np.ndarray, jax.Array))
            hint = "pass it as an input (positional)" if is_array else "use a tuple"
            raise StaticArgumentError(
                f"operator {operator!r}: keyword argument {name!r} is a {type(value).__name__}, "
                f"which is not hashable, and keyword arguments are static; {hint}"
            ) from None


def concrete(backend: Backend, call: Call) -> Callable[..., list[jax.Array]]:
    """Return the function that `backend` builds for `call`; it returns its outputs flat and checked."""
    builder = backend.load()
    keywords = call.for_builder()
    try:
        function = builder(**keywords)
    except TypeError as error:
        takes = f"the keywords {', '.join(sorted(keywords))}: name them, or take **kwargs, and return"
        hint = f"a builder takes {takes} the function of the input arrays"
        _explain_call(f"builder of backend {backend.name!r}", call, builder, (), keywords, hint, error)
        raise
    if not callable(function):
        raise KernelTypeError(
            f"operator {call.operator!r}: the builder of backend {backend.name!r} returned "
            f"{function!r}; expected a function of the input arrays"
        )

    def flat(*ins: Any) -> list[jax.Array]:
        try:
            result = function(*ins)
        except TypeError as error:
            hint = f"the call has {len(ins)} inputs"
            _explain_call(f"function of backend {backend.name!r}", call, function, ins, {}, hint, error)
            raise
        return check_outputs(call, f"backend {backend.name!r}", result)

    return flat


def _explain_call(
    subject: str,
    call: Call,
    function: Any,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    hint: str,
    error: TypeError,
) -> None:
    """Raise KernelTypeError if `function` cannot take these arguments and did not say so itself."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    if isinstance(error, KernelTypeError):
        return
    try:
        # A TypeError from within the function is the user's own, and passes.
        signature.bind(*arguments, **keywords)
    except TypeError as misfit:
        name = getattr(function, "__qualname__", repr(function))
        raise KernelTypeError(
            f"operator {call.operator!r}: the {subject}, {name}{signature}, does not fit: {misfit}; {hint}"
        ) from error


def check_outputs(call: Call, source: str, result: Any) -> list[jax.Array]:
    """Return the arrays of `result`, flat; raise KernelDefinitionError unless they are as `outs` say."""
    arrays = [jnp.asarray(leaf) for leaf in jax.tree.leaves(result)]
    if _described(arrays) != _described(call.outs.flat):
        raise KernelDefinitionError(
            f"operator {call.operator!r}: {source} returned {_described(arrays)}; "
            f"outs say {_described(call.outs.flat)}. "
            "Return one array per leaf of outs, in that order"
        )
    return arrays


def _described(arrays: Sequence[jax.Array | jax.ShapeDtypeStruct]) -> str:
    return ", ".join(f"{x.dtype}{list(x.shape)}" for x in arrays) or "nothing"
