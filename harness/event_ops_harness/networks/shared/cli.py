"""The command line of a network: options of every network, errors in one line, exit codes, progress bars."""

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import jax
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from event_ops_harness.networks.shared.processes import DevicesError, leave, start
from event_ops_harness.networks.shared.simulation import SpikesLostError
from ffi_bridge.errors import BackendUnavailableError, UnknownBackendError

FIGURE_SUFFIXES = (".png", ".pdf", ".svg")
BAD_INPUT = 2
INTERRUPTED = 130
# Errors of every network whose message is for the user.
SHARED_ERRORS = (DevicesError, SpikesLostError, UnknownBackendError, BackendUnavailableError)


class OneLineParser(argparse.ArgumentParser):
    """Parse options; an error is one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: error: {message} (see --help)\n")


def add_usual_options(parser: OneLineParser, seconds: float) -> None:
    """Add the options of every network; `seconds` is the default model time. It runs on one device."""
    add, output = parser.add_argument, Path(f"{parser.prog}.png")
    add("--seconds", type=positive, default=seconds, metavar="S", help=f"model time; default: {seconds:g}")
    add("--seed", type=whole, default=1, metavar="K", help="seed of all random numbers; default: 1")
    add("--backend", metavar="NAME", help="run the operators on this backend; default: each chooses its own")
    add("--output", type=figure_path, default=output, metavar="FILE", help=f"the figure; default: {output}")
    add("--no-progress", action="store_true", help="show no progress bars")
    parser.set_defaults(devices=None, processes=None, coordinator=None, process_id=None)


def add_shared_options(parser: OneLineParser, seconds: float) -> None:
    """Add the options of every network that may be split over devices and processes."""
    add_usual_options(parser, seconds)
    add = parser.add_argument
    add("--devices", type=positive_int, metavar="N", help="split the neurons over N devices")
    add("--processes", type=positive_int, metavar="N", help="run in N processes, which share the devices")
    add(
        "--coordinator",
        metavar="HOST:PORT",
        help="several hosts: where process 0 listens; see docs/scale-out.md",
    )
    add("--process-id", type=whole, metavar="K", help="several hosts: the number of this process, from 0")


def check_device_options(parser: OneLineParser, options: argparse.Namespace) -> None:
    """End with an error if the options that say where the neurons are contradict each other."""
    devices, processes = options.devices, options.processes
    if devices and processes and devices % processes:
        parser.error(f"{devices} devices cannot be shared evenly by {processes} processes")
    if (options.coordinator is None) != (options.process_id is None):
        parser.error("--coordinator and --process-id need each other")
    if options.process_id is not None and options.process_id >= (processes or 0):
        parser.error(f"--process-id {options.process_id} needs --processes greater than it")


def run_command(
    parser: OneLineParser,
    argv: Sequence[str] | None,
    run: Callable[[argparse.Namespace], None],
    *,
    check: Callable[[OneLineParser, argparse.Namespace], None] = check_device_options,
    errors: tuple[type[Exception], ...],
) -> int:
    """Parse and `check` the options, and `run` with them, in several processes if they say so.

    Returns the exit code. The message of one of the `errors` is printed in one line.
    """
    arguments = sys.argv[1:] if argv is None else argv
    options = parser.parse_args(arguments)
    check(parser, options)
    try:
        if options.processes and options.coordinator is None:
            return start(parser.prog, arguments, options.processes)
        run(options)
    except (*SHARED_ERRORS, *errors) as error:
        print(f"{parser.prog}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT
    except jax.errors.JaxRuntimeError as error:
        if options.coordinator is None:
            raise
        leave(parser.prog, options.process_id, options.processes, error)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


@contextmanager
def progress_bar(
    what: str, total: int, options: argparse.Namespace, *, hidden: bool = False
) -> Iterator[Callable[[int], None]]:
    """Show a bar, unless the options or another process do without; yield a function of how much is done."""
    columns = TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    console, hidden = Console(stderr=True), hidden or options.no_progress or bool(options.process_id)
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)


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


def writable(text: str, suffixes: tuple[str, ...]) -> Path:
    """Return a path that can be written; checked before the simulation, not after it."""
    path = Path(text)
    if path.suffix.lower() not in suffixes:
        expected = ", ".join(suffixes)
        raise argparse.ArgumentTypeError(f"{text!r} has no known suffix; expected {expected}")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"folder {str(path.parent)!r} does not exist")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text!r} cannot be written")
    return path


def figure_path(text: str) -> Path:
    return writable(text, FIGURE_SUFFIXES)
