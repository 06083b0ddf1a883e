"""Word the faults of a Numba kernel in terms of its arguments, for CPUs and GPUs alike."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ffi_bridge.numba_cpu.float16_storage import Half


def unwritten_output(kernel: str, name: str, ndim: int) -> str:
    """Describe an output without stores, and how to write it."""
    return (
        f"kernel '{kernel}' never stores to its output '{name}', which would hold whatever was in its "
        f"memory; write `{name}{_whole(ndim)} = ...`: `{name} = ...` only gives the name to another value; "
        "if it does, all that comes before always raises, as a division by a 0 that is compiled in"
    )


def returned(kernel: str, kind: object, name: str, ndim: int) -> str:
    """Describe a kernel with a value to return, and where that belongs; `name`: its first output."""
    return (
        f"kernel '{kernel}' returns {kind}; its results are what it writes into its outputs: write "
        f"`{name}{_whole(ndim)} = ...`, and `return` without a value"
    )


def not_compiled(kernel: str, names: Sequence[str], arrays: Sequence[Any], error: Exception) -> str:
    """Describe a kernel that does not compile for `arrays`, types whose text is Numba's."""
    listed = ", ".join(f"{name}: {array}" for name, array in zip(names, arrays, strict=True))
    hint = _hint_at_float16(names, arrays) or _hint_at_numbers(names, arrays, str(error))
    return f"kernel '{kernel}' does not compile for ({listed}){hint}\n{error}"


def writable_input(kernel: str, names: Sequence[str], error: Exception) -> str:
    """Describe why inputs do not serve, which are read-only: written to, or typed as if they were."""
    listed, text = ", ".join(f"'{name}'" for name in names), str(error)
    # Numba's text for a store to a read-only array; for `x += ...` it fails with an AttributeError.
    if "Cannot modify" in text or "is read-only" in text or isinstance(error, AttributeError):
        return (
            f"kernel '{kernel}' writes into its input {listed}; inputs are read-only: write into an "
            f"output, or alias the two with input_output_aliases\n{text}"
        )
    return (
        f"kernel '{kernel}' has its input {listed} where Numba expects an array that it may write to; inputs "
        "are read-only: if a function takes one, leave out its declared signature, or declare the parameter "
        "as types.Array(dtype, ndim, 'C', readonly=True); keep inputs and outputs in tuples of their own"
        f"\n{text}"
    )


def stored_input(kernel: str, names: Sequence[str]) -> str:
    """Describe inputs that a kernel stores to, though their types are read-only, and the remedy."""
    listed, copies = ", ".join(f"'{x}'" for x in names), ", ".join(f"`{x} = {x}.copy()`" for x in names)
    return (
        f"kernel '{kernel}' writes into its input {listed}, as its machine code shows; inputs are read-only, "
        "and some functions return them as if they were not: np.ascontiguousarray, np.asfortranarray, "
        f"x.flat, np.nditer, pointers from x.ctypes; let the kernel work on a copy: {copies}"
    )


def stored_on_gpu(kernel: str, names: Sequence[str]) -> str:
    """Describe inputs that a CUDA kernel stores to, and the remedy."""
    listed = ", ".join(f"'{x}'" for x in names)
    return (
        f"kernel '{kernel}' writes into its input {listed}, as its PTX shows: cuda.atomic and x.flat take "
        "read-only arrays; inputs never change: write into an output, or alias the two with "
        "input_output_aliases"
    )


def copied_inputs(kernel: str, lost: Mapping[str, str]) -> str:
    """Describe inputs that each call copies, and why: `lost` has where each goes."""
    listed = "; ".join(f"'{name}' goes to {where}" for name, where in lost.items())
    copies = ", ".join(f"`{name}.copy()`" for name in lost)
    return (
        f"kernel '{kernel}' may write into inputs, which are read-only: {listed}; each call copies them "
        f"first, so that they stay as they are; to copy less, or elsewhere, write {copies} in the kernel"
    )


def _hint_at_float16(names: Sequence[str], arrays: Sequence[Any]) -> str:
    """Say how to read floats of 16 bits, if an array has them; else nothing."""
    short = [name for name, x in zip(names, arrays, strict=True) if isinstance(getattr(x, "dtype", 0), Half)]
    if not short:
        return ""
    places = ", ".join(f"`np.float32({name}[i])`" for name in short)
    return f"; Numba does not compute in floats of 16 bits: read their elements as {places}"


def _hint_at_numbers(names: Sequence[str], arrays: Sequence[Any], error: str) -> str:
    """Say how to read numbers, which arrive as 0-d arrays, if the message speaks of one; else nothing."""
    if "Unknown attribute" in error:
        return ""
    numbers = [
        name
        for name, array in zip(names, arrays, strict=True)
        if getattr(array, "ndim", None) == 0
        # Of an array in arithmetic Numba for GPUs names the ufunc alone.
        and (error.startswith("<ufunc") or re.search(f"(?<!readonly ){re.escape(str(array))}", error))
    ]
    if not numbers:
        return ""
    places = ", ".join(f"`{name}[()]`" for name in numbers)
    return f"; a number arrives as an array without dimensions: read and write it as {places}"


def _whole(ndim: int) -> str:
    """Return the subscript of all elements of an array."""
    return {0: "[()]", 1: "[:]"}.get(ndim, "[...]")
