"""The environment of the page "Keep state from call to call" is the published one, however it is run."""

import functools
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

PAGE = Path(__file__).parents[1] / "how-to" / "keep-state.md"
STEPS = 200


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """Run the cells of the page but the last, which only takes times; return what they define."""
    pytest.importorskip("numba", reason="Numba is not installed")
    *cells, _ = re.findall(r"^```\{code-cell\}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    namespace: dict[str, Any] = {"__name__": "keep_state"}
    exec("\n".join(cells), namespace)
    return namespace


@pytest.fixture(scope="module")
def states() -> jax.Array:
    """States with a moving cart and pole, some of them about to fail or at the last step."""
    spread = jnp.array([2.41, 2.0, 0.21, 2.0])
    moving = jax.random.uniform(jax.random.key(1), (500, 4), minval=-1, maxval=1) * spread[None]
    return jnp.column_stack([moving, jnp.where(jnp.arange(500) % 5 == 0, 499.0, 7.0)])


def in_jax(state: jax.Array, action: jax.Array) -> tuple[jax.Array, ...]:
    """The equations as published: the angle's acceleration first, then the cart's, which depends on it."""
    x, v, angle, spin, steps = state
    force, total, moment = jnp.where(action == 1, 10.0, -10.0), 1.1, 0.1 * 0.5
    inner = (-force - moment * spin**2 * jnp.sin(angle)) / total
    tangential = 9.8 * jnp.sin(angle) + jnp.cos(angle) * inner
    turn = tangential / (0.5 * (4 / 3 - 0.1 * jnp.cos(angle) ** 2 / total))
    thrust = (force + moment * (spin**2 * jnp.sin(angle) - turn * jnp.cos(angle))) / total
    moved = jnp.stack([x + 0.02 * v, v + 0.02 * thrust, angle + 0.02 * spin, spin + 0.02 * turn])
    fails = (abs(moved[0]) > 2.4) | (abs(moved[2]) > 12 * jnp.pi / 180)
    return jnp.append(moved, steps + 1), moved, jnp.ones(()), fails | (steps + 1 >= 500)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["step", "cart_pole_in_jax"])
def test_a_step_is_that_of_the_equations(page, states, step):
    for action in (0, 1):
        stepped = jax.vmap(page[step], (0, None))(states, action)
        expected = jax.vmap(in_jax, (0, None))(states, action)
        for ours, theirs in zip(stepped, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=2e-6)
        assert set(stepped[3].tolist()) == {True, False}


@pytest.mark.slow
def test_a_step_is_that_of_gymnasium(page, states):
    gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    environment = gymnasium.make("CartPole-v1").unwrapped
    environment.reset(seed=0)
    for i, state in enumerate(np.asarray(states)):
        if abs(state[0]) > 2.4 or abs(state[2]) > 12 * np.pi / 180 or state[4] == 499:
            continue  # which is over there: the limit of steps is a wrapper's
        environment.state, environment.steps_beyond_terminated = tuple(map(float, state[:4])), None
        expected, reward, over, _, _ = environment.step(i % 2)
        _, observed, ours, done = page["step"](state, i % 2)
        np.testing.assert_allclose(observed, expected, rtol=2e-6, atol=2e-6)
        assert (ours, done) == (reward, over)


@pytest.mark.slow
def test_a_batch_in_a_scan_is_each_environment_alone_step_by_step(page):
    keys = jax.random.split(jax.random.key(2), 3)
    agent = page["random_agent"]
    batch = jax.jit(jax.vmap(functools.partial(page["run"], page["step"], agent, STEPS)))(keys)
    assert batch[2].any(axis=1).all()
    for i, key in enumerate(keys):
        begin, *others = jax.random.split(key, STEPS + 1)
        state = page["reset"](begin)
        observed = state[:4]
        for t, each in enumerate(others):
            acting, beginning = jax.random.split(each)
            state, observed, reward, done = page["step"](state, agent(acting, observed))
            for array, expected in zip(batch, (observed, reward, done), strict=True):
                np.testing.assert_array_equal(array[i, t], expected)
            if done:
                state = page["reset"](beginning)


def test_the_whole_run_is_that_of_a_step_in_jax(page):
    # The states differ by rounding, which the pole magnifies until an episode ends.
    agent, keys = page["careful_agent"], jax.random.split(jax.random.key(3), 4)
    runs = [
        jax.jit(jax.vmap(functools.partial(page["run"], step, agent, 40)))(keys)
        for step in (page["step"], in_jax)
    ]
    for ours, theirs in zip(*runs, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
