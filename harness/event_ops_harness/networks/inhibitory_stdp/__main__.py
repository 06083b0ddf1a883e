"""The network with inhibitory plasticity as a program: its options, and a run from them to the figure."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from event_ops_harness.networks.inhibitory_stdp.network import (
    OPERATORS,
    InhibitoryStdpParameters,
    Simulated,
    run,
)
from event_ops_harness.networks.shared.cli import (
    OneLineParser,
    add_usual_options,
    positive,
    positive_int,
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
from event_ops_harness.networks.shared.statistics import binned_rate, learning_statistics

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
    rows = rows_of(simulated, options, model)
    table = with_backends("Network with inhibitory plasticity", rows, ran_on)
    finish(options, partial(save_figure, simulated, model), table)


def rows_of(
    simulated: Simulated, options: argparse.Namespace, model: InhibitoryStdpParameters
) -> dict[str, str]:
    """Return the name and value of each row of the table."""
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


SHOWN_MS = 200.0  # of each raster
SHOWN_NEURONS = 500
BIN_MS = 100.0  # of rates
WEIGHT_BINS = 60
COLOURS = {"excitatory": EXCITATORY_COLOUR, "inhibitory": INHIBITORY_COLOUR}


def save_figure(simulated: Simulated, model: InhibitoryStdpParameters, path: Path) -> None:
    """Draw four panels into a PNG, or whatever Matplotlib writes for this suffix."""
    recording = simulated.recording
    end = recording.steps * model.dt
    onset = min(model.onset, end)
    with saved_figure(path, size=(12, 7), font_size=12) as figure:
        (before, after), (rates, weights) = figure.subplots(2, 2)
        draw_raster(before, recording, model, onset - SHOWN_MS)
        draw_raster(after, recording, model, end - SHOWN_MS)
        shown, neurons = min(SHOWN_NEURONS, recording.recorder.neurons), recording.recorder.neurons
        before.set_ylabel(f"Neuron ({shown:,} of {neurons:,})")
        draw_rates(rates, recording, model)
        rates.legend(loc="upper right")
        weights.hist(simulated.learned, WEIGHT_BINS, color=INHIBITORY_COLOUR)
        weights.set_yscale("log")
        weights.set_xlabel("Inhibitory weight onto excitatory neurons (nS)")
        weights.set_ylabel("Synapses")
        titles = ("before learning", "at the end", "", "at the end")
        for axes, letter, title in zip((before, after, rates, weights), "abcd", titles, strict=True):
            axes.set_title(letter, loc="left", fontweight="bold")
            axes.set_title(title, fontsize="medium")


def kinds(neurons: int, model: InhibitoryStdpParameters) -> dict[str, np.ndarray]:
    """Return which neurons are excitatory, and which inhibitory."""
    excitatory = np.arange(neurons) < model.excitatory_count(neurons)
    return {"excitatory": excitatory, "inhibitory": ~excitatory}


def draw_raster(axes: Axes, recording: Recording, model: InhibitoryStdpParameters, first: float) -> None:
    """Draw one row per neuron from a time in ms on, inhibitory ones on top; of many neurons a subset."""
    neurons = recording.recorder.neurons
    stride, seconds = -(-neurons // SHOWN_NEURONS), model.dt * 1e-3
    begin = max(0, round(first / model.dt))
    seen = (recording.times >= begin) & (recording.times < begin + round(SHOWN_MS / model.dt))
    seen &= recording.ids % stride == 0
    times, ids = recording.times[seen], recording.ids[seen]
    for label, kind in kinds(neurons, model).items():
        mine = kind[ids]
        axes.plot(times[mine] * seconds, ids[mine] // stride, ".", ms=3, mew=0, color=COLOURS[label])
    axes.set_xlim(begin * seconds, begin * seconds + SHOWN_MS * 1e-3)
    axes.locator_params(axis="x", nbins=5)
    rows = -(-neurons // stride)
    axes.set_ylim(-0.01 * rows, 1.01 * rows)
    axes.set_xlabel("Time (s)")


def draw_rates(axes: Axes, recording: Recording, model: InhibitoryStdpParameters) -> None:
    """Draw the rates of both populations in bins, the target, and when learning begins."""
    steps_per_bin = round(BIN_MS / model.dt)
    for label, kind in kinds(recording.recorder.neurons, model).items():
        counts = np.bincount(recording.times[kind[recording.ids]], minlength=recording.steps)
        rate = binned_rate(counts, steps_per_bin, int(kind.sum()), model.dt)
        edges = np.arange(rate.size + 1) * BIN_MS * 1e-3
        axes.stairs(rate, edges, baseline=None, color=COLOURS[label], linewidth=1.5, label=label)
    axes.axhline(model.rate_target, color="0.4", linestyle="--", linewidth=1.0)
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    text = f"target\n{model.rate_target:g} Hz"
    axes.annotate(text, (1.0, model.rate_target), xytext=(4, 0), va="center", color="0.4", **place)
    axes.axvline(model.onset * 1e-3, color="0.4", linestyle=":", linewidth=1.0)
    axes.set_yscale("log")
    axes.set_xlim(0, recording.steps * model.dt * 1e-3)
    axes.set_xlabel("Time (s)")
    axes.set_ylabel("Rate (Hz)")


if __name__ == "__main__":
    sys.exit(main())
