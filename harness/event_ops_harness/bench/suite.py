"""Do what all suites do alike: parse options, print what was skipped, write what was found."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from event_ops_harness.results import RESULTS, command, write_found


def count(text: str) -> int:
    """Parse a whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def amount(text: str) -> float:
    """Parse a number greater than 0. Raises ValueError where it is none at all."""
    if not float(text) > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not greater than 0")
    return float(text)


class Parser(argparse.ArgumentParser):
    """Parse the options of `bench NAME`, of which --output is one."""

    def __init__(self, name: str, description: str | None, output: Path | None = None) -> None:
        super().__init__(prog=f"bench {name}", description=description, allow_abbrev=False)
        self.name, output = name, output or RESULTS / f"{name}.json"
        self.add_argument(
            "--output", type=Path, default=output, metavar="FILE", help="JSON; default: %(default)s"
        )

    def parse(self, argv: Sequence[str] | None) -> argparse.Namespace:
        """Return the options, and as `command` what repeats them; `argv` is by default the process's."""
        asked = sys.argv[1:] if argv is None else argv
        options = self.parse_args(asked)
        options.command = command("bench", [self.name, *asked])
        return options


def write(options: argparse.Namespace, rows: Sequence[Mapping[str, Any]], **sections: Any) -> None:
    """Write the rows, the machine, the command that repeats them, and what else was found."""
    write_found(options.output, options.command, {"rows": rows, **sections})


def print_skipped(console: Console, skipped: Mapping[str, str], how: str = "skipped") -> None:
    """Print who was left out, and why."""
    for name, reason in skipped.items():
        console.print(f"{how}: {name}: {reason}", markup=False, soft_wrap=True)
