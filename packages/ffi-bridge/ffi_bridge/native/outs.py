"""The outputs of an operation: a pytree of shapes and dtypes, flattened once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import jax
import numpy as np
from jax import export

from ffi_bridge.errors import KernelDefinitionError

T = TypeVar("T")

_CONFIG: Any = jax.config  # its attributes are not declared
_ADDRESSES: Final = 2**63  # XLA counts bytes in 64 bits, with a sign


@dataclass(frozen=True)
class Outs:
    """A hashable form of `outs`: its leaves, and the structure in which results are returned."""

    flat: tuple[jax.ShapeDtypeStruct, ...]
    tree: Any

    @classmethod
    def of(cls, outs: Any) -> Outs:
        """Flatten `outs`; raise KernelDefinitionError unless it is a non-empty pytree of shapes and dtypes.

        A plain dict must have its keys in sorted order, as JAX has them.
        """
        _check_order(outs)
        # After the check, since flattening a dict sorts its keys.
        leaves, tree = jax.tree.flatten(outs)
        if not leaves:
            raise KernelDefinitionError("outs is empty; give at least one jax.ShapeDtypeStruct")
        return cls(tuple(_struct(leaf) for leaf in leaves), tree)

    @classmethod
    def for_call(cls, outs: Any, subject: str, ins: Sequence[Any], static: Mapping[str, Any]) -> Outs:
        """Return `outs` for a call: itself, or the result of a function for the shapes of the inputs."""
        return outs if isinstance(outs, Outs) else option_for_call("outs", outs, cls.of, subject, ins, static)

    def restore(self, flat: Sequence[Any]) -> Any:
        """Return the arrays `flat` in the structure of `outs`."""
        return jax.tree.unflatten(self.tree, flat)


def option_for_call(
    option: str,
    value: Any,
    checked: Callable[[Any], T],
    subject: str,
    ins: Sequence[Any],
    static: Mapping[str, Any],
) -> T:
    """Return `checked(value)`, or, where `value` is a function, `checked` of its result for a call.

    It gets a shape and dtype for each input, and the static arguments by name. Raises KernelDefinitionError
    that names the function where it raises, or where what it returns does not pass the check.
    """
    if not callable(value):
        return checked(value)
    structs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in ins]
    name = getattr(value, "__qualname__", repr(value))
    try:
        result = value(*structs, **static)
    except Exception as error:
        texts = [f"{x.dtype}{list(x.shape)}" for x in structs] + [f"{k}={v!r}" for k, v in static.items()]
        raise KernelDefinitionError(
            f"{subject}: its {option}, the function {name}, raised {type(error).__name__} for "
            f"({', '.join(texts)}): {error}"
        ) from error
    try:
        return checked(result)
    except KernelDefinitionError as error:
        raise KernelDefinitionError(
            f"{subject}: its {option}, the function {name}, returned {result!r}: {error}"
        ) from None


def _check_order(outs: Any) -> None:
    if isinstance(outs, dict):
        keys: list[Any] = list(outs)
        # One level deep: the order that JAX gives to the keys.
        leaves = jax.tree.leaves_with_path(outs, is_leaf=lambda x: x is not outs)
        ordered = [path[0].key for path, _ in leaves]
        if keys != ordered:
            raise KernelDefinitionError(
                f"outs is a dict with the keys {keys}, and JAX, and so the arguments of a kernel, have them "
                f"in the order {ordered}; write it in this order, or give a tuple or a NamedTuple"
            )
    if isinstance(outs, dict | list | tuple):
        for child in outs.values() if isinstance(outs, dict) else outs:
            _check_order(child)


def _struct(leaf: Any) -> jax.ShapeDtypeStruct:
    if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
        raise KernelDefinitionError(
            f"outs holds {leaf!r}; expected a jax.ShapeDtypeStruct(shape, dtype) or a pytree of them"
        )
    dtype = np.dtype(leaf.dtype)
    if dtype.kind in "iufc" and not _CONFIG.jax_enable_x64:
        widest = {"i": 4, "u": 4, "f": 4, "c": 8}[dtype.kind]
        # JAX would make 32 bits of it, and the kernel write 64.
        if dtype.itemsize > widest:
            raise KernelDefinitionError(
                f"outs asks for {dtype} while 64-bit types are off; "
                'call jax.config.update("jax_enable_x64", True) or use a 32-bit dtype'
            )
    _check_shape(leaf, dtype.itemsize)
    return jax.ShapeDtypeStruct(tuple(leaf.shape), dtype)


def _check_shape(leaf: Any, num_bytes: int) -> None:
    for extent in leaf.shape:
        if isinstance(extent, int | np.integer):
            # In Python's integers, which do not overflow.
            valid, num_bytes = extent >= 0, num_bytes * int(extent)
        else:
            valid = export.is_symbolic_dim(extent)
        if not valid:
            raise KernelDefinitionError(f"outs holds {leaf!r}; expected a shape of integers >= 0")
    if num_bytes >= _ADDRESSES:
        raise KernelDefinitionError(f"outs holds {leaf!r}; expected a shape that fits into memory")
