"""The contents of a traced function: its text and constants, and its derivatives where rules define them.

Of two traced functions with equal contents, all values are the same, and so are all derivatives.
"""

from collections.abc import Hashable, Iterator
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, jaxpr_as_fun

from event_ops.checks.arrays import is_known
from event_ops.codegen.program import Program

_ORDERS: Final = 3  # of derivatives that are compared; functions whose rules go on are equal to none


def contents_of(traced: ClosedJaxpr, orders: int = _ORDERS) -> Hashable:
    """Return the contents of a traced function; a new object, equal to none, if a constant is not known."""
    text, constants = str(traced.jaxpr), [np.asarray(x) if is_known(x) else x for x in _constants(traced)]
    if not is_known(*constants) or "custom_vjp_call" in text:
        return object()
    # Bytes, since the text of an array leaves out digits, and of a long one most elements.
    own = text, tuple((x.shape, x.dtype.name, x.tobytes()) for x in constants)
    if "custom_jvp_call" not in text:
        return own
    # The text has the name of such a rule alone.
    return own, contents_of(_derivative_of(traced), orders - 1) if orders else object()


def derivatives_of(program: Program, traced: ClosedJaxpr) -> Hashable:
    """Return the contents of the derivatives of a traced function, or "" if they follow from its program."""
    return contents_of(_derivative_of(traced)) if program.has_own_derivatives else ""


def _derivative_of(traced: ClosedJaxpr) -> ClosedJaxpr:
    """Return the traced function, with the tangents of its floats, of its inputs and their tangents."""
    inputs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in traced.in_avals]
    floats = [i for i, x in enumerate(inputs) if jnp.issubdtype(x.dtype, jnp.floating)]

    def both(xs: list[Any], dots: list[Any]) -> Any:
        def of_floats(*moved: Any) -> Any:
            each = dict(enumerate(xs)) | dict(zip(floats, moved, strict=True))
            results = jaxpr_as_fun(traced)(*each.values())
            return [y for y in results if jnp.issubdtype(y.dtype, jnp.floating)]

        return jax.jvp(of_floats, [xs[i] for i in floats], dots)

    return jax.make_jaxpr(both)(inputs, [inputs[i] for i in floats])


def _constants(traced: ClosedJaxpr) -> Iterator[Any]:
    """Yield the constants of a traced function, and of all within it, which the text only names."""
    yield from traced.consts
    yield from _held(traced.jaxpr)


def _held(jaxpr: Jaxpr) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        for inner in jax.tree.leaves(list(equation.params.values())):
            if isinstance(inner, ClosedJaxpr):
                yield from _constants(inner)
            elif isinstance(inner, Jaxpr):
                yield from _held(inner)
