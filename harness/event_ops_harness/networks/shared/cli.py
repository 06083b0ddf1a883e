"""Parse the command line of a network: options of every network, errors in one line, progress bars."""

import argparse
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

BAD_INPUT = 2


class OneLineParser(argparse.ArgumentParser):
    """Parse options; an error is one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: error: {message} (see --help)\n")


def add_usual_options(parser: OneLineParser, seconds: float, *, divisible: bool) -> None:
    """Add the options of every network, and with `divisible` the options for devices and processes.

    `seconds` is the model time by default.
    """
    add, output = parser.add_argument, Path(f"{parser.prog}.png")
    add("--seconds", type=positive, default=seconds, metavar="S", help=f"model time; default: {seconds:g}")
    add("--seed", type=whole, default=1, metavar="K", help="seed of all random numbers; default: 1")
    add("--backend", metavar="NAME", help="run the operators on this backend; default: each chooses its own")
    add("--output", type=figure_path, default=output, metavar="FILE", help=f"the figure; default: {output}")
    add("--no-progress", action="store_true", help="show no progress bars")
    if not divisible:
        parser.set_defaults(devices=None, processes=None, coordinator=None, process_id=None)
        return
    add("--devices", type=positive_int, metavar="N", help="split the neurons over N devices")
    add("--processes", type=positive_int, metavar="N", help="run in N processes, which share the devices")
    hosts = "several hosts: where process 0 listens; see docs/scale-out.md"
    add("--coordinator", metavar="HOST:PORT", help=hosts)
    add("--process-id", type=whole, metavar="K", help="several hosts: the number of this process, from 0")


def check_device_options(parser: OneLineParser, options: argparse.Namespace) -> None:
    """End with an error where the options for devices and processes contradict."""
    devices, processes = options.devices, options.processes
    if devices and processes and devices % processes:
        parser.error(f"{devices} devices cannot be shared evenly by {processes} processes")
    if (options.coordinator is None) != (options.process_id is None):
        parser.error("--coordinator and --process-id need each other")
    if options.process_id is not None and options.process_id >= (processes or 0):
        parser.error(f"--process-id {options.process_id} needs --processes greater than it")


@contextmanager
def progress_bar(
    label: str, total: int, options: argparse.Namespace, *, hidden: bool = False
) -> Iterator[Callable[[int], None]]:
    """Show a bar, unless the options or another process do without; yield a function of how much is done."""
    columns = TextColumn(label), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    console, hidden = Console(stderr=True), hidden or options.no_progress or bool(options.process_id)
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task(label, total=total)
        yield lambda done: progress.update(task, completed=done)


def number(parse: type, accepts: Callable[[Any], bool], expected: str) -> Callable[[str], Any]:
    """Return the type of an option: `parse` reads a number that `accepts` must hold for."""

    def read(text: str) -> Any:
        with suppress(ValueError):
            value = parse(text)
            if accepts(value):
                return value
        raise argparse.ArgumentTypeError(f"{text!r} is not {expected}")

    return read


positive_int = number(int, lambda x: x > 0, "a positive whole number")
whole = number(int, lambda x: x >= 0, "a whole number of 0 or more")
finite = number(float, math.isfinite, "a finite number")
positive = number(float, lambda x: 0 < x < math.inf, "a finite number greater than 0")
duration = number(float, lambda x: 0 <= x < math.inf, "a finite number of 0 or more")
part = number(float, lambda x: 0 < x <= 1, "in (0, 1]")


def writable(suffixes: tuple[str, ...], text: str) -> Path:
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


figure_path: Any = partial(writable, (".png", ".pdf", ".svg"))
npz_path: Any = partial(writable, (".npz",))
