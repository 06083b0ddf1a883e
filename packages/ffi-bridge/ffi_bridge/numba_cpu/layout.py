"""Describe the parameters of a Numba kernel, and how buffers map to them, without a compiler."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import from_dtype, types
from numba.extending import models, register_model

from ffi_bridge.abi import DTYPES
from ffi_bridge.errors import KernelTypeError
from ffi_bridge.native.exact import exact_key
from ffi_bridge.numba_cpu.float16_storage import HALVES


@dataclass(frozen=True)
class Layout:
    """The map from the buffers of a frame to the kernel's arguments.

    `batched[i][l]`: argument i has an axis for batch level l (outermost first); an argument without
    one is given to every element of that level. `guarded`: outputs lie between canaries. `ordered`: a token
    follows the inputs, and another the outputs. `read`: inputs that share no memory with an output;
    `copied`: those of them that the kernel is given copies of, since it may write to them. `is_derivative`:
    its kernel was checked for that before.
    """

    kernel: str
    names: tuple[str, ...]
    num_inputs: int
    batched: tuple[tuple[bool, ...], ...]
    guarded: bool = False
    ordered: bool = False
    read: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    is_derivative: bool = False

    @property
    def levels(self) -> int:
        return len(self.batched[-1])


@dataclass(frozen=True)
class Threading:
    """The surroundings of a kernel with parallel regions.

    `slot`: symbol of its exception slot; `num_threads`: a thread count other than Numba's own.
    """

    slot: str
    num_threads: int | None


class Constant(types.Omitted):
    """The type of an argument that a call leaves out for a constant: one for each value.

    Numba's own are one where Python's values are equal, so that -0.0 would be 0.0.
    """

    @property
    def key(self) -> Any:
        return exact_key(self.value)


# Numba looks a model up by the very class, not by its bases.
register_model(Constant)(models.OmittedArgDataModel)


def parameter_names(function: Any, num_inputs: int, num_outs: int, static: Sequence[str]) -> tuple[str, ...]:
    """Return the names of parameters that are not static; raise KernelTypeError unless each is a buffer."""
    parameters = [x for x in inspect.signature(function).parameters.values() if x.name not in static]
    name = function.__name__
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise KernelTypeError(
                f"kernel '{name}' has the parameter '{parameter}'; a kernel takes one positional "
                "parameter per input, then one per output"
            )
    if len(parameters) != num_inputs + num_outs:
        raise KernelTypeError(
            f"kernel '{name}' takes {len(parameters)} arguments "
            f"({', '.join(p.name for p in parameters)}), but the call has {num_inputs} inputs and {num_outs} "
            f"outputs = {num_inputs + num_outs}; give {len(parameters) - num_outs} inputs, or change outs; "
            "name what is a constant in static_argnames"
        )
    return tuple(p.name for p in parameters)


def buffer_types(arguments: Sequence[types.Type]) -> list[Any]:
    """Return the types of the arguments that are buffers: arrays, and numbers that are read from one."""
    return [kind for kind in arguments if not isinstance(kind, types.Omitted)]


def array_type(kernel: str, name: str, dtype: np.dtype[Any], ndim: int, readonly: bool) -> types.Array:
    """Return Numba's type of a C-contiguous buffer; raise KernelTypeError for a dtype that it cannot have."""
    # For inputs alone: nothing can be stored to elements of these types.
    if readonly and dtype in HALVES:
        return types.Array(HALVES[dtype], ndim, "C", readonly=True)
    if np.dtype(dtype) not in DTYPES:
        hint = "cast it to float32 before the call" if "float" in str(dtype) else "cast it before the call"
        raise KernelTypeError(
            f"kernel '{kernel}': argument '{name}' has dtype {dtype}, which Numba kernels on CPU cannot "
            f"have; {hint} (supported: {', '.join(map(str, DTYPES))})"
        )
    return types.Array(from_dtype(np.dtype(dtype)), ndim, "C", readonly=readonly)
