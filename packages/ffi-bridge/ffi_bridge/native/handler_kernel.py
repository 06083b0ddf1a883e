"""`handler_kernel`: a handler of one's own, in C++ or another language, as a kernel."""

from __future__ import annotations

import ctypes
import functools
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import jax
import numpy as np
from jax.typing import ArrayLike

from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.identity.c_functions import capsule_name, capsule_pointer, name_of
from ffi_bridge.identity.fingerprint import fingerprint
from ffi_bridge.native.call import BY_ELEMENT, IN_KERNEL, NativeCall, NativeKernel, alias_pairs
from ffi_bridge.native.exact import exact_key
from ffi_bridge.native.primitive import as_array, call_kernel
from ffi_bridge.native.wrapped_kernel import refusing
from ffi_bridge.targets import REGISTERED_AS, Target, ensure_target, target_name

_ATTRIBUTE: Final = (bool, int, float, str, np.generic, np.ndarray)


def handler_kernel(
    handler: Any,
    outs: Any,
    *,
    platform: str = "cpu",
    has_side_effect: bool = False,
    vmap_method: str | None = "sequential",
    input_output_aliases: Mapping[int, int] | None = None,
) -> Callable[..., Any]:
    """`f(*ins, **attributes) = outs` where `handler`, an `XLA_FFI_Handler`, writes `outs`.

    Args:
        handler: a function of a library that ctypes opened, or a capsule without a name, as
            `jax.ffi.pycapsule` and nanobind make it; XLA calls it as long as the process lives. It is
            registered under a name of library and symbol, or, where it has none, of this process.
        outs: as for `numba_kernel`; a function is given the attributes, too, by name.
        platform: "cpu" or "cuda", for which the handler is.
        has_side_effect: as for `numba_kernel`.
        vmap_method: what `jax.vmap` does, as for `numba_kernel`; by default "sequential", a `jax.lax.scan` of
            calls, which is right for any handler.
        input_output_aliases: as for `numba_kernel`.

    Returns:
        A function of arrays, compiled by `jax.jit`. Its keyword arguments are the handler's attributes, known
        when traced: bools, integers (of 64 bits in C), floats (double), strings, NumPy scalars and arrays of
        any other dtype, and dicts of them by name.

    Raises:
        TypeError: `handler` is neither a function of ctypes nor a capsule.
        ValueError: `handler` is null, or a capsule of something else; an unknown platform; as for
            `numba_kernel`.
        KernelTypeError: when traced: an attribute that is none of these.
        jax.errors.JaxRuntimeError: when run: the handler returned an error, or expects other buffers or
            attributes.
    """
    if platform not in REGISTERED_AS:
        raise KernelDefinitionError(f"platform is {platform!r}; expected one of {', '.join(REGISTERED_AS)}")
    aliases = alias_pairs(input_output_aliases)
    address, called = _address_of(handler), getattr(handler, "__name__", None)
    c_function = name_of(address, called)
    name = called or (c_function.symbol if c_function else "handler")
    target = Target(target_name(name, "handler", _digest(address, c_function)), address, handler)
    spec = HandlerKernel(vmap_method, aliases, name, target, platform, has_side_effect=has_side_effect)
    outs = spec.declared(outs)

    @functools.partial(jax.jit, inline=True, static_argnums=0)
    def jitted(attributes: _Attributes, *args: ArrayLike) -> Any:
        ins = [as_array(f"kernel '{spec.name}'", f"in{i}", x) for i, x in enumerate(args)]
        call_outs = spec.outs_of(outs, ins, attributes.values)
        return call_outs.restore(call_kernel(spec, NativeCall(call_outs.flat, attributes), ins))

    def call(*ins: ArrayLike, **attributes: Any) -> Any:
        return jitted(_Attributes.of(spec.name, attributes), *ins)

    call.__name__ = call.__qualname__ = spec.name
    return refusing(call)


@functools.cache
# Cached, so that a handler that is wrapped twice has one name.
def _digest(address: int, name: Any) -> str:
    """Return a digest that a program that was compiled elsewhere has for no second handler."""
    return uuid.uuid4().hex if name is None else fingerprint(tuple(name)).digest


def _address_of(handler: Any) -> int:
    if isinstance(handler, _CFUNCTION):
        address = ctypes.cast(handler, ctypes.c_void_p).value
    else:
        try:
            name = capsule_name(handler)
        except ValueError:
            raise TypeError(
                f"handler_kernel needs an XLA_FFI_Handler, got {handler!r}; expected a function of a library "
                "that ctypes opened, or its capsule, as jax.ffi.pycapsule makes it"
            ) from None
        if name is not None:
            raise KernelDefinitionError(
                f"the handler is a capsule with the name {name.decode()!r}, of something else than an "
                "XLA_FFI_Handler; expected one without a name, as jax.ffi.pycapsule makes it"
            )
        address = capsule_pointer(handler, None)
    if not address:
        raise KernelDefinitionError(f"the handler {handler!r} is a null pointer; expected a function")
    return address


# The base of every function pointer of ctypes.
_CFUNCTION: Final = ctypes.CFUNCTYPE(None).__mro__[1]


@dataclass(frozen=True)
class _Attributes:
    """The attributes of a call, which are equal where their contents are."""

    key: Any
    values: dict[str, Any] = field(compare=False)

    @classmethod
    def of(cls, kernel: str, attributes: Mapping[str, Any]) -> _Attributes:
        """Copy the attributes; raise KernelTypeError for one that no handler can read."""
        values = {name: _copied(kernel, name, x) for name, x in attributes.items()}
        # In whichever order a call names them, they are the same attributes.
        return cls(exact_key(dict(sorted(values.items()))), values)


def _copied(kernel: str, name: str, x: Any) -> Any:
    if isinstance(x, dict):
        return {key: _copied(kernel, f"{name}.{key}", value) for key, value in sorted(x.items())}
    if not isinstance(x, _ATTRIBUTE):
        kind = "an array of JAX" if isinstance(x, jax.Array) else f"a {type(x).__name__}"
        raise KernelTypeError(
            f"kernel '{kernel}': the attribute {name} is {kind}; expected a number, a string or a NumPy "
            "array, known when traced: what is computed is an input, given by position"
        )
    # The user may write to the array before the program is compiled.
    return x.copy() if isinstance(x, np.ndarray) else x


@dataclass(frozen=True, eq=False)
class HandlerKernel(NativeKernel):
    """A handler that is given, and its target; the options of a call are its attributes."""

    called: str
    handler: Target
    platform: str

    toolchain: ClassVar[str] = "handler"
    for_sizes: ClassVar[bool] = False
    vmap_methods: ClassVar[tuple[str | None, ...]] = (*BY_ELEMENT[1:], *IN_KERNEL)

    @property
    def name(self) -> str:
        return self.called

    @property
    def platforms(self) -> tuple[str, ...]:
        return (self.platform,)

    def attributes(self, call: NativeCall) -> Mapping[str, Any]:
        attributes: _Attributes = call.options
        return attributes.values

    def ensure_target(
        self, ins: Sequence[Any], call: NativeCall, names: tuple[str, ...], platform: str
    ) -> str:
        target, registered = self.handler, REGISTERED_AS[platform]
        return ensure_target(target.name, lambda: (target.address, target.owner), platform=registered).name
