"""Words as spikes of 700 channels: made here, in the shape of the Spiking Heidelberg Digits."""

from typing import Final

import numpy as np

CHANNELS: Final = 700
CLASSES: Final = 20
STEPS: Final = 250
_FORMANTS: Final = 5
_WIDTHS: Final = 25.0, 18.0  # of a formant, in channels and steps
_JITTER: Final = 12.0, 10.0  # of a speaker


def words(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return spikes, float32 (count, STEPS, CHANNELS) of 0 and 1, and the class of each word, (count,).

    A word is some formants, each of which rises or falls through the channels; every time that it is spoken
    it is shifted and stretched, and its spikes are drawn anew.
    """
    classes, rng = np.random.default_rng(700), np.random.default_rng(seed)
    channels = classes.uniform(60, CHANNELS - 60, (CLASSES, _FORMANTS))
    times = classes.uniform(30, STEPS - 60, (CLASSES, _FORMANTS))
    slopes = classes.uniform(-2, 2, (CLASSES, _FORMANTS))
    labels = rng.integers(0, CLASSES, count).astype(np.int32)
    channel, step = np.arange(CHANNELS)[:, None], np.arange(STEPS)[None]
    spikes = np.empty((count, STEPS, CHANNELS), np.float32)
    for word, label in zip(spikes, labels, strict=True):
        shift, delay = rng.normal(0, _JITTER)
        pace, rate = rng.uniform(0.9, 1.1), np.full((CHANNELS, STEPS), 0.004)
        for c, t, slope in zip(
            channels[label] + shift, times[label] * pace + delay, slopes[label], strict=True
        ):
            along = (step - t) / _WIDTHS[1]
            across = (channel - c - slope * (step - t)) / _WIDTHS[0]
            rate += 0.35 * np.exp(-(along**2) - across**2)
        word[:] = (rng.random(rate.shape) < rate).T
    return spikes, labels
