"""Numba CPU kernels as calls of the native primitive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ffi_bridge import debug
from ffi_bridge.handler.layout import Layout
from ffi_bridge.native_call import NativeCall, NativeKernel
from ffi_bridge.numba_parameters import array_type, parameter_names
from ffi_bridge.numba_target import ensure_kernel_target


@dataclass(frozen=True, eq=False)
class NumbaKernel(NativeKernel):
    """A Numba dispatcher; a call's options are its thread count, or None for Numba's own."""

    dispatcher: Any  # a numba.core.dispatcher.Dispatcher, which has no types of use here

    toolchain: ClassVar[str] = "Numba"
    vmap_methods: ClassVar[tuple[str | None, ...]] = (None, "sequential", "expand_dims", "broadcast_all")

    @property
    def name(self) -> str:
        return self.dispatcher.__name__

    def buffer_names(self, num_inputs: int, num_outs: int) -> tuple[str, ...]:
        return parameter_names(self.dispatcher, num_inputs, num_outs)

    def ensure_target(
        self, ins: Sequence[Any], call: NativeCall, names: tuple[str, ...], platform: str
    ) -> str:
        batched = call.batched(len(ins))
        aliased = dict(self.aliases)
        specs = [(x.dtype, x.ndim - sum(axes)) for x, axes in zip(ins, batched, strict=False)]
        specs += [(out.dtype, len(out.shape)) for out in call.outs]
        arrays = [
            array_type(self.name, name, dtype, ndim, readonly=i < len(ins) and i not in aliased)
            for i, (name, (dtype, ndim)) in enumerate(zip(names, specs, strict=True))
        ]
        layout = Layout(self.name, names, len(ins), batched, debug.is_on())
        target = ensure_kernel_target(
            self.dispatcher, arrays, layout, noalias=not aliased, num_threads=call.options
        )
        return target.name
