"""`plasticity.on_pre` and `on_post`: a rule of one synapse is what a loop over the synapses would do."""

import child_python
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from event_ops import csr_tocsc, plasticity, validate

backends = pytest.mark.parametrize("backend", ["numba_cpu", "reference"])

ROWS, COLUMNS, NSE = 7, 5, 20
SHAPE = ROWS, COLUMNS
RNG = np.random.default_rng(1)
OWNERS = np.sort(RNG.integers(0, ROWS, NSE))
INDICES = RNG.integers(0, COLUMNS, NSE).astype(np.int32)
INDPTR = np.searchsorted(OWNERS, np.arange(ROWS + 1)).astype(np.int32)
TRANSPOSE = csr_tocsc(INDICES, INDPTR, shape=SHAPE)
PRE, POST = np.array([1, 0, 1, 1, 0, 0, 1], bool), np.array([0, 1, 1, 0, 1], bool)
W, TRACE, LIMIT = RNG.random((3, NSE), "f")
X_PRE, X_POST = RNG.random(ROWS, "f"), RNG.random(COLUMNS, "f")
GATE_POST = np.array([1, 0, 1, 1, 0], bool)


def rule(w, trace, *, x_pre, x_post, gate_post, limit, tau, reward=0.5):
    """Use a variable of every kind: of synapses, both neurons, a flag, numbers, and a default."""
    trace = trace * jnp.exp(-1 / tau) + jnp.where(gate_post, x_pre, -x_post)
    return jnp.minimum(w + reward * trace, limit), trace


VARIABLES = {"x_pre": X_PRE, "x_post": X_POST, "gate_post": GATE_POST, "limit": LIMIT, "tau": 2.0}


def on_pre(function, synapses, spikes=PRE, **kwargs):
    return plasticity.on_pre(function, synapses, INDICES, INDPTR, spikes, **({"shape": SHAPE} | kwargs))


def on_post(function, synapses, spikes=POST, **kwargs):
    return plasticity.on_post(function, synapses, *TRANSPOSE, spikes, **({"shape": SHAPE} | kwargs))


def by_loop(active):
    w, trace = W.copy(), TRACE.copy()
    for k, (i, j) in enumerate(zip(OWNERS, INDICES, strict=True)):
        if active(i, j):
            trace[k] = trace[k] * np.exp(-1 / 2.0) + (X_PRE[i] if GATE_POST[j] else -X_POST[j])
            w[k] = min(w[k] + 0.5 * trace[k], LIMIT[k])
    return w, trace


@backends
def test_a_rule_is_a_loop_over_the_synapses_of_neurons_that_spiked(backend):
    for move, active in ((on_pre, lambda i, j: PRE[i]), (on_post, lambda i, j: POST[j])):
        found = jax.jit(lambda w, e, move=move: move(rule, (w, e), **VARIABLES, backend=backend))(W, TRACE)
        for values, expected in zip(found, by_loop(active), strict=True):
            np.testing.assert_allclose(values, expected, rtol=1e-6)


@pytest.mark.slow
def test_many_synapses_are_shared_between_threads():
    rows, columns, per_row = 2000, 300, 600
    indices = np.random.default_rng(0).integers(0, columns, rows * per_row, np.int32)
    indptr = np.arange(rows + 1, dtype=np.int32) * per_row
    w, x = np.random.default_rng(1).random(indices.size, "f"), np.arange(columns, dtype="f")
    spikes = np.arange(rows) % 3 == 0
    found = plasticity.on_pre(
        lambda w, *, x_post: w + x_post, w, indices, indptr, spikes, shape=(rows, columns), x_post=x
    )
    np.testing.assert_array_equal(found, np.where(np.repeat(spikes, per_row), w + x[indices], w))
    # Neither variables nor a state are needed.
    found = plasticity.on_pre(lambda w: 0.5 * w, w, indices, indptr, spikes, shape=(rows, columns))
    np.testing.assert_array_equal(found, np.where(np.repeat(spikes, per_row), w / 2, w))


