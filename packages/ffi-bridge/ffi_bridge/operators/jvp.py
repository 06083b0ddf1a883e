"""Forward mode: declared rules, or else tangents of the reference, or else of the backend; all batched."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax

from ffi_bridge.errors import RuleError
from ffi_bridge.native.tracing import Levels
from ffi_bridge.operators.call import Call, check_outputs, concrete
from ffi_bridge.operators.rules import JVP, Flat, Operator, Rule, check_tangents, dense, symbolic


def jvp(
    operator: Operator, primals: Sequence[Any], tangents: Sequence[Any], *, call: Call, batch: Levels
) -> tuple[Flat, Flat]:
    """Return outputs and their tangents; under batch levels, by `jax.vmap` of the unbatched rule."""
    one = functools.partial(operator.rules.jvp or general_jvp, operator, call)
    outs, dots = _level(one, list(primals), [dense(t) for t in tangents], batch)
    return outs, list(map(symbolic, dots, outs))


def declared_jvp(fun: Rule) -> JVP:
    """Return the rule `fun(primals, tangents, **params) -> (outs, tangents_out)`, checked."""

    def rule(operator: Operator, call: Call, primals: Sequence[Any], tangents: Flat) -> tuple[Flat, Flat]:
        symbolic_tangents = tuple(map(symbolic, tangents, primals))
        returned = fun(tuple(primals), symbolic_tangents, **call.for_rule())
        if not (isinstance(returned, list | tuple) and len(returned) == 2):
            raise RuleError(
                f"operator {call.operator!r}: the jvp rule returned {type(returned).__name__}; expected a "
                "pair (outs, tangents_out)"
            )
        outs, dots = returned
        return check_outputs(call, "the jvp rule", outs), check_tangents(call, dots)

    return rule


def per_input_jvp(rules: Sequence[Rule | None]) -> JVP:
    """Return the rule tangents_out = sum of `rules[i](tangents[i], *primals, **params)`; None adds zero."""

    def rule(operator: Operator, call: Call, primals: Sequence[Any], tangents: Flat) -> tuple[Flat, Flat]:
        if len(primals) != len(rules):
            raise RuleError(
                f"operator {call.operator!r} was called with {len(primals)} inputs, and "
                f"def_jvp_rule2 was given {len(rules)} rules; give one per input, None where an "
                "input contributes nothing"
            )
        total: Flat = [None] * len(call.outs.flat)
        for input_rule, tangent in zip(rules, tangents, strict=True):
            if input_rule is not None and tangent is not None:
                dots = check_tangents(call, input_rule(tangent, *primals, **call.for_rule()))
                total = [_sum(a, b) for a, b in zip(total, dots, strict=True)]
        return operator.bind(call, primals), total

    return rule


def general_jvp(operator: Operator, call: Call, primals: Sequence[Any], tangents: Flat) -> tuple[Flat, Flat]:
    """Return outputs from the chosen backend, tangents from the reference; without one, from that backend.

    Which backend that is follows from JAX's default platform: a program has not named its own yet. The
    compiler drops the outputs that are computed beside the tangents.
    """
    source = operator.reference
    if source is None:
        source = operator.chosen(jax.default_backend(), call, list(map(jax.typeof, primals)), call.outs.flat)
    function = concrete(source, call)
    # The rest is constant: JAX has no derivative to make for it.
    active = [i for i, t in enumerate(tangents) if t is not None]

    def of_active(*ins: Any) -> Flat:
        moved = dict(zip(active, ins, strict=True))
        return function(*[moved.get(i, x) for i, x in enumerate(primals)])

    xs, ts = [primals[i] for i in active], [tangents[i] for i in active]
    try:
        _, dots = jax.jvp(of_active, tuple(xs), tuple(ts))
    except Exception as error:
        if operator.reference is None:
            error.add_note(
                f"Raised as operator {call.operator!r} was differentiated by its backend {source.name!r}: it "
                "declares no jvp rule and has no reference; def_jvp_rule, def_jvp_rule2 or def_reference "
                "give it one."
            )
        raise
    return operator.bind(call, primals), [dense(dot) for dot in dots]


def _level(
    rule: Callable[[Flat, Flat], tuple[Flat, Flat]], primals: Flat, tangents: Flat, batch: Levels
) -> tuple[Flat, Flat]:
    """Map the rule over the outermost level, then the next.

    `jax.jvp` of `jax.vmap` would bind the batched primitive, and come back here.
    """
    if not batch:
        return rule(primals, tangents)
    axes = list(batch[0].axes)

    def inner(xs: Flat, ts: Flat) -> tuple[Flat, Flat]:
        return _level(rule, xs, ts, batch[1:])

    # A tangent that is zero is None, to JAX an argument or a result without arrays.
    return jax.vmap(inner, in_axes=(axes, axes), axis_size=batch[0].size)(primals, tangents)


def _sum(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return a + b
