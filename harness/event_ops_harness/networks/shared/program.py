"""Run a network as a program: from its options to the tables and the figure, with exit codes."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
from rich.console import Console
from rich.table import Table

from event_ops_harness.networks.shared.cli import (
    BAD_INPUT,
    OneLineParser,
    add_usual_options,
    check_device_options,
    progress_bar,
)
from event_ops_harness.networks.shared.processes import DevicesError, leave, start
from event_ops_harness.networks.shared.simulation import Recording, Simulation, SpikesLostError
from ffi_bridge.errors import BackendUnavailableError, UnknownBackendError

# 128 and the number of SIGINT, as a shell says it.
INTERRUPTED = 130
# Errors of every network whose message is for the user.
SHARED_ERRORS = (DevicesError, SpikesLostError, UnknownBackendError, BackendUnavailableError)

# (last state, recording) -> the tables to print, and a function that draws the figure into a file
Report = Callable[[Any, Recording], tuple[Sequence[Table], Callable[[Path], None]]]


@dataclass(frozen=True)
class Program:
    """Declare the program of a network.

    `prepare(options)` builds the network and says how its end is reported; it begins with whatever shows that
    the network cannot run. The message of one of the `errors` is printed in one line.
    """

    name: str
    text: str  # of --help
    seconds: float  # model time by default
    add_options: Callable[[OneLineParser], None]
    prepare: Callable[[argparse.Namespace], tuple[Simulation, Report]]
    check: Callable[[OneLineParser, argparse.Namespace], None] = check_device_options
    errors: tuple[type[Exception], ...] = ()
    divisible: bool = False  # among devices and processes

    @property
    def parser(self) -> OneLineParser:
        """The parser of its command line."""
        parser = OneLineParser(prog=self.name, description=self.text, allow_abbrev=False)
        self.add_options(parser)
        add_usual_options(parser, self.seconds, divisible=self.divisible)
        return parser

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Parse the options, and run with them, in several processes if they say so; return the exit code."""
        arguments, parser = sys.argv[1:] if argv is None else argv, self.parser
        options = parser.parse_args(arguments)
        self.check(parser, options)
        try:
            # With a coordinator this is one of the processes already.
            if options.processes and options.coordinator is None:
                return start(self.name, arguments, options.processes)
            self.run(options)
        except (*SHARED_ERRORS, *self.errors) as error:
            print(f"{self.name}: error: {' '.join(str(error).split())}", file=sys.stderr)
            return BAD_INPUT
        except jax.errors.JaxRuntimeError as error:
            if options.coordinator is None:
                raise
            leave(self.name, options.process_id, options.processes, error)
        except KeyboardInterrupt:
            return INTERRUPTED
        return 0

    def run(self, options: argparse.Namespace) -> None:
        """Simulate; the first process prints the tables and saves the figure."""
        simulation, report = self.prepare(options)
        with progress_bar("simulating", simulation.steps, options) as on_chunk:
            state, recording = simulation.run(on_chunk)
        if options.process_id:
            return
        tables, save_figure = report(state, recording)
        console = Console()
        for table in tables:
            console.print(table)
        save_figure(options.output)
        console.print(f"Figure: {options.output}", soft_wrap=True)
