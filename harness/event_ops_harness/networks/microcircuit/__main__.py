"""Simulate the Potjans-Diesmann microcircuit, print tables, draw a figure."""

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from event_ops_harness.networks.microcircuit.checkpoint import (
    CheckpointError,
    load_checkpoint,
    save_checkpoint,
)
from event_ops_harness.networks.microcircuit.connectivity import (
    Drawing,
    connect,
    recurrent_drawing,
    thalamic_drawing,
)
from event_ops_harness.networks.microcircuit.delivery import empty_buffer
from event_ops_harness.networks.microcircuit.model import DRIVES, Microcircuit, ModelError
from event_ops_harness.networks.microcircuit.network import (
    OPERATORS,
    State,
    Step,
    Wiring,
    catalog_step,
    initial_state,
    pulse_of,
    simulate,
    wiring_of,
)
from event_ops_harness.networks.microcircuit.report import Costs, costs_table, populations_table, save_figure
from event_ops_harness.networks.microcircuit.sharded import Blocks
from event_ops_harness.networks.microcircuit.statistics import Spikes
from event_ops_harness.networks.shared.blocks import ONE_DEVICE, OneDevice
from event_ops_harness.networks.shared.cli import (
    OneLineParser,
    add_shared_options,
    positive,
    progress_bar,
    run_command,
    writable,
)
from event_ops_harness.networks.shared.display import explanations, finish
from event_ops_harness.networks.shared.processes import leave_a_processor, mesh_asked
from event_ops_harness.networks.shared.simulation import Recording


def microcircuit_parser() -> OneLineParser:
    """Return the parser of `python -m event_ops_harness.networks.microcircuit`."""
    parser = OneLineParser(prog="microcircuit", description=__doc__, allow_abbrev=False)
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
    add_shared_options(parser, seconds=1.0)
    return parser


def part(text: str) -> float:
    value = positive(text)
    if value > 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not in (0, 1]")
    return value


def duration(text: str) -> float:
    return 0.0 if text in ("0", "0.0") else positive(text)


def npz_path(text: str) -> Path:
    return writable(text, (".npz",))


def build(options: argparse.Namespace, drawn: Drawing, model: Microcircuit, placement: OneDevice) -> Wiring:
    """Store the synapses, or, with --procedural, only the drawing that redraws them at each spike."""
    split = isinstance(placement, Blocks)
    connected = placement.connect if split else partial(connect, targets=model.neurons)
    with progress_bar("building", drawn.synapses, options, hidden=options.procedural) as on_progress:
        recurrent = drawn if options.procedural else connected(drawn, on_progress=on_progress)
    pulsed = options.pulse is not None
    thalamic = connected(thalamic_drawing(model, options.seed)) if pulsed else None
    return wiring_of(recurrent, options.seed, thalamic)


def network_of(options: argparse.Namespace, model: Microcircuit, placement: OneDevice) -> tuple[Step, State]:
    """Return the step, and the state to begin with."""
    pulsed = options.pulse is not None
    pulse = pulse_of(model, options.seed, options.pulse * 1e3, options.backend) if pulsed else None
    step = catalog_step(model, options.backend, pulse=pulse, placement=placement)
    pending = empty_buffer(model.neurons) if options.procedural else None
    state = initial_state(model, options.seed, pending)
    if options.resume is not None:
        state = load_checkpoint(options.resume, model, options.seed, state)
    return step, state


def run(options: argparse.Namespace) -> None:
    """Simulate as asked; the first process prints the tables and saves the files."""
    model = Microcircuit(N_scaling=options.scale, K_scaling=options.scale, drive=options.drive)
    mesh = mesh_asked(options, model.neurons)
    placement = ONE_DEVICE if mesh is None else Blocks(model.neurons, mesh)
    delivered = {"compact_event_arrivals": "read_slot"} if options.procedural else {}
    # Before anything is built, since this says what cannot run.
    ran_on = explanations([delivered.get(name, name) for name in OPERATORS], options.backend)
    step, state = network_of(options, model, placement)
    start = time.perf_counter()
    drawn = recurrent_drawing(model, options.seed)
    wiring = build(options, drawn, model, placement)
    build_seconds = time.perf_counter() - start
    discarded = 0 if options.resume else round(options.discard * 1e3 / model.dt)
    steps = discarded + model.steps(options.seconds)
    with progress_bar("simulating", steps, options) as on_chunk:
        where = {"placement": placement, "on_chunk": on_chunk}
        state, recording = simulate(model, step, state, wiring, steps=steps, **where)
    if options.process_id:
        return
    spikes = spikes_of(recording).after(recording.first_step + discarded)
    save(options, model, state, recording)
    costs = costs_table(Costs.of(recording, drawn, wiring, model, build_seconds), ran_on)
    finish(options, partial(save_figure, spikes, model), populations_table(spikes, model), costs)


def spikes_of(recording: Recording) -> Spikes:
    end = recording.first_step + recording.steps
    return Spikes(recording.times, recording.ids, recording.first_step, end)


def save(options: argparse.Namespace, model: Microcircuit, state: State, recording: Recording) -> None:
    """Write the files that were asked for."""
    if options.npz_out is not None:
        first = {"first_step": recording.first_step, "steps": recording.steps, "dt": model.dt}
        np.savez(options.npz_out, times=recording.times, ids=recording.ids, sizes=model.sizes, **first)
    if options.checkpoint is not None:
        save_checkpoint(options.checkpoint, state, model, options.seed)


def main(argv: Sequence[str] | None = None) -> int:
    return run_command(microcircuit_parser(), argv, run, errors=(ModelError, CheckpointError))


if __name__ == "__main__":
    leave_a_processor()
    sys.exit(main())
