"""Options of the command line."""

import argparse
from pathlib import Path

from event_ops_harness.networks.microcircuit.model import DRIVES
from event_ops_harness.networks.shared.options import (
    OneLineParser,
    add_devices,
    figure_path,
    positive,
    whole,
)

DESCRIPTION = "Simulate the Potjans-Diesmann microcircuit, print a table, draw a figure."


def make_parser() -> argparse.ArgumentParser:
    parser = OneLineParser(prog="microcircuit", description=DESCRIPTION, allow_abbrev=False)
    add = parser.add_argument
    add("--scale", type=part, default=0.1, metavar="X", help="of neurons and of inputs; default: 0.1")
    add("--seconds", type=positive, default=1.0, metavar="S", help="model time that counts; default: 1")
    add("--discard", type=duration, default=0.5, metavar="S", help="model time before it; default: 0.5")
    add("--drive", choices=DRIVES, default="poisson", help="the background; default: poisson")
    add("--pulse", type=duration, metavar="S", help="a thalamic pulse of 10 ms at this model time")
    add("--seed", type=whole, default=1, metavar="K", help="default: 1")
    add("--procedural", action="store_true", help="store no synapses: draw them anew at each spike")
    add_devices(parser)
    add("--backend", metavar="NAME", help="run the operators on this one; default: they choose")
    add("--npz-out", type=npz_path, metavar="FILE", help="spike times and ids of all neurons")
    add("--checkpoint", type=npz_path, metavar="FILE", help="write the last state, to go on from")
    add("--resume", type=Path, metavar="FILE", help="go on from a checkpoint; nothing is discarded")
    add("--output", type=figure_path, default=Path("microcircuit.png"), metavar="FILE", help="the figure")
    add("--no-progress", action="store_true", help="no progress bars")
    return parser


def part(text: str) -> float:
    value = positive(text)
    if value > 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not in (0, 1]")
    return value


def duration(text: str) -> float:
    return 0.0 if text in ("0", "0.0") else positive(text)


def npz_path(text: str) -> Path:
    """Checked before the simulation, not after it."""
    path = Path(text)
    if path.suffix != ".npz":
        raise argparse.ArgumentTypeError(f"{text!r} has no suffix .npz")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"folder {str(path.parent)!r} does not exist")
    return path
