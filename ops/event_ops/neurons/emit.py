"""A step of neuron i as lines of Python, for kernels whose arrays of states are changed in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from event_ops.codegen.emit import array_names, assignments, spelled
from event_ops.codegen.function import ALL, Traced
from event_ops.codegen.primitives import BY_SHARED, Target
from event_ops.codegen.program import Operation


def step_lines(
    neuron: Traced, target: Target, outputs: Sequence[str], drawn: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """Return the lines that are the same for all neurons, and those of neuron i.

    The arrays of the variables are called as `array_names` says; `outputs` are the names of the arrays of the
    states, of the spikes, and of what is observed; `drawn` are expressions of the last inputs, which have no
    arrays.
    """
    states = neuron.positional
    given = array_names(neuron)[states : len(neuron.places) - len(drawn)]
    arrays = [*outputs[:states], *given]
    shared, own = _divided(neuron, BY_SHARED in target.spellings)
    once = [f"x{k} = {a}{target.only}" for k, a in enumerate(arrays) if neuron.places[k] == ALL]
    each = [f"x{k} = {a}[i]" for k, a in enumerate(arrays) if neuron.places[k] != ALL]
    for k, number in enumerate(drawn, len(arrays)):
        each.append(f"x{k} = np.{neuron.dtypes[k]}({number})")
    writes = [f"{y}[i] = {x}" for y, x in zip(outputs, neuron.program.results, strict=True)]
    return (
        spelled([*once, *assignments(shared, target)], target),
        spelled([*each, *assignments(own, target), *writes], target),
    )


def _divided(neuron: Traced, by_shared: bool) -> tuple[list[Operation], list[Operation]]:
    """Return the operations whose results are the same for all neurons, and the others.

    by_shared: quotients of a neuron's value by a shared one have a primitive of their own.
    """
    differ = {f"x{k}" for k, place in enumerate(neuron.places) if place != ALL}
    shared: list[Operation] = []
    own: list[Operation] = []
    for operation in neuron.program.operations:
        if differ.isdisjoint(operation.operands):
            shared.append(operation)
        else:
            differ.add(operation.result)
            is_quotient = operation.primitive == "div" and operation.dtype.startswith("float")
            if by_shared and is_quotient and operation.operands[1] not in differ:
                operation = replace(operation, primitive=BY_SHARED)
            own.append(operation)
    return shared, own
