"""Derivatives of a pass: passes again, with the message's own derivatives, without arrays of edges.

A tangent is a sum over entries, whatever the reduction is. Its transpose gives the cotangents at rows,
columns and entries by one visit. The rules of a sum serve its derivatives, too.
"""

from typing import Any

import jax
import numpy as np
from jax.extend.core import jaxpr_as_fun
from jax.interpreters import ad

from event_ops.codegen.function import ALL
from event_ops.messages.passes import ENTRY, ROW, SWAPPED, Pass, Result, call
from event_ops.messages.reductions import OF_ROWS, TANGENTS
from event_ops.messages.visits import Visit


def tangents(primals: Any, dots: Any, *, outs: Any, backend: Any, of: Pass, **_: Any) -> Any:
    """Return the results and their tangents, each of which is a sum over entries."""
    structure, inputs = of.divided(primals)
    moved = [None if isinstance(x, ad.Zero) else x for x in of.divided(dots)[1]]
    how = {"structure": structure, "backend": backend, "dtype": outs[0].dtype}
    results = call(of, *of.divided(primals), backend, outs[0].dtype)
    active = tuple(i for i, x in enumerate(moved) if x is not None)
    if not active:
        return results, (None,) * len(results)
    visit, count = Visit(of, inputs), len(inputs)
    for i in active:
        visit.add(moved[i], of.message.places[i], of.axes[i])
    of_rows, factor = OF_ROWS[of.reduce](visit, results, how) if of.reduce in OF_ROWS else ((), 1)
    scalars = jaxpr_as_fun(of.message.jaxpr)
    ends = count + len(active)

    def tangent(*inputs_of_visit: Any) -> Any:
        def of_active(*xs: Any) -> Any:
            moved_inputs = dict(zip(active, xs, strict=True))
            return scalars(*(moved_inputs.get(i, x) for i, x in enumerate(inputs_of_visit[:count])))

        primal = [inputs_of_visit[i] for i in active]
        values, dots = jax.jvp(of_active, primal, list(inputs_of_visit[count:ends]))
        if of.reduce in TANGENTS:
            return [TANGENTS[of.reduce](*values, *dots, *inputs_of_visit[ends:])]
        return dots

    for x in of_rows:
        visit.add(x, ROW, of.full)
    dots = visit.run(("tangent", of.reduce, active), tangent, of.results, "sum", **how)
    return results, tuple(factor * x for x in dots)


def cotangents(cts: Any, *args: Any, outs: Any, backend: Any, of: Pass, **_: Any) -> list[Any]:
    """Return the cotangents of the inputs in which a sum is linear, by passes along rows and columns."""
    structure, inputs = of.divided(args)
    linear = tuple(i for i, x in enumerate(inputs) if ad.is_undefined_primal(x))
    fixed = tuple(i for i in range(len(inputs)) if i not in linear)
    zeros = {i: np.zeros((), of.message.dtypes[i]) for i in linear}  # not traced ones
    scalars = jaxpr_as_fun(of.message.jaxpr)
    visit = Visit(of, [inputs[i] for i in fixed])
    visit.places, visit.axes = [of.message.places[i] for i in fixed], [of.axes[i] for i in fixed]
    for ct, result in zip(cts, of.results, strict=True):
        visit.add(ct, result.place, result.axes)

    def transposed(*scalars_of_visit: Any) -> Any:
        values = dict(zip(fixed, scalars_of_visit, strict=False)) | zeros

        def of_linear(*xs: Any) -> Any:
            every = values | dict(zip(linear, xs, strict=True))
            return scalars(*(every[i] for i in range(len(inputs))))

        # The sum is linear in these inputs: derivatives are the same at 0.
        back = jax.vjp(of_linear, *(zeros[i] for i in linear))[1]
        return list(back(list(scalars_of_visit[len(fixed) :])))

    # Entries are visited in their own order, in which those of a result are stored one after the other.
    turned = of.structure[0] == 3
    places = (of.message.places[i] for i in linear)
    ends = [ROW if place == ALL else SWAPPED[place] if turned else place for place in places]
    results = [
        Result(end, of.axes[i] if end == ENTRY else of.full) for i, end in zip(linear, ends, strict=True)
    ]
    how = {"structure": structure, "backend": backend, "dtype": outs[0].dtype, "transposed": turned}
    cts_of_pass = visit.run(("cotangents", fixed, linear), transposed, results, "sum", **how)
    ct_of: list[Any] = [None] * len(inputs)
    for i, ct in zip(linear, cts_of_pass, strict=True):
        ct_of[i] = _summed(of, i, ct)
    return [None] * sum(of.structure) + ct_of


def _summed(of: Pass, i: int, ct: jax.Array) -> jax.Array:
    """Return the cotangent of input i, summed over features that it lacks, and over rows if it is for all."""
    if of.message.places[i] == ENTRY:
        return ct
    if of.message.places[i] == ALL:
        ct = ct.sum(0, keepdims=True)
    missing = tuple(k for k, has in enumerate(of.axes[i], 1) if not has)
    return ct.reshape(ct.shape[0], *of.sizes).sum(missing).reshape(ct.shape[0], of.width(of.axes[i]))
