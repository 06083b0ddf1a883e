"""Flatten a traced function into a program: the operations of scalars that kernels do one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

from event_ops.codegen.operations import Loop, Operation, names_in, names_read, renamed, walk
from event_ops.codegen.primitives import CALLS
from event_ops.codegen.refusals import Source
from event_ops.codegen.rewritten import rewritten
from event_ops.codegen.scans import Scan
from event_ops.codegen.small_arrays import (
    ON_ARRAYS,
    TABLE,
    Texts,
    array_results,
    as_texts,
    in_shapes,
    is_table,
    of_numbers,
)

MOST_OPERATIONS: Final = 4096  # beyond, compilers take long over one function
# A loop of fewer operations, all turns together, is written out, which spares what it carries.
MOST_WRITTEN_OUT: Final = 64


@dataclass(frozen=True)
class Program:
    """Hold the operations of a function of x0, x1, ..., and its results, names or numbers.

    Equal programs compute the same, whatever the names in the function were.
    """

    operations: tuple[Operation | Loop, ...]
    results: tuple[str, ...]
    has_own_derivatives: bool  # by jax.custom_jvp or stop_gradient, not those of the operations

    @classmethod
    def of(cls, traced: ClosedJaxpr, source: Source) -> Program:
        """Return the program of a traced function; raise ValueError where kernels lack an operation."""
        flat = _Flat(source)
        inputs = [as_texts([f"x{i}"], ()) for i in range(len(traced.jaxpr.invars))]
        results = [x.item() for x in flat.add(traced.jaxpr, traced.consts, inputs)]
        return cls(tuple(flat.operations.values()), tuple(results), flat.has_own_derivatives)

    def part(self, numbers: Sequence[int]) -> Program:
        """Return the program of some of the results, with the operations that these need."""
        results = tuple(self.results[k] for k in numbers)
        needed, operations = set(results), []
        for operation in reversed(self.operations):
            if not needed.isdisjoint(names_in([operation])):
                needed.update(names_read([operation]))
                operations.append(operation)
        return replace(self, operations=tuple(reversed(operations)), results=results)


@dataclass
class _Flat:
    """Collect the operations of a function and of its callees, or of the body of a loop in `around`."""

    source: Source
    around: _Flat | None = None
    names: str = "v"  # what the names of its results begin with
    operations: dict[tuple[Any, ...], Operation | Loop] = field(default_factory=dict)  # by all but the result
    made_by: dict[str, Operation] = field(default_factory=dict)  # by result
    local: set[str] = field(default_factory=set)  # names that only the body of this loop has
    has_own_derivatives: bool = False

    def add(self, jaxpr: Jaxpr, consts: Sequence[Any], inputs: Sequence[Texts]) -> list[Texts]:
        """Add the operations of `jaxpr`; return its results."""
        names: dict[Var, Texts] = dict(zip(jaxpr.invars, inputs, strict=True))
        names.update(zip(jaxpr.constvars, map(self.source.constants, consts), strict=True))

        def texts_of(atom: Any) -> Texts:
            return self.source.constants(_number(atom)) if isinstance(atom, Literal) else names[atom]

        for equation in jaxpr.eqns:
            operands = list(map(texts_of, equation.invars))
            names.update(zip(equation.outvars, self._results(equation, operands), strict=True))
            if len(self.operations) > MOST_OPERATIONS:
                raise self.source.too_long(equation, MOST_OPERATIONS)
        return list(map(texts_of, jaxpr.outvars))

    def _results(self, equation: JaxprEqn, operands: list[Texts]) -> list[Texts]:
        source = self.source
        self.source = source.within(equation)
        results = self._computed(equation, operands)
        self.source = source
        return results

    def _computed(self, equation: JaxprEqn, operands: list[Texts]) -> list[Texts]:
        name, params = equation.primitive.name, equation.params
        if name == "cond":
            index, *arguments = operands
            # All branches are computed: what runs for many elements at once has no jumps of one.
            chosen = [self._called(branch, arguments) for branch in params["branches"]]
            index_dtype: Any = equation.invars[0].aval
            return [
                self._chosen(index, str(index_dtype.dtype), each, str(dtype))
                for each, dtype in zip(zip(*chosen, strict=True), _dtypes(equation.outvars), strict=True)
            ]
        if name == "scan":
            return self._looped(Scan.of(equation, operands))
        # A primitive that JAX has in Python, and that says itself what it consists of.
        if name == "call_hi_primitive" and hasattr(params["_prim"], "expand"):
            arguments = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in _avals(equation.invars)]
            return self._called(jax.make_jaxpr(params["_prim"].expand)(*arguments), operands)
        called = CALLS.get(name)
        if called is not None:
            self.has_own_derivatives |= name == "custom_jvp_call"
            return self._called(params[called], operands)
        if name in ON_ARRAYS:
            self.source.check_arrays(equation)
            arrays = array_results(equation, operands, self._assign)
            if arrays is not None:
                return arrays
        self.source.check(equation)
        shaped = np.broadcast_arrays(*operands)
        each = zip(*(x.ravel() for x in shaped), strict=True)
        results = [self._operation(equation, scalars) for scalars in each]
        return [as_texts(results, shaped[0].shape)]

    def _called(self, inner: Any, operands: Sequence[Texts]) -> list[Texts]:
        body, held = (inner.jaxpr, inner.consts) if isinstance(inner, ClosedJaxpr) else (inner, ())
        return self.add(body, held, operands)

    def _looped(self, loop: Scan) -> list[Texts]:
        """Return the carry of a counted loop at its end, then its outputs of all turns."""
        results = self._kept(loop) if len(loop.carry) == len(loop.avals) else None
        if results is not None:
            return results
        carry, outputs = loop.carry, []
        turns = range(loop.turns)
        for turn in reversed(turns) if loop.is_reverse else turns:
            elements = (np.asarray(x[turn], object) for x in loop.xs)
            made = self._called(loop.body, [*loop.held, *carry, *elements])
            carry = made[: len(carry)]
            outputs.append(made[len(carry) :])
        if loop.is_reverse:
            # Outputs are in the order of elements, not of turns.
            outputs.reverse()
        stacked = loop.avals[len(carry) :]
        of_turns = [[x for each in outputs for x in each[k].ravel()] for k in range(len(stacked))]
        return [*carry, *(as_texts(x, aval.shape) for x, aval in zip(of_turns, stacked, strict=True))]

    def _kept(self, loop: Scan) -> list[Texts] | None:
        """Return the results of a loop that stays one; None for one that is to be written out."""
        turns, start = loop.turns, [text for x in loop.carry for text in x.ravel()]
        dtypes = [str(a.dtype) for a, x in zip(loop.avals, loop.carry, strict=True) for _ in range(x.size)]
        if loop.xs:  # each turn reads its elements from tables
            start.append(f"np.int32({turns - 1 if loop.is_reverse else 0})")
            dtypes.append("int32")
        constant: dict[int, str] = {}  # what no turn changes
        while True:
            # What one turn leaves as it is may keep other values as they are: look until there are no more.
            body, after, carried = self._body(loop, start, constant)
            if body is None:
                return None
            same = {k: start[k] for k, x in enumerate(carried) if x == after[k] and k not in constant}
            if not same:
                break
            constant |= same
        if sum(times for _, times in walk(tuple(body.operations.values()), turns)) <= MOST_WRITTEN_OUT:
            return None
        self.has_own_derivatives |= body.has_own_derivatives
        moving = [k for k in range(len(start)) if k not in constant]
        columns = tuple(tuple(x[k] for k in moving) for x in (carried, dtypes, start, after))
        key = turns, tuple(body.operations.values()), *columns
        if key not in self.operations:
            # Two loops compute the same if their keys are equal; the names of each are then made unique.
            name = f"{self.names}{len(self.operations)}"
            results = tuple(f"{name}_{k}" for k in moving)
            unique = {x: f"{name}_{x}" for x in (*columns[0], *names_in(key[1]))}
            self.operations[key] = renamed(
                Loop(turns, columns[0], columns[1], columns[2], key[1], columns[3], results), unique
            )
            self.local |= {*results}
        made: Any = self.operations[key]
        values = {**constant, **dict(zip(moving, made.results, strict=True))}
        return in_shapes([values[k] for k in range(sum(x.size for x in loop.carry))], loop.carry)

    def _body(
        self, loop: Scan, start: list[str], constant: dict[int, str]
    ) -> tuple[_Flat | None, list[str], list[str]]:
        """Return the body of a loop, the carry after a turn, and its names in a turn.

        There is no body where a turn reads what is no table.
        """
        depth = len(self.names)
        carried = [constant.get(k, f"{depth * 'c'}{k}") for k in range(len(start))]
        # As long as the loop is deep, so that no loop has a name of one around it.
        names = "u" * (depth + 1)
        body = _Flat(self.source, self, names, local={*carried} - {*constant.values()})
        of_turn = [body._element(x, carried[-1], str(aval.dtype)) for x, aval in loop.of_turns()]
        if any(x is None for x in of_turn):
            return None, [], []
        inputs = [*loop.held, *in_shapes(carried, loop.carry), *of_turn]
        after = [text for x in body._called(loop.body, inputs) for text in x.ravel()]
        if loop.xs:
            step = f"np.int32({-1 if loop.is_reverse else 1})"
            after.append(body._assign("add", (carried[-1], step), "int32"))
        return body, after, carried

    def _element(self, rows: Texts, turn: str, dtype: str) -> Any:
        """Return the element of a table that a turn reads; None if it is not known when compiled."""
        columns = rows.reshape(rows.shape[0], -1).T
        if not all(is_table(x) for x in columns):
            return None
        texts = [f"{dtype}: {', '.join(x)}" for x in columns]
        return as_texts([self._assign(TABLE, (text, turn), dtype) for text in texts], rows.shape[1:])

    def _chosen(self, index: Texts, index_dtype: str, values: Sequence[Texts], dtype: str) -> Texts:
        """Return the value whose number is the index, or the last or first one where that is outside."""
        chosen = values[0]
        for k, value in enumerate(values[1:], 1):
            at = f"np.{index_dtype}({k})"
            flags = np.vectorize(lambda i, at=at: self._at_least(i, at), otypes=[object])(index)
            chosen = np.vectorize(
                lambda flag, old, new: (
                    old if old == new else self._assign("select_n", (flag, old, new), dtype)
                ),
                otypes=[object],
            )(flags, chosen, value)
        return chosen

    def _at_least(self, index: str, at: str) -> str:
        """Return whether an index is at least so large: the flag, if it is 1 where a flag is set."""
        made = self._origin(index)
        if made and made.primitive == "convert_element_type" and at.endswith("(1)"):
            flag = self._origin(made.operands[0])
            if flag and flag.dtype == "bool":
                return flag.result
        return self._assign("ge", (index, at), "bool")

    def _operation(self, equation: JaxprEqn, operands: Sequence[str]) -> str:
        result: Any = equation.outvars[0].aval
        name, dtype, power = equation.primitive.name, str(result.dtype), equation.params.get("y")
        if name == "stop_gradient":
            self.has_own_derivatives = True
            return operands[0]
        if name == "select_n" and len(set(operands[1:])) == 1:
            return operands[1]
        if name == "convert_element_type" and operands[0].startswith(f"np.{dtype}("):
            return operands[0]
        if name == "select_n":
            selector: Any = equation.invars[0].aval
            if selector.dtype != bool:
                texts = [as_texts([x], ()) for x in operands]
                return self._chosen(texts[0], str(selector.dtype), texts[1:], dtype).item()
        if (written := rewritten(equation)) is not None:
            scalars = [jax.ShapeDtypeStruct((), dtype) for dtype in _dtypes(equation.invars)]
            (text,) = self._called(jax.make_jaxpr(written)(*scalars), [as_texts([x], ()) for x in operands])
            return text.item()
        if power is None:
            return self._assign(name, operands, dtype)
        positive = self._assign(name, (*operands, str(abs(power))), dtype)
        # Numba refuses 0 to a negative power.
        return positive if power >= 0 else self._assign("div", (f"np.{dtype}(1)", positive), dtype)

    def _assign(self, primitive: str, operands: Sequence[str], dtype: str) -> str:
        value = of_numbers(primitive, operands, dtype)
        if value is not None:
            return value
        if self.around and self.local.isdisjoint(operands):
            return self.around._assign(primitive, operands, dtype)  # the same in all turns
        operation = Operation(primitive, tuple(operands), dtype, f"{self.names}{len(self.operations)}")
        # Of equal operations there is one: all others have its result.
        made: Any = self.operations.setdefault((primitive, operation.operands, dtype), operation)
        self.made_by[made.result] = made
        self.local.add(made.result)
        return made.result

    def _origin(self, name: str) -> Operation | None:
        """Return the operation that has a result of this name."""
        return self.made_by.get(name) or (self.around._origin(name) if self.around else None)


def _avals(atoms: Sequence[Any]) -> list[Any]:
    return [atom.aval for atom in atoms]


def _dtypes(atoms: Sequence[Any]) -> list[Any]:
    return [aval.dtype for aval in _avals(atoms)]


def _number(literal: Any) -> np.ndarray:
    return np.asarray(literal.val, literal.aval.dtype)
