"""The rules of the page "Write a plasticity rule" are the published ones: what sums over spikes say."""

import ast
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import plasticity, trace_decay

pytestmark = pytest.mark.slow  # `nox -s docs` runs it, too
PAGE = Path(__file__).parents[1] / "how-to" / "plasticity-rules.md"
STEPS = 60
RNG = np.random.default_rng(5)
PRE, POST = RNG.random((2, STEPS)) < 0.25  # of one synapse, in steps of 1 ms
ONE = {"shape": (1, 1)}
ROW, COLUMN = (np.zeros(1, int), np.array([0, 1])), (np.zeros(1, int), np.array([0, 1]), np.zeros(1, int))


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """Return the functions that the page defines; the build of the site runs all of it."""
    pytest.importorskip("numba", reason="Numba is not installed")
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    program = ast.parse("\n".join(cells))
    program.body = [x for x in program.body if isinstance(x, ast.Import | ast.ImportFrom | ast.FunctionDef)]
    namespace: dict[str, Any] = {"__name__": "plasticity_rules"}
    exec(compile(program, str(PAGE), "exec"), namespace)
    return namespace


def simulate(pre_rule, post_rule, synapses, taus_pre, taus_post, of_pre, of_post):
    """Return the synaptic variables after all spikes: at a spike, traces hold what came before it.

    A postsynaptic spike sees the presynaptic one of the same step, not the other way round. `of_pre` and
    `of_post` return a rule's variables from the time, the traces before this step, and those of pre after it.
    """

    def decay(traces, taus, spikes):
        return [trace_decay(x, spikes, tau=tau, dt=1.0) for x, tau in zip(traces, taus, strict=True)]

    def step(state, now):
        synapses, pre, post = state
        t, pre_spikes, post_spikes = now
        silent = jnp.zeros(1, bool)
        before = decay(pre, taus_pre, silent), decay(post, taus_post, silent)
        after = decay(pre, taus_pre, pre_spikes)
        synapses = plasticity.on_pre(pre_rule, synapses, *ROW, pre_spikes, **ONE, **of_pre(t, *before))
        named = of_post(t, after, before[1])
        synapses = plasticity.on_post(post_rule, synapses, *COLUMN, post_spikes, **ONE, **named)
        return (synapses, after, decay(post, taus_post, post_spikes)), None

    empty = [[jnp.zeros(1)] * len(taus) for taus in (taus_pre, taus_post)]
    now = jnp.arange(STEPS, dtype=jnp.float32), PRE[:, None], POST[:, None]
    (synapses, *_), _ = jax.jit(lambda s: jax.lax.scan(step, (s, *empty), now))(synapses)
    return jax.tree.map(lambda x: float(x[0]), synapses)


def trace(spikes, t, tau, *, inclusive):
    """Return the sum of exp(-distance / tau) over earlier spikes, with one at t if inclusive."""
    times = np.flatnonzero(spikes)
    times = times[times <= t] if inclusive else times[times < t]
    return np.exp((times - t) / tau).sum()


def test_pairs(page):
    w_end = simulate(
        page["pair_pre"], page["pair_post"], jnp.full(1, 0.5), [17.0], [34.0],
        lambda t, pre, post: {"x_post": post[0], "A_minus": 0.006},
        lambda t, pre, post: {"x_pre": pre[0], "A_plus": 0.005},
    )  # fmt: skip
    down = sum(trace(POST, t, 34, inclusive=False) for t in np.flatnonzero(PRE))
    up = sum(trace(PRE, t, 17, inclusive=True) for t in np.flatnonzero(POST))
    np.testing.assert_allclose(w_end, 0.5 - 0.006 * down + 0.005 * up, rtol=1e-5)


def test_triplets(page):
    minus, plus = {"A2_minus": 7e-3, "A3_minus": 2e-3}, {"A2_plus": 5e-3, "A3_plus": 6e-3}
    taus_pre, taus_post = (17.0, 101.0), (34.0, 125.0)
    w_end = simulate(
        page["triplet_pre"], page["triplet_post"], jnp.full(1, 0.5), taus_pre, taus_post,
        lambda t, pre, post: {"r2_pre": pre[1], "o1_post": post[0]} | minus,
        lambda t, pre, post: {"r1_pre": pre[0], "o2_post": post[1]} | plus,
    )  # fmt: skip
    w = 0.5
    for t in range(STEPS):
        if PRE[t]:
            o1, r2 = trace(POST, t, 34, inclusive=False), trace(PRE, t, 101, inclusive=False)
            w -= o1 * (minus["A2_minus"] + minus["A3_minus"] * r2)
        if POST[t]:
            r1, o2 = trace(PRE, t, 17, inclusive=True), trace(POST, t, 125, inclusive=False)
            w += r1 * (plus["A2_plus"] + plus["A3_plus"] * o2)
    np.testing.assert_allclose(w_end, w, rtol=1e-5)


