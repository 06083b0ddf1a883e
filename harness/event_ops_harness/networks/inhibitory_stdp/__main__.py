"""The network with inhibitory plasticity as a program: its options, its table and its figure."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from event_ops_harness.networks.inhibitory_stdp.network import (
    OPERATORS,
    InhibitoryStdpParameters,
    learned,
    simulation_of,
)
from event_ops_harness.networks.shared import figures
from event_ops_harness.networks.shared.cli import OneLineParser, positive, positive_int
from event_ops_harness.networks.shared.display import explanations, with_backends
from event_ops_harness.networks.shared.program import Program, Report
from event_ops_harness.networks.shared.simulation import Recording, Simulation
from event_ops_harness.networks.shared.statistics import learning_statistics

MODEL = InhibitoryStdpParameters()
COUNTED = 0.5  # the last part of the model time
SHOWN_MS = 200.0  # of each raster
BIN_MS = 100.0  # of rates


def add_options(parser: OneLineParser) -> None:
    add = parser.add_argument
    add("--neurons", type=positive_int, default=10_000, metavar="N", help="their number; default: 10000")
    rate = f"nS per spike; default: {MODEL.learning_rate:g}, that of the paper's program"
    add("--learning-rate", type=positive, default=MODEL.learning_rate, metavar="X", help=rate)


def prepare(options: argparse.Namespace) -> tuple[Simulation, Report]:
    """Build the network that the options ask for."""
    ran_on = explanations(OPERATORS, options.backend)
    model = replace(MODEL, learning_rate=options.learning_rate)
    simulation = simulation_of(options.neurons, model, options.seed, options.seconds, options.backend)

    def report(state: Any, recording: Recording) -> tuple[Sequence[Table], Any]:
        weights = learned(state)
        synapses = sum(part.A.nse for part in simulation.wiring.projections)
        rows = {
            "neurons": f"{options.neurons:,}",
            "synapses": f"{synapses:,}, of which {weights.size:,} learn",
            "model time": f"{options.seconds:g} s; learning begins at {model.onset * 1e-3:g} s",
            **statistics_of(recording, weights, options.seconds, model),
            "time per step": f"{recording.us_per_step:.2f} µs (recording included)",
        }
        table = with_backends("Network with inhibitory plasticity", rows, ran_on)
        return [table], partial(save_figure, recording, weights, model)

    return simulation, report


def statistics_of(
    recording: Recording, weights: np.ndarray, seconds: float, model: InhibitoryStdpParameters
) -> dict[str, str]:
    """Return rates, regularity and weights, by the names of their rows."""
    begin = (1 - COUNTED) * seconds
    counted = {"populations": model.populations(recording.recorder.neurons), "between": (begin, seconds)}
    statistics = learning_statistics(recording.times, recording.ids, weights, **counted, dt=model.dt)
    since = f"since {begin:g} s"
    return {
        "rate, excitatory": f"{statistics['rate_ex']:.2f} Hz {since}; target: {model.rate_target:g} Hz",
        "rate, inhibitory": f"{statistics['rate_in']:.2f} Hz {since}",
        "CV of intervals": f"{statistics['cv']:.2f}, excitatory, {since}",
        "weights": f"{statistics['w_mean']:.2f} nS on average; median {statistics['w_50%']:.2f} nS",
    }


def save_figure(
    recording: Recording, weights: np.ndarray, model: InhibitoryStdpParameters, path: Path
) -> None:
    """Draw four panels into a PNG, or whatever Matplotlib writes for this suffix."""
    neurons, shown = recording.recorder.neurons, round(SHOWN_MS / model.dt)
    excitatory = np.arange(neurons) < model.excitatory_count(neurons)
    with figures.saved_figure(path, size=(12, 7), font_size=12) as figure:
        (before, after), (rates, learning) = figure.subplots(2, 2)
        ends = min(round(model.onset / model.dt), recording.steps), recording.steps
        for axes, title, end in zip((before, after), ("before learning", "at the end"), ends, strict=True):
            figures.draw_raster(axes, recording, excitatory, model.dt, range(max(0, end - shown), end))
            axes.set_title(title, fontsize="medium")
            axes.locator_params(axis="x", nbins=5)
            axes.set_xlabel("Time (ms)")
        after.set_ylabel("")
        figures.draw_rates(rates, recording, excitatory, model.dt, BIN_MS)
        figures.draw_level(rates, model.rate_target, f"target\n{model.rate_target:g} Hz")
        rates.axvline(model.onset, color="0.4", linestyle=":", linewidth=1.0)
        rates.set(xlabel="Time (ms)", yscale="log", xlim=(0, recording.steps * model.dt))
        weight = "Inhibitory weight onto excitatory neurons (nS)"
        figures.draw_weights(learning, weights, "inhibitory", weight)
        learning.set_title("at the end", fontsize="medium")
        figures.name_panels(before, after, rates, learning)


TEXT = "Simulate a network that inhibitory plasticity balances, print a table, draw a figure."
main = Program("inhibitory_stdp", TEXT, 10.0, add_options, prepare).main

if __name__ == "__main__":
    sys.exit(main())
