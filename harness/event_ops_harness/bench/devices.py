"""Time what more devices give: the CUBA network split over devices of one process, and over processes.

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
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from rich.console import Console

from event_ops_harness.bench.fresh import Found, ProcessError, ask, row_of, take_turns
from event_ops_harness.bench.suite import Parser, amount, count, print_skipped, write
from event_ops_harness.networks.shared.processes import LOOPBACK, free_port
from event_ops_harness.results import Row, as_json, show

BASELINE: Final = "1 device"
ENVIRONMENT: Final = {"NUMBA_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}


def splits(counts: Sequence[int]) -> dict[str, dict[str, int]]:
    """Return ways to run the network, by name: options of the demo."""
    more = [n for n in counts if n > 1]
    return {
        BASELINE: {},
        **{f"{n} devices": {"devices": n} for n in more},
        **{f"{n} processes": {"processes": n} for n in more},
    }


def measure(neurons: int, options: argparse.Namespace, say: Any) -> tuple[list[Row], dict[str, str]]:
    """Return a row for each split; and why some were left out."""
    size = {"neurons": neurons, "seconds": options.seconds}
    jobs = {
        name: functools.partial(_simulated, size | split) for name, split in splits(options.counts).items()
    }
    group = f"{neurons:,} neurons"
    found, failed = take_turns(jobs, options.rounds, lambda text: say(f"{group}, {text}"))
    if BASELINE not in found:
        raise ProcessError(failed[BASELINE])
    failed |= _different(found)
    kept = {name: results for name, results in found.items() if name not in failed}
    return [_row(group, name, results) for name, results in kept.items()], failed


def _simulated(request: Mapping[str, Any]) -> Found:
    """Return what the first of the processes found that the request asks for, all at once."""
    processes = request.get("processes", 1)
    if processes == 1:
        return ask("devices", request, ENVIRONMENT)
    together = {**request, "coordinator": f"{LOOPBACK}:{free_port()}"}
    requests = [together | {"process-id": k} for k in range(processes)]
    with ThreadPoolExecutor(processes) as pool:
        first, *_ = pool.map(lambda each: ask("devices", each, ENVIRONMENT), requests)
    return first


def _different(found: Mapping[str, Sequence[Found]]) -> dict[str, str]:
    """Return the splits whose spikes are not those of one device, and why they are left out."""
    spikes = found[BASELINE][0]["spikes"]
    return {
        name: f"{result['spikes']:,} spikes; one device has {spikes:,}"
        for name, results in found.items()
        for result in results
        if result["spikes"] != spikes
    }


def _row(group: str, name: str, results: Sequence[Found]) -> Row:
    seconds = [result["seconds"] for result in results]
    return row_of(
        group, name, seconds, BASELINE, spikes=results[0]["spikes"], synapses=results[0]["synapses"]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show and write; return the exit status."""
    parser = Parser("devices", __doc__)
    add = parser.add_argument
    add("--neurons", type=count, nargs="+", default=[4000, 40_000], metavar="N", help="default: 4000 40000")
    add("--counts", type=count, nargs="+", default=[2, 4], metavar="D", help="devices; default: 2 4")
    add("--seconds", type=amount, default=1.0, metavar="S", help="model time; default: 1")
    add("--rounds", type=count, default=3, help="default: 3")
    options, console = parser.parse(argv), Console()
    rows: list[Row] = []
    skipped: dict[str, str] = {}
    with console.status("measuring") as status:
        for neurons in options.neurons:
            measured, failed = measure(neurons, options, status.update)
            rows += measured
            skipped |= {f"{neurons:,} neurons, {name}": reason for name, reason in failed.items()}
    show(console, "The CUBA network on more devices", rows)
    print_skipped(console, skipped)
    write(options, as_json(rows), skipped=skipped)
    return 0


if __name__ == "__main__":
    sys.exit(main())
