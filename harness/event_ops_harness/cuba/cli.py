"""Command line: simulate the CUBA network, print a table, draw a figure."""

import argparse
import importlib
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from event_ops_harness.cuba.connectivity import (
    Connectivity,
    ConnectivityError,
    load_connectivity,
    random_connectivity,
)
from event_ops_harness.cuba.figure import save_figure
from event_ops_harness.cuba.model import CubaParameters
from event_ops_harness.cuba.network import State, Step, catalog_step, initial_state
from event_ops_harness.cuba.report import Summary, explanations, table_of
from event_ops_harness.cuba.simulation import simulate
from ffi_bridge.errors import BackendUnavailableError, UnknownBackendError

DEFAULT_NEURONS = 4000
FIGURE_SUFFIXES = (".png", ".pdf", ".svg")
BAD_INPUT = 2
INTERRUPTED = 130


class OneLineParser(argparse.ArgumentParser):
    """Argparse whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: error: {message} (see --help)\n")


def make_parser() -> argparse.ArgumentParser:
    parser = OneLineParser(prog="cuba", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--neurons", type=positive_int, metavar="N", help="default: 4000")
    source.add_argument(
        "--matrix",
        type=Path,
        metavar="FILE",
        help="connectivity instead of a random one: .mtx (Matrix Market) or .npz (scipy.sparse), "
        "square, rows = source, columns = target, entries in mV; > 0 excites, < 0 inhibits",
    )
    add("--weight-scale", type=finite, metavar="X", help="mV per unit of the matrix; default: 1")
    add("--seconds", type=positive, default=10.0, metavar="S", help="model time; default: 10")
    add("--seed", type=seed, default=1, metavar="K", help="default: 1")
    add("--backend", metavar="NAME", help="run the operators on this one; default: they choose")
    add("--fused", action="store_true", help="the step as one Numba kernel (cuba/fused.py)")
    add("--output", type=figure_path, default=Path("cuba.png"), metavar="FILE", help="the figure")
    add("--no-progress", action="store_true", help="no progress bar")
    return parser


def positive_int(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def finite(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return value


def positive(text: str) -> float:
    value = finite(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not greater than 0")
    return value


def figure_path(text: str) -> Path:
    """Checked before the simulation, not after it."""
    path = Path(text)
    if path.suffix.lower() not in FIGURE_SUFFIXES:
        expected = ", ".join(FIGURE_SUFFIXES)
        raise argparse.ArgumentTypeError(f"{text!r} has no known suffix; expected {expected}")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"folder {str(path.parent)!r} does not exist")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text!r} cannot be written")
    return path


def check_together(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.weight_scale is not None and options.matrix is None:
        parser.error("--weight-scale needs --matrix")
    if options.fused and options.backend is not None:
        parser.error("--fused is a Numba kernel of its own; leave --backend out")


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
    fused = importlib.import_module("event_ops_harness.cuba.fused")
    return fused.fused_step(connectivity, model), fused.fused_state(state)


@contextmanager
def progress_bar(steps: int, *, hidden: bool) -> Iterator[Callable[[int], None]]:
    columns = TextColumn("simulating"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task("simulating", total=steps)
        yield lambda done: progress.update(task, completed=done)


def run(options: argparse.Namespace) -> None:
    """Simulate as asked, print the table, save the figure."""
    model, console = CubaParameters(), Console()
    backends = [] if options.fused else explanations(options.backend)
    connectivity = connectivity_of(options, model)
    step, state = network_of(options, connectivity, model)
    steps = model.steps(options.seconds)
    with progress_bar(steps, hidden=options.no_progress) as on_chunk:
        recording = simulate(connectivity, model, step, state, steps=steps, on_chunk=on_chunk)
    console.print(table_of(Summary.of(recording, connectivity, model), connectivity, backends))
    if recording.lost:
        console.print(f"{recording.lost:,} spikes of crowded steps are counted, but not in the raster.")
    save_figure(options.output, recording, connectivity.excitatory, model)
    console.print(f"Figure: {options.output}", soft_wrap=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = make_parser()
    options = parser.parse_args(argv)
    check_together(parser, options)
    try:
        run(options)
    except (ConnectivityError, UnknownBackendError, BackendUnavailableError) as error:
        print(f"{parser.prog}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0
