"""Derivatives of a pass: passes again, with the message's own derivatives, without arrays of edges.

A tangent is a sum over entries, whatever the reduction is. Its transpose gives cotangents at rows and
entries by the same visit, those at columns by a visit of the transpose. The rules of a sum serve its
derivatives, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun
from jax.interpreters import ad

from event_ops.catalog.csr_tocsc.op import csr_tocsc
from event_ops.codegen.function import ALL, Traced
from event_ops.codegen.operations import Loop, Operation
from event_ops.codegen.program import Program
from event_ops.codegen.refusals import Source, Subject
from event_ops.messages.passes import COLUMN, ENTRY, ROW, SWAPPED, Axes, Pass, Result, call, kernel

SUBJECT: Final = Subject(
    "message",
    "edge",
    "message",
    "nodes or edges",
    "gspmm",
    "draw numbers outside, one for each edge, and pass them by name",
)
_KEPT = 1024  # messages
# Scalars are on no mesh, also where a derivative is asked for inside of jax.shard_map.
NO_MESH: Final = jax.sharding.AbstractMesh((), ())
Scalars = Callable[..., Any]


class _Visit:
    """A pass that is put together: inputs of a new message, with their arrays."""

    def __init__(self, of: Pass, inputs: Sequence[Any]) -> None:
        self.of, self.inputs = of, list(inputs)
        self.places, self.axes = list(of.message.places), list(of.axes)

    def add(self, array: Any, place: str, axes: Axes) -> None:
        """Add an input."""
        self.inputs.append(array)
        self.places.append(place)
        self.axes.append(axes)

    def run(
        self, key: tuple[Any, ...], scalars: Scalars, results: Sequence[Result], reduce: str, **how: Any
    ) -> tuple[Any, ...]:
        """Return the results of `scalars`, a function of the inputs' scalars that `key` and the message tell.

        how: `structure`, the arrays, `backend` and `dtype`; and `transposed`.
        """
        structure, transposed = how["structure"], how.get("transposed", False)
        dtypes = tuple(str(x.dtype) for x in self.inputs)
        places = tuple(SWAPPED[x] if transposed else x for x in self.places)
        message, used = _made((self.of.message, *key), _Made(scalars), dtypes, places)
        new = replace(
            self.of,
            message=message,
            axes=tuple(self.axes[i] for i in used),
            results=tuple(results),
            reduce=reduce,
        )
        if transposed:
            new, structure = _turned(new, structure)
        return call(new, structure, tuple(self.inputs[i] for i in used), how["backend"], how["dtype"])


class _Made:
    """Wrap a function; the rest of its cache key tells functions apart."""

    def __init__(self, function: Scalars) -> None:
        self.function = function

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Made)

    def __hash__(self) -> int:
        return 0


@lru_cache(_KEPT)
def _made(
    key: tuple[Any, ...], made: _Made, dtypes: tuple[str, ...], places: tuple[str, ...]
) -> tuple[Traced, tuple[int, ...]]:
    """Return the message of a derivative, and which of the inputs it uses."""
    name = f"{key[1]} of {key[0].name}"
    source = Source(name, (made.function,), SUBJECT)
    scalars = [jax.ShapeDtypeStruct((), dtype) for dtype in dtypes]
    with jax.sharding.use_abstract_mesh(NO_MESH):
        program = Program.of(jax.make_jaxpr(made.function)(*scalars), source)
    read = {*_names_read(program.operations), *program.results}
    used = tuple(i for i in range(len(dtypes)) if f"x{i}" in read)

    def of_used(*given: Any) -> Any:
        known = dict(zip(used, given, strict=True))
        return made.function(*(known.get(i, jnp.zeros((), x.dtype)) for i, x in enumerate(scalars)))

    with jax.sharding.use_abstract_mesh(NO_MESH):
        jaxpr = jax.make_jaxpr(of_used)(*(scalars[i] for i in used))
    program = Program.of(jaxpr, source)
    of_inputs = tuple(dtypes[i] for i in used), tuple(places[i] for i in used)
    derivatives = f"{jaxpr.jaxpr}" if program.has_own_derivatives else ""
    return Traced(program, *of_inputs, 0, derivatives, name, jaxpr), used


def _names_read(operations: Sequence[Operation | Loop]) -> Iterator[str]:
    """Yield the operands of all operations, and of loops the values that are carried in and on."""
    for operation in operations:
        if isinstance(operation, Loop):
            yield from (*operation.start, *operation.after)
            yield from _names_read(operation.body)
        else:
            yield from operation.operands


def _turned(of: Pass, structure: tuple[Any, ...]) -> tuple[Pass, tuple[Any, ...]]:
    """Return a pass over the transpose, and its structure, which is sorted unless a plan has it."""
    own, other = of.structure
    if other:
        turned = structure[own:] + structure[:own]
    else:
        turned = *csr_tocsc(*structure, shape=of.shape), *structure
    return replace(of, shape=of.shape[::-1], structure=(len(turned) - own, own)), turned


@kernel.def_jvp_rule
def _tangents(primals: Any, tangents: Any, *, outs: Any, backend: Any, of: Pass, **_: Any) -> Any:
    """Return the results and their tangents, each of which is a sum over entries."""
    structure, inputs = of.divided(primals)
    moved = [None if isinstance(x, ad.Zero) else x for x in of.divided(tangents)[1]]
    how = {"structure": structure, "backend": backend, "dtype": outs[0].dtype}
    found = call(of, *of.divided(primals), backend, outs[0].dtype)
    active = tuple(i for i, x in enumerate(moved) if x is not None)
    if not active:
        return found, (None,) * len(found)
    visit, count = _Visit(of, inputs), len(inputs)
    for i in active:
        visit.add(moved[i], of.message.places[i], of.axes[i])
    weigh = _WEIGHING[of.reduce]
    factors = weigh(visit, found, how) if weigh else ()
    scalars = jaxpr_as_fun(of.message.jaxpr)
    ends = count + len(active)

    def tangent(*given: Any) -> Any:
        def of_active(*xs: Any) -> Any:
            known = dict(zip(active, xs, strict=True))
            return scalars(*(known.get(i, x) for i, x in enumerate(given[:count])))

        primal = [given[i] for i in active]
        values, dots = jax.jvp(of_active, primal, list(given[count:ends]))
        return _FACTORS[of.reduce](values, dots, given[ends:])

    for factor in factors:
        visit.add(factor, ROW, of.full)
    dots = visit.run(("tangent", of.reduce, active), tangent, of.results, "sum", **how)
    return found, dots


def _shared(visit: _Visit, found: Any, how: Any) -> tuple[Any, ...]:
    """Return the maximum or minimum, and the share of its tangent for each entry that is equal to it."""
    (y,), of = found, visit.of
    scalars = jaxpr_as_fun(of.message.jaxpr)
    counting = _Visit(of, visit.inputs[: len(of.axes)])
    counting.add(y, ROW, of.full)

    def is_equal(*given: Any) -> Any:
        (value,) = scalars(*given[:-1])
        return [(value == given[-1]).astype(value.dtype)]

    (count,) = counting.run(("ties",), is_equal, of.results, "sum", **how)
    # A result that no entry has is that of a row without entries, or NaN, which has no derivative; any other
    # would be one that is not computed twice alike, and must not pass for a derivative of 0.
    lost = jnp.where(jnp.isnan(y), jnp.zeros_like(y), jnp.full_like(y, jnp.nan))
    return y, jnp.where(count > 0, 1 / jnp.maximum(count, 1), lost)


def _of_equal(values: Any, dots: Any, factors: Any) -> list[Any]:
    y, share = factors
    return [jnp.where(values[0] == y, dots[0], jnp.zeros_like(dots[0])) * share]


def _of_others(visit: _Visit, found: Any, how: Any) -> tuple[Any, ...]:
    """Return the product of the messages that are not 0, and how many are."""
    of, inputs = visit.of, visit.inputs[: len(visit.of.axes)]
    scalars = jaxpr_as_fun(of.message.jaxpr)

    def nonzero(*given: Any) -> Any:
        (value,) = scalars(*given)
        return [jnp.where(value == 0, jnp.ones_like(value), value)]

    def is_zero(*given: Any) -> Any:
        (value,) = scalars(*given)
        return [(value == 0).astype(value.dtype)]

    (product,) = _Visit(of, inputs).run(("nonzero",), nonzero, of.results, "mul", **how)
    (zeros,) = _Visit(of, inputs).run(("zeros",), is_zero, of.results, "sum", **how)
    return product, zeros


def _times_others(values: Any, dots: Any, factors: Any) -> list[Any]:
    product, zeros = factors
    (value,), is_zero = values, values[0] == 0
    others = product / jnp.where(is_zero, jnp.ones_like(value), value)
    # Where another message is 0, 0 times the rest: NaN beside an infinite one, as in IEEE arithmetic.
    has_zero = zeros > is_zero.astype(zeros.dtype)
    return [dots[0] * jnp.where(has_zero, jnp.zeros_like(others) * others, others)]


_WEIGHING: Final[dict[str, Any]] = {"sum": None, "max": _shared, "min": _shared, "mul": _of_others}
_FACTORS: Final[dict[str, Any]] = {
    "sum": lambda values, dots, factors: dots,
    "max": _of_equal,
    "min": _of_equal,
    "mul": _times_others,
}


@kernel.def_transpose_rule
def _cotangents(cts: Any, *args: Any, outs: Any, backend: Any, of: Pass, **_: Any) -> list[Any]:
    """Return the cotangents of the inputs in which a sum is linear, by passes along rows and columns."""
    structure, inputs = of.divided(args)
    linear = tuple(i for i, x in enumerate(inputs) if ad.is_undefined_primal(x))
    known = tuple(i for i in range(len(inputs)) if i not in linear)
    zeros = {i: np.zeros((), of.message.dtypes[i]) for i in linear}  # not traced ones
    scalars = jaxpr_as_fun(of.message.jaxpr)
    visit = _Visit(of, [inputs[i] for i in known])
    visit.places, visit.axes = [of.message.places[i] for i in known], [of.axes[i] for i in known]
    for ct, result in zip(cts, of.results, strict=True):
        visit.add(ct, result.place, result.axes)

    def back_to(asked: tuple[int, ...]) -> Scalars:
        def transposed(*given: Any) -> Any:
            values = dict(zip(known, given, strict=False)) | zeros

            def of_asked(*xs: Any) -> Any:
                every = values | dict(zip(asked, xs, strict=True))
                return scalars(*(every[i] for i in range(len(inputs))))

            back = jax.vjp(of_asked, *(zeros[i] for i in asked))[1]
            return list(back(list(given[len(known) :])))

        return transposed

    # Entries are visited in their own order, in which those of a result are stored one after the other.
    turned_entries = of.structure[0] == 3
    along = {ROW: False, ALL: turned_entries, ENTRY: turned_entries, COLUMN: True}
    ct_of: list[Any] = [None] * len(inputs)
    for turned in (False, True):
        asked = tuple(i for i in linear if along[of.message.places[i]] is turned)
        if not asked:
            continue
        results = [_result_of(of, i) for i in asked]
        how = {"structure": structure, "backend": backend, "dtype": outs[0].dtype, "transposed": turned}
        found = visit.run(("cotangents", known, asked), back_to(asked), results, "sum", **how)
        for i, ct in zip(asked, found, strict=True):
            ct_of[i] = _summed(of, i, ct)
    return [None] * sum(of.structure) + ct_of


def _result_of(of: Pass, i: int) -> Result:
    """Return where the cotangent of input i goes."""
    is_entry = of.message.places[i] == ENTRY
    return Result(ENTRY, of.axes[i]) if is_entry else Result(ROW, of.full)


def _summed(of: Pass, i: int, ct: jax.Array) -> jax.Array:
    """Return the cotangent of input i, summed over features that it lacks, and over rows if it is for all."""
    if of.message.places[i] == ENTRY:
        return ct
    if of.message.places[i] == ALL:
        ct = ct.sum(0, keepdims=True)
    missing = tuple(k for k, has in enumerate(of.axes[i], 1) if not has)
    return ct.reshape(ct.shape[0], *of.sizes).sum(missing).reshape(ct.shape[0], of.width(of.axes[i]))
