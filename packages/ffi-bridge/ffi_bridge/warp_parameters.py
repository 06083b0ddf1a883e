"""The parameters of a Warp kernel, and the C structs that pass them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import warp as wp
from jax.core import Tracer
from warp._src.context import pack_arg
from warp._src.types import array_t, launch_bounds_t

from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.warp_types import jaxtype_to_warptype

_MAX_EXTENT: Final = 2**31 - 1
_GENERIC_SCALARS: dict[type, Any] = {bool: wp.bool, int: wp.int32, float: wp.float32}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a Warp kernel: an array, which is a buffer, or a scalar, vector or matrix, static."""

    name: str
    type: Any  # Warp's annotation

    @property
    def is_array(self) -> bool:
        return isinstance(self.type, wp.array)

    @property
    def inner(self) -> tuple[int, ...]:
        """The axes that a vector or matrix element takes at the end of a JAX shape."""
        return tuple(getattr(self.type.dtype, "_shape_", ()))

    def scalar_dtype(self) -> Any:
        """Warp's scalar type of the elements, or None where the kernel is generic in it."""
        element = self.type.dtype
        scalar = getattr(element, "_wp_scalar_type_", element)
        return None if scalar is Any else scalar


def parameters_of(kernel: Any) -> tuple[Parameter, ...]:
    """The parameters of a Warp kernel; raises KernelDefinitionError for kinds that JAX lacks."""
    found = tuple(Parameter(arg.label, arg.type) for arg in kernel.adj.args)
    for parameter in found:
        kind = parameter.type.dtype if parameter.is_array else parameter.type
        struct = type(kind).__name__ == "Struct"
        if struct or (not parameter.is_array and hasattr(kind, "dtype") and hasattr(kind, "ndim")):
            what = f"the struct {kind.key}" if struct else repr(kind)
            raise KernelDefinitionError(
                f"kernel '{kernel.key}': parameter '{parameter.name}' is {what}, for which JAX has no type; "
                "pass what it holds as parameters of their own: warp.array, numbers, vectors, matrices"
            )
    return found


def array_type(kernel: str, parameter: Parameter, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Warp's type for a JAX array of this dtype and shape; raises KernelTypeError where it does not fit."""
    expected, given = parameter.scalar_dtype(), jaxtype_to_warptype(dtype)
    rank = parameter.type.ndim + len(parameter.inner)
    fits = len(shape) == rank or (shape == () and rank == 1)
    if (
        expected not in (None, given)
        or not fits
        or shape[len(shape) - len(parameter.inner) :] != parameter.inner
    ):
        raise KernelTypeError(
            f"kernel '{kernel}': argument '{parameter.name}' is {np.dtype(dtype)}{shape}; expected {rank} "
            + ("dimension" if rank == 1 else "dimensions")
            + (f", the last of sizes {parameter.inner}" if parameter.inner else "")
            + (f", of {_name(expected)}" if expected else "")
            + "; cast or reshape it, or change the kernel's annotation"
        )
    return wp.array(dtype=given, ndim=rank) if expected is None else parameter.type


def array_struct(of_type: Any, shape: tuple[int, ...]) -> Any:
    """Warp's struct for a C-contiguous array; the address of its data is for the handler to fill in."""
    inner = getattr(of_type.dtype, "_shape_", ())
    own = (shape[: len(shape) - len(inner)] or (1,)) if of_type.ndim else shape
    if max(own) > _MAX_EXTENT:
        raise KernelTypeError(
            f"shape {shape} has an axis beyond {_MAX_EXTENT} elements, which Warp counts in 32 bits; split it"
        )
    stride = wp.types.type_size_in_bytes(of_type.dtype)
    strides: list[int] = []
    for extent in reversed(own):
        strides.insert(0, stride)
        stride *= extent
    return array_t(data=0, grad=0, ndim=len(own), shape=own, strides=strides)


def _name(of_type: Any) -> str:
    return str(getattr(of_type, "__name__", of_type))


def static_value(kernel: str, parameter: Parameter, value: Any) -> Any:
    """A hashable value of a scalar, vector or matrix parameter; raises KernelTypeError for a traced one."""
    if isinstance(value, Tracer):
        raise KernelTypeError(
            f"kernel '{kernel}': parameter '{parameter.name}' is {_name(parameter.type)}, which is static, "
            "but the call gives it a traced value; make it static in jax.jit(..., static_argnames=...), or "
            "annotate the parameter as a warp.array and pass an array of shape (1,)"
        )
    if isinstance(value, (bool, int, float)):
        return value
    array = np.asarray(value)
    return array.item() if array.ndim == 0 else tuple(map(float, array.reshape(-1)))


def scalar_type(parameter: Parameter, value: Any) -> Any:
    """Warp's type of a static parameter."""
    return _GENERIC_SCALARS[type(value)] if parameter.type is Any else parameter.type


def scalar_struct(kernel: Any, parameter: Parameter, of_type: Any, value: Any) -> Any:
    """Warp's C value of a static parameter."""
    try:
        return pack_arg(kernel, of_type, parameter.name, value, "cpu")
    except Exception as error:
        raise KernelTypeError(
            f"kernel '{kernel.key}': {value!r} cannot be given for parameter '{parameter.name}': {error}"
        ) from error


def packed(values: Sequence[Any]) -> tuple[bytes, list[int]]:
    """The values as one C struct, and the offset of each."""
    fields = [(f"field{i}", type(value)) for i, value in enumerate(values)]
    struct: Any = type("Arguments", (ctypes.Structure,), {"_fields_": fields})
    filled = struct(*values)
    return bytes(filled), [getattr(struct, name).offset for name, _ in fields]


def launch_bounds(dims: tuple[int, ...], kernel_dims: int) -> bytes:
    """Warp's struct for launch dimensions; those beyond the ones of `wp.tid()` share coordinates."""
    padded = dims + (1,) * max(0, kernel_dims - len(dims))
    bounds: Any = launch_bounds_t(padded[:kernel_dims])
    for extent in padded[kernel_dims:]:
        bounds.coord_mult *= extent
        bounds.size *= extent
    return bytes(bounds)


DATA_OFFSET: Final[int] = array_t.data.offset
GRAD_OFFSET: Final[int] = array_t.grad.offset
