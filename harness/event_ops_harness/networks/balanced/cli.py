"""A balanced network as a program: its options, and a run from them to the figure."""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from event_ops.network import Network
from event_ops_harness.networks.balanced.connectivity import (
    Connectivity,
    ConnectivityError,
    load_connectivity,
    random_connectivity,
)
from event_ops_harness.networks.balanced.report import save_figure, table_of
from event_ops_harness.networks.balanced.steps import BalancedNetwork, Blocks
from event_ops_harness.networks.shared.blocks import ONE_DEVICE
from event_ops_harness.networks.shared.cli import OneLineParser, check_device_options, finite, positive_int
from event_ops_harness.networks.shared.display import explanations
from event_ops_harness.networks.shared.processes import mesh_of_options
from event_ops_harness.networks.shared.program import Program, Report
from event_ops_harness.networks.shared.simulation import Recording, Simulation

DEFAULT_NEURONS = 4000


def program_of(network: BalancedNetwork) -> Program:
    """Return the program that simulates a network."""
    return Program(
        network.name,
        f"Simulate the {network.name.upper()} network, print a table, draw a figure.",
        seconds=10.0,
        add_options=partial(add_options, network),
        prepare=partial(prepare, network),
        check=check_together,
        errors=(ConnectivityError,),
        divisible=True,
    )


def add_options(network: BalancedNetwork, parser: OneLineParser) -> None:
    """Add the options of a balanced network."""
    unit, source, add = network.model.unit, parser.add_mutually_exclusive_group(), parser.add_argument
    number = f"number of neurons; default: {DEFAULT_NEURONS}"
    source.add_argument("--neurons", type=positive_int, metavar="N", help=number)
    matrix = (
        "connectivity instead of a random one: .mtx (Matrix Market) or .npz (scipy.sparse), "
        f"square, rows = source, columns = target, entries in {unit}; > 0 excites, < 0 inhibits"
    )
    source.add_argument("--matrix", type=Path, metavar="FILE", help=matrix)
    add("--weight-scale", type=finite, metavar="X", help=f"{unit} per unit of the matrix; default: 1")


def check_together(parser: OneLineParser, options: argparse.Namespace) -> None:
    """End with an error if options contradict."""
    check_device_options(parser, options)
    if options.weight_scale is not None and options.matrix is None:
        parser.error("--weight-scale needs --matrix")


def connectivity_of(network: BalancedNetwork, options: argparse.Namespace) -> Connectivity:
    """Draw the connectivity, or read it."""
    if options.matrix is None:
        return random_connectivity(options.neurons or DEFAULT_NEURONS, network.model, options.seed)
    scale = 1.0 if options.weight_scale is None else options.weight_scale
    return load_connectivity(options.matrix, scale)


def build(network: BalancedNetwork, options: argparse.Namespace) -> tuple[Simulation, Connectivity]:
    """Build the network that the options ask for."""
    connectivity = connectivity_of(network, options)
    mesh = mesh_of_options(options, connectivity.neurons)
    placement = ONE_DEVICE if mesh is None else Blocks(connectivity.neurons, mesh)
    how: dict[str, Any] = {"backend": options.backend, "placement": placement}
    steps = network.model.steps(options.seconds)
    return network.build(connectivity, options.seed, steps, **how), connectivity


def prepare(network: BalancedNetwork, options: argparse.Namespace) -> tuple[Simulation, Report]:
    """Build the network, and say how its end is reported."""
    simulation, connectivity = build(network, options)
    # Before the simulation, since this says what cannot run.
    declared = isinstance(simulation.step, Network)
    ran_on = (
        simulation.step.explain(simulation.state)
        if declared
        else explanations(network.operators, options.backend)
    )

    def report(state: Any, recording: Recording) -> tuple[Sequence[Table], Any]:
        title = f"{network.name.upper()} network"
        table = table_of(title, recording, connectivity, network.model, ran_on, simulation.placement)
        return [table], partial(save_figure, recording, connectivity.excitatory, network.model)

    return simulation, report
