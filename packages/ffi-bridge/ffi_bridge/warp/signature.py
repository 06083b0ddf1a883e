"""The parameters of a Warp kernel, or of a function that launches some: which are inputs, which outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.native.outs import Outs
from ffi_bridge.warp.parameters import Parameter, static_value


@dataclass(frozen=True)
class Signature:
    """Which parameters are inputs and outputs.

    `outputs`: positions of the outputs; `in_out`: positions of those that are inputs, too; `subject`: the
    kernel or function, for errors.
    """

    subject: str
    parameters: tuple[Parameter, ...]
    in_out: tuple[int, ...]
    outputs: tuple[int, ...]

    @classmethod
    def of(
        cls, subject: str, parameters: Sequence[Parameter], outs: Outs, in_out: Sequence[str]
    ) -> Signature:
        """Take the last parameters for outputs; raise KernelDefinitionError where `outs` do not fit."""
        names = [p.name for p in parameters]
        inputs = len(parameters) - len(outs.flat) + len(in_out)
        known = [name for name in in_out if name in names[: max(0, inputs)]]
        if len(set(known)) < len(in_out) or not len(in_out) <= len(outs.flat) <= len(parameters):
            raise KernelDefinitionError(
                f"{subject} has the parameters {', '.join(names)}; in_out_argnames={list(in_out)} and "
                f"{len(outs.flat)} outs do not fit it: an in-out name is an input, named once, and outs has "
                "one entry for each in-out input, then one for each output"
            )
        updated = tuple(i for i in range(inputs) if names[i] in in_out)
        outputs = (*updated, *range(inputs, len(parameters)))
        for i in outputs:
            if not parameters[i].is_array:
                raise KernelDefinitionError(f"{subject}: output '{names[i]}' is not a warp.array")
        return cls(subject, tuple(parameters), updated, outputs)

    @cached_property
    def given(self) -> range:
        """Return the positions of the parameters that a caller gives."""
        return range(len(self.parameters) - len(self.outputs) + len(self.in_out))

    @cached_property
    def static(self) -> tuple[int, ...]:
        """Return the positions of those that are static."""
        return tuple(i for i in self.given if not self.parameters[i].is_array)

    @cached_property
    def arrays(self) -> tuple[int, ...]:
        """Return the positions of the parameters that are buffers."""
        return tuple(i for i, p in enumerate(self.parameters) if p.is_array)

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """Return the positions of the arrays that a caller gives."""
        return tuple(i for i in self.given if self.parameters[i].is_array)

    @property
    def aliases(self) -> tuple[tuple[int, int], ...]:
        """Return pairs: an input array, and the output that it is updated to."""
        return tuple((self.inputs.index(p), out) for out, p in enumerate(self.in_out))

    def outs_of_call(self, outs: Any) -> Outs:
        """Return the outputs of one call; raise KernelDefinitionError for another number of them."""
        found = Outs.of(outs)
        if len(found.flat) != len(self.outputs):
            names = ", ".join(self.parameters[i].name for i in self.outputs)
            raise KernelDefinitionError(
                f"{self.subject} has {len(self.outputs)} outputs ({names}), but the call's outs has "
                f"{len(found.flat)}; give one jax.ShapeDtypeStruct for each"
            )
        return found

    def values(self, ins: Sequence[Any]) -> list[Any]:
        """Return what a caller gave, static values hashable; raise KernelTypeError where they do not fit."""
        if len(ins) != len(self.given):
            names = ", ".join(self.parameters[i].name for i in self.given)
            raise KernelTypeError(
                f"{self.subject} takes {len(self.given)} inputs ({names}), but the call has {len(ins)}; "
                "outputs are not passed"
            )
        values = list(ins)
        for i in self.static:
            values[i] = static_value(self.subject, self.parameters[i], ins[i])
        return values
