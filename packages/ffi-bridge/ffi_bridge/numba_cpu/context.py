"""Numba's CPU target, changed in two places for kernels that XLA calls from threads of its own.

Numba enters a parallel region under the GIL, for the sake of Python callers; XLA calls without it, and
a busy Python thread must not hold a kernel up. And an exception inside a parallel region is set in the
Python state of a worker thread, where nobody looks; here it is recorded for the handler.
"""

from __future__ import annotations

import warnings
from typing import Any

import numba

from ffi_bridge.errors import UntestedVersionWarning
from ffi_bridge.numba_cpu import internals
from ffi_bridge.numba_cpu.exception import ExceptionSlot, record_exception
from ffi_bridge.numba_cpu.internals import CPUCallConv, CPUContext, PythonAPI


class _WithoutGIL(PythonAPI):
    """Emits nothing that takes the GIL, or lets go of it, in a function that enters a parallel region.

    In this target no other function lets go of it: one that does shows that Numba has changed their names.
    """

    @property
    def _entering(self) -> bool:
        return bool(self.builder.function.name.startswith(internals.PARALLEL_ENTRY))

    def gil_ensure(self) -> Any:
        return None if self._entering else super().gil_ensure()

    def gil_release(self, gil: Any) -> None:
        if not self._entering:
            super().gil_release(gil)

    def save_thread(self) -> Any:
        if self._entering:
            return None
        warnings.warn(
            f"numba {numba.__version__} lets go of the GIL in the function '{self.builder.function.name}'; "
            f"ffi_bridge expects that of '{internals.PARALLEL_ENTRY}...' alone, and kernels with parallel "
            "regions now wait for the GIL; look for a newer ffi-bridge",
            UntestedVersionWarning,
            stacklevel=2,
        )
        return super().save_thread()

    def restore_thread(self, thread_state: Any) -> None:
        if not self._entering:
            super().restore_thread(thread_state)


class _Recording(CPUCallConv):
    """Raises into an exception slot: only bodies of parallel regions raise in this target."""

    def raise_error(self, builder: Any, pyapi: Any, status: Any) -> None:
        super().raise_error(builder, pyapi, status)
        record_exception(builder, pyapi, self.context.kernel, self.context.slot.symbol)


class NativeContext(CPUContext):
    """`base` for one kernel; shares every table and all machine code with it."""

    kernel: str
    slot: ExceptionSlot

    @classmethod
    def of(cls, base: CPUContext, kernel: str, slot: ExceptionSlot) -> NativeContext:
        context: NativeContext = cls.__new__(cls)
        context.__dict__.update(base.__dict__)
        context.kernel, context.slot = kernel, slot
        return context

    @property
    def call_conv(self) -> CPUCallConv:
        return _Recording(self)

    def get_python_api(self, builder: Any) -> PythonAPI:
        return _WithoutGIL(self, builder)
