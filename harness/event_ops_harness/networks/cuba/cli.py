"""Simulate the CUBA network, print a table, draw a figure."""

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from event_ops_harness.networks.cuba.connectivity import (
    Connectivity,
    ConnectivityError,
    load_connectivity,
    random_connectivity,
)
from event_ops_harness.networks.cuba.figure import save_figure
from event_ops_harness.networks.cuba.model import CubaParameters
from event_ops_harness.networks.cuba.network import (
    OPERATORS,
    State,
    Step,
    catalog_step,
    initial_state,
    on_device,
)
from event_ops_harness.networks.cuba.report import Summary, table_of
from event_ops_harness.networks.cuba.sharded import Blocks
from event_ops_harness.networks.cuba.simulation import simulate
from event_ops_harness.networks.shared.blocks import ONE_DEVICE, OneDevice
from event_ops_harness.networks.shared.cli import (
    OneLineParser,
    add_shared_options,
    check_device_options,
    finite,
    positive_int,
    progress_bar,
    run_command,
)
from event_ops_harness.networks.shared.display import explanations
from event_ops_harness.networks.shared.processes import mesh_asked
from event_ops_harness.networks.shared.simulation import Recording

DEFAULT_NEURONS = 4000


def cuba_parser() -> OneLineParser:
    """Return the parser of `python -m event_ops_harness.networks.cuba`."""
    parser = OneLineParser(prog="cuba", description=__doc__, allow_abbrev=False)
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--neurons", type=positive_int, metavar="N", help=f"number of neurons; default: {DEFAULT_NEURONS}"
    )
    source.add_argument(
        "--matrix",
        type=Path,
        metavar="FILE",
        help="connectivity instead of a random one: .mtx (Matrix Market) or .npz (scipy.sparse), "
        "square, rows = source, columns = target, entries in mV; > 0 excites, < 0 inhibits",
    )
    add = parser.add_argument
    add("--weight-scale", type=finite, metavar="X", help="mV per unit of the matrix; default: 1")
    add("--fused", action="store_true", help="run the step as one Numba kernel (cuba/fused.py)")
    add_shared_options(parser, seconds=10.0)
    return parser


def check_together(parser: OneLineParser, options: argparse.Namespace) -> None:
    """End with an error if the options contradict each other."""
    check_device_options(parser, options)
    if options.weight_scale is not None and options.matrix is None:
        parser.error("--weight-scale needs --matrix")
    if options.fused and options.backend is not None:
        parser.error("--fused is a Numba kernel of its own; leave --backend out")
    if options.fused and (options.devices or options.processes):
        parser.error("--fused runs on one device; leave --devices and --processes out")


def connectivity_of(options: argparse.Namespace, model: CubaParameters) -> Connectivity:
    """Draw the connectivity, or read it."""
    if options.matrix is None:
        return random_connectivity(options.neurons or DEFAULT_NEURONS, model, options.seed)
    scale = 1.0 if options.weight_scale is None else options.weight_scale
    return load_connectivity(options.matrix, scale)


def placement_of(options: argparse.Namespace, neurons: int) -> OneDevice:
    """Return the devices that share the neurons."""
    mesh = mesh_asked(options, neurons)
    return ONE_DEVICE if mesh is None else Blocks(neurons, mesh)


def network_of(
    options: argparse.Namespace, connectivity: Connectivity, model: CubaParameters, placement: OneDevice
) -> tuple[Step, State]:
    """Return the step, and the state to begin with."""
    state = initial_state(connectivity, model, options.seed)
    if not options.fused:
        return catalog_step(connectivity, model, options.backend, placement), state
    # By name, so that the demo runs on the reference where Numba is not installed.
    fused = importlib.import_module("event_ops_harness.networks.cuba.fused")
    return fused.fused_step(connectivity, model), fused.fused_state(state)


def record(
    options: argparse.Namespace, connectivity: Connectivity, model: CubaParameters, placement: OneDevice
) -> Recording:
    """Simulate as asked."""
    step, state = network_of(options, connectivity, model, placement)
    split = isinstance(placement, Blocks)
    synapses = placement.connect(connectivity) if split else on_device(connectivity)
    steps = model.steps(options.seconds)
    with progress_bar("simulating", steps, options) as on_chunk:
        where = {"placement": placement, "on_chunk": on_chunk}
        return simulate(model, step, state, synapses, steps=steps, **where)[1]


def run(options: argparse.Namespace) -> None:
    """Simulate as asked; the first process prints the table and saves the figure."""
    model, console = CubaParameters(), Console()
    connectivity = connectivity_of(options, model)
    placement = placement_of(options, connectivity.neurons)
    # Before the simulation, since this says what cannot run.
    ran_on = [] if options.fused else explanations(OPERATORS, options.backend)
    recording = record(options, connectivity, model, placement)
    if options.process_id:
        return
    console.print(table_of(Summary.of(recording, connectivity, model), connectivity, ran_on, placement))
    if recording.lost:
        console.print(f"{recording.lost:,} spikes of crowded steps are counted, but not in the raster.")
    save_figure(options.output, recording, connectivity.excitatory, model)
    console.print(f"Figure: {options.output}", soft_wrap=True)


def main(argv: Sequence[str] | None = None) -> int:
    return run_command(cuba_parser(), argv, run, check=check_together, errors=(ConnectivityError,))
