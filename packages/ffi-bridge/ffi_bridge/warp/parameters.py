"""The parameters of a Warp kernel: Warp's types for JAX's, and the C values that are passed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import warp as wp
from jax.core import Tracer
from jax.typing import DTypeLike

from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.native.buffers import contiguous
from ffi_bridge.warp import internals

_SCALARS: Final = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "bfloat16"),
)
_WARP_TYPES: dict[np.dtype[Any], Any] = {
    np.dtype(getattr(jnp, "bool_" if name == "bool" else name)): getattr(wp, name)
    for name in _SCALARS
    if hasattr(wp, name)  # older ones lack bfloat16
}

_INTEGERS: dict[Any, np.dtype[Any]] = {scalar: x for x, scalar in _WARP_TYPES.items() if x.kind in "iu"}


def jaxtype_to_warptype(dtype: DTypeLike) -> Any:
    """The Warp scalar type of a dtype: float32 -> `warp.float32`.

    Args:
        dtype: bool, int8 to int64, uint8 to uint64, float16, float32, float64, or bfloat16 where
            this Warp has it; a dtype, a scalar type or a name.

    Raises:
        KernelTypeError: Warp has no such scalar; lists those it has.
    """
    try:
        return _WARP_TYPES[np.dtype(dtype)]
    except (KeyError, TypeError):
        raise KernelTypeError(
            f"Warp has no scalar type for {dtype!r}; it has: {', '.join(map(str, _WARP_TYPES))}"
        ) from None


def jaxinfo_to_warpinfo(info: jax.ShapeDtypeStruct) -> Any:
    """The annotation of a Warp kernel's array argument: `warp.array(dtype=..., ndim=len(shape))`.

    Args:
        info: anything with `shape` and `dtype`; of 1 to 4 dimensions.

    Raises:
        KernelTypeError: `info` is no such thing, has no dimension or more than 4, or Warp lacks the
            dtype.
    """
    if not (hasattr(info, "shape") and hasattr(info, "dtype")):
        raise KernelTypeError(f"got {info!r}; expected a jax.ShapeDtypeStruct(shape, dtype)")
    ndim = len(info.shape)
    if not 1 <= ndim <= 4:
        raise KernelTypeError(
            f"Warp arrays have 1 to 4 dimensions, got shape {tuple(info.shape)}; reshape it"
            + (" to (1,), or pass the value as a static argument" if ndim == 0 else "")
        )
    return wp.array(dtype=jaxtype_to_warptype(info.dtype), ndim=ndim)


_MAX_EXTENT: Final = 2**31 - 1  # Warp has shapes and strides as int32
# As Warp itself takes numbers of Python.
_GENERIC_SCALARS: dict[type, Any] = {bool: wp.bool, int: wp.int32, float: wp.float32}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a Warp kernel: an array, which is a buffer, or a static value."""

    name: str
    type: Any  # Warp's annotation

    @property
    def is_array(self) -> bool:
        return isinstance(self.type, wp.array)

    @property
    def inner(self) -> tuple[int, ...]:
        """Return the axes that a vector or matrix element takes at the end of a JAX shape; 0 for any size."""
        return internals.element_shape(self.type.dtype)


@dataclass(frozen=True)
class StructValue:
    """The content of a Warp struct when it was given."""

    content: bytes
    instance: Any = field(repr=False, compare=False)

    @classmethod
    def of(cls, kind: Any, instance: Any) -> StructValue:
        """Copy an instance of this struct."""
        copy = kind()
        # The user may go on and change the instance.
        copy.assign(instance)
        return cls(bytes(copy.__ctype__()), copy)

    def __ctype__(self) -> Any:
        """Return the C struct, by the method that Warp calls."""
        return self.instance.__ctype__()


def parameter_of(subject: str, name: str, kind: Any) -> Parameter:
    """Return the parameter of this annotation; raise KernelDefinitionError for a kind that JAX lacks."""
    array = internals.array_annotation(kind)
    if array is not None:
        fits = array.dtype is Any or wp.types.type_is_value(array.dtype)
    else:
        fits = kind is Any or is_static(kind)
    if not fits:
        description = _described(kind) if array is None else f"an array of {_described(array.dtype)}"
        raise KernelDefinitionError(
            f"{subject}: parameter '{name}' is {description}, for which JAX has no value; expected a "
            "warp.array of 1 to 4 dimensions, of numbers, vectors or matrices, or a number, a vector, a "
            "matrix, or a struct of those"
        )
    return Parameter(name, kind if array is None else array)


