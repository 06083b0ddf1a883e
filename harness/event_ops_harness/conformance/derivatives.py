"""Check derivatives: against finite differences, forward against reverse, under vmap and remat."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.test_util import check_grads, check_jvp, check_vjp

from event_ops_harness.conformance.cell import Trial
from event_ops_harness.conformance.compare import NotApplicable, assert_same
from event_ops_harness.conformance.kernels import have_derivatives, without_rules
from ffi_bridge.errors import MissingRuleError
from ffi_bridge.numba_cpu.derivatives import enzyme

TOLERANCE: Final = 1e-4  # of finite differences in float64


def _check_forward(f: Callable[..., Any], xs: Sequence[Any]) -> None:
    call = jax.jit(f)
    forward = _in_numpy(lambda xs, directions: jax.jvp(call, xs, directions))
    check_jvp(_in_numpy(call), forward, tuple(map(np.asarray, xs)), TOLERANCE, TOLERANCE)


def _check_reverse(f: Callable[..., Any], xs: Sequence[Any]) -> None:
    call = jax.jit(f)

    def reverse(*xs: Any) -> Any:
        y, back = jax.vjp(call, *xs)
        return jax.tree.map(np.asarray, y), _in_numpy(back)

    check_vjp(_in_numpy(call), reverse, tuple(map(np.asarray, xs)), TOLERANCE, TOLERANCE)


def _in_numpy(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return f with results of NumPy: operations on JAX arrays would be programs to compile."""
    return lambda *xs: jax.tree.map(np.asarray, f(*xs))


def jvp(trial: Trial) -> None:
    """Check forward derivatives against finite differences."""
    _check_forward(*trial.differentiable())


def vjp(trial: Trial) -> None:
    """Check reverse derivatives against finite differences, and, to rounding, against the forward ones."""
    f, xs = trial.differentiable()
    _check_reverse(f, xs)
    _check_against_forward(f, xs)


def _check_against_forward(f: Callable[..., Any], xs: Sequence[Any]) -> None:
    """Check `<J.T v, u> = <v, J u>` for a direction u and a covector v."""
    directions = list(map(_weights, xs))
    y, tangents = jax.jvp(jax.jit(f), xs, directions)
    weights = list(map(_weights, y))
    back = jax.vjp(jax.jit(f), *xs)[1](weights)
    assert_same(_dot(back, directions), _dot(weights, tangents), 1e-10)


def second(trial: Trial) -> None:
    """Derivatives of derivatives."""
    f, xs = trial.differentiable()
    check_grads(jax.jit(f), xs, order=2, atol=TOLERANCE, rtol=TOLERANCE)


def vmap_grad(trial: Trial) -> None:
    """vmap of grad is a loop of grads, and grad goes through vmap."""
    _check_batches(*trial.differentiable())


def _check_batches(f: Callable[..., Any], xs: Sequence[Any]) -> None:
    def value(x: Any) -> Any:
        # Not the plain sum: of a linear operator its gradient would be the same for every x.
        return sum(jnp.sum(jnp.sin(y)) for y in f(x, *xs[1:]))

    batch = jnp.stack([xs[0], 2 * xs[0], -xs[0] / 2])
    expected = jnp.stack([jax.grad(value)(x) for x in batch])
    assert_same(jax.vmap(jax.grad(value))(batch), expected, 1e-12)
    assert_same(jax.grad(lambda xs: jnp.sum(jax.vmap(value)(xs)))(batch), expected, 1e-12)


def remat(trial: Trial) -> None:
    """Check that gradients are the same with jax.checkpoint and without it."""
    f, xs = trial.differentiable()

    def loss(g: Any) -> Any:
        return jax.jit(jax.grad(lambda x: sum(jnp.sum(jnp.sin(y)) for y in g(x, *xs[1:]))))

    assert_same(loss(jax.checkpoint(f))(xs[0]), loss(f)(xs[0]), 1e-12)


def transpose(trial: Trial) -> None:
    """`<y, A x> = <A.T y, x>` for each input that the operator is linear in."""
    if trial.operator.kernel.rules.transpose is None:
        raise NotApplicable("no transpose rule is declared: reverse derivatives go another way")
    f, xs = trial.differentiable()
    for i, x in enumerate(xs):
        if not _is_linear(f, xs, i):
            continue
        in_one = jax.jit(lambda z, i=i: f(*xs[:i], z, *xs[i + 1 :]))
        y = in_one(x)
        weights = list(map(_weights, y))
        (back,) = jax.linear_transpose(in_one, x)(weights)
        assert_same(_dot(weights, y), _dot([back], [x]), 1e-10)


def kernel_derivatives(trial: Trial) -> None:
    """Derivatives that kernels have of their own: of differences, forward and reverse, and under vmap."""
    f, xs = trial.differentiable()
    with without_rules():
        if not have_derivatives(f, xs):
            raise NotApplicable("its kernels have no derivatives: no numba_kernel(..., differentiable=True)")
        _needs_enzyme()
        _check_forward(f, xs)
        _check_reverse(f, xs)
        _check_against_forward(f, xs)
        _check_batches(f, xs)


def _needs_enzyme() -> None:
    try:
        enzyme.python()
    except MissingRuleError as error:
        raise NotApplicable(str(error)) from None


def _weights(x: Any) -> Any:
    return np.cos(np.arange(x.size)).astype(x.dtype).reshape(x.shape)


def _dot(a: Any, b: Any) -> Any:
    return sum(np.vdot(x, y) for x, y in zip(a, b, strict=True))


def _is_linear(f: Any, xs: list[Any], i: int) -> bool:
    """Return whether the traced operator is linear in input i: no tangent depends on where it is taken."""
    in_one = lambda z: f(*xs[:i], z, *xs[i + 1 :])  # noqa: E731
    x = np.asarray(xs[i])
    zero = all(not np.any(y) for y in in_one(np.zeros_like(x)))
    at = [jax.jvp(in_one, (place,), (np.ones_like(x),))[1] for place in (x, np.zeros_like(x))]
    return zero and all(np.array_equal(a, b) for a, b in zip(*at, strict=True))
