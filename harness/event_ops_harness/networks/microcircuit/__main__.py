"""The microcircuit as a program: its options, its files, and a run from them to the figure."""

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from event_ops_harness.networks.microcircuit import network
from event_ops_harness.networks.microcircuit.checkpoint import (
    Arrays,
    CheckpointError,
    load_checkpoint,
    resumed,
    save_checkpoint,
)
from event_ops_harness.networks.microcircuit.connectivity import (
    Drawing,
    connect,
    recurrent_drawing,
    thalamic_drawing,
)
from event_ops_harness.networks.microcircuit.declared import simulation as in_one_call
from event_ops_harness.networks.microcircuit.delivery import nothing_pending
from event_ops_harness.networks.microcircuit.model import DRIVES, Microcircuit, ModelError
from event_ops_harness.networks.microcircuit.report import costs_table, populations_table, save_figure
from event_ops_harness.networks.microcircuit.sharded import Blocks
from event_ops_harness.networks.microcircuit.statistics import Spikes
from event_ops_harness.networks.shared.blocks import ONE_DEVICE, OneDevice
from event_ops_harness.networks.shared.cli import OneLineParser, duration, npz_path, part, progress_bar
from event_ops_harness.networks.shared.display import explanations
from event_ops_harness.networks.shared.processes import leave_a_processor, mesh_of_options
from event_ops_harness.networks.shared.program import Program, Report
from event_ops_harness.networks.shared.simulation import Recording, Simulation


def add_options(parser: OneLineParser) -> None:
    add, npz = parser.add_argument, {"type": npz_path, "metavar": "FILE"}
    add("--scale", type=part, default=0.1, metavar="X", help="part of the neurons and inputs; default: 0.1")
    discarded = "model time to simulate before, and leave out of tables and figure; default: 0.5"
    add("--discard", type=duration, default=0.5, metavar="S", help=discarded)
    add("--drive", choices=DRIVES, default="poisson", help="background input; default: poisson")
    add("--pulse", type=duration, metavar="S", help="a thalamic pulse of 10 ms at this model time")
    add("--procedural", action="store_true", help="store no synapses: draw them anew at each spike")
    add("--npz-out", **npz, help="write the spike times and ids of all neurons")
    add("--checkpoint", **npz, help="write the last state, to go on from")
    add("--resume", type=Path, metavar="FILE", help="go on from a checkpoint; nothing is discarded")


def wiring_of(
    options: argparse.Namespace, drawn: Drawing, model: Microcircuit, placement: OneDevice
) -> network.Wiring:
    """Store the synapses, or, with --procedural, only the drawing that redraws them at each spike."""
    split = isinstance(placement, Blocks)
    connected = placement.connect if split else partial(connect, targets=model.neurons)
    with progress_bar("building", drawn.synapses, options, hidden=options.procedural) as on_progress:
        recurrent = drawn if options.procedural else connected(drawn, on_progress=on_progress)
    pulsed = options.pulse is not None
    thalamic = connected(thalamic_drawing(model, options.seed)) if pulsed else None
    return network.wiring_of(recurrent, options.seed, thalamic)


def prepare(options: argparse.Namespace) -> tuple[Simulation, Report]:
    """Build the network that the options ask for."""
    model = Microcircuit(N_scaling=options.scale, K_scaling=options.scale, drive=options.drive)
    mesh = mesh_of_options(options, model.neurons)
    placement = ONE_DEVICE if mesh is None else Blocks(model.neurons, mesh)
    # Synapses that are drawn anew are delivered by a kernel of this network.
    delivered = {"compact_event_arrivals": "read_slot"} if options.procedural else {}
    # Before anything is built, since this says what cannot run.
    ran_on = explanations([delivered.get(name, name) for name in network.OPERATORS], options.backend)
    arrays = None
    if options.resume is not None:
        arrays = load_checkpoint(options.resume, model, options.seed, procedural=options.procedural)
    start = time.perf_counter()
    drawn = recurrent_drawing(model, options.seed)
    wiring = wiring_of(options, drawn, model, placement)
    build_seconds = time.perf_counter() - start
    discarded = 0 if options.resume else round(options.discard * 1e3 / model.dt)
    steps = discarded + model.steps(options.seconds)
    if mesh is None and not options.procedural and options.backend is None:
        pulse: Any = {"thalamic": wiring.thalamic, "pulse": options.pulse}
        simulation = in_one_call(model, wiring.recurrent, options.seed, steps, arrays, **pulse)
        ran_on = simulation.wiring.explain(simulation.state)
    else:
        simulation = of_steps(options, model, wiring, steps, arrays, placement)

    def report(state: Any, recording: Recording) -> tuple[Sequence[Table], Any]:
        save(options, model, state, recording)
        spikes = Spikes.of(recording).after(recording.first_step + discarded)
        costs = costs_table(recording, drawn, wiring, model, build_seconds, ran_on)
        return [populations_table(spikes, model), costs], partial(save_figure, spikes, model)

    return simulation, report


def of_steps(
    options: argparse.Namespace,
    model: Microcircuit,
    wiring: network.Wiring,
    steps: int,
    arrays: Arrays | None,
    placement: OneDevice,
) -> Simulation:
    """Return the simulation of steps: on devices or a backend that are named, or synapses drawn anew."""
    state = network.initial_state(
        model, options.seed, nothing_pending(model.neurons) if options.procedural else None
    )
    state = state if arrays is None else resumed(state, arrays)
    step = network.catalog_step(model, options.backend, pulse=options.pulse, placement=placement)
    recorder = network.recorder_of(model, int(state.t))
    return Simulation(step, state, wiring, recorder, steps, placement)


def save(options: argparse.Namespace, model: Microcircuit, state: Any, recording: Recording) -> None:
    """Write the files that were asked for."""
    if options.npz_out is not None:
        first = {"first_step": recording.first_step, "steps": recording.steps, "dt": model.dt}
        np.savez(options.npz_out, times=recording.times, ids=recording.ids, sizes=model.sizes, **first)
    if options.checkpoint is not None:
        save_checkpoint(options.checkpoint, state, model, options.seed)


PROGRAM = Program(
    "microcircuit",
    "Simulate the Potjans-Diesmann microcircuit, print tables, draw a figure.",
    seconds=1.0,
    add_options=add_options,
    prepare=prepare,
    errors=(ModelError, CheckpointError),
    divisible=True,
)
main = PROGRAM.main

if __name__ == "__main__":
    leave_a_processor()
    sys.exit(main())
