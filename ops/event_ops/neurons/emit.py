"""A step of neuron i as lines of Python, for kernels whose arrays of states are changed in place."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from event_ops.codegen.emit import array_names, body_lines
from event_ops.codegen.function import ALL, Traced
from event_ops.codegen.operations import Loop, Operation
from event_ops.codegen.primitives import BY_SHARED, Target


class DividedStep(NamedTuple):
    """Hold the reads and operations of a step for all neurons, and of neuron i, with its writes.

    differ: the names of what differs between neurons.
    """

    once: dict[str, str]
    shared: list[Operation | Loop]
    loads: dict[str, str]
    of_neuron: list[Operation | Loop]
    writes: list[tuple[str, str]]
    differ: set[str]

    def shared_lines(self, target: Target) -> list[str]:
        """Return the lines that are the same for all neurons."""
        return body_lines(target, self.once.items(), self.shared, ())

    def neuron_lines(self, target: Target) -> list[str]:
        """Return the lines of neuron i."""
        return body_lines(target, self.loads.items(), self.of_neuron, self.writes)


def divided_step(
    neuron: Traced, target: Target, outputs: Sequence[str], drawn: Sequence[str] = ()
) -> DividedStep:
    """Return a step, divided into operations for all neurons at once and for each.

    The arrays of the variables are called as `array_names` says; `outputs` are the names of the arrays of the
    states, of the spikes, and of observed values; `drawn` are expressions of the last inputs, which have no
    arrays.
    """
    states = neuron.positional
    variables = array_names(neuron)[states : len(neuron.places) - len(drawn)]
    arrays = [*outputs[:states], *variables]
    differ = {f"x{k}" for k, place in enumerate(neuron.places) if place != ALL}
    shared, of_neuron = divided(neuron.program.operations, differ, BY_SHARED in target.spellings)
    once = {f"x{k}": f"{a}{target.only}" for k, a in enumerate(arrays) if neuron.places[k] == ALL}
    loads = {f"x{k}": f"{a}[i]" for k, a in enumerate(arrays) if neuron.places[k] != ALL}
    for k, number in enumerate(drawn, len(arrays)):
        loads[f"x{k}"] = f"np.{neuron.dtypes[k]}({number})"
    writes = [(f"{y}[i]", x) for y, x in zip(outputs, neuron.program.results, strict=True)]
    return DividedStep(once, shared, loads, of_neuron, writes, differ)


def divided(
    operations: Sequence[Operation | Loop], differ: set[str], by_shared: bool
) -> tuple[list[Operation | Loop], list[Operation | Loop]]:
    """Return the operations whose results are the same for all neurons, and the rest.

    differ: the names of what differs, to which those of the others are added. by_shared: quotients of a
    neuron's value by a shared one have a primitive of their own.
    """
    shared: list[Operation | Loop] = []
    of_neuron: list[Operation | Loop] = []
    for operation in operations:
        if isinstance(operation, Loop):
            _, body_of_neuron, places = loop_divided(operation, differ, by_shared)
            if body_of_neuron or len(places) < len(operation.carried):
                differ.update(operation.results)
                of_neuron.append(operation)
            else:
                shared.append(operation)
        elif differ.isdisjoint(operation.operands):
            shared.append(operation)
        else:
            differ.add(operation.result)
            is_quotient = operation.primitive == "div" and operation.dtype.startswith("float")
            if by_shared and is_quotient and operation.operands[1] not in differ:
                operation = replace(operation, primitive=BY_SHARED)
            of_neuron.append(operation)
    return shared, of_neuron


def loop_divided(
    loop: Loop, differ: set[str], by_shared: bool
) -> tuple[list[Operation | Loop], list[Operation | Loop], list[int]]:
    """Return the body of a loop in the same way, and the places of its carry that all neurons share."""
    differing = {k for k, x in enumerate(loop.start) if x in differ}
    while True:
        # What differs makes more of the carry differ, turn by turn: look until there is no more.
        inside = differ | {loop.carried[k] for k in differing}
        found = divided(loop.body, inside, by_shared)
        now_differing = differing | {k for k, x in enumerate(loop.after) if x in inside}
        if now_differing == differing:
            differ |= inside
            return found[0], found[1], [k for k in range(len(loop.carried)) if k not in differing]
        differing = now_differing