def test_inhibition(page):
    eta, alpha = 0.01, 0.4
    w_end = simulate(
        page["vogels_pre"], page["vogels_post"], jnp.full(1, 0.5), [20.0], [20.0],
        lambda t, pre, post: {"x_post": post[0], "eta": eta, "alpha": alpha},
        lambda t, pre, post: {"x_pre": pre[0], "eta": eta},
    )  # fmt: skip
    gaps = np.flatnonzero(PRE)[:, None] - np.flatnonzero(POST)  # all pairs, whatever their order is
    expected = 0.5 + eta * (np.exp(-abs(gaps) / 20).sum() - alpha * PRE.sum())
    np.testing.assert_allclose(w_end, expected, rtol=1e-5)


def test_eligibility_and_reward(page):
    tau_c, end = 30.0, float(STEPS)
    c, last = simulate(
        page["eligible_pre"], page["eligible_post"], (jnp.zeros(1), jnp.zeros(1)), [17.0], [34.0],
        lambda t, pre, post: {"x_post": post[0], "A_minus": 0.1, "t": t, "tau_c": tau_c},
        lambda t, pre, post: {"x_pre": pre[0], "A_plus": 0.2, "t": t, "tau_c": tau_c},
    )  # fmt: skip
    assert last == np.flatnonzero(PRE | POST)[-1] < end
    w, *_ = page["rewarded"](1.0, c, last, t=end, tau_c=tau_c, dopamine=0.5)
    # Each pair is worth what the decay of c from its second spike on leaves of it.
    down = [trace(POST, t, 34, inclusive=False) * np.exp((t - end) / tau_c) for t in np.flatnonzero(PRE)]
    up = [trace(PRE, t, 17, inclusive=True) * np.exp((t - end) / tau_c) for t in np.flatnonzero(POST)]
    np.testing.assert_allclose(w, 1 + 0.5 * (0.2 * sum(up) - 0.1 * sum(down)), rtol=1e-5)


@pytest.mark.parametrize(("U", "tau_rec", "tau_fac"), [(0.5, 800.0, 1.0), (0.05, 50.0, 1000.0)])
def test_short_term_plasticity(page, U, tau_rec, tau_fac):
    # The differential equations in small steps: dx/dt = (1 - x) / tau_rec, du/dt = -u / tau_fac.
    synapses = tuple(jnp.full(1, value) for value in (0.0, 0.0, 1.0, 0.0))
    u, x, now, fine = 0.0, 1.0, 0.0, 2000
    parameters = {"U": U, "tau_rec": tau_rec, "tau_fac": tau_fac}
    for t in (3.0, 10.0, 12.0, 90.0):
        for _ in range(fine):
            dt = (t - now) / fine
            u, x = u - dt * u / tau_fac, x + dt * (1 - x) / tau_rec
        u += U * (1 - u)
        sent, x, now = 0.7 * u * x, x * (1 - u), t
        named = {"w": jnp.full(1, 0.7), "t": t, **parameters}
        synapses = plasticity.on_pre(page["release"], synapses, *ROW, np.ones(1, bool), **ONE, **named)
        np.testing.assert_allclose([x[0] for x in synapses], [sent, u, x, t], rtol=2e-2, atol=1e-6)


def test_scaling(page):
    # Scaled again and again, a linear neuron reaches the target: its rate is its weight times 10 Hz.
    w = jnp.full(1, 0.1)
    for _ in range(200):
        named = {"rate_post": 10 * w, "target": 5.0, "beta": 0.1}
        moved = plasticity.on_post(page["scale"], w, *COLUMN, np.ones(1, bool), **ONE, **named)
        np.testing.assert_allclose(moved, w * (1 + 0.1 * (5 - 10 * w)), rtol=1e-6)
        w = moved
    np.testing.assert_allclose(w, 0.5, rtol=1e-4)
