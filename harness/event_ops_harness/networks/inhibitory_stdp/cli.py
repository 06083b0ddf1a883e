"""The network with inhibitory plasticity as a program: its options, and a run from them to the figure."""

import argparse
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from event_ops_harness.networks.balanced.analysis import learning_statistics
from event_ops_harness.networks.balanced.report import with_backends
from event_ops_harness.networks.inhibitory_stdp.figure import save_figure
from event_ops_harness.networks.inhibitory_stdp.model import InhibitoryStdpParameters
from event_ops_harness.networks.inhibitory_stdp.network import OPERATORS
from event_ops_harness.networks.inhibitory_stdp.simulation import Simulated, run
from event_ops_harness.networks.shared.cli import (
    OneLineParser,
    add_usual_options,
    positive,
    positive_int,
    progress_bar,
    run_command,
)
from event_ops_harness.networks.shared.display import explanations

MODEL = InhibitoryStdpParameters()
COUNTED = 0.5  # the last part of the model time


def inhibitory_stdp_parser() -> OneLineParser:
    """Return the parser of the program."""
    text = "Simulate a network that inhibitory plasticity balances, print a table, draw a figure."
    parser = OneLineParser(prog="inhibitory_stdp", description=text, allow_abbrev=False)
    add = parser.add_argument
    add("--neurons", type=positive_int, default=10_000, metavar="N", help="their number; default: 10000")
    rate = f"nS per spike; default: {MODEL.learning_rate:g}, that of the paper's program"
    add("--learning-rate", type=positive, default=MODEL.learning_rate, metavar="X", help=rate)
    add_usual_options(parser, seconds=10.0)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    return run_command(inhibitory_stdp_parser(), argv, show, errors=())


def show(options: argparse.Namespace) -> None:
    """Simulate as asked, print the table, and save the figure."""
    model = replace(MODEL, learning_rate=options.learning_rate)
    ran_on = explanations(OPERATORS, options.backend)  # first, since this says what cannot run
    with progress_bar("simulating", model.steps(options.seconds), options) as on_chunk:
        how = {"seconds": options.seconds, "backend": options.backend, "on_chunk": on_chunk}
        simulated = run(options.neurons, model, options.seed, **how)
    console = Console()
    console.print(
        with_backends("Network with inhibitory plasticity", rows_of(simulated, options, model), ran_on)
    )
    save_figure(options.output, simulated, model)
    console.print(f"Figure: {options.output}", soft_wrap=True)


def rows_of(
    simulated: Simulated, options: argparse.Namespace, model: InhibitoryStdpParameters
) -> dict[str, str]:
    """Return name and value of what the table shows."""
    recording, learned = simulated.recording, simulated.learned
    seconds = (1 - COUNTED) * options.seconds, options.seconds
    sizes = model.populations(options.neurons)
    found = learning_statistics(
        recording.times, recording.ids, learned, populations=sizes, between=seconds, dt=model.dt
    )
    since = f"since {seconds[0]:g} s"
    return {
        "neurons": f"{options.neurons:,}",
        "synapses": f"{simulated.synapses:,}, of which {learned.size:,} learn",
        "model time": f"{options.seconds:g} s; learning begins at {model.onset * 1e-3:g} s",
        "rate, excitatory": f"{found['rate_ex']:.2f} Hz {since}; target: {model.rate_target:g} Hz",
        "rate, inhibitory": f"{found['rate_in']:.2f} Hz {since}",
        "CV of intervals": f"{found['cv']:.2f}, excitatory, {since}",
        "weights": f"{found['w_mean']:.2f} nS on average; median {found['w_50%']:.2f} nS",
        "time per step": f"{recording.seconds / recording.steps * 1e6:.2f} µs (recording included)",
    }
