"""Differentiate and transpose a call of a kernel, or of a derivative of one: both are multilinear forms.

In their products nothing times infinity is nothing, as in the derivatives that Enzyme makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ffi_bridge.errors import MissingRuleError
from ffi_bridge.native.call import NativeCall
from ffi_bridge.native.exact import Constants
from ffi_bridge.native.primitive import call_kernel
from ffi_bridge.native.tracing import Level, add_level, align_varying, output_type
from ffi_bridge.numba_cpu.call import Options
from ffi_bridge.numba_cpu.derivatives.entry import FLOATS
from ffi_bridge.numba_cpu.derivatives.mode import HIGHEST, REVERSE, Mode, Side


def product(x: jax.Array, y: jax.Array) -> jax.Array:
    """Return x y, and 0 where x or y is 0; of arrays of one shape and dtype. Linear in x and in y."""
    return _product_p.bind(*align_varying([x, y]))


def _value(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.where((x == 0) | (y == 0), 0, x * y)


def _abstract(x: Any, y: Any) -> Any:
    return output_type(x.shape, x.dtype, [x, y])


def _batch(operands: Sequence[jax.Array], axes: Sequence[int | None]) -> tuple[jax.Array, int]:
    moved, level = add_level(operands, axes)
    x, y = (
        x if has else jnp.broadcast_to(x, (level.size, *x.shape))
        for x, has in zip(moved, level.mapped, strict=True)
    )
    return product(x, y), 0


# Not traced: JAX's derivative of `where` would multiply 0 by infinity again.
_product_p: Final = Primitive("product_with_strong_zeros")
_product_p.def_impl(jax.jit(_value))
_product_p.def_abstract_eval(_abstract)
mlir.register_lowering(_product_p, mlir.lower_fun(_value, multiple_results=False))
batching.primitive_batchers[_product_p] = _batch
ad.defbilinear(_product_p, lambda z, x, y: product(z, y), lambda z, x, y: product(x, z))


OPTIONS: Final = Options(None, Constants())
WITH_OUTPUTS: Final = Options(None, Constants(), outputs_are_read=True)


class Operand(NamedTuple):
    """An array, and the batch levels that it has an axis for."""

    array: Any
    mapped: tuple[bool, ...]

    @property
    def struct(self) -> jax.ShapeDtypeStruct:
        """Return the shape without batch axes, and the dtype."""
        whole = self.array.aval if ad.is_undefined_primal(self.array) else jax.typeof(self.array)
        return jax.ShapeDtypeStruct(whole.shape[sum(self.mapped) :], whole.dtype)


class Differentiable(Protocol):
    """The part of a kernel with derivatives that the rules need."""

    @property
    def name(self) -> str:
        """Return the kernel's own name."""
        ...

    def derivative(self, mode: Mode, ins: Sequence[Any], outs: Sequence[Any], constants: Constants) -> Any:
        """Return the kernel that computes a derivative, for inputs and outputs like these."""
        ...


