"""The rules of the page do what their sources say, and the same on every storage of synapses."""

import ast
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import CSR, ELL, plasticity, stdp_on_pre

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "plasticity-rules.md"


def functions_of(page):
    """Return the functions of numbers that the cells of a page define."""
    cells = re.findall(r"```\{code-cell\}\n(.*?)```", page.read_text(), re.DOTALL)
    defined = [node for node in ast.parse("\n".join(cells)).body if isinstance(node, ast.FunctionDef)]
    found = {}
    exec(compile(ast.Module(defined, []), str(page), "exec"), {"jnp": jnp, "plasticity": plasticity}, found)
    helpers = {"jnp": jnp, **found}
    for function in found.values():
        function.__globals__.update(helpers)
    return found


NAMED = "triplet_pre", "triplet_post", "vogels_pre", "vogels_post"
RULES = functions_of(PAGE) | {name: getattr(plasticity, name) for name in NAMED}
ROWS, COLUMNS, PER_ROW = 9, 7, 4
SHAPE = ROWS, COLUMNS
RNG = np.random.default_rng(3)
INDICES = np.sort(np.argsort(RNG.random(SHAPE))[:, :PER_ROW]).astype(np.int32)
PRE, POST = RNG.random(ROWS) < 0.5, RNG.random(COLUMNS) < 0.5


def drawn(*shape):
    return RNG.random(shape, "f")


W, STATE = drawn(*SHAPE), drawn(3, *SHAPE)
X, Y, Z = drawn(ROWS), drawn(COLUMNS), drawn(COLUMNS)
X_PRE, X_POST, Z_POST = X[:, None], Y, Z
FLOOR = np.maximum
C, LAST = STATE[:2]
DECAYED = C * np.exp((LAST - 3) / 20)

# Which neurons spike, further synaptic variables, variables by name, and what the source says in NumPy.
EXPECTED = {
    "pair_pre": ("pre", (), {"x_post": Y, "A_minus": 0.6}, [FLOOR(W - 0.6 * X_POST, 0)]),
    "pair_post": ("post", (), {"x_pre": X, "A_plus": 0.6}, [np.minimum(W + 0.6 * X_PRE, 1)]),
    "triplet_pre": (
        "pre", (), {"r2_pre": X, "o1_post": Y, "A2_minus": 0.2, "A3_minus": 0.3},
        [W - X_POST * (0.2 + 0.3 * X_PRE)],
    ),
    "triplet_post": (
        "post", (), {"r1_pre": X, "o2_post": Y, "A2_plus": 0.2, "A3_plus": 0.3},
        [W + X_PRE * (0.2 + 0.3 * X_POST)],
    ),
    "vogels_pre": (
        "pre", (), {"x_post": Y, "eta": 0.5, "alpha": 0.7}, [FLOOR(W + 0.5 * (X_POST - 0.7), 0)],
    ),
    "vogels_post": ("post", (), {"x_pre": X, "eta": 0.5}, [W + 0.5 * X_PRE]),
    "depress": (
        "pre", (), {"x_post": Y, "lam": 0.5, "alpha": 0.4}, [FLOOR(W - 0.2 * W * X_POST, 0)],
    ),
    "potentiate": ("post", (), {"x_pre": X, "lam": 0.5, "mu": 0.4}, [W + 0.5 * X_PRE * W**0.4]),
    "eligible_pre": (
        "pre", (LAST,), {"x_post": Y, "A_minus": 0.4, "t": 3.0, "tau_c": 20.0},
        [DECAYED - 0.4 * X_POST, np.full(SHAPE, 3)],
    ),
    "eligible_post": (
        "post", (LAST,), {"x_pre": X, "A_plus": 0.4, "t": 3.0, "tau_c": 20.0},
        [DECAYED + 0.4 * X_PRE, np.full(SHAPE, 3)],
    ),
    "rewarded": (
        "post", (C, LAST), {"t": 3.0, "tau_c": 20.0, "dopamine": 0.5}, [W + 0.5 * DECAYED, C, LAST],
    ),
    "modulated_pre": (
        "pre", (C, LAST), {"x_post": Y, "A_minus": 0.4, "Q": 0.7, "worth": 2.0},
        [W + C * (0.7 - LAST), C - 0.8 * X_POST, np.full(SHAPE, 0.7)],
    ),
    "modulated_post": (
        "post", (C, LAST), {"x_pre": X, "A_plus": 0.4, "Q": 0.7, "worth": 2.0},
        [W + C * (0.7 - LAST), C + 0.8 * X_PRE, np.full(SHAPE, 0.7)],
    ),
    "scale": (
        "post", (), {"rate_post": Y, "target": 0.5, "beta": 0.1}, [W + 0.1 * W * (0.5 - X_POST)],
    ),
    "voltage_pre": (
        "pre", (), {"u_minus_post": Y, "A_LTD_post": Z, "theta_minus": 0.4, "w_min": 0.1},
        [FLOOR(W - Z_POST * FLOOR(X_POST - 0.4, 0), 0.1)],
    ),
    "voltage_post": (
        "post", (),
        {"x_pre": X, "u_post": Y, "u_plus_post": Z, "A_LTP": 0.5, "theta_minus": 0.3, "theta_plus": 0.4,
         "dt": 0.5, "w_max": 0.9},
        [np.minimum(W + 0.25 * X_PRE * FLOOR(X_POST - 0.4, 0) * FLOOR(Z_POST - 0.3, 0), 0.9)],
    ),
    "eprop": (
        "post", (C, LAST),
        {"psi_post": Y, "z_pre": X, "L_post": Z, "t": 3.0, "tau_out": 20.0, "eta": 0.1},
        [W - 0.1 * Z_POST * (DECAYED + X_POST * X_PRE), DECAYED + X_POST * X_PRE, np.full(SHAPE, 3)],
    ),
}  # fmt: skip


