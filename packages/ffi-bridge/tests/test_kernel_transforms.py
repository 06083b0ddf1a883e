"""Every transformation, for every set of declared rules, on every backend, against plain JAX."""

import functools
import importlib.util
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.interpreters import ad
from jax.test_util import check_grads
from small_operators import random

from ffi_bridge.operators.kernel import XLACustomKernel

ROWS, COLUMNS, BATCH = 3, 4, 5
Matvec = Callable[..., Any]


def expected(w: Any, v: Any, transpose: bool = False) -> Any:
    return v @ w if transpose else w @ v


def reference_builder(outs: Any, transpose: bool) -> Matvec:
    return lambda w, v: expected(w, v, transpose)


def callback_builder(outs: Any, transpose: bool) -> Matvec:
    """A backend that JAX can neither differentiate nor look into."""

    def host(w: Any, v: Any) -> Any:
        return np.asarray(expected(np.asarray(w), np.asarray(v), transpose), np.float32)

    return lambda w, v: jax.pure_callback(host, outs, w, v, vmap_method="sequential")


def numba_builder(outs: Any, transpose: bool) -> Matvec:
    numba = importlib.import_module("numba")
    numba_kernel = importlib.import_module("ffi_bridge.numba_cpu.kernel").numba_kernel

    @numba.njit
    def kernel(w: Any, v: Any, out: Any) -> None:
        out[:] = 0
        for i in range(w.shape[0]):
            for j in range(w.shape[1]):
                if transpose:
                    out[j] += w[i, j] * v[i]
                else:
                    out[i] += w[i, j] * v[j]

    return numba_kernel(kernel, outs)


BACKENDS = {
    "reference": reference_builder,
    "callback": callback_builder,
    "numba_cpu": numba_builder,
}
needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba is not installed")
# Rules do not know the backend: the quick run has each backend without any, and one backend with each.
SLOW = [(backend, rules) for backend in ("reference", "callback") for rules in ("jvp", "jvp2")]
_NAMES = (f"transforms_{i}" for i in itertools.count())


def define(backend: str, rules: str) -> XLACustomKernel:
    """y = w @ v or w.T @ v on `backend`, with no jvp rule, one for all, or one per input."""
    operator = XLACustomKernel(next(_NAMES))
    if rules == "none":
        operator.def_reference(reference_builder)
    operator.def_kernel(backend, "cpu", BACKENDS[backend], asdefault=True)
    if rules == "jvp":
        operator.def_jvp_rule(jvp_rule(operator))
    if rules == "jvp2":
        operator.def_jvp_rule2(
            lambda t, w, v, **params: operator(t, v, **params),
            lambda t, w, v, **params: operator(w, t, **params),
        )
    operator.def_transpose_rule(transpose_rule(operator))
    return operator


def jvp_rule(operator: XLACustomKernel) -> Any:
    def rule(primals: Any, tangents: Any, **params: Any) -> Any:
        (w, v), (dw, dv) = primals, tangents
        parts = [
            None if isinstance(dw, ad.Zero) else operator(dw, v, **params),
            None if isinstance(dv, ad.Zero) else operator(w, dv, **params),
        ]
        dense = [part for part in parts if part is not None]
        return operator(w, v, **params), sum(dense[1:], dense[0])

    return rule


def transpose_rule(operator: XLACustomKernel) -> Any:
    def rule(ct: Any, w: Any, v: Any, *, outs: Any, backend: Any, transpose: bool) -> Any:
        if ad.is_undefined_primal(w):
            return [jnp.outer(v, ct) if transpose else jnp.outer(ct, v), None]
        like = jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype)
        return [None, operator(w, ct, outs=like, backend=backend, transpose=not transpose)]

    return rule


def marks_of(backend: str, rules: str) -> list[pytest.MarkDecorator]:
    needs = [needs_numba] if backend == "numba_cpu" else []
    return [*needs, pytest.mark.slow] if (backend, rules) in SLOW else needs


