"""The network with STDP as a program: its option, its table and its figure."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.hpc_benchmark.network import OPERATORS, learned, simulation_of
from event_ops_harness.networks.shared import figures
from event_ops_harness.networks.shared.cli import OneLineParser, positive
from event_ops_harness.networks.shared.display import explanations, with_backends
from event_ops_harness.networks.shared.program import Program, Report
from event_ops_harness.networks.shared.simulation import Recording, Simulation
from event_ops_harness.networks.shared.statistics import mean_rate

BIN_MS = 2.0
SHOWN_NEURONS = 400


def add_options(parser: OneLineParser) -> None:
    size = "of neurons, and of synapses onto each; 1: 11,250 neurons, 2 GB; default: 0.3"
    parser.add_argument("--scale", type=positive, default=0.3, metavar="X", help=size)


def prepare(options: argparse.Namespace) -> tuple[Simulation, Report]:
    """Build the network that the options ask for."""
    ran_on, model = explanations(OPERATORS, options.backend), HpcBenchmark(scale=options.scale)
    simulation = simulation_of(model, options.seed, options.seconds, options.backend)

    def report(state: Any, recording: Recording) -> tuple[Sequence[Table], Any]:
        weights = learned(simulation.wiring, state, model)
        table = with_backends(
            "Network with STDP", rows_of(recording, weights, options.seconds, model), ran_on
        )
        return [table], partial(save_figure, recording, weights, model)

    return simulation, report


def rows_of(recording: Recording, weights: np.ndarray, seconds: float, model: HpcBenchmark) -> dict[str, str]:
    """Return the name and value of each row of the table."""
    excitatory = int(np.count_nonzero(recording.ids < model.excitatory))
    counts = excitatory, recording.ids.size - excitatory
    rates = map(mean_rate, counts, (model.excitatory, model.inhibitory), (seconds, seconds))
    return {
        "neurons": f"{model.neurons:,}",
        "synapses": f"{model.neurons**2:,}, of which {weights.size:,} learn",
        "model time": f"{seconds:g} s",
        "rates": "{:.2f} Hz, excitatory; {:.2f} Hz, inhibitory".format(*rates),
        "weights": f"{weights.mean(dtype=np.float64):.2f} pA on average; at first {model.weight:.2f} pA",
        "time per step": f"{recording.us_per_step:.2f} µs (recording included)",
    }


def save_figure(recording: Recording, weights: np.ndarray, model: HpcBenchmark, path: Path) -> None:
    """Draw a raster, the rate of each population, and the weights, into a PNG or the format of the suffix."""
    excitatory = np.arange(model.neurons) < model.excitatory
    with figures.saved_figure(path, size=(12, 4), font_size=11) as figure:
        raster, rates, learning = figure.subplots(1, 3)
        figures.draw_raster(raster, recording, excitatory, model.dt, range(recording.steps), SHOWN_NEURONS)
        figures.draw_rates(rates, recording, excitatory, model.dt, BIN_MS)
        raster.set_xlabel("Time (ms)")
        rates.set(xlabel="Time (ms)", ylim=(0, None))
        figures.draw_weights(learning, weights, "excitatory", "Weight (pA); dashed: the first one")
        learning.axvline(model.weight, color="0.4", linestyle="--", linewidth=1)


TEXT = "Simulate a network whose excitatory synapses learn by STDP, print a table, draw a figure."
main = Program("hpc_benchmark", TEXT, 0.15, add_options, prepare).main

if __name__ == "__main__":
    sys.exit(main())
