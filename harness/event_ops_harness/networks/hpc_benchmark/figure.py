"""Spikes over time, and the weights that were learned."""

from pathlib import Path

import numpy as np

from event_ops_harness.networks.balanced.analysis import binned_rate
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.shared.display import EXCITATORY_COLOUR, INHIBITORY_COLOUR, saved_figure
from event_ops_harness.networks.shared.simulation import Recording

BIN_MS = 2.0
WEIGHT_BINS = 80
SHOWN_NEURONS = 400


def save_figure(path: Path, recording: Recording, weights: np.ndarray, model: HpcBenchmark) -> None:
    """Draw a raster, the rate of each population, and the weights, into a PNG or what its suffix says."""
    ms, stride = recording.times * model.dt, -(-model.neurons // SHOWN_NEURONS)
    with saved_figure(path, size=(12, 4), font_size=11) as figure:
        raster, rates, learned = figure.subplots(1, 3)
        for label, colour, (first, last) in (
            ("excitatory", EXCITATORY_COLOUR, (0, model.excitatory)),
            ("inhibitory", INHIBITORY_COLOUR, (model.excitatory, model.neurons)),
        ):
            mine = (recording.ids >= first) & (recording.ids < last)
            shown = mine & (recording.ids % stride == 0)
            raster.plot(ms[shown], recording.ids[shown], ".", ms=3, mew=0, color=colour)
            counts = np.bincount(recording.times[mine], minlength=recording.steps)
            rate = binned_rate(counts, round(BIN_MS / model.dt), last - first, model.dt)
            edges = np.arange(rate.size + 1) * BIN_MS
            rates.stairs(rate, edges, baseline=None, color=colour, label=label)
        raster.set(
            xlabel="Time (ms)", ylabel=f"Neuron ({-(-model.neurons // stride):,} of {model.neurons:,})"
        )
        rates.set(xlabel="Time (ms)", ylabel="Rate (Hz)", ylim=(0, None))
        rates.legend()
        learned.hist(weights, WEIGHT_BINS, color=EXCITATORY_COLOUR)
        learned.axvline(model.weight, color="0.4", linestyle="--", linewidth=1)
        learned.set(xlabel="Weight (pA); dashed: the first one", ylabel="Synapses", yscale="log")
