"""A run from options to table and figure."""

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial

import jax
import numpy as np
from rich.console import Console

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
from event_ops_harness.networks.microcircuit.figure import save_figure
from event_ops_harness.networks.microcircuit.inputs import pulse_of
from event_ops_harness.networks.microcircuit.model import Microcircuit, ModelError
from event_ops_harness.networks.microcircuit.network import (
    WHOLE,
    State,
    Step,
    Wiring,
    catalog_step,
    initial_state,
    wiring_of,
)
from event_ops_harness.networks.microcircuit.options import make_parser
from event_ops_harness.networks.microcircuit.report import Costs, backends, costs_table, populations_table
from event_ops_harness.networks.microcircuit.sharded import Blocks
from event_ops_harness.networks.microcircuit.simulation import HERE, Recording, SpikesLostError, simulate
from event_ops_harness.networks.microcircuit.statistics import Spikes
from event_ops_harness.networks.shared.options import check_devices_together
from event_ops_harness.networks.shared.processes import DevicesError, leave, mesh_asked, start
from event_ops_harness.networks.shared.progress import progress_bar
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


def build(options: argparse.Namespace, drawn: Drawing, model: Microcircuit, blocks: Blocks | None) -> Wiring:
    """What the step reads: the synapses, or what they are drawn from at each spike."""
    connected = partial(connect, targets=model.neurons) if blocks is None else blocks.connect
    pulsed, hidden = options.pulse is not None, silent(options) or options.procedural
    with progress_bar("building", drawn.synapses, hidden=hidden) as on_progress:
        recurrent = drawn if options.procedural else connected(drawn, on_progress=on_progress)
    thalamic = connected(thalamic_drawing(model, options.seed)) if pulsed else None
    return wiring_of(recurrent, options.seed, thalamic)


def network_of(options: argparse.Namespace, model: Microcircuit, blocks: Blocks | None) -> tuple[Step, State]:
    """The step, and the state to begin with."""
    pulsed = options.pulse is not None
    pulse = pulse_of(model, options.seed, options.pulse * 1e3, options.backend) if pulsed else None
    part = WHOLE if blocks is None else blocks.part
    step = catalog_step(model, options.backend, pulse=pulse, part=part)
    pending = empty_buffer(model.neurons) if options.procedural else None
    state = initial_state(model, options.seed, pending)
    if options.resume is not None:
        state = load_checkpoint(options.resume, model, options.seed, state)
    return step, state


def run(options: argparse.Namespace) -> None:
    """Simulate as asked; the first process prints the tables and saves what is to be saved."""
    model = Microcircuit(N_scaling=options.scale, K_scaling=options.scale, drive=options.drive)
    mesh = mesh_asked(options, model.neurons)
    blocks = None if mesh is None else Blocks(model.neurons, mesh)
    # Before anything is built, since this says what cannot run.
    ran_on = backends(options.backend, procedural=options.procedural)
    step, state = network_of(options, model, blocks)
    start = time.perf_counter()
    drawn = recurrent_drawing(model, options.seed)
    wiring = build(options, drawn, model, blocks)
    build_seconds = time.perf_counter() - start
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
    console.print(costs_table(Costs.of(recording, drawn, wiring, model, build_seconds), ran_on))
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
    check_devices_together(parser, options)
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
