"""The parameters of a Warp kernel, or of a function that launches some: which are inputs, which outputs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax

from ffi_bridge.errors import KernelDefinitionError, KernelTypeError
from ffi_bridge.native.exact import Constants, Exact
from ffi_bridge.native.outs import Outs
from ffi_bridge.native.parameters import count_inputs, in_order
from ffi_bridge.native.primitive import as_array
from ffi_bridge.native.wrapped_kernel import describe_as
from ffi_bridge.warp.internals import get_full_arg_spec
from ffi_bridge.warp.parameters import Parameter, python_value, static_value


def annotations_of(subject: str, function: Any) -> list[tuple[str, Any]]:
    """Return a function's parameters and annotations; raise KernelDefinitionError where one lacks."""
    spec = get_full_arg_spec(function)
    for name in spec.args:
        if name not in spec.annotations:
            raise KernelDefinitionError(
                f"{subject}: parameter '{name}' has no annotation; write one as for a Warp kernel, such as "
                f"{name}: warp.array[float]"
            )
    return [(name, spec.annotations[name]) for name in spec.args]


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

    @cached_property
    def passed(self) -> range:
        """Return the positions of the parameters that a caller gives."""
        return range(len(self.parameters) - len(self.outputs) + len(self.in_out))

    @cached_property
    def static(self) -> tuple[int, ...]:
        """Return the positions of the parameters that are static."""
        return tuple(i for i in self.passed if not self.parameters[i].is_array)

    @cached_property
    def arrays(self) -> tuple[int, ...]:
        """Return the positions of the parameters that are buffers."""
        return tuple(i for i, p in enumerate(self.parameters) if p.is_array)

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """Return the positions of the arrays that a caller gives."""
        return tuple(i for i in self.passed if self.parameters[i].is_array)

    @property
    def aliases(self) -> tuple[tuple[int, int], ...]:
        """Return pairs: an input array, and the output that it is updated to."""
        return tuple((self.inputs.index(p), out) for out, p in enumerate(self.in_out))

    def outs_of(self, outs: Any, arrays: Sequence[Any], statics: Mapping[str, Any]) -> Outs:
        """Return the outs of a call; raise KernelDefinitionError for another number of them."""
        call_outs = Outs.for_call(outs, self.subject, arrays, statics)
        if len(call_outs.flat) != len(self.outputs):
            names = ", ".join(self.parameters[i].name for i in self.outputs)
            raise KernelDefinitionError(
                f"{self.subject} has {len(self.outputs)} outputs ({names}), but the call's outs has "
                f"{len(call_outs.flat)}; give one jax.ShapeDtypeStruct for each"
            )
        return call_outs

    def arrays_of(self, values: Sequence[Any]) -> list[jax.Array]:
        """Return the inputs among a caller's arguments."""
        named = [(self.parameters[i].name, values[i]) for i in self.inputs]
        return [as_array(self.subject, name, x) for name, x in named]

    def by_name(self, statics: Constants) -> dict[str, Any]:
        """Return static values by name, as a function of Python sees them."""
        return {(p := self.parameters[i]).name: python_value(p, value) for i, value in statics}

    def values(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """Return a caller's arguments, static values hashable; raise KernelTypeError if they do not fit."""
        ins = in_order(self.subject, [p.name for p in self.parameters], args, named) if named else args
        if len(ins) != len(self.passed):
            names = ", ".join(self.parameters[i].name for i in self.passed)
            raise KernelTypeError(
                f"{self.subject} takes {len(self.passed)} inputs ({names}), but the call has {len(ins)}; "
                "outputs are not passed"
            )
        values = list(ins)
        for i in self.static:
            values[i] = Exact(static_value(self.subject, self.parameters[i], ins[i]))
        return values


@dataclass(frozen=True)
class Definition:
    """A wrapped kernel or function: its parameters, names of in-out ones, outs or the function of them.

    With a function the inputs of a call are as many as it has, and the parameters behind them are outputs.
    """

    subject: str
    parameters: tuple[Parameter, ...]
    in_out: tuple[str, ...]
    outs: Outs | Callable[..., Any]

    def signature(self, num_outs: int) -> Signature:
        """Take the last parameters for outputs, in-out ones among them.

        Raises KernelDefinitionError where there are too few.
        """
        subject, parameters, in_out = self.subject, self.parameters, self.in_out
        names = [p.name for p in parameters]
        inputs = len(parameters) - num_outs + len(in_out)
        valid = [name for name in in_out if name in names[: max(0, inputs)]]
        if len(set(valid)) < len(in_out) or not len(in_out) <= num_outs <= len(parameters):
            raise KernelDefinitionError(
                f"{subject} has the parameters {', '.join(names)}; in_out_argnames={list(in_out)} and "
                f"{num_outs} outs do not fit it: an in-out name is an input, named once, and outs has "
                "one entry for each in-out input, then one for each output"
            )
        updated = tuple(i for i in range(inputs) if names[i] in in_out)
        outputs = (*updated, *range(inputs, len(parameters)))
        for i in outputs:
            if not parameters[i].is_array:
                raise KernelDefinitionError(f"{subject}: output '{names[i]}' is not a warp.array")
        return Signature(subject, parameters, updated, outputs)

    def outs_of_call(self, call_outs: Any, num_inputs: int) -> tuple[Outs | Callable[..., Any], int]:
        """Return the outs of a call, `call_outs` or the default, and their number.

        Raises KernelTypeError where a call has too many inputs.
        """
        outs = self.outs if call_outs is None else Outs.of(call_outs)
        fixed = next((x for x in (self.outs, outs) if isinstance(x, Outs)), None)
        if fixed is not None:
            return outs, len(fixed.flat)
        count = len(self.parameters) - num_inputs + len(self.in_out)
        if count < max(1, len(self.in_out)):
            raise KernelTypeError(
                f"{self.subject} takes {', '.join(p.name for p in self.parameters)}, the last of which are "
                f"outputs, but the call has {num_inputs} inputs; outputs are not passed"
            )
        return outs, count

    def describe(self, function: Callable[..., Any]) -> Callable[[Any], Any]:
        """Return the decorator that gives a call the signature of `function` without outputs."""
        arrays = [i for i, p in enumerate(self.parameters) if p.is_array]
        if isinstance(self.outs, Outs):
            inputs = len(self.signature(len(self.outs.flat)).passed)
        else:
            static = [p.name for p in self.parameters if not p.is_array]
            count = count_inputs(self.outs, static)
            # Numbers behind the last input are given, too.
            inputs = None if count is None else (*arrays, len(self.parameters))[min(count, len(arrays))]
        return describe_as(function, None if inputs is None else len(self.parameters) - inputs, ())
