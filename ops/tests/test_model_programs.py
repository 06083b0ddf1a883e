"""Models with branches, loops, tables, integers and observed values compute in kernels what JAX does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from event_ops import neuron_step, plasticity
from event_ops.surrogate import fast_sigmoid

X = [
    -3,
    -2,
    -1.5,
    -1,
    -0.5,
    -0.3,
    -0.0,
    0,
    0.3,
    0.5,
    0.75,
    1,
    1.5,
    2.5,
    3,
    3.5,
    100,
    -2.6,
    2.6,
    np.inf,
    -np.inf,
    np.nan,
]
PLACES, VALUES = np.array([-2.0, -1, 0, 0, 0.5, 3]), np.array([0.0, 1, 4, 5, -2, 7])
lax = jax.lax


def table(x):
    return jnp.asarray(PLACES, x.dtype), jnp.asarray(VALUES, x.dtype)


def case(x):
    return (x > 0).astype(jnp.int32) + (x > 1).astype(jnp.int32)


def halved(i, x):
    return x * 0.5 + i


PROGRAMS = {
    "round": lambda x: jnp.round(x),
    "round half away": lambda x: lax.round(x),
    "trunc": lambda x: jnp.trunc(x),
    "//": lambda x: x // 1.3 + x // -0.7,
    "%": lambda x: x % 1.3 + x % -0.7,
    "copysign": lambda x: jnp.copysign(2.0, x),
    "signbit": lambda x: jnp.where(jnp.signbit(x), 1.0, x),
    "heaviside": lambda x: jnp.heaviside(x, 0.5),
    "select": lambda x: jnp.select([x > 1, x > 0], [x, 2 * x], -x),
    "piecewise": lambda x: jnp.piecewise(x, [x > 1, x < 0], [lambda x: x, lambda x: 2 * x, 7.0]),
    "cond": lambda x: lax.cond(x > 0, lambda x: jnp.exp(-x), lambda x: -3 * x, x),
    "switch": lambda x: lax.switch(case(x), [lambda x: x, lambda x: -x, jnp.tanh], x),
    "fori_loop": lambda x: lax.fori_loop(0, 5, halved, x),
    "downwards": lambda x: lax.scan(lambda c, y: (c * 0.5 + y, None), x, table(x)[0], reverse=True)[0],
    "interp": lambda x: jnp.interp(x, *table(x)),
    "interp with ends": lambda x: jnp.interp(x, *table(x), left=-9.0, right=9.0),
    "an element": lambda x: table(x)[1][case(x) + 1] * x,
    "polyval": lambda x: jnp.polyval(table(x)[0], x),
    "max of several": lambda x: jnp.stack([x, -x, x * 0 + 0.1]).max(),
    "argmax": lambda x: jnp.argmax(jnp.stack([x, -x, x * 0 + 0.1])).astype(x.dtype),
    "integers": lambda x: ((case(x) * 7 - 4) // 3 + (case(x) * 7 - 4) % -3 + case(x) * case(x)).astype(
        x.dtype
    ),
}


@pytest.mark.parametrize("backend", ["numba_cpu", "numba_cuda", "warp"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kernels_compute_what_jax_does(backend, dtype, request):
    if backend == "numba_cuda":
        request.getfixturevalue("on_gpu")
    if backend == "warp":
        pytest.importorskip("warp", reason="warp-lang is not installed")
    with jax.enable_x64(dtype == "float64"):
        x, size = np.tile(np.array(X, dtype), len(PROGRAMS)), len(X)
        which = np.repeat(np.arange(len(PROGRAMS)), size).astype(dtype)

        def integrate(x, *, which):
            found = jnp.zeros_like(x)
            for k, f in enumerate(PROGRAMS.values()):
                found = jnp.where(which == k, f(x), found)
            return found

        step = neuron_step(integrate, threshold=lambda x: x)
        found = np.asarray(step(x, which=which, backend=backend)[0]).reshape(-1, size)
        tolerance = {"float32": 1e-6, "float64": 1e-14}[dtype]
        for name, f, y in zip(PROGRAMS, PROGRAMS.values(), found, strict=True):
            expected = jax.vmap(f)(jnp.asarray(X, dtype))
            np.testing.assert_allclose(y, expected, rtol=tolerance, atol=1e-37, err_msg=name)
            zero = np.asarray(expected) == 0
            np.testing.assert_array_equal(np.signbit(y[zero]), np.signbit(expected)[zero], err_msg=name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_are_those_of_the_function(name):
    f, x = PROGRAMS[name], jnp.asarray([-2.6, -0.4, 0.2, 0.7, 1.7])
    step = neuron_step(lambda x: f(x), threshold=lambda x: x)
    slopes = jax.vmap(jax.grad(f))(x)
    _, pushed = jax.jvp(lambda x: step(x)[0], (x,), (jnp.ones_like(x),))
    np.testing.assert_allclose(pushed, slopes, rtol=1e-6)
    np.testing.assert_allclose(jax.grad(lambda x: step(x)[0].sum())(x), slopes, rtol=1e-6)


def test_a_rule_takes_the_same_programs():
    def rule(w, *, x):
        return (
            jnp.interp(w, *table(w))
            + lax.fori_loop(0, 3, halved, x)
            + lax.cond(w > x, lambda: w // 2, lambda: x)
        )

    w, x = jnp.asarray([X[:6], X[6:12]], "f"), 0.25
    found, expected = (
        plasticity.on_pre(rule, w, spikes_pre=jnp.ones(2, bool), x=x, backend=b)
        for b in ("numba_cpu", "reference")
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def counting(V, count, *, I_syn, dt):
    """A neuron that counts its steps, and whose every fourth step is a large one."""
    large = count % 4 == 3
    return V + dt * (I_syn - V) * jnp.where(large, 3.0, 1.0), count + 1


COUNTING = neuron_step(counting, threshold=lambda V, count: V - 1, reset=lambda V, count: (0.0, count - 10))


@pytest.mark.parametrize("backend", ["numba_cpu", "numba_cuda", "warp", "reference"])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
def test_integer_states_count(backend, dtype, request):
    if backend == "numba_cuda":
        request.getfixturevalue("on_gpu")
    if backend == "warp":
        pytest.importorskip("warp", reason="warp-lang is not installed")
    with jax.enable_x64(True):
        V, count = jnp.asarray([0.5, 0.9, 0.95]), jnp.asarray([3, 7, 2**31 - 1]).astype(dtype)
        after, counted, spikes = COUNTING(V, count, I_syn=2.0, dt=0.1, backend=backend)
        assert counted.dtype == dtype and spikes.tolist() == [False, True, True]
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(counted, (np.asarray(count) + np.array([1, -9, -9]).astype(dtype)))
        np.testing.assert_allclose(after, [0.95, 0, 0])


def test_derivatives_pass_by_integer_states():
    def loss(V, count, I_syn):
        V, count, spikes = COUNTING(V, count, I_syn=I_syn, dt=0.1, surrogate=fast_sigmoid(1.0))
        V, count, _ = COUNTING(V, count, I_syn=I_syn, dt=0.1)
        return V.sum() + spikes.sum()

    slopes = jax.grad(loss, (0, 2))(jnp.asarray([0.3, 0.4]), jnp.asarray([0, 2]), 0.5)
    assert all(np.isfinite(x).all() and (x != 0).all() for x in slopes)
    state = (jnp.zeros(2), jnp.zeros(2, jnp.int32))
    (_, count), _ = lax.scan(lambda s, _: (COUNTING(*s, I_syn=0.5, dt=0.1)[:2], None), state, length=9)
    np.testing.assert_array_equal(count, [9, 9])


def seen(V, w, *, I_syn, dt):
    I_w = 2 * w
    return V + dt * (I_syn - V - I_w), w + dt * V, {"I_w": I_w, "phase": jnp.tanh(V)}


SEEN = {"threshold": lambda V, w: V - 1, "reset": lambda V, w: (0.0, w + 1), "observed": ("phase", "I_w")}


@pytest.mark.parametrize("backend", ["numba_cpu", "numba_cuda", "warp", "reference"])
def test_what_is_observed_comes_behind_all_else(backend, request):
    if backend == "numba_cuda":
        request.getfixturevalue("on_gpu")
    if backend == "warp":
        pytest.importorskip("warp", reason="warp-lang is not installed")
    V, w = jnp.asarray([[0.5, 0.99]]), jnp.asarray([[0.1, 0.2]])
    step = neuron_step(seen, **SEEN)
    V_after, w_after, spikes, observed = step(V, w, I_syn=3.0, dt=0.1, backend=backend)
    assert list(observed) == ["phase", "I_w"] and spikes.tolist() == [[False, True]]
    np.testing.assert_allclose(observed["I_w"], 2 * w, rtol=1e-6)
    np.testing.assert_allclose(observed["phase"], jnp.tanh(V), rtol=1e-6)
    np.testing.assert_allclose(V_after, [[0.73, 0]], rtol=1e-6)
    np.testing.assert_allclose(w_after, [[0.15, 1.299]], rtol=1e-6)
    *_, spike_ids, count, observed = step(V[0], w[0], I_syn=3.0, dt=0.1, capacity=2, backend=backend)
    assert int(count) == 1 and int(spike_ids[0]) == 1 and observed["I_w"].shape == (2,)


def test_held_neurons_are_observed_as_they_are_and_have_derivatives():
    step = neuron_step(seen, **SEEN, held=("V",))
    left = jnp.asarray([0.0, 5.0])

    def observe(V, w, I_syn):
        return step(V, w, left, I_syn=I_syn, dt=0.1, t_ref=1.0)[-1]

    given = jnp.asarray([0.5, 0.99]), jnp.asarray([0.1, 0.2]), 3.0
    np.testing.assert_allclose(observe(*given)["I_w"], 2 * given[1], rtol=1e-6)
    pulled = jax.vjp(observe, *given)[1]({"I_w": jnp.ones(2), "phase": jnp.zeros(2)})
    np.testing.assert_allclose(pulled[1], [2, 2])
    found = jax.vmap(lambda w: observe(given[0], w, 3.0)["I_w"])(jnp.ones((3, 2)))
    np.testing.assert_allclose(found, 2 * np.ones((3, 2)))


WRONG = {
    "undeclared": ({"observed": ()}, ValueError, r"returns I_w, phase in a dictionary .* observed is \(\)"),
    "another": ({"observed": ("I_w", "I_K")}, ValueError, "expected the same names in both"),
    "text": ({"observed": "I_w"}, ValueError, "observed is 'I_w'; expected a tuple of names"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_observed_is_declared(name):
    changes, error, match = WRONG[name]
    with pytest.raises(error, match=match):
        neuron_step(seen, **(SEEN | changes))(jnp.ones(2), jnp.ones(2), I_syn=1.0, dt=0.1)


def test_a_counter_takes_no_floats():
    for returned in (lambda V, count: (V, V), lambda V, count: (V, 0.5)):
        step = neuron_step(returned, threshold=lambda V, count: V)
        with pytest.raises(TypeError, match=r"returns float32; expected int32, .* count in integers"):
            step(jnp.ones(2), jnp.ones(2, jnp.int32))
