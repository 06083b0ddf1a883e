"""A balanced network as a program: its options, and a run from them to the figure."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from event_ops.network import Network as DeclaredNetwork
from event_ops.network import Record
from event_ops_harness.networks.balanced.connectivity import (
    Connectivity,
    ConnectivityError,
    load_connectivity,
    random_connectivity,
)
from event_ops_harness.networks.balanced.network import TRACED_NEURONS, BalancedParameters, recorder_of
from event_ops_harness.networks.balanced.report import save_figure, table_of
from event_ops_harness.networks.shared.blocks import ONE_DEVICE, OneDevice, PackedBlocks
from event_ops_harness.networks.shared.cli import OneLineParser, check_device_options, finite, positive_int
from event_ops_harness.networks.shared.display import explanations
from event_ops_harness.networks.shared.processes import mesh_of_options
from event_ops_harness.networks.shared.program import Program, Report
from event_ops_harness.networks.shared.simulation import Recording, Simulation, Step

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
    declared: Callable[..., Any]  # of connectivity, model and record: an `event_ops.network.Network`
    by_name: Callable[[Any], dict[str, Any]]  # the first state, for `declared`

    def build(
        self,
        connectivity: Connectivity,
        seed: int,
        steps: int,
        *,
        backend: str | None = None,
        placement: OneDevice = ONE_DEVICE,
    ) -> Simulation:
        """Build the network of a connectivity, declared; of steps over several devices, or on a backend."""
        model, n = self.model, connectivity.neurons
        state = self.initial_state(connectivity, model, seed)
        if backend is None and placement is ONE_DEVICE:
            recorder = recorder_of(n, model, capacity=n)
            traced = {"V_m": np.arange(min(n, TRACED_NEURONS))}
            record = Record(spikes=recorder.buffer().ids.size, states=traced)
            network = self.declared(connectivity, model, record)
            return Simulation(network, network.state(self.by_name(state)), network, recorder, steps)
        step = self.catalog_step(connectivity, model, backend, placement)
        split = isinstance(placement, PackedBlocks)
        synapses = placement.connect(connectivity) if split else self.on_device(connectivity)
        return Simulation(step, state, synapses, recorder_of(n, model), steps, placement)

    @property
    def program(self) -> Program:
        """The program that simulates it."""
        title = f"{self.name.upper()} network"
        return Program(
            self.name,
            f"Simulate the {title}, print a table, draw a figure.",
            seconds=10.0,
            add_options=partial(add_options, self),
            prepare=partial(prepare, self),
            check=check_together,
            errors=(ConnectivityError,),
            divisible=True,
        )


def add_options(network: Network, parser: OneLineParser) -> None:
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


def connectivity_of(network: Network, options: argparse.Namespace) -> Connectivity:
    """Draw the connectivity, or read it."""
    if options.matrix is None:
        return random_connectivity(options.neurons or DEFAULT_NEURONS, network.model, options.seed)
    scale = 1.0 if options.weight_scale is None else options.weight_scale
    return load_connectivity(options.matrix, scale)


def build(network: Network, options: argparse.Namespace) -> tuple[Simulation, Connectivity]:
    """Build the network that the options ask for."""
    connectivity = connectivity_of(network, options)
    mesh = mesh_of_options(options, connectivity.neurons)
    placement = ONE_DEVICE if mesh is None else network.blocks(connectivity.neurons, mesh)
    how: dict[str, Any] = {"backend": options.backend, "placement": placement}
    steps = network.model.steps(options.seconds)
    return network.build(connectivity, options.seed, steps, **how), connectivity


def prepare(network: Network, options: argparse.Namespace) -> tuple[Simulation, Report]:
    """Build the network, and say how its end is reported."""
    simulation, connectivity = build(network, options)
    # Before the simulation, since this says what cannot run.
    declared = isinstance(simulation.step, DeclaredNetwork)
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
