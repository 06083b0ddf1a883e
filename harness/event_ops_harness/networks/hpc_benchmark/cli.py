"""The network with STDP as a program: its options, and a run from them to the figure."""

import argparse
from collections.abc import Sequence

import numpy as np
from rich.console import Console

from event_ops_harness.networks.balanced.report import with_backends
from event_ops_harness.networks.hpc_benchmark.figure import save_figure
from event_ops_harness.networks.hpc_benchmark.model import HpcBenchmark
from event_ops_harness.networks.hpc_benchmark.network import OPERATORS
from event_ops_harness.networks.hpc_benchmark.simulation import run
from event_ops_harness.networks.shared.cli import (
    OneLineParser,
    add_usual_options,
    positive,
    progress_bar,
    run_command,
)
from event_ops_harness.networks.shared.display import explanations
from event_ops_harness.networks.shared.simulation import Recording


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
    console = Console()
    console.print(with_backends("Network with STDP", rows_of(recording, weights, options, model), ran_on))
    save_figure(options.output, recording, weights, model)
    console.print(f"Figure: {options.output}", soft_wrap=True)


def rows_of(
    recording: Recording, weights: np.ndarray, options: argparse.Namespace, model: HpcBenchmark
) -> dict[str, str]:
    """Return name and value of what the table shows."""
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
