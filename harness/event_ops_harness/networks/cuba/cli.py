"""Simulate the CUBA network, print a table, draw a figure."""

import argparse
import importlib
import sys
from collections.abc import Sequence

import jax
from rich.console import Console

from event_ops_harness.networks.cuba.connectivity import (
    Connectivity,
    ConnectivityError,
    load_connectivity,
    random_connectivity,
)
from event_ops_harness.networks.cuba.figure import save_figure
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.cuba.network import State, Step, catalog_step, initial_state
from event_ops_harness.networks.cuba.report import Summary, explanations, table_of
from event_ops_harness.networks.cuba.sharded import Blocks, simulate_sharded
from event_ops_harness.networks.cuba.simulation import Recording, simulate
from event_ops_harness.networks.shared.options import BAD_INPUT, check_together, make_parser
from event_ops_harness.networks.shared.processes import DevicesError, leave, mesh_asked, start
from event_ops_harness.networks.shared.progress import progress_bar
from ffi_bridge.errors import BackendUnavailableError, UnknownBackendError

DEFAULT_NEURONS = 4000
INTERRUPTED = 130


def connectivity_of(options: argparse.Namespace, model: CubaParameters) -> Connectivity:
    if options.matrix is None:
        return random_connectivity(options.neurons or DEFAULT_NEURONS, model, options.seed)
    scale = 1.0 if options.weight_scale is None else options.weight_scale
    return load_connectivity(options.matrix, scale)


def network_of(
    options: argparse.Namespace, connectivity: Connectivity, model: CubaParameters
) -> tuple[Step, State]:
    """One step, and the state to begin with."""
    state = initial_state(connectivity, model, options.seed)
    if not options.fused:
        return catalog_step(connectivity, model, options.backend), state
    # By name, so that the demo runs on the reference where Numba is not installed.
    fused = importlib.import_module("event_ops_harness.networks.cuba.fused")
    return fused.fused_step(connectivity, model), fused.fused_state(state)


def blocks_of(options: argparse.Namespace, neurons: int) -> Blocks | None:
    """The devices that share the neurons; None: one device."""
    mesh = mesh_asked(options, neurons)
    return None if mesh is None else Blocks(neurons, mesh)


def record(
    options: argparse.Namespace, connectivity: Connectivity, model: CubaParameters, blocks: Blocks | None
) -> Recording:
    """Simulate as asked."""
    steps = model.steps(options.seconds)
    hidden = options.no_progress or bool(options.process_id)
    with progress_bar("simulating", steps, hidden=hidden) as on_chunk:
        if blocks is None:
            step, state = network_of(options, connectivity, model)
            return simulate(connectivity, model, step, state, steps=steps, on_chunk=on_chunk)
        asked = {"seed": options.seed, "backend": options.backend, "steps": steps}
        return simulate_sharded(connectivity, model, blocks, **asked, on_chunk=on_chunk)


def run(options: argparse.Namespace) -> None:
    """Simulate as asked; the first process prints the table and saves the figure."""
    model, console = CubaParameters(), Console()
    connectivity = connectivity_of(options, model)
    blocks = blocks_of(options, connectivity.neurons)
    backends = [] if options.fused else explanations(options.backend)
    recording = record(options, connectivity, model, blocks)
    if options.process_id:
        return
    console.print(table_of(Summary.of(recording, connectivity, model), connectivity, backends, blocks))
    if recording.lost:
        console.print(f"{recording.lost:,} spikes of crowded steps are counted, but not in the raster.")
    save_figure(options.output, recording, connectivity.excitatory, model)
    console.print(f"Figure: {options.output}", soft_wrap=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = make_parser()
    arguments = sys.argv[1:] if argv is None else argv
    options = parser.parse_args(arguments)
    check_together(parser, options)
    try:
        if options.processes and options.coordinator is None:
            return start(parser.prog, arguments, options.processes)
        run(options)
    except (ConnectivityError, DevicesError, UnknownBackendError, BackendUnavailableError) as error:
        print(f"{parser.prog}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT
    except jax.errors.JaxRuntimeError as error:
        if options.coordinator is None:
            raise
        leave(parser.prog, options.process_id, options.processes, error)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0
