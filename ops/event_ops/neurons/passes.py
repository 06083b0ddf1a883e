"""A step with loops as passes over a block of neurons, each of which vectorises.

A loop of turns inside the loop over neurons would keep it from vectorising. So the loops change places: each
turn is a pass over a block, short enough for the nearest cache; what a later pass reads waits in rows of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from event_ops.codegen.emit import assignments, loop_lines
from event_ops.codegen.operations import Loop, Operation
from event_ops.codegen.primitives import Target
from event_ops.neurons.emit import loop_divided

MOST_BYTES: Final = 24 << 10  # of rows: with the states, they stay in the nearest cache
MOST_NEURONS: Final = 512
LEAST_NEURONS: Final = 64


@dataclass
class _Pass:
    """Hold operations of one neuron, and the values that it leaves: name of a row -> value."""

    operations: list[Operation] = field(default_factory=list)
    stores: list[tuple[str, str]] = field(default_factory=list)

    @property
    def made(self) -> list[str]:
        return [x.result for x in self.operations]

    @property
    def read(self) -> list[str]:
        operands = (x for operation in self.operations for x in operation.operands)
        return list(dict.fromkeys([*operands, *(x for _, x in self.stores)]))


@dataclass
class _Turns:
    """Hold a loop of passes, behind the operations that are the same for all neurons."""

    loop: Loop
    shared: list[Operation | Loop]
    passes: list[_Pass | _Turns]
    places: list[int]  # of what is carried that is the same for all neurons


@dataclass
class Passes:
    """The passes of a step, its rows, and how many neurons a block has.

    Args:
        operations: of one neuron.
        differ: the names of what differs between neurons, of which more are found.
        loads: name -> where an input of neuron i is.
        writes: output -> the name of what is written there.
    """

    operations: Sequence[Operation | Loop]
    differ: set[str]
    loads: Mapping[str, str]
    writes: Sequence[tuple[str, str]]
    target: Target
    rows: dict[str, tuple[str, int]] = field(
        default_factory=dict
    )  # name -> array of rows, and its place there
    outputs: dict[str, str] = field(default_factory=dict)  # name -> the output that is its row
    same: dict[str, str] = field(default_factory=dict)  # result of a loop -> what it carries, which has a row

    def __post_init__(self) -> None:
        dtypes = dict(_dtypes(self.operations))
        self.passes = self._divided(self.operations)
        each = list(_each(self.passes))
        self._keep_in_outputs(each)
        each[-1].stores += [(y, x) for y, x in self.writes if y not in self.outputs.values()]
        made = {name: pass_ for pass_ in each for name in pass_.made}
        # A pass that reads what another one makes finds it in a row.
        crossing = [x for pass_ in each for x in pass_.read if made.get(x, pass_) is not pass_]
        for name in dict.fromkeys([*self.same.values(), *crossing]):
            if name not in self.outputs:
                # Stores of bools do not vectorise.
                kind = "uint8" if dtypes[name] == "bool" else dtypes[name]
                self.rows[name] = kind, sum(other == kind for other, _ in self.rows.values())
        self.flags = {name for name, dtype in dtypes.items() if dtype == "bool"}
        size = sum(np.dtype(kind).itemsize for kind, _ in self.rows.values())
        self.neurons = MOST_NEURONS
        while self.neurons > LEAST_NEURONS and self.neurons * size > MOST_BYTES:
            self.neurons //= 2

    def _keep_in_outputs(self, each: Sequence[_Pass]) -> None:
        """Have an output be the row of the value that becomes it, unless its old value is read later."""
        inputs = {place: name for name, place in self.loads.items()}
        for place, result in self.writes:
            name = self.same.get(result)
            if name is None or name in self.outputs:
                continue
            first = next(k for k, pass_ in enumerate(each) if name in (x for x, _ in pass_.stores))
            if not any(inputs.get(place) in pass_.read for pass_ in each[first + 1 :]):
                self.outputs[name] = place

    def _divided(self, operations: Sequence[Operation | Loop]) -> tuple[*tuple[_Pass | _Turns, ...], _Pass]:
        """Return operations of which all differ between neurons as passes; the last is a plain one."""
        passes: list[_Pass | _Turns] = []
        last = _Pass()
        for operation in operations:
            if isinstance(operation, Operation):
                last.operations.append(operation)
                continue
            shared, of_neuron, places = loop_divided(operation, self.differ, True)
            *before, behind = self._divided(of_neuron)
            carried = [k for k in range(len(operation.carried)) if k not in places]
            for k in carried:
                name = operation.carried[k]
                last.stores.append((name, operation.start[k]))
                behind.stores.append((name, operation.after[k]))
                self.same[operation.results[k]] = name
            passes += [last, _Turns(operation, shared, [*before, behind], places)]
            last = _Pass()
        return *passes, last

    def rooms(self) -> list[str]:
        """Return the lines that make the arrays of rows."""
        kinds = [kind for kind, _ in self.rows.values()]
        return [
            f"rows_{kind} = np.empty({kinds.count(kind) * self.neurons}, np.{kind})"
            for kind in dict.fromkeys(kinds)
        ]

    def lines(self) -> list[str]:
        """Return the passes over the neurons from `start` to `end`."""
        return self._lines(self.passes)

    def _lines(self, passes: Sequence[_Pass | _Turns]) -> list[str]:
        each = (self._pass(pass_) if isinstance(pass_, _Pass) else self._turns(pass_) for pass_ in passes)
        return [line for lines in each for line in lines]

    def _turns(self, turns: _Turns) -> list[str]:
        body = [*assignments(turns.shared, self.target), *self._lines(turns.passes)]
        return loop_lines(turns.loop, body, self.target, turns.places)

    def _pass(self, pass_: _Pass) -> list[str]:
        made = pass_.made
        reads = [name for name in pass_.read if name not in made]
        loads = [f"{name} = {self.loads[name]}" for name in reads if name in self.loads]
        flags = {name for name in reads if self.same.get(name, name) in self.flags}
        loads += [
            f"{name} = {self._row(name)}{' != 0' * (name in flags)}" for name in reads if self._row(name)
        ]
        stores = [(self._row(name), name) for name in made if self._row(name)]
        stores += [(self._row(y) or y, x) for y, x in pass_.stores]
        here = {x: self._row(x) for x in reads} | dict(self.loads)  # what stays there is not moved
        written = [f"{place} = {x}" for place, x in stores if place != here.get(x)]
        if not written:
            return []
        body = [*loads, *assignments(pass_.operations, self.target), *written]
        return ["for q in range(end - start):", "    i = start + q", *(f"    {line}" for line in body)]

    def _row(self, name: str) -> str:
        """Return the place where a name waits for later passes; "" for a name that does not."""
        name = self.same.get(name, name)
        if name in self.outputs:
            return self.outputs[name]
        kind, place = self.rows.get(name, ("", 0))
        return kind and f"rows_{kind}[np.uintp({place * self.neurons}) + q]"


def _each(passes: Sequence[_Pass | _Turns]) -> Iterator[_Pass]:
    for pass_ in passes:
        if isinstance(pass_, _Pass):
            yield pass_
        else:
            yield from _each(pass_.passes)


def _dtypes(operations: Sequence[Operation | Loop]) -> Iterator[tuple[str, str]]:
    for operation in operations:
        if isinstance(operation, Operation):
            yield operation.result, operation.dtype
        else:
            yield from zip(operation.carried, operation.dtypes, strict=True)
            yield from _dtypes(operation.body)