@pytest.fixture(
    params=[
        pytest.param((backend, rules), marks=marks_of(backend, rules))
        for backend in BACKENDS
        for rules in ("none", "jvp", "jvp2")
    ],
    ids=lambda param: "-".join(param),
    scope="module",
)
def matvec(request: pytest.FixtureRequest) -> Matvec:
    operator = define(*request.param)

    def call(w: Any, v: Any, transpose: bool = False) -> Any:
        length = w.shape[1] if transpose else w.shape[0]
        return operator(w, v, outs=jax.ShapeDtypeStruct((length,), w.dtype), transpose=transpose)

    return call


W, V = random(ROWS, COLUMNS), random(COLUMNS)
WS, VS = random(BATCH, ROWS, COLUMNS), random(BATCH, COLUMNS)
SQUARE, START = random(4, 4), random(4)


def energy(f: Matvec) -> Callable[[Any, Any], Any]:
    return lambda w, v: (f(w, v) ** 2).sum() + jnp.sin(f(w, jnp.cos(v))).sum()


def scanned(f: Matvec) -> Any:
    return lambda w, v: jax.lax.scan(lambda c, _: (jnp.tanh(f(w, c)), c), v, None, length=4)


def looped(f: Matvec) -> Any:
    def run(w: Any, v: Any) -> Any:
        return jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, jnp.tanh(f(w, c[1]))), (0, v))[1]

    return run


def branched(f: Matvec) -> Any:
    return lambda p, w, v: jax.lax.cond(p, lambda: f(w, v), lambda: 2 * f(w, v, True))