@dataclass(frozen=True)
class Form:
    """A derivative of `kernel` at the inputs, applied to its seeds: an operand per active buffer each."""

    kernel: Differentiable
    mode: Mode
    inputs: tuple[Operand, ...]
    seeds: tuple[tuple[Operand, ...], ...]
    outs: tuple[jax.ShapeDtypeStruct, ...]
    constants: Constants
    sizes: tuple[int, ...]

    @classmethod
    def of(
        cls,
        kernel: Differentiable,
        mode: Mode,
        ins: Sequence[Any],
        call: NativeCall,
        counts: tuple[int, int],
        constants: Constants,
    ) -> Form:
        """Return the form that a call computes; `counts`: of inputs and outputs of the kernel."""
        patterns = [tuple(level.mapped[i] for level in call.levels) for i in range(len(ins))]
        operands = [Operand(*x) for x in zip(ins, patterns, strict=True)]
        inputs, rest = tuple(operands[: counts[0]]), iter(operands[counts[0] :])
        form = cls(kernel, mode, inputs, (), call.outs[: counts[1]], constants, call.sizes)
        return replace(form, seeds=form.grouped(rest))

    def active(self, side: Side) -> list[int]:
        """Return which inputs, or outputs, have derivatives."""
        structs = [x.struct for x in self.inputs] if side == "in" else self.outs
        return [i for i, x in enumerate(structs) if x.dtype in FLOATS]

    def grouped(self, flat: Iterator[Any]) -> tuple[tuple[Any, ...], ...]:
        """Group a sequence of operands seed by seed."""
        return tuple(tuple(next(flat) for _ in self.active(side)) for side in self.mode.seeds)

    def value(self) -> list[jax.Array]:
        """Call the derivative; return one result for each active buffer of the side that is open."""
        return self.called(OPTIONS)[len(self.outs) :]

    def called(self, options: Options) -> list[jax.Array]:
        """Call the derivative; return the kernel's outputs, and then the results."""
        structs = {"in": [x.struct for x in self.inputs], "out": self.outs}
        results = [structs[self.mode.opens][i] for i in self.active(self.mode.opens)]
        kernel = self.kernel.derivative(
            self.mode, [x.dtype for x in structs["in"]], [x.dtype for x in self.outs], self.constants
        )
        flat = [*self.inputs, *chain.from_iterable(self.seeds)]
        levels = tuple(Level(size, tuple(x.mapped[i] for x in flat)) for i, size in enumerate(self.sizes))
        call = NativeCall((*self.outs, *results), options, levels)
        return call_kernel(kernel, call, [x.array for x in flat])

    @property
    def is_of_a_number(self) -> bool:
        """Return whether all outputs that have derivatives are one number."""
        active = self.active("out")
        return len(active) == 1 and all(extent == 1 for extent in self.outs[active[0]].shape)

    @property
    def _number(self) -> jax.ShapeDtypeStruct:
        """Return the one output that has derivatives."""
        (out,) = (self.outs[i] for i in self.active("out"))
        return out

    def by_gradient(self, tangents: Sequence[Any]) -> tuple[list[jax.Array], list[Any]]:
        """Return the outputs of a kernel of one number, and its tangent, by a call for value and gradient."""
        out = self._number
        # With 1 as covector the reverse mode of one number is its gradient.
        one = Operand(jnp.ones(out.shape, out.dtype), (False,) * len(self.sizes))
        results = replace(self, mode=REVERSE, seeds=((one,),)).called(WITH_OUTPUTS)
        count = len(self.outs)
        return results[:count], self.along(results[count:], tangents)

    def along(self, gradient: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """Return the tangent of the one number by its gradient; nothing where no input moves."""
        out, terms = self._number, []
        for i, slope in zip(self.active("in"), gradient, strict=True):
            if not isinstance(tangents[i], ad.Zero):
                # An input that the batch shares moves alike for each element.
                missing = [axis for axis, has in enumerate(self.inputs[i].mapped) if not has]
                dot = jnp.broadcast_to(jnp.expand_dims(tangents[i], missing), slope.shape)
                element_axes = tuple(range(len(self.sizes), slope.ndim))
                terms.append(
                    product(slope, dot).sum(element_axes).reshape(*self.sizes, *out.shape).astype(out.dtype)
                )
        # From the first one, as `sum` alone begins with a Python 0.
        return [sum(terms[1:], terms[0])] if terms else []

    def jvp(self, tangents: Sequence[Any]) -> list[Any]:
        """Return the tangent of each result, by the product rule; None where all tangents are zero."""
        count = len(self.inputs)
        terms = [
            replace(self, seeds=(*self.seeds[:k], moved, *self.seeds[k + 1 :])).value()
            for k, dots in enumerate(self.grouped(iter(tangents[count:])))
            if (moved := _moved(self.seeds[k], dots)) is not None
        ]
        active = self.active("in")
        moved = _moved([self.inputs[i] for i in active], [tangents[i] for i in active])
        if moved is not None:
            if self.mode.order == HIGHEST:
                raise MissingRuleError(
                    f"kernel '{self.kernel.name}': its derivative of order {HIGHEST + 1} was asked for, and "
                    f"orders up to {HIGHEST} exist; keep what is differentiated {HIGHEST + 1} times in JAX"
                )
            mode = Mode(self.mode.order + 1, self.mode.opens)
            terms.append(replace(self, mode=mode, seeds=(*self.seeds, moved)).value())
        return [sum(summands[1:], summands[0]) for summands in zip(*terms, strict=True)]

    def transpose(self, cotangents: Sequence[Any], ins: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the one seed that is undefined, and None for all defined operands."""
        are_undefined = self.grouped(map(ad.is_undefined_primal, ins[len(self.inputs) :]))
        (seed,) = (k for k, undefined in enumerate(are_undefined) if any(undefined))
        everywhere = (True,) * len(self.sizes)
        open_seed = tuple(Operand(ad.instantiate_zeros(x), everywhere) for x in cotangents[len(self.outs) :])
        mode, places = self.mode.transposed(seed)
        seeds = tuple(open_seed if place is None else self.seeds[place] for place in places)
        values = replace(self, mode=mode, seeds=seeds).value()
        whole = [
            x.sum(tuple(i for i, has in enumerate(operand.mapped) if not has))
            for x, operand in zip(values, self.seeds[seed], strict=True)
        ]
        result: list[Any] = [None] * len(self.inputs)
        for k, undefined in enumerate(are_undefined):
            result += [whole[i] if k == seed and is_one else None for i, is_one in enumerate(undefined)]
        return result


def _moved(operands: Sequence[Operand], tangents: Sequence[Any]) -> tuple[Operand, ...] | None:
    """Return the tangents as operands; None where all of them are zero."""
    if all(isinstance(x, ad.Zero) for x in tangents):
        return None
    return tuple(
        Operand(ad.instantiate_zeros(dot), x.mapped) for x, dot in zip(operands, tangents, strict=True)
    )
