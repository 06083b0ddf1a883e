"""The side effects that JAX knows of a call, and the tokens that keep calls in the order of the program.

XLA passes a token to a handler as one more buffer, without memory: the last operand, and the last result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import jax
import numpy as np
from jax.experimental import io_callback
from jax.interpreters import mlir


@cache
def of_a_call(ordered: bool) -> frozenset[Any]:
    """Return the effects of a foreign call with side effects, for which JAX keeps it if nobody reads it."""
    nothing = jax.ShapeDtypeStruct((), np.float32)
    call = jax.ffi.ffi_call("with_side_effects", nothing, has_side_effect=True)
    # An ordered call has them, too: JAX calls a program that `Lowered.compile` made without its tokens if
    # there are ordered effects alone.
    return frozenset(jax.make_jaxpr(call)().effects) | ({order()} if ordered else set())


@cache
def order() -> Any:
    """Return an effect that equals that of ordered callbacks, so that kernels and callbacks have one order.

    Unlike that, it equals every other one of its class, which is what `jax.export` can write and read.
    """
    (of_callbacks,) = jax.make_jaxpr(partial(io_callback, print, None, ordered=True))().effects
    base: Any = type(of_callbacks)

    class OrderedCall(base):
        def __eq__(self, other: object) -> bool:
            return isinstance(other, base)

        def __hash__(self) -> int:
            return hash(of_callbacks)

    mlir.lowerable_effects.add_type(OrderedCall)
    return OrderedCall()


def lower_in_order(rule: Callable[..., Sequence[Any]], ctx: Any, operands: Sequence[Any]) -> Sequence[Any]:
    """Lower a call by `rule` with the token of the ordered call before it, and leave its own for the next."""
    (token,) = jax.make_jaxpr(jax.lax.create_token)().out_avals
    around = ctx.replace(avals_in=[*ctx.avals_in, token], avals_out=[*ctx.avals_out, token])
    *results, after = rule(around, *operands, ctx.tokens_in.get(order()))
    ctx.set_tokens_out(ctx.tokens_in.update_tokens(mlir.TokenSet({order(): after})))
    return results
