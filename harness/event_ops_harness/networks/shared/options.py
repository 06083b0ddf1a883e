"""Options of the command line, and what is wrong with them in one line."""

import argparse
import math
import os
from pathlib import Path
from typing import NoReturn

FIGURE_SUFFIXES = (".png", ".pdf", ".svg")
BAD_INPUT = 2
DESCRIPTION = "Simulate the CUBA network, print a table, draw a figure."


class OneLineParser(argparse.ArgumentParser):
    """Argparse whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: error: {message} (see --help)\n")


def make_parser() -> argparse.ArgumentParser:
    parser = OneLineParser(prog="cuba", description=DESCRIPTION, allow_abbrev=False)
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
    add("--seed", type=whole, default=1, metavar="K", help="default: 1")
    add("--backend", metavar="NAME", help="run the operators on this one; default: they choose")
    add("--fused", action="store_true", help="the step as one Numba kernel (cuba/fused.py)")
    add_devices(parser)
    add("--output", type=figure_path, default=Path("cuba.png"), metavar="FILE", help="the figure")
    add("--no-progress", action="store_true", help="no progress bar")
    return parser


def add_devices(parser: argparse.ArgumentParser) -> None:
    """The options that say where the neurons are."""
    add = parser.add_argument
    add("--devices", type=positive_int, metavar="N", help="split the neurons over so many devices")
    add(
        "--processes", type=positive_int, metavar="N", help="run in so many processes; the devices are theirs"
    )
    add(
        "--coordinator",
        metavar="HOST:PORT",
        help="several hosts: where process 0 listens; see docs/scale-out.md",
    )
    add("--process-id", type=whole, metavar="K", help="several hosts: which of the processes this is, from 0")


def positive_int(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def whole(text: str) -> int:
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
    if options.fused and (options.devices or options.processes):
        parser.error("--fused runs on one device; leave --devices and --processes out")
    check_devices_together(parser, options)


def check_devices_together(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    devices, processes = options.devices, options.processes
    if devices and processes and devices % processes:
        parser.error(f"{devices} devices cannot be shared evenly by {processes} processes")
    if (options.coordinator is None) != (options.process_id is None):
        parser.error("--coordinator and --process-id need each other")
    if options.process_id is not None and options.process_id >= (processes or 0):
        parser.error(f"--process-id {options.process_id} needs --processes greater than it")
