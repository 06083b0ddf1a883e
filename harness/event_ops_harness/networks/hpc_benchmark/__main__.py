"""The network with STDP as a program: its options, and a run from them to the figure."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.hpc_benchmark.network import OPERATORS, run
from event_ops_harness.networks.shared.cli import (
    OneLineParser,
    add_usual_options,
    positive,
    progress_bar,
    run_command,
)
from event_ops_harness.networks.shared.display import (
    EXCITATORY_COLOUR,
    INHIBITORY_COLOUR,
    explanations,
    finish,
    saved_figure,
    with_backends,
)
from event_ops_harness.networks.shared.simulation import Recording
from event_ops_harness.networks.shared.statistics import binned_rate


def hpc_benchmark_parser() -> OneLineParser:
    """Return the parser of the program."""
    text = "Simulate a network whose excitatory synapses learn by STDP, print a table, draw a figure."
    parser = OneLineParser(prog="hpc_benchmark", description=text, allow_abbrev=False)
    size = "of neurons, and of synapses onto each; 1: 11,250 neurons, 2 GB; default: 0.3"
    parser.add_argument("--scale", type=positive, default=0.3, metavar="X", help=size)
    add_usual_options(parser, seconds=0.15)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    return run_command(hpc_benchmark_parser(), argv, show, errors=())


def show(options: argparse.Namespace) -> None:
    """Simulate as asked, print the table, and save the figure."""
    model = HpcBenchmark(scale=options.scale)
    ran_on = explanations(OPERATORS, options.backend)  # first, since this says what cannot run
    with progress_bar("simulating", model.steps(options.seconds), options) as on_chunk:
        how = {"seconds": options.seconds, "backend": options.backend, "on_chunk": on_chunk}
        recording, weights = run(model, options.seed, **how)
    table = with_backends("Network with STDP", rows_of(recording, weights, options, model), ran_on)
    finish(options, partial(save_figure, recording, weights, model), table)


def rows_of(
    recording: Recording, weights: np.ndarray, options: argparse.Namespace, model: HpcBenchmark
) -> dict[str, str]:
    """Return the name and value of each row of the table."""
    excitatory = np.count_nonzero(recording.ids < model.excitatory)
    rates = (
        count / (neurons * options.seconds)
        for count, neurons in (
            (excitatory, model.excitatory),
            (recording.ids.size - excitatory, model.inhibitory),
        )
    )
    synapses = model.neurons * model.excitatory + model.neurons * model.inhibitory
    return {
        "neurons": f"{model.neurons:,}",
        "synapses": f"{synapses:,}, of which {weights.size:,} learn",
        "model time": f"{options.seconds:g} s",
        "rates": "{:.2f} Hz, excitatory; {:.2f} Hz, inhibitory".format(*rates),
        "weights": f"{weights.mean(dtype=np.float64):.2f} pA on average; at first {model.weight:.2f} pA",
        "time per step": f"{recording.seconds / recording.steps * 1e6:.2f} µs (recording included)",
    }


BIN_MS = 2.0
WEIGHT_BINS = 80
SHOWN_NEURONS = 400


def save_figure(recording: Recording, weights: np.ndarray, model: HpcBenchmark, path: Path) -> None:
    """Draw a raster, the rate of each population, and the weights, into a PNG or the format of the suffix."""
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


if __name__ == "__main__":
    sys.exit(main())
