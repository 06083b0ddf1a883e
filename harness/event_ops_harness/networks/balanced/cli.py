"""A balanced network as a program: its options, and a run from them to the figure."""

import argparse
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from event_ops_harness.networks.balanced.connectivity import (
    Connectivity,
    ConnectivityError,
    load_connectivity,
    random_connectivity,
)
from event_ops_harness.networks.balanced.network import BalancedParameters, simulate
from event_ops_harness.networks.balanced.report import Summary, save_figure, table_of
from event_ops_harness.networks.shared.blocks import ONE_DEVICE, OneDevice, PackedBlocks
from event_ops_harness.networks.shared.cli import (
    OneLineParser,
    add_shared_options,
    check_device_options,
    finite,
    positive_int,
    progress_bar,
    run_command,
)
from event_ops_harness.networks.shared.display import explanations, finish
from event_ops_harness.networks.shared.processes import mesh_asked
from event_ops_harness.networks.shared.simulation import Recording, Step

DEFAULT_NEURONS = 4000


@dataclass(frozen=True)
class Network:
    """Declare one balanced network: its model, its step, its arrays, its blocks."""

    name: str  # of the program
    model: BalancedParameters
    operators: tuple[str, ...]
    catalog_step: Callable[..., Step]  # of connectivity, model, backend and placement
    initial_state: Callable[..., Any]  # of connectivity, model and seed
    on_device: Callable[[Connectivity], Any]  # what the step reads
    blocks: type[PackedBlocks]
    fused: str | None = None  # the module with its step as one Numba kernel


def parser_of(network: Network) -> OneLineParser:
    """Return the parser of the network's program."""
    description = f"Simulate the {network.name.upper()} network, print a table, draw a figure."
    parser = OneLineParser(prog=network.name, description=description, allow_abbrev=False)
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--neurons", type=positive_int, metavar="N", help=f"number of neurons; default: {DEFAULT_NEURONS}"
    )
    unit = network.model.unit
    source.add_argument(
        "--matrix",
        type=Path,
        metavar="FILE",
        help="connectivity instead of a random one: .mtx (Matrix Market) or .npz (scipy.sparse), "
        f"square, rows = source, columns = target, entries in {unit}; > 0 excites, < 0 inhibits",
    )
    add = parser.add_argument
    add("--weight-scale", type=finite, metavar="X", help=f"{unit} per unit of the matrix; default: 1")
    parser.set_defaults(fused=False)
    if network.fused:
        add("--fused", action="store_true", help="run the step as one Numba kernel")
    add_shared_options(parser, seconds=10.0)
    return parser


def check_together(parser: OneLineParser, options: argparse.Namespace) -> None:
    """End with an error if options contradict."""
    check_device_options(parser, options)
    if options.weight_scale is not None and options.matrix is None:
        parser.error("--weight-scale needs --matrix")
    if options.fused and options.backend is not None:
        parser.error("--fused is a Numba kernel of its own; leave --backend out")
    if options.fused and (options.devices or options.processes):
        parser.error("--fused runs on one device; leave --devices and --processes out")


def connectivity_of(network: Network, options: argparse.Namespace) -> Connectivity:
    """Draw the connectivity, or read it."""
    if options.matrix is None:
        return random_connectivity(options.neurons or DEFAULT_NEURONS, network.model, options.seed)
    scale = 1.0 if options.weight_scale is None else options.weight_scale
    return load_connectivity(options.matrix, scale)


def placement_of(network: Network, options: argparse.Namespace, neurons: int) -> OneDevice:
    """Return the devices that share the neurons."""
    mesh = mesh_asked(options, neurons)
    return ONE_DEVICE if mesh is None else network.blocks(neurons, mesh)


def start_of(
    network: Network, options: argparse.Namespace, connectivity: Connectivity, placement: OneDevice
) -> tuple[Step, Any]:
    """Return the step, and the state to begin with."""
    state = network.initial_state(connectivity, network.model, options.seed)
    if not options.fused:
        return network.catalog_step(connectivity, network.model, options.backend, placement), state
    # By name, so that the demo runs on the reference where Numba is not installed.
    fused = importlib.import_module(network.fused or "")
    return fused.fused_step(connectivity, network.model), fused.fused_state(state)


def record(
    network: Network, options: argparse.Namespace, connectivity: Connectivity, placement: OneDevice
) -> Recording:
    """Simulate as asked."""
    step, state = start_of(network, options, connectivity, placement)
    split = isinstance(placement, PackedBlocks)
    synapses = placement.connect(connectivity) if split else network.on_device(connectivity)
    steps = network.model.steps(options.seconds)
    with progress_bar("simulating", steps, options) as on_chunk:
        where = {"placement": placement, "on_chunk": on_chunk}
        return simulate(network.model, step, state, synapses, steps=steps, **where)[1]


def run(network: Network, options: argparse.Namespace) -> None:
    """Simulate as asked; the first process prints the table and saves the figure."""
    model = network.model
    connectivity = connectivity_of(network, options)
    placement = placement_of(network, options, connectivity.neurons)
    # Before the simulation, since this says what cannot run.
    ran_on = [] if options.fused else explanations(network.operators, options.backend)
    recording = record(network, options, connectivity, placement)
    if options.process_id:
        return
    title, summary = f"{network.name.upper()} network", Summary.of(recording, connectivity, model)
    table = table_of(title, summary, connectivity, ran_on, placement)
    if recording.lost:
        table.caption = f"{recording.lost:,} spikes of crowded steps are counted, but not in the raster."
    finish(options, partial(save_figure, recording, connectivity.excitatory, model), table)


def run_program(network: Network, argv: Sequence[str] | None = None) -> int:
    """Run the network's program; return its exit code."""
    return run_command(
        parser_of(network),
        argv,
        lambda options: run(network, options),
        check=check_together,
        errors=(ConnectivityError,),
    )
