"""The example of e-prop learns to draw its curve, and its step is that of a pass over all synapses."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from example_programs import loaded

PATH = Path(__file__).parents[1] / "examples" / "eprop_pattern.py"


@pytest.fixture(scope="module")
def example():
    return loaded(PATH)


def gradients(example, weights, task, too_often):
    """Return the changes of a trial from whole histories, as the authors' program computes them."""
    kept, spikes = np.exp(-1 / example.TAU), np.asarray(task.spikes, float)
    w_in, w_rec, w_out = (np.asarray(w, float) for w in weights)
    v, z, y = np.zeros(example.NEURONS), np.zeros(example.NEURONS), 0.0
    x_in, x_rec, e_in, e_rec = (np.zeros(shape) for shape in [example.NEURONS] * 2 + [w_in.shape] * 2)
    learned_in, learned_rec = np.zeros_like(w_in), np.zeros_like(w_rec)
    for s, target in zip(spikes, np.asarray(task.target), strict=True):
        x_in, x_rec = kept * x_in + (1 - kept) * s, kept * x_rec + (1 - kept) * z
        v = kept * v + (1 - kept) * (s @ w_in + z @ w_rec) - example.V_TH * z
        z = (v > example.V_TH).astype(float)
        y = kept * y + (1 - kept) * w_out @ z
        psi = example.DAMPENING / example.V_TH * np.maximum(1 - abs(v / example.V_TH - 1), 0)
        e_in = kept * e_in + (1 - kept) * np.outer(x_in, psi)
        e_rec = kept * e_rec + (1 - kept) * np.outer(x_rec, psi)
        L = np.asarray(task.feedback) * (y - target) + example.C_REG * too_often / example.STEPS
        learned_in -= example.ETA * L * e_in
        learned_rec -= example.ETA * L * e_rec
    return learned_in, learned_rec * (1 - np.eye(example.NEURONS))


@pytest.mark.slow
def test_a_trial_changes_weights_as_whole_histories_say(example, monkeypatch):
    monkeypatch.setattr(example, "STEPS", 60)
    weights, task = example.drawn(1)
    task = example.Task(task.spikes[:60], jnp.linspace(0, 1, 60), task.feedback)
    rate = jnp.full(example.NEURONS, 0.03)
    (changed, _), _ = jax.jit(lambda carry: example.trial(task, carry, None))((weights, rate))
    for new, old, change in zip(changed, weights, gradients(example, weights, task, 0.02), strict=False):
        np.testing.assert_allclose(new - old, change, rtol=2e-2, atol=2e-7)
        assert np.abs(change).max() > 2e-5


@pytest.mark.slow
def test_the_curve_is_learned(example, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["eprop_pattern.py", "--trials", "300"])
    example.main()
    found = [float(line.split()[2]) for line in capsys.readouterr().out.splitlines()[1:]]
    assert found[0] > 0.9 and found[-1] < 0.35