def start_of(name):
    """Return the synaptic variables before: eligibility alone has no weight."""
    _, state, _, expected = EXPECTED[name]
    return (C if name.startswith("eligible") else W, *state)[: len(expected)]


def dense(side, rule, synapses, **variables):
    on, spikes = ((plasticity.on_pre, PRE), (plasticity.on_post, POST))[side == "post"]
    return on(rule, synapses, **{f"spikes_{side}": spikes}, **variables)


def sparse(matrix_of, side, rule, synapses, **variables):
    """Apply a rule to the synapses that are stored, and leave others as they are."""
    stored = [matrix_of(np.take_along_axis(x, INDICES, 1)) for x in synapses]
    A, state = stored[0].plan(weights=False), tuple(x.data for x in stored[1:])
    on, spikes = ((A.on_pre, PRE), (A.on_post, POST))[side == "post"]
    found = on(rule, spikes, state=state, **variables)
    A, *state = found if state else (found,)
    for x, values in zip(synapses, (A.data, *state), strict=True):
        new = np.array(x)
        np.put_along_axis(new, INDICES, np.reshape(values, INDICES.shape), 1)
        yield new


def ell(values):
    return ELL(values, INDICES, shape=SHAPE)


def csr(values):
    return CSR((values.ravel(), INDICES.ravel(), np.arange(ROWS + 1) * PER_ROW), shape=SHAPE)


def test_all_rules_of_the_page_are_here():
    others = {"pair_step", "matrix_step", "decayed", "eligible", "release", "learned"}
    others |= {"up_to_date", "lazily", "in_every_step"}
    assert RULES.keys() - others == EXPECTED.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_a_rule_is_its_formula_on_every_storage(name):
    side, _, variables, expected = EXPECTED[name]
    spiking = PRE[:, None] if side == "pre" else POST
    start = start_of(name)
    found = dense(side, RULES[name], start, **variables)
    for x, new, said in zip(start, found, expected, strict=True):
        np.testing.assert_allclose(new, np.where(spiking, said, x), rtol=2e-6, atol=1e-7)
    stored = np.zeros(SHAPE, bool)
    np.put_along_axis(stored, INDICES, True, 1)
    for matrix_of in (csr, ell):
        for x, new, same in zip(
            start, found, sparse(matrix_of, side, RULES[name], start, **variables), strict=True
        ):
            np.testing.assert_array_equal(same, np.where(stored, new, x))


