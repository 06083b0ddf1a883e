"""jit, vmap (any mix of axes, nested) and scan of an operator give what calling it one by one gives."""

import inspect
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cells import arguments, assert_close, bound, cells, first, small

from event_ops import expsyn_step, lif_step, scatter_add
from event_ops.catalog.lif_step.cases import CUBA

# Moving the entries of indptr about would not leave a CSR matrix.
FIXED = {"indptr"}

BATCH = 3


def few(operator, case):
    """The first case and an empty one; two and an empty one where the operator has a batching rule.

    Without a rule the bridge batches, in a loop around the kernel that is the same for every kernel.
    """
    plain = operator.cases[: 2 if operator.kernel.rules.batching else 1]
    return small(operator, case) and (case in plain or case.name == "no-rows")


def variants(x):
    """A batch of arrays like `x`, of which no two need be equal."""
    flat = x.reshape(-1)
    return jnp.stack([flat, jnp.roll(flat, 1), flat[::-1]]).reshape(BATCH, *x.shape)


def movable(operator, args):
    names = list(inspect.signature(operator.function).parameters)
    return [i for i in range(len(args)) if names[i] not in FIXED]


def prepared(operator, backend, case):
    args, kwargs = arguments(case, operator.dtypes[0])
    rtol = 2 * case.relative_tolerance(operator.dtypes[0])
    return args, bound(operator, backend, kwargs), partial(assert_close, rtol=rtol)


def one_by_one(f, axes, args):
    picked = [
        [x if axis is None else jnp.take(x, i, axis) for x, axis in zip(args, axes, strict=True)]
        for i in range(BATCH)
    ]
    return jax.tree.map(lambda *ys: jnp.stack(ys), *[f(*xs) for xs in picked])


@pytest.mark.parametrize(("operator", "backend", "case"), cells(first))
def test_jit(operator, backend, case):
    args, f, same = prepared(operator, backend, case)
    before = [np.array(x) for x in args]
    same(jax.jit(f)(*args), f(*args))
    same(args, before)  # some kernels work in place, where XLA lets them


@pytest.mark.parametrize(("operator", "backend", "case"), cells(few, first))
def test_vmap_of_all(operator, backend, case):
    args, f, same = prepared(operator, backend, case)
    batched = set(movable(operator, args))
    axes = tuple(0 if i in batched else None for i in range(len(args)))
    args = tuple(variants(x) if i in batched else x for i, x in enumerate(args))
    same(jax.vmap(f, axes)(*args), one_by_one(f, axes, args))


@pytest.mark.parametrize(("operator", "backend", "case"), cells(first))
def test_vmap_of_one_on_its_last_axis(operator, backend, case):
    args, f, same = prepared(operator, backend, case)
    last = movable(operator, args)[-1]
    axes = tuple(x.ndim if i == last else None for i, x in enumerate(args))
    args = tuple(jnp.moveaxis(variants(x), 0, -1) if i == last else x for i, x in enumerate(args))
    same(jax.jit(jax.vmap(f, axes))(*args), one_by_one(f, axes, args))


@pytest.mark.parametrize(("operator", "backend", "case"), cells(few, first))
def test_nested_vmap(operator, backend, case):
    args, f, same = prepared(operator, backend, case)
    first, last = movable(operator, args)[0], movable(operator, args)[-1]
    outer = tuple(0 if i == first else None for i in range(len(args)))
    inner = tuple(0 if i == last else None for i in range(len(args)))
    for i in (first, last):
        args = (*args[:i], variants(args[i]), *args[i + 1 :])
    result = jax.vmap(jax.vmap(f, inner), outer)(*args)
    same(result, one_by_one(lambda *xs: one_by_one(f, inner, xs), outer, args))


@pytest.mark.parametrize(("operator", "backend", "case"), cells(first))
def test_scan(operator, backend, case):
    args, f, same = prepared(operator, backend, case)
    _, results = jax.jit(lambda xs: jax.lax.scan(lambda c, _: (c, f(*c)), xs, None, length=2))(args)
    same(results, jax.tree.map(lambda y: jnp.stack([y, y]), f(*args)))


def test_a_loop_over_time_steps_copies_no_state():
    state = (jnp.full(64, -60.0), jnp.zeros(64), jnp.zeros((2, 64)), jnp.zeros(64))
    synapses = jnp.ones(()), jnp.arange(128), jnp.arange(0, 129, 2)
    indices, updates = jnp.arange(5), jnp.ones(5)
    synapse = {"shape": (64, 128), "tau": np.array([[5.0], [10.0]]), "dt": 0.1}

    def step(_, state):
        V, held, g, total = state
        V, held, spikes = lif_step(V, held, g[0] - g[1], **CUBA, backend="numba_cpu")
        g = expsyn_step(g, *synapses, spikes, **synapse, backend="numba_cpu")
        return V, held, g, scatter_add(total, indices, updates, backend="numba_cpu")

    loop = jax.jit(lambda state: jax.lax.fori_loop(0, 9, step, state))
    computations = loop.lower(state).compile().as_text().split("\n}\n")
    (body,) = [text for text in computations if text.count(" custom-call(") == 3]
    assert " copy(" not in body
