"""A kernel as plain Python: the same code, with `cuda` and the device functions it calls replaced."""

from __future__ import annotations

from types import CellType, FunctionType
from typing import Any

import numpy as np

from ffi_bridge.contents.fingerprint import names_in
from ffi_bridge.emulated.device import MEETINGS, Device
from ffi_bridge.numba_cuda.compile import compilers

_DEVICE = Device()


class Twin:
    """The function that runs in place of a compiled kernel; `meets`: its threads wait for each other."""

    def __init__(self, function: FunctionType) -> None:
        self._made: dict[int, Any] = {}
        self.meets = False
        self.function = self._of(function)

    def _of(self, function: FunctionType) -> Any:
        if id(function) in self._made:
            return self._made[id(function)]
        used = names_in(function.__code__)
        self.meets |= bool(MEETINGS & used)
        names: dict[str, Any] = {"__builtins__": function.__globals__.get("__builtins__", {})}
        cells = tuple(CellType() for _ in function.__closure__ or ())
        twin = FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
        self._made[id(function)] = twin
        for name in used & function.__globals__.keys():
            names[name] = self._replaced(function.__globals__[name])
        for cell, original in zip(cells, function.__closure__ or (), strict=True):
            cell.cell_contents = self._replaced(original.cell_contents)
        return twin

    def _replaced(self, value: Any) -> Any:
        if any(value is compiler.cuda for compiler in compilers()):
            return _DEVICE
        if any(value is compiler.element for compiler in compilers()):
            return _element
        inner = getattr(value, "py_func", None)
        if isinstance(inner, FunctionType) and type(value).__module__.startswith("numba"):
            return self._of(inner)
        return value


def _element(array: Any, i: int) -> Any:
    """Return the element that lies `i` elements after the first of an array."""
    first = array[(slice(1),) * array.ndim]
    return np.lib.stride_tricks.as_strided(first, (i + 1,), (array.itemsize,))[i:].reshape(())