def is_static(kind: Any) -> bool:
    """Return whether an annotation is of a number, a vector, a matrix, or a struct of them."""
    if wp.types.type_is_struct(kind):
        return all(is_static(field.type) for field in kind.vars.values())
    return wp.types.type_is_value(kind)


def _described(kind: Any) -> str:
    return f"the struct {kind.key}" if wp.types.type_is_struct(kind) else str(kind)


def array_type(subject: str, parameter: Parameter, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return Warp's type for a JAX array; raise KernelTypeError where its dtype or shape does not fit."""
    scalar, actual = internals.scalar_of(parameter.type.dtype), jaxtype_to_warptype(dtype)
    expected = None if scalar is Any else scalar  # None: the kernel is generic in it
    rank = parameter.type.ndim + len(parameter.inner)
    inner = shape[len(shape) - len(parameter.inner) :]
    if (
        expected not in (None, actual)
        # Warp has no arrays without dimensions: a number is one of one element.
        or not (len(shape) == rank or (shape == () and rank == 1))
        or any(wanted not in (0, extent) for wanted, extent in zip(parameter.inner, inner, strict=False))
    ):
        raise KernelTypeError(
            f"{subject}: argument '{parameter.name}' is {np.dtype(dtype)}{shape}; expected {rank} "
            + ("dimension" if rank == 1 else "dimensions")
            + (f", the last of sizes {parameter.inner}" if parameter.inner else "")
            + (f", of {_name(expected)}" if expected else "")
            + "; cast or reshape it, or change the kernel's annotation"
        )
    if 0 in parameter.inner:
        make = wp.types.vector if len(inner) == 1 else wp.types.matrix
        return wp.array(dtype=make(inner[0] if len(inner) == 1 else inner, actual), ndim=parameter.type.ndim)
    return wp.array(dtype=actual, ndim=rank) if expected is None else parameter.type


def warp_shape(of_type: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the extents in Warp of an array of JAX."""
    return shape[: len(shape) - len(internals.element_shape(of_type.dtype))] or (1,)


def array_value(of_type: Any, shape: tuple[int, ...]) -> Any:
    """Return Warp's C value of a C-contiguous array, without an address."""
    extents = warp_shape(of_type, shape)
    if max(extents) > _MAX_EXTENT:
        raise KernelTypeError(
            f"shape {shape} has an axis beyond {_MAX_EXTENT} elements, which Warp counts in 32 bits; split it"
        )
    strides = contiguous(extents, wp.types.type_size_in_bytes(of_type.dtype))
    # No index is multiplied by the stride of an axis of one element.
    widest = max((step for step, extent in zip(strides, extents, strict=True) if extent > 1), default=0)
    if widest > _MAX_EXTENT:
        raise KernelTypeError(
            f"shape {shape} has {widest} bytes from one element of an axis to the next, which Warp counts in "
            "32 bits, with sign; split it"
        )
    return internals.array_t(data=0, grad=0, ndim=len(extents), shape=extents, strides=strides)


def _name(of_type: Any) -> str:
    return str(getattr(of_type, "__name__", of_type))


def static_value(subject: str, parameter: Parameter, value: Any) -> Any:
    """Return a hashable value of a static parameter; raise KernelTypeError for a traced one."""
    if isinstance(value, Tracer):
        raise KernelTypeError(
            f"{subject}: parameter '{parameter.name}' is {_name(parameter.type)}, which is static, "
            "but the call gives it a traced value; make it static in jax.jit(..., static_argnames=...), or "
            "annotate the parameter as a warp.array and pass an array of shape (1,)"
        )
    if wp.types.type_is_struct(parameter.type):
        return _struct_value(subject, parameter, value)
    if type(value) not in _GENERIC_SCALARS:
        array = np.asarray(value if parameter.type is Any else _plain(value))
        value = array.item() if array.ndim == 0 else _elements(subject, parameter, array)
    of_type = _GENERIC_SCALARS.get(type(value)) if parameter.type is Any else parameter.type
    refuse_beyond(subject, parameter.name, of_type, value)
    return value


def _plain(value: Any) -> Any:
    """Return the number in a number of Warp's; anything else as it is."""
    return value.value if type(value) in _WARP_TYPES.values() else value


def _elements(subject: str, parameter: Parameter, array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """Return the elements of a vector or matrix; raise KernelTypeError where they do not fit its type."""
    shape = internals.element_shape(parameter.type)
    is_whole = internals.scalar_of(parameter.type) in _INTEGERS
    kinds, expected = ("iub", "integers") if is_whole else ("iubf", "numbers")
    if shape and (array.shape not in (shape, (math.prod(shape),)) or array.dtype.kind not in kinds):
        raise KernelTypeError(
            f"{subject}: parameter '{parameter.name}' is {_name(parameter.type)}, and the call gives it "
            f"{array.tolist()}; expected {expected} of shape {shape}"
        )
    return tuple(array.reshape(-1).tolist())


def refuse_beyond(subject: str, name: str, of_type: Any, value: Any) -> None:
    """Raise KernelTypeError for a number that a type does not hold: Warp would keep the low bits."""
    if wp.types.type_is_struct(of_type) and wp.types.is_struct(value):
        for field_name, of_field in of_type.vars.items():
            refuse_beyond(subject, f"{name}.{field_name}", of_field.type, getattr(value, field_name))
    scalar = internals.scalar_of(of_type)
    is_vector = isinstance(value, tuple | list | np.ndarray)
    for number in np.ravel(value).tolist() if is_vector else (_plain(value),):
        fits, expected = scalar is not wp.bool or number in (0, 1), "True or False"
        if scalar in _INTEGERS and isinstance(number, int | np.integer):
            limits = np.iinfo(_INTEGERS[scalar])
            fits, expected = limits.min <= number <= limits.max, f"{limits.min} to {limits.max}"
        if not fits:
            raise KernelTypeError(
                f"{subject}: parameter '{name}' is {_name(scalar)}, and the call gives it {number!r}; "
                f"expected {expected}, or another type in the annotation"
            )


def _struct_value(subject: str, parameter: Parameter, value: Any) -> StructValue:
    kind = parameter.type
    held: Any = value.__ctype__() if wp.types.is_struct(value) else None
    if not isinstance(held, kind.ctype):
        raise KernelTypeError(
            f"{subject}: parameter '{parameter.name}' is {_described(kind)}, but the call gives it "
            f"{' '.join(repr(value).split())}; make one with {kind.cls.__name__}() and set its fields"
        )
    refuse_beyond(subject, parameter.name, kind, value)
    return StructValue.of(kind, value)


def python_value(parameter: Parameter, value: Any) -> Any:
    """Return a static value as Python functions see it: a number, or a vector, matrix or struct of Warp."""
    if isinstance(value, StructValue):
        return StructValue.of(parameter.type, value.instance).instance
    is_vector = hasattr(parameter.type, "_shape_")  # a number has none, whatever was given for it
    return parameter.type(*value) if is_vector and isinstance(value, tuple) else value


def scalar_type(subject: str, parameter: Parameter, value: Any) -> Any:
    """Return Warp's type of a static parameter; raise KernelTypeError where a generic one has none."""
    if parameter.type is not Any:
        return parameter.type
    if type(value) not in _GENERIC_SCALARS:
        raise KernelTypeError(
            f"{subject}: parameter '{parameter.name}' is generic, and the call gives it {value!r}; "
            "give a bool, int or float, or annotate the parameter with its type"
        )
    return _GENERIC_SCALARS[type(value)]


def scalar_value(subject: str, kernel: Any, parameter: Parameter, of_type: Any, value: Any) -> Any:
    """Return Warp's C value of a static parameter; raise KernelTypeError where its type does not hold it."""
    try:  # numbers are packed alike for every device
        return internals.pack_arg(kernel, of_type, parameter.name, value, "cpu")
    except Exception as error:
        raise KernelTypeError(
            f"{subject}: {value!r} cannot be given for parameter '{parameter.name}': {error}"
        ) from error