TRANSFORMS: dict[str, Callable[[Matvec], Any]] = {
    "call": lambda f: f(W, V),
    "transposed": lambda f: f(W.T, V, True),
    "jit": lambda f: jax.jit(f)(W, V),
    "grad": lambda f: jax.grad(energy(f), (0, 1))(W, V),
    "jit grad": lambda f: jax.jit(jax.grad(energy(f), (0, 1)))(W, V),
    "jvp": lambda f: jax.jvp(f, (W, V), (W + 1, V + 1)),
    "jvp of one input": lambda f: jax.jvp(lambda v: f(W, v), (V,), (V + 1,)),
    "linearize": lambda f: jax.linearize(f, W, V)[1](W + 1, V + 1),
    "vjp": lambda f: jax.vjp(f, W, V)[1](random(ROWS)),
    "vjp of one input": lambda f: jax.vjp(lambda v: f(W, v), V)[1](random(ROWS)),
    "jacfwd": lambda f: jax.jacfwd(f, (0, 1))(W, V),
    "jacrev": lambda f: jax.jacrev(f, (0, 1))(W, V),
    "hessian": lambda f: jax.hessian(energy(f), (0, 1))(W, V),
    "grad of grad": lambda f: jax.grad(lambda v: (jax.grad(energy(f), 1)(W, v) ** 3).sum())(V),
    "vmap": lambda f: jax.vmap(f)(WS, VS),
    "vmap of v": lambda f: jax.vmap(f, (None, 0))(W, VS),
    "vmap of w": lambda f: jax.vmap(f, (0, None))(WS, V),
    "vmap of other axes": lambda f: jax.vmap(f, (2, 1), 1)(jnp.moveaxis(WS, 0, 2), VS.T),
    "vmap of size 1": lambda f: jax.vmap(f)(WS[:1], VS[:1]),
    "nested vmap": lambda f: jax.vmap(jax.vmap(f, (None, 0)), (0, None))(WS, VS),
    "nested vmap, other axes": lambda f: jax.vmap(jax.vmap(f, (0, None)), (None, 1))(WS, VS.T),
    "three vmaps": lambda f: jax.vmap(jax.vmap(jax.vmap(f), (0, None)), (None, 0))(
        WS[None], jnp.stack([VS, VS + 1])
    ),
    "vmap of grad": lambda f: jax.vmap(jax.grad(energy(f), (0, 1)), (0, None))(WS, V),
    "vmap of grad, both": lambda f: jax.vmap(jax.grad(energy(f), (0, 1)))(WS, VS),
    "grad of vmap": lambda f: jax.grad(lambda w, v: jax.vmap(energy(f), (0, None))(w, v).sum(), (0, 1))(
        WS, V
    ),
    "grad of vmap of v": lambda f: jax.grad(lambda w, v: jax.vmap(energy(f), (None, 0))(w, v).sum(), (0, 1))(
        W, VS
    ),
    "grad of nested vmap": lambda f: jax.grad(
        lambda w, v: jax.vmap(jax.vmap(energy(f), (None, 0)), (0, None))(w, v).sum(), (0, 1)
    )(WS, VS),
    "vmap of grad of vmap": lambda f: jax.vmap(
        jax.grad(lambda w, v: jax.vmap(energy(f), (None, 0))(w, v).sum(), (0, 1)), (0, None)
    )(WS, VS),
    "jvp of vmap": lambda f: jax.jvp(lambda v: jax.vmap(f, (0, None))(WS, v), (V,), (V + 1,)),
    "hessian of vmap": lambda f: jax.hessian(lambda v: jax.vmap(energy(f), (0, None))(WS, v).sum())(V),
    "scan": lambda f: scanned(f)(SQUARE, START),
    "grad of scan": lambda f: jax.grad(lambda w, v: scanned(f)(w, v)[0].sum(), (0, 1))(SQUARE, START),
    "vmap of grad of scan": lambda f: jax.vmap(
        jax.grad(lambda w, v: scanned(f)(w, v)[0].sum(), (0, 1)), (None, 0)
    )(SQUARE, random(BATCH, 4)),
    "while": lambda f: jax.jit(looped(f))(SQUARE, START),
    "jvp of while": lambda f: jax.jvp(looped(f), (SQUARE, START), (SQUARE, START)),
    "vmap of while": lambda f: jax.vmap(looped(f), (None, 0))(SQUARE, random(BATCH, 4)),
    "cond": lambda f: [branched(f)(p, SQUARE, START) for p in (True, False)],
    "grad of cond": lambda f: jax.grad(lambda w: branched(f)(False, w, START).sum())(SQUARE),
    "vmap of cond": lambda f: jax.vmap(branched(f), (0, None, None))(jnp.array([True, False]), SQUARE, START),
    "remat": lambda f: jax.grad(jax.checkpoint(energy(f)), (0, 1))(W, V),
    "remat of scan": lambda f: jax.grad(
        lambda w: jax.lax.scan(jax.checkpoint(lambda c, _: (jnp.tanh(f(w, c)), None)), START, None, length=4)[
            0
        ].sum()
    )(SQUARE),
    "vmap of remat": lambda f: jax.vmap(jax.grad(jax.checkpoint(energy(f))), (0, None))(WS, V),
}


@pytest.mark.slow_cases("hessian of vmap", "hessian", "grad of nested vmap", "vmap of grad of vmap")
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform(matvec: Matvec, name: str) -> None:
    assert_equal(TRANSFORMS[name](matvec), of_plain_jax(name))


@functools.cache
def of_plain_jax(name: str) -> Any:
    return TRANSFORMS[name](expected)


def test_transforms_without_jit(matvec: Matvec) -> None:
    with jax.disable_jit():
        for name in ("call", "jit", "grad", "vmap", "nested vmap", "grad of scan", "while", "cond", "remat"):
            assert_equal(TRANSFORMS[name](matvec), TRANSFORMS[name](expected))


def assert_equal(given: Any, wanted: Any) -> None:
    assert jax.tree.structure(given) == jax.tree.structure(wanted)
    for a, b in zip(jax.tree.leaves(given), jax.tree.leaves(wanted), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_gradients_agree_with_finite_differences(matvec: Matvec) -> None:
    check_grads(matvec, (W, V), order=2, modes=["fwd", "rev"], rtol=2e-2, atol=2e-2)