@backends
def test_silent_synapses_stay_bit_for_bit(backend):
    payload = np.array([0xFFC12345], np.uint32).view("f")[0]
    w = np.resize(np.array([-0.0, payload, 7, np.inf, -5, 1e-42], "f"), NSE)
    for move, silent in ((on_pre, np.zeros(ROWS, bool)), (on_post, np.zeros(COLUMNS, bool))):
        found = move(lambda w: 0 * w + 1, w, silent, backend=backend)
        np.testing.assert_array_equal(np.asarray(found).view(np.uint32), w.view(np.uint32))


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "order"), [("numba_cpu", 1), ("reference", 2)])
def test_derivatives_are_those_of_the_rule(backend, order):
    with jax.enable_x64(True):
        wide = {name: np.asarray(x, float) for name, x in VARIABLES.items() if name != "gate_post"}

        def f(w, trace, variables):
            for move in (on_pre, on_post):
                w, trace = move(rule, (w, trace), **variables, gate_post=GATE_POST, backend=backend)
            return w, trace

        check_grads(f, (W.astype(float), TRACE.astype(float), wide), order=order, modes=("rev",), rtol=1e-4)
        check_grads(f, (W.astype(float), TRACE.astype(float), wide), order=1, modes=("fwd",), rtol=1e-5)


@pytest.mark.slow_cases("numba_cpu")
@backends
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_silent_hides_its_derivatives(backend, bad):
    x_post = jnp.where(np.isin(np.arange(COLUMNS), INDICES[PRE[OWNERS]]), X_POST, bad)
    w = jnp.where(PRE[OWNERS], W, 0.0)  # where 1 / w is infinite

    def f(w, x):
        return on_pre(lambda w, *, x_post: x_post / w, w, x_post=x, backend=backend)

    _, pull = jax.vjp(f, w, x_post)
    silent = jnp.where(PRE[OWNERS], 1.0, bad)
    for found, expected in zip(pull(silent), pull(jnp.ones(NSE)), strict=True):
        active = np.isfinite(found)
        np.testing.assert_array_equal(found[active], expected[active])
    assert np.isfinite(pull(silent)[1]).all()


@pytest.mark.slow_cases("numba_cpu")
@backends
def test_one_derivative_is_no_matter_of_another(backend):
    # The derivative in x is infinite at 0, and not asked for.
    found = jax.grad(
        lambda w: on_pre(lambda w, *, x: w + jnp.sqrt(x), w, x=jnp.zeros(()), backend=backend).sum()
    )(W)
    np.testing.assert_array_equal(found, np.ones(NSE))


def test_declared_derivatives_are_kept():
    @jax.custom_jvp
    def step(x):
        return jnp.where(x > 0, 1.0, 0.0).astype(x.dtype)

    step.defjvp(lambda xs, ts: (step(*xs), 3 * ts[0]))

    @jax.custom_jvp
    def other(x):
        return jnp.where(x > 0, 1.0, 0.0).astype(x.dtype)

    other.defjvp(lambda xs, ts: (other(*xs), 5 * ts[0]))

    def hard(x):
        return jnp.where(x > 0, 1.0, 0.0).astype(x.dtype)

    for function, slope in ((step, 3), (other, 5), (hard, 0)):
        grad = jax.grad(lambda w, f=function: on_pre(lambda w: f(w - 0.5), w, backend="numba_cpu").sum())
        np.testing.assert_array_equal(grad(W), np.where(PRE[OWNERS], slope, 1))


def test_stopped_gradients_are_another_rule():
    free, stopped = (lambda w: w * w), (lambda w: w * jax.lax.stop_gradient(w))
    for function, factor in ((free, 2), (stopped, 1)):
        grad = jax.grad(lambda w, f=function: on_pre(f, w).sum())(W)
        np.testing.assert_allclose(grad, np.where(PRE[OWNERS], factor * W, 1), rtol=1e-6)


@pytest.mark.slow
@backends
def test_batches_and_loops(backend):
    def f(w, tau, x):
        return on_pre(rule, (w, TRACE), **VARIABLES | {"tau": tau, "x_pre": x}, backend=backend)

    taus, xs = jnp.array([1.0, 2.0, 5.0]), jnp.stack([X_PRE, 2 * X_PRE, 3 * X_PRE])
    batch = jax.vmap(f, (None, 0, 0))(W, taus, xs)
    for i in range(3):
        for values, expected in zip(batch, f(W, taus[i], xs[i]), strict=True):
            np.testing.assert_allclose(values[i], expected, rtol=1e-6)

    def step(w, spikes):
        return on_pre(lambda w, *, k: w * k, w, spikes, k=0.5, backend=backend), None

    found, _ = jax.lax.scan(step, W, np.stack([PRE, ~PRE, PRE]))
    np.testing.assert_allclose(found, W * np.where(PRE[OWNERS], 0.25, 0.5), rtol=1e-6)


