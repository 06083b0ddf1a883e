"""States that decay when their synapse is visited are those that decay at every step, to rounding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import CSR, ELL, plasticity
from event_ops.codegen.identity import identity_of

ROWS, COLUMNS, PER_ROW, STEPS = 40, 30, 6, 200
SHAPE = ROWS, COLUMNS
RNG = np.random.default_rng(6)
INDICES = np.argsort(RNG.random(SHAPE))[:, :PER_ROW].astype(np.int32)
PRE, POST = RNG.random((STEPS, ROWS)) < 0.01, RNG.random((STEPS, COLUMNS)) < 0.01
TAU_C, TAU_B = 20.0, 50.0
TIMES = jnp.arange(STEPS, dtype="f")


def eligible_pre(w, c, b, *, x_post, rate):
    return w + 0.1 * c, c - rate * x_post, b + c


def eligible_post(w, c, b, *, x_pre, rate):
    return w - 0.1 * b, c + rate * x_pre, b


LAZY = [plasticity.decaying(rule, c="tau_c", b=TAU_B) for rule in (eligible_pre, eligible_post)]


def start(kind=np.float32):
    shape = INDICES.shape
    return [np.full(shape, value, kind) for value in (0.5, 0.2, -0.1)]


def of_matrix(kind):
    def step(rules, pre, post, state, **named):
        w, *others = state
        A = ELL(w, INDICES, shape=SHAPE)
        if kind is CSR:
            A, others = A.tocsr(), [x.reshape(-1) for x in others]
        A = A.plan(weights=False)
        A, *others = A.on_pre(rules[0], pre, state=tuple(others), x_post=X_POST, **named)
        A, *others = A.on_post(rules[1], post, state=tuple(others), x_pre=X_PRE, **named)
        return [x.reshape(INDICES.shape) for x in (A.data, *others)]

    return step


def of_dense(rules, pre, post, state, **named):
    state = tuple(state)
    state = plasticity.on_pre(rules[0], state, spikes_pre=pre, x_post=X_POST[:PER_ROW], **named)
    return list(plasticity.on_post(rules[1], state, spikes_post=post[:PER_ROW], x_pre=X_PRE, **named))


X_PRE, X_POST = RNG.random(ROWS, "f"), RNG.random(COLUMNS, "f")
STORAGES = {"dense": of_dense, "csr": of_matrix(CSR), "ell": of_matrix(ELL)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "storage", ["dense", *(pytest.param(x, marks=pytest.mark.slow) for x in ("csr", "ell"))]
)
def test_lazy_decay_is_decay_at_every_step(storage):
    apply = STORAGES[storage]

    def lazily(state, now):
        t, pre, post = now
        return apply(LAZY, pre, post, state, rate=0.3, tau_c=TAU_C, t=t), None

    def at_every_step(state, now):
        w, c, b = state
        state = w, c * jnp.exp(-1 / TAU_C), b * jnp.exp(-1 / TAU_B)
        return apply((eligible_pre, eligible_post), *now[1:], state, rate=0.3), None

    spikes = TIMES + 1, PRE, POST
    *found, last = jax.jit(lambda s: jax.lax.scan(lazily, s, spikes)[0])(
        [*start(), np.zeros_like(start()[0])]
    )
    expected = jax.jit(lambda s: jax.lax.scan(at_every_step, s, spikes)[0])(start())
    assert 0 < (np.asarray(last) == 0).sum() < last.size / 2 and last.max() <= STEPS
    w, c, b = found
    c, b = (plasticity.decayed(x, last, float(STEPS), tau) for x, tau in ((c, TAU_C), (b, TAU_B)))
    for x, y in zip((w, c, b), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-7)


def test_the_time_stamp_may_be_one_of_the_neuron():
    rule = plasticity.decaying(lambda c, *, x_post: c + x_post, since="last_pre", c=TAU_C)
    each = plasticity.decaying(lambda c, *, x_post: c + x_post, c=TAU_C)
    c, last = np.zeros((2, ROWS, COLUMNS), "f")
    shared, last_pre = c, np.zeros(ROWS, "f")
    for t, spikes in enumerate(PRE[:60]):
        now = {"spikes_pre": spikes, "x_post": X_POST, "t": float(t)}
        c, last = plasticity.on_pre(each, (c, last), **now)
        shared = plasticity.on_pre(rule, shared, last_pre=last_pre, **now)
        last_pre = np.where(spikes, np.float32(t), last_pre)
    assert PRE[:60].sum() > ROWS / 3
    np.testing.assert_array_equal(shared, c)


@pytest.mark.slow
def test_derivatives_are_those_of_decay_at_every_step():
    def eligibility(tau, w, gap):
        rule = plasticity.decaying(lambda c, *, gain: c + gain * c**2, c="tau")
        state = w, jnp.zeros((1, 1))
        for t in (3.0, 3.0 + gap):
            state = plasticity.on_pre(rule, state, spikes_pre=np.ones(1, bool), gain=0.5, t=t, tau=tau)
        return state[0].sum()

    def expected(tau, w, gap):
        c = w[0, 0]
        for span in (3.0, gap):
            c = c * jnp.exp(-span / tau)
            c = c + 0.5 * c**2
        return c

    at = 20.0, jnp.full((1, 1), 0.7)
    for f in (jax.grad, jax.jacfwd):
        found, wanted = f(eligibility, (0, 1))(*at, 5.0), f(expected, (0, 1))(*at, 5.0)
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5)


def test_a_rule_that_decays_is_traced_once_and_known_by_what_it_does():
    again = plasticity.decaying(eligible_pre, c="tau_c", b=TAU_B)
    assert identity_of(again) is not None and identity_of(again) == identity_of(LAZY[0])
    assert identity_of(plasticity.decaying(eligible_pre, c="tau_c", b=TAU_C)) != identity_of(again)


def sorts(c, *, x_post):
    return jnp.sort(jnp.stack([c, x_post]))[0]


WRONG = {
    "no state": (lambda: plasticity.decaying(sorts), ValueError, "is to decay; expected a time constant: c="),
    "by name": (lambda: plasticity.decaying(sorts, x_post=3.0), ValueError, r"front of `\*`: def rule\(w, c"),
    "array": (lambda: plasticity.decaying(sorts, c=np.ones(3)), TypeError, 'on_pre or on_post: c="tau"'),
    "last": (lambda: plasticity.decaying(lambda last: last, last=3.0), ValueError, "by another name"),
    "no time": (
        lambda: plasticity.on_pre(LAZY[0], (X_PRE[None],) * 4, spikes_pre=PRE[0, :1], x_post=X_PRE, rate=1.0),
        TypeError, r"w, c, b, last, /, \*, x_post, rate, t, tau_c\) does not take .* argument: 't'",
    ),
    "line": (
        lambda: plasticity.on_pre(
            plasticity.decaying(sorts, c=3.0), (X_PRE[None],) * 2, spikes_pre=PRE[0, :1], x_post=1.0, t=1.0
        ),
        ValueError, rf"the rule 'sorts', {__file__}:\d+, ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name):
    call, error, match = WRONG[name]
    with pytest.raises(error, match=match):
        call()
