"""A Numba kernel with derivatives, and its derivatives, as kernels of the native primitive."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import numpy as np
from jax.core import ShapedArray
from jax.interpreters import ad
from numba import types

from ffi_bridge import debug
from ffi_bridge.errors import KernelDefinitionError, MissingRuleError
from ffi_bridge.native.call import NativeCall
from ffi_bridge.native.exact import Constants
from ffi_bridge.native.lowering import is_linearized, leave_results, results_left
from ffi_bridge.native.outs import Outs
from ffi_bridge.native.parameters import Parameters
from ffi_bridge.native.primitive import call_kernel
from ffi_bridge.native.tracing import Level
from ffi_bridge.numba_cpu.call import NumbaKernel
from ffi_bridge.numba_cpu.compiler import specialised
from ffi_bridge.numba_cpu.derivatives.compile import to_compile
from ffi_bridge.numba_cpu.derivatives.entry import FLOATS
from ffi_bridge.numba_cpu.derivatives.kernels import placeholder
from ffi_bridge.numba_cpu.derivatives.mode import PRIMAL, Buffer, Mode
from ffi_bridge.numba_cpu.derivatives.rules import Form
from ffi_bridge.numba_cpu.layout import Constant


@dataclass(frozen=True, eq=False)
class DifferentiableKernel(NumbaKernel):
    """A Numba kernel, whose derivatives Enzyme makes where they are asked for."""

    is_lowered_in_place: ClassVar[bool] = True

    _derivatives: dict[object, Derivative] = field(default_factory=dict, init=False, repr=False)

    def lower(
        self, rule: Callable[..., Sequence[Any]], ctx: Any, call: NativeCall, operands: Sequence[Any]
    ) -> Sequence[Any]:
        results = results_left(ctx, _call_of(self, call.outs, call.levels, call.options.constants, operands))
        return rule(ctx, *operands) if results is None else results

    def jvp(
        self, ins: Sequence[Any], tangents: Sequence[Any], call: NativeCall
    ) -> tuple[list[Any], list[Any]]:
        self._check(ins, tangents, call)
        form = Form.of(self, PRIMAL, ins, call, (len(ins), len(call.outs)), call.options.constants)
        # What JAX linearizes, it transposes, mostly.
        if form.is_of_a_number and is_linearized(tangents):
            outs, moved = form.by_gradient(tangents)
        else:
            moved = form.jvp(tangents)  # before the outputs, which it leaves for them: see `lower`
            outs = call_kernel(self, call, ins)
        dots = iter(moved)
        return outs, [_tangent(x, call, next(dots, None) if x.dtype in FLOATS else None) for x in call.outs]

    def check(self, outs: Outs) -> None:
        super().check(outs)
        if self.is_kept:
            raise KernelDefinitionError(
                f"kernel '{self.name}' is differentiable and has side effects, which its derivatives would "
                "have, too; expected one of them: give a kernel with side effects a rule, by jax.custom_jvp"
            )

    def derivative(
        self, mode: Mode, ins: Sequence[Any], outs: Sequence[Any], constants: Constants
    ) -> Derivative:
        """Return the kernel of a derivative, for inputs and outputs of these dtypes."""
        # In the debug mode the code of a derivative compares it.
        key = (mode, tuple(ins), tuple(outs), constants, compared := debug.is_on())
        if key not in self._derivatives:
            buffers = self._buffers(ins, outs)
            kernel = placeholder(f"{self.name}_{mode.symbol}", buffers, mode, compared)
            parameters = Parameters(kernel.py_func, (), ())
            fields = kernel, parameters, self, mode, buffers, constants, compared
            self._derivatives[key] = Derivative(None, (), *fields, outside=self.outside)
        return self._derivatives[key]

    def _buffers(self, ins: Sequence[Any], outs: Sequence[Any]) -> tuple[Buffer, ...]:
        names, count = self.buffer_names(len(ins), len(outs)), len(ins)
        begun = {count + out: names[source] for source, out in self.aliases}
        return tuple(
            Buffer(name, i >= count, dtype in FLOATS, name in self.parameters.scalars, begun.get(i))
            for i, (name, dtype) in enumerate(zip(names, (*ins, *outs), strict=True))
        )

    def _check(self, ins: Sequence[Any], tangents: Sequence[Any], call: NativeCall) -> None:
        """Raise MissingRuleError for a derivative in numbers that Enzyme does not know."""
        names = self.buffer_names(len(ins), len(call.outs))
        moving = [not isinstance(x, ad.Zero) for x in tangents] + [True] * len(call.outs)
        for name, x, moves in zip(names, (*ins, *call.outs), moving, strict=True):
            if moves and x.dtype not in FLOATS and jax.numpy.issubdtype(x.dtype, np.inexact):
                raise MissingRuleError(
                    f"kernel '{self.name}': '{name}' is {x.dtype}, and derivatives are of float32 and "
                    "float64; cast it before and after the call, or give a complex number as its parts"
                )


@dataclass(frozen=True, eq=False)
class Derivative(NumbaKernel):
    """A derivative of `primal`, whose inputs and outputs come first among the derivative's."""

    primal: DifferentiableKernel
    mode: Mode
    buffers: tuple[Buffer, ...]
    constants: Constants
    is_compared: bool  # in its code

    is_lowered_in_place: ClassVar[bool] = True
    is_derivative: ClassVar[bool] = True

    @property
    def is_compiled_late(self) -> bool:
        # In reverse mode JAX traces the forward one, and transposes it.
        return self.mode.opens == "out"

    @property
    def contents(self) -> object:
        # The placeholder's name and code say which derivative it is, and whether it is compared.
        return self.primal.dispatcher, self.dispatcher, self.buffers, self.constants

    def to_compile(self, arguments: Sequence[types.Type]) -> Any:
        kinds_by_name = dict(zip(inspect.signature(self.function).parameters, arguments, strict=True))
        kinds = [self._in_primal(buffer, kinds_by_name[buffer.name]) for buffer in self.buffers]
        constants = tuple((name, Constant(x)) for name, x in self.constants)
        whole = self.primal.parameters.arguments(kinds, constants)
        primal = specialised(self.primal.dispatcher, **dict(self.constants))
        return to_compile(self.dispatcher, primal, self.buffers, self.mode, kinds, whole, self.is_compared)

    def lower(
        self, rule: Callable[..., Sequence[Any]], ctx: Any, call: NativeCall, operands: Sequence[Any]
    ) -> Sequence[Any]:
        results, (ins, outs) = rule(ctx, *operands), self._counts
        levels = [Level(size, mapped[:ins]) for size, mapped in call.levels]
        of_primal = _call_of(self.primal, call.outs[:outs], levels, self.constants, operands[:ins])
        leave_results(ctx, of_primal, results[:outs])
        return results

    def jvp(
        self, ins: Sequence[Any], tangents: Sequence[Any], call: NativeCall
    ) -> tuple[list[Any], list[Any]]:
        form = self._form(ins, call)
        moved = form.jvp(tangents)
        results = call_kernel(self, call, ins)
        count = len(form.outs)
        of_outs = form.along(results[count:], tangents) if call.options.outputs_are_read else ()
        values, slopes = iter(of_outs), iter(moved)
        dots = [next(values, None) if x.dtype in FLOATS else None for x in form.outs]
        dots += [next(slopes, None) for _ in results[count:]]
        return results, [_tangent(x, call, dot) for x, dot in zip(call.outs, dots, strict=True)]

    def transpose(self, cotangents: Sequence[Any], ins: Sequence[Any], call: NativeCall) -> list[Any]:
        return self._form(ins, call).transpose(cotangents, ins)

    @property
    def _counts(self) -> tuple[int, int]:
        """Return how many inputs and outputs the kernel itself has."""
        num_outs = sum(x.is_output for x in self.buffers)
        return len(self.buffers) - num_outs, num_outs

    def _form(self, ins: Sequence[Any], call: NativeCall) -> Form:
        return Form.of(self.primal, self.mode, ins, call, self._counts, self.constants)

    def _in_primal(self, buffer: Buffer, kind: Any) -> types.Type:
        """Return Numba's type of a buffer as the kernel itself takes it."""
        if buffer.is_number:
            return kind.dtype
        is_shared = any(x.begins == buffer.name for x in self.buffers)
        return kind.copy(readonly=False) if is_shared else kind


def _call_of(
    kernel: DifferentiableKernel,
    outs: Sequence[Any],
    levels: Sequence[Level],
    constants: Constants,
    operands: Sequence[Any],
) -> object:
    """Return a key of a call of the kernel within a program.

    A derivative leaves its kernel's outputs for it: the call, if it follows in the same block, takes them.
    """
    return kernel, tuple(outs), tuple(levels), constants, tuple(operands)


def _tangent(out: jax.ShapeDtypeStruct, call: NativeCall, dot: Any) -> Any:
    """Return the tangent of an output; a zero one where it has none."""
    whole = ShapedArray(call.sizes + tuple(out.shape), out.dtype)
    return ad.Zero(whole.to_tangent_aval()) if dot is None else dot
