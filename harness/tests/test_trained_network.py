"""The network that learns words: its run and the scans beside it have one loss and gradient."""

import jax
import numpy as np

from event_ops_harness.networks.trained.data import CHANNELS, CLASSES, STEPS, words
from event_ops_harness.networks.trained.network import LOSSES
from event_ops_harness.networks.trained.parameters import first_weights


def test_words_are_spikes_of_their_class_and_differ():
    (spikes, labels), (again, _) = words(4, 1), words(4, 2)
    assert spikes.shape == (4, STEPS, CHANNELS) and set(np.unique(spikes)) == {0, 1}
    assert labels.min() >= 0 and labels.max() < CLASSES
    assert 0.005 < spikes.mean() < 0.05 and (spikes != again).any()


def test_all_ways_have_the_same_loss_and_gradient():
    spikes, labels = words(2, 1)
    found = [
        jax.value_and_grad(loss)(first_weights(16, 0), spikes[:, :40], labels) for loss in LOSSES.values()
    ]
    for value, slope in found:
        np.testing.assert_allclose(value, found[0][0], rtol=1e-4)
        for name, x in slope.items():
            assert np.abs(x).max() > 0
            np.testing.assert_allclose(x, found[0][1][name], rtol=0.01, atol=1e-3 * float(np.abs(x).max()))
