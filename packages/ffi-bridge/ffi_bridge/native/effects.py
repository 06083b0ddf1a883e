"""The side effects that JAX knows of a call, and the tokens that keep calls in the order of the program.

XLA passes a token to a handler as one more buffer, without memory: the last operand, and the last result.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, Final

import jax
import numpy as np
from jax.experimental import io_callback
from jax.interpreters import mlir

from ffi_bridge.errors import KernelDefinitionError

# Who calls kernels that may have no side effects; empty where they may. A part of `jax.jit`'s keys: a call
# that was traced where it may have some is traced again.
_REFUSED_IN: Final = jax.make_user_context("")


@cache
def of_a_call(ordered: bool) -> frozenset[Any]:
    """Return the effects of a foreign call with side effects, for which JAX keeps it if nobody reads it.

    One is that of callbacks: JAX would select between the results of both branches of a `cond` in `jax.vmap`,
    and run a `while_loop` for each element until the last one ends, and refuses so where there are callbacks.
    """
    nothing = jax.ShapeDtypeStruct((), np.float32)
    call = jax.ffi.ffi_call("with_side_effects", nothing, has_side_effect=True)
    # An ordered call has the others, too: JAX calls a program that `Lowered.compile` made without its tokens
    # if there are ordered effects alone.
    own = {like_callbacks(ordered=False)} | ({order()} if ordered else set())
    return frozenset(jax.make_jaxpr(call)().effects) | own


def order() -> Any:
    """Return the effect by which kernels and ordered callbacks have one order."""
    return like_callbacks(ordered=True)


@cache
def like_callbacks(ordered: bool) -> Any:
    """Return an effect that equals that of callbacks.

    Unlike that, it equals every other one of its class, which is what `jax.export` can write and read.
    """
    (of_callbacks,) = jax.make_jaxpr(partial(io_callback, print, None, ordered=ordered))().effects
    base: Any = type(of_callbacks)

    class Call(base):
        def __eq__(self, other: object) -> bool:
            return isinstance(other, base)

        def __hash__(self) -> int:
            return hash(of_callbacks)

    # By its name an exported program finds the class.
    Call.__qualname__ = "OrderedCall" if ordered else "UnorderedCall"
    mlir.lowerable_effects.add_type(Call)
    return Call()


@contextmanager
def refused_in(whose: str) -> Generator[None]:
    """Within the block, refuse to trace calls with side effects, which belong to `whose`."""
    with _REFUSED_IN(whose):
        yield


def check_allowed(kernel: str) -> None:
    """Raise KernelDefinitionError for a call with side effects, or in order, where they are refused."""
    if whose := _REFUSED_IN.value:
        raise KernelDefinitionError(
            f"{whose} calls kernel '{kernel}', which has side effects: JAX takes calls of an operator for "
            "functions of their inputs, and makes as many as it needs; call the kernel outside the operator, "
            "or wrap it without has_side_effect=True and ordered=True"
        )


def lower_in_order(rule: Callable[..., Sequence[Any]], ctx: Any, operands: Sequence[Any]) -> Sequence[Any]:
    """Lower a call by `rule` with the token of the ordered call before it, and leave its own for the next."""
    (token,) = jax.make_jaxpr(jax.lax.create_token)().out_avals
    around = ctx.replace(avals_in=[*ctx.avals_in, token], avals_out=[*ctx.avals_out, token])
    *results, after = rule(around, *operands, ctx.tokens_in.get(order()))
    ctx.set_tokens_out(ctx.tokens_in.update_tokens(mlir.TokenSet({order(): after})))
    return results