def test_a_loop_over_time_steps_copies_no_synapses():
    def step(_, state):
        state = on_pre(rule, state, **VARIABLES, backend="numba_cpu")
        return on_post(rule, state, **VARIABLES, backend="numba_cpu")

    loop = jax.jit(lambda w, trace: jax.lax.fori_loop(0, 9, step, (w, trace)))
    computations = loop.lower(W, TRACE).compile().as_text().split("\n}\n")
    (body,) = [text for text in computations if text.count(" custom-call(") == 2]
    assert " copy(" not in body


def scaled(factor):
    def same_name(w):
        return w * factor

    return same_name


@pytest.mark.slow
def test_rules_of_one_name_never_share_code():
    # Their closures, their code, and a number that changes under one function differ.
    for factor in (0.5, 0.25, np.float32(2), jnp.float32(3)):
        found = on_pre(scaled(factor), W, backend="numba_cpu")
        np.testing.assert_allclose(found, np.where(PRE[OWNERS], W * factor, W), rtol=1e-6)
    settings = {"factor": 2.0}

    def changing(w):
        return w * settings["factor"]

    for factor in (2.0, 4.0):
        settings["factor"] = factor
        found = on_pre(changing, W, backend="numba_cpu")
        np.testing.assert_allclose(found, np.where(PRE[OWNERS], W * factor, W), rtol=1e-6)


PROGRAM = """
import numpy as np
from event_ops import plasticity
from ffi_bridge.numba_cpu import compile as compiler
compile_kernel, compiled = compiler._compile, []
compiler._compile = lambda *arguments: compiled.append(1) or compile_kernel(*arguments)
structure, ones = (np.array([0, 1]), np.array([0, 2]), np.array([True])), np.ones(2, "f")

def first(w, *, x_post):
    return w + FACTOR * x_post

def second(weight, *, rate_post):
    return weight + FACTOR * rate_post

x = plasticity.on_pre(first, ones, *structure, shape=(1, 2), x_post=ones)
y = plasticity.on_pre(second, ones, *structure, shape=(1, 2), rate_post=ones)
print(x[0], y[0], len(compiled))
"""


@pytest.mark.slow
@pytest.mark.promise(6)
def test_a_rule_is_compiled_once_for_all_processes_and_whatever_its_names_are(tmp_path, monkeypatch):
    monkeypatch.setenv("FFI_BRIDGE_CACHE_DIR", str(tmp_path))
    for factor, printed in (("2.0", "3.0 3.0 1"), ("2.0", "3.0 3.0 0"), ("3.0", "4.0 4.0 1")):
        assert child_python.output("-c", PROGRAM.replace("FACTOR", factor), new=True).strip() == printed


@pytest.mark.parametrize("size", [8, pytest.param(1_100_000, marks=pytest.mark.slow)])
def test_a_broken_structure_stays_inside_the_arrays(size):
    # The result is not defined; memory outside the arrays is neither read nor written.
    lowest, highest = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    indptr = np.array([lowest, highest, -5, 3, highest], np.int32)
    anywhere = np.resize(np.array([2, highest, -1, lowest, 4], np.int32), size)
    w, x, spikes = np.full(size, 0.5, "f"), np.ones(4, "f"), np.ones(4, bool)
    names = {"shape": (4, 4), "x_pre": x, "x_post": x, "backend": "numba_cpu"}

    def bounded(w, *, x_pre, x_post):
        return jnp.clip(w + x_pre - 2 * x_post, 0, 1)

    y = plasticity.on_pre(bounded, w, anywhere, indptr, spikes, **names)
    z = plasticity.on_post(bounded, w, anywhere, indptr, anywhere[::-1], spikes, **names)
    for result in (y, z):
        assert ((result >= 0) & (result <= 1)).all()


def test_the_validate_mode_looks_at_the_structure():
    with validate(), pytest.raises(ValueError, match=r"on_pre: indices\[3\] is 9"):
        plasticity.on_pre(lambda w: w, W, np.where(np.arange(NSE) == 3, 9, INDICES), INDPTR, PRE, shape=SHAPE)
    rows, indptr, permutation = TRANSPOSE
    with validate(), pytest.raises(ValueError, match="on_post: permutation"):
        plasticity.on_post(lambda w: w, W, rows, indptr, permutation.at[0].set(99), POST, shape=SHAPE)
