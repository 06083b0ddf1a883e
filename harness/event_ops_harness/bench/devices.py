"""What more devices give: the CUBA network split over devices of one process, and over processes.

Every simulation is a fresh process, or several that meet on this host, with one thread of Numba each; in
turns, medians of rounds; the loop alone, without building and compiling. All have to find the same number of
spikes. Beyond the number of cores devices share them: what the exchange costs then shows as time lost, not as
scaling. Not measured: several hosts, networks between them, GPUs.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from event_ops_harness.bench.fresh import Found, ProcessError, ask, median, spread, take_turns
from event_ops_harness.results import Row, show, write

OUTPUT: Final = Path(__file__).parents[2] / "results" / "devices.json"
BASELINE: Final = "1 device"
ENVIRONMENT: Final = {"NUMBA_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}


def splits(counts: Sequence[int]) -> dict[str, dict[str, int]]:
    """Ways to run the network -> options of the demo."""
    more = [n for n in counts if n > 1]
    return {
        BASELINE: {},
        **{f"{n} devices": {"devices": n} for n in more},
        **{f"{n} processes": {"processes": n} for n in more},
    }


def measure(neurons: int, options: argparse.Namespace, say: Any) -> tuple[list[Row], dict[str, str]]:
    """A row for each split; and why some were left out."""
    size = {"neurons": neurons, "seconds": options.seconds}
    jobs = {
        name: functools.partial(ask, "devices", size | split, ENVIRONMENT)
        for name, split in splits(options.counts).items()
    }
    group = f"{neurons:,} neurons"
    found, failed = take_turns(jobs, options.rounds, lambda text: say(f"{group}, {text}"))
    if BASELINE not in found:
        raise ProcessError(failed[BASELINE])
    failed |= _different(found)
    kept = {name: results for name, results in found.items() if name not in failed}
    return [_row(group, name, results) for name, results in kept.items()], failed


def _different(found: Mapping[str, Sequence[Found]]) -> dict[str, str]:
    """Splits whose spikes are not those of one device."""
    spikes = found[BASELINE][0]["spikes"]
    return {
        name: f"{result['spikes']:,} spikes; one device has {spikes:,}"
        for name, results in found.items()
        for result in results
        if result["spikes"] != spikes
    }


def _row(group: str, name: str, results: Sequence[Found]) -> Row:
    seconds = [result["seconds"] for result in results]
    more = {"spikes": results[0]["spikes"], "synapses": results[0]["synapses"], **spread(seconds)}
    return Row(group, name, median(seconds), BASELINE, more)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench devices", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add("--neurons", type=int, nargs="+", default=[4000, 40_000], metavar="N", help="default: 4000 40000")
    add("--counts", type=int, nargs="+", default=[2, 4], metavar="D", help="devices; default: 2 4")
    add("--seconds", type=float, default=1.0, metavar="S", help="model time; default: 1")
    add("--rounds", type=int, default=3, help="default: 3")
    add("--output", type=Path, default=OUTPUT, metavar="FILE", help="JSON; default: %(default)s")
    options = parser.parse_args(argv)
    if options.rounds < 1 or options.seconds <= 0 or min(*options.neurons, *options.counts) < 1:
        parser.error("--rounds, --neurons and --counts are at least 1, --seconds more than 0")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show and write; returns the exit status."""
    options, console = _parse(argv), Console()
    rows: list[Row] = []
    skipped: dict[str, str] = {}
    with console.status("measuring") as status:
        for neurons in options.neurons:
            measured, failed = measure(neurons, options, status.update)
            rows += measured
            skipped |= {f"{neurons:,} neurons, {name}": reason for name, reason in failed.items()}
    show(console, "The CUBA network on more devices", rows)
    for name, reason in skipped.items():
        console.print(f"skipped: {name}: {reason}", markup=False, soft_wrap=True)
    write(options.output, "devices", sys.argv[1:] if argv is None else argv, rows, skipped=skipped)
    return 0


if __name__ == "__main__":
    sys.exit(main())