def history_of(rule_pre, rule_post, w, w_min, w_max):
    """Weights after trains of spikes, synapse by synapse: in each step on_pre, on_post, then the traces."""
    rng, w = np.random.default_rng(5), np.array(w, float)
    trains = rng.random((60, ROWS)) < 0.2, rng.random((60, COLUMNS)) < 0.2
    r1, r2, o1, o2 = np.zeros(ROWS), np.zeros(ROWS), np.zeros(COLUMNS), np.zeros(COLUMNS)
    for pre, post in zip(*trains, strict=True):
        for i in np.flatnonzero(pre):
            for j in range(COLUMNS):
                w[i, j] = min(max(rule_pre(w[i, j], r2[i], o1[j]), w_min), w_max)
        for j in np.flatnonzero(post):
            for i in range(ROWS):
                w[i, j] = min(max(rule_post(w[i, j], r1[i], o2[j]), w_min), w_max)
        r1, r2, o1, o2 = 0.9 * r1 + pre, 0.95 * r2 + pre, 0.85 * o1 + post, 0.97 * o2 + post
    return w, trains


@pytest.mark.parametrize("backend", ["numba_cpu", "reference", pytest.param("warp", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["triplet", "vogels"])
def test_a_named_rule_is_a_loop_over_spikes_and_synapses(name, backend):
    triplets = name == "triplet"
    of_pre = {"A2_minus": 0.02, "A3_minus": 0.01} if triplets else {"eta": 0.02, "alpha": 0.8, "w_max": 0.9}
    of_post = {"A2_plus": 0.02, "A3_plus": 0.01} if triplets else {"eta": 0.02, "w_max": 0.9}
    bounds = ({"w_min": 0.1}, {"w_max": 0.9}) if triplets else ({}, {})
    low = 0.1 if triplets else 0.0
    expected, trains = history_of(
        lambda w, r2, o1: w - o1 * (0.02 + 0.01 * r2) if triplets else w + 0.02 * (o1 - 0.8),
        lambda w, r1, o2: w + r1 * (0.02 + 0.01 * o2) if triplets else w + 0.02 * r1,
        0.9 * W, low, 0.9,
    )  # fmt: skip

    def step(state, spikes):
        w, r1, r2, o1, o2 = state
        pre, post = spikes
        at_pre = {"r2_pre": r2, "o1_post": o1} if triplets else {"x_post": o1}
        at_post = {"r1_pre": r1, "o2_post": o2} if triplets else {"x_pre": r1}
        w = plasticity.on_pre(
            RULES[f"{name}_pre"], w, spikes_pre=pre, backend=backend, **at_pre, **of_pre, **bounds[0]
        )
        w = plasticity.on_post(
            RULES[f"{name}_post"], w, spikes_post=post, backend=backend, **at_post, **of_post, **bounds[1]
        )
        factors = (0.9, pre), (0.95, pre), (0.85, post), (0.97, post)
        traces = [f * x + s.astype(x.dtype) for x, (f, s) in zip(state[1:], factors, strict=True)]
        return (w, *traces), None

    start = jnp.asarray(0.9 * W), *(jnp.zeros(n) for n in (ROWS, ROWS, COLUMNS, COLUMNS))
    (w, *_), _ = jax.lax.scan(step, start, tuple(map(jnp.asarray, trains)))
    np.testing.assert_allclose(w, expected, rtol=2e-5, atol=2e-6)
    assert (expected == 0.9).any() and (expected < 0.8).any()


@pytest.mark.slow
def test_short_term_plasticity_is_a_recursion():
    names = {"U": 0.5, "tau_rec": 800.0, "tau_fac": 100.0}
    state = np.zeros(SHAPE, "f"), np.zeros(SHAPE, "f"), np.ones(SHAPE, "f"), np.zeros(SHAPE, "f")
    u, x, last = 0.0, 1.0, 0.0
    for t in (0.0, 20.0, 90.0):
        state = dense("pre", RULES["release"], state, w=W, t=t, **names)
        u, x = u * np.exp((last - t) / 100), 1 + (x - 1) * np.exp((last - t) / 800)
        u = u + 0.5 * (1 - u)
        np.testing.assert_allclose(state[0], np.where(PRE[:, None], W * u * x, 0), rtol=1e-5)
        x, last = x - u * x, t


@pytest.mark.slow
def test_the_voltage_rule_is_the_differential_equation():
    # Clopath et al. (2010): depression at presynaptic spikes, potentiation while u is above theta_plus.
    rng, steps, dt = np.random.default_rng(0), 60, 0.5
    w, found = W.astype(float) * 0.5, W * 0.5
    u_minus, u_plus, x = np.full(COLUMNS, -65.0), np.full(COLUMNS, -65.0), np.zeros(ROWS)
    thetas = {"theta_minus": -70.6, "theta_plus": -45.3}
    for _ in range(steps):
        u, pre = rng.uniform(-75, -20, COLUMNS), rng.random(ROWS) < 0.1
        A_LTD = 1e-3 * (u_minus / -65) ** 2
        for i in range(ROWS):
            for j in range(COLUMNS):
                down = A_LTD[j] * pre[i] * max(u_minus[j] + 70.6, 0)
                w[i, j] = max(w[i, j] - down, 0)
                up = 1e-4 * x[i] * max(u[j] + 45.3, 0) * max(u_plus[j] + 70.6, 0)
                w[i, j] = min(w[i, j] + dt * up, 1)
        traces = {"u_minus_post": u_minus.astype("f"), "A_LTD_post": A_LTD.astype("f")}
        found = plasticity.on_pre(
            RULES["voltage_pre"], found, spikes_pre=pre, w_min=0.0,
            theta_minus=-70.6, **traces,
        )  # fmt: skip
        found = plasticity.on_post(
            RULES["voltage_post"], found, spikes_post=u > -45.3, x_pre=x.astype("f"), u_post=u.astype("f"),
            u_plus_post=u_plus.astype("f"), A_LTP=1e-4, dt=dt, w_max=1.0, **thetas,
        )  # fmt: skip
        x += dt * (pre / dt - x) / 15
        u_minus, u_plus = u_minus + dt * (u - u_minus) / 10, u_plus + dt * (u - u_plus) / 7
    assert w.std() > 0.05 and w.max() < 1
    np.testing.assert_allclose(found, w, atol=1e-4)


@pytest.mark.slow
def test_eprop_at_events_is_eprop_at_every_step():
    # Bellec et al. (2020): e_bar is filtered at every step, and the weight moves by -eta * L * e_bar.
    rng, kappa = np.random.default_rng(1), np.exp(-1 / 20.0)
    w, e_bar = W.astype(float), np.zeros(SHAPE)
    state = W, np.zeros(SHAPE, "f"), np.zeros(SHAPE, "f")
    visited = 0
    for t in range(1, 40):
        psi = np.maximum(0, rng.uniform(-3, 1, COLUMNS)).astype("f")
        L = np.where(rng.random(COLUMNS) < 0.2, rng.standard_normal(COLUMNS), 0).astype("f")
        z = rng.random(ROWS, "f")
        e_bar = kappa * e_bar + psi * z[:, None]
        w = w - 0.05 * L * e_bar
        events = (psi > 0) | (L != 0)
        visited += events.sum()
        state = plasticity.on_post(
            RULES["eprop"], state, spikes_post=events, psi_post=psi, z_pre=z, L_post=L, t=float(t),
            tau_out=20.0, eta=0.05,
        )  # fmt: skip
    assert visited < 0.6 * 39 * COLUMNS
    np.testing.assert_allclose(state[0], w, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_values_of_spikes_are_a_variable():
    indices, indptr, w = INDICES.ravel(), np.arange(ROWS + 1) * PER_ROW, drawn(ROWS * PER_ROW)
    values = np.where(PRE, drawn(ROWS) - 0.5, 0).astype("f")
    found = plasticity.on_pre(
        lambda w, *, spike_pre, x_post: jnp.clip(w - 0.6 * spike_pre * x_post, 0.1, 0.9),
        w, indices, indptr, values, shape=SHAPE, x_post=Y,
    )  # fmt: skip
    expected = stdp_on_pre(w, indices, indptr, values, Y, shape=SHAPE, A_minus=0.6, w_min=0.1, w_max=0.9)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
