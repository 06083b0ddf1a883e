"""A run from options to table and figure."""

import argparse
import sys
import time
from collections.abc import Sequence

import jax
import numpy as np
from rich.console import Console

from event_ops_harness.cuba.processes import DevicesError, leave, mesh_asked, start
from event_ops_harness.cuba.progress import progress_bar
from event_ops_harness.microcircuit.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from event_ops_harness.microcircuit.connectivity import (
    Connectivity,
    Drawing,
    recurrent_connectivity,
    recurrent_drawing,
    thalamic_connectivity,
)
from event_ops_harness.microcircuit.delivery import empty_buffer
from event_ops_harness.microcircuit.figure import save_figure
from event_ops_harness.microcircuit.inputs import pulse_of
from event_ops_harness.microcircuit.model import Microcircuit, ModelError
from event_ops_harness.microcircuit.network import (
    WHOLE,
    State,
    Step,
    Wiring,
    catalog_step,
    initial_state,
    wiring_of,
)
from event_ops_harness.microcircuit.options import check_together, make_parser
from event_ops_harness.microcircuit.report import Costs, backends, costs_table, populations_table
from event_ops_harness.microcircuit.sharded import Blocks
from event_ops_harness.microcircuit.simulation import HERE, Recording, SpikesLostError, simulate
from event_ops_harness.microcircuit.statistics import Spikes
from ffi_bridge.errors import BackendUnavailableError, UnknownBackendError

BAD_INPUT = 2
INTERRUPTED = 130
WRONG = (
    ModelError,
    DevicesError,
    CheckpointError,
    SpikesLostError,
    UnknownBackendError,
    BackendUnavailableError,
)


def silent(options: argparse.Namespace) -> bool:
    """Whether no progress is shown: not asked for, or another process shows it."""
    return options.no_progress or bool(options.process_id)


def build(options: argparse.Namespace, model: Microcircuit) -> tuple[Connectivity | Drawing, float]:
    """The recurrent synapses, or what they are drawn from, and how many seconds it took."""
    start, total = time.perf_counter(), int(model.synapses.sum())
    if options.procedural:
        return recurrent_drawing(model, options.seed), time.perf_counter() - start
    with progress_bar("building", total, hidden=silent(options)) as on_progress:
        return recurrent_connectivity(model, options.seed, on_progress), time.perf_counter() - start


def network_of(
    options: argparse.Namespace,
    model: Microcircuit,
    recurrent: Connectivity | Drawing,
    blocks: Blocks | None,
) -> tuple[Step, State, Wiring]:
    """The step, the state to begin with, and what the step reads."""
    pulsed = options.pulse is not None
    pulse = pulse_of(model, options.seed, options.pulse * 1e3, options.backend) if pulsed else None
    thalamic = thalamic_connectivity(model, options.seed) if pulsed else None
    part = WHOLE if blocks is None else blocks.part
    step = catalog_step(model, options.backend, pulse=pulse, part=part)
    pending = empty_buffer(model.neurons) if options.procedural else None
    state = initial_state(model, options.seed, pending)
    if options.resume is not None:
        state = load_checkpoint(options.resume, model, options.seed, state)
    if blocks is not None and isinstance(recurrent, Connectivity):
        return step, state, blocks.wiring(recurrent, options.seed)
    return step, state, wiring_of(recurrent, options.seed, thalamic)


def run(options: argparse.Namespace) -> None:
    """Simulate as asked; the first process prints the tables and saves what is to be saved."""
    model = Microcircuit(N_scaling=options.scale, K_scaling=options.scale, drive=options.drive)
    mesh = mesh_asked(options, model.neurons)
    blocks = None if mesh is None else Blocks(model.neurons, mesh)
    backends(options.backend)  # what cannot run is said before anything is built
    recurrent, build_seconds = build(options, model)
    step, state, wiring = network_of(options, model, recurrent, blocks)
    placement = HERE if blocks is None else blocks.placement
    discarded = 0 if options.resume else round(options.discard * 1e3 / model.dt)
    steps = discarded + model.steps(options.seconds)
    with progress_bar("simulating", steps, hidden=silent(options)) as on_chunk:
        state, recording = simulate(
            model, step, state, wiring, steps=steps, placement=placement, on_chunk=on_chunk
        )
    if options.process_id:
        return
    spikes = spikes_of(recording).after(recording.first_step + discarded)
    console = Console()
    console.print(populations_table(spikes, model))
    console.print(costs_table(Costs.of(recording, recurrent, model, build_seconds), options.backend))
    save(options, model, state, recording)
    save_figure(options.output, spikes, model)
    console.print(f"Figure: {options.output}", soft_wrap=True)


def spikes_of(recording: Recording) -> Spikes:
    end = recording.first_step + recording.steps
    return Spikes(recording.times, recording.ids, recording.first_step, end)


def save(options: argparse.Namespace, model: Microcircuit, state: State, recording: Recording) -> None:
    """The files that were asked for."""
    if options.npz_out is not None:
        first = {"first_step": recording.first_step, "steps": recording.steps, "dt": model.dt}
        np.savez(options.npz_out, times=recording.times, ids=recording.ids, sizes=model.sizes, **first)
    if options.checkpoint is not None:
        save_checkpoint(options.checkpoint, state, model, options.seed)


def main(argv: Sequence[str] | None = None) -> int:
    parser = make_parser()
    arguments = sys.argv[1:] if argv is None else argv
    options = parser.parse_args(arguments)
    check_together(parser, options)
    try:
        if options.processes and options.coordinator is None:
            return start(parser.prog, arguments, options.processes)
        run(options)
    except WRONG as error:
        print(f"{parser.prog}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT
    except jax.errors.JaxRuntimeError as error:
        if options.coordinator is None:
            raise
        leave(parser.prog, options.process_id, options.processes, error)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0
