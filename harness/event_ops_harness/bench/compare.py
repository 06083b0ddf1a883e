"""Compare two revisions on this machine: BASE beside the working tree, in fresh processes, A B B A.

Each process runs the same benchmark, with the working tree's harness and one revision's libraries. A row's
change is the ratio of its medians over processes. It counts as noise unless an interval by ranks (`noise.py`)
excludes 1: at 5 % for all rows together, or, where so many rows ask for more processes than there are, unless
all times of one revision lie below all of the other. The status is 1 if a row of ours got slower beyond noise
and by more than the tolerance. No absolute time decides. Where BASE's libraries lack what this harness needs,
there is an error, and the status is 2; with `--own-harness` BASE is measured by its own.

`--compare BASE [--turns N] [--tolerance X] [--output FILE] [BENCHMARK and its options; default: catalog]`
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from event_ops_harness.bench import fresh
from event_ops_harness.bench.noise import Change, change
from event_ops_harness.bench.suite import Parser, write
from event_ops_harness.results import RESULTS, command, new_table
from event_ops_harness.revisions import RevisionError, check, environment, git, worktree

HARNESS: Final = RESULTS.parent
COMPARABLE: Final = ("call", "catalog", "cold", "scaling")
ALPHA: Final = 0.05

Times = dict[tuple[str, str], list[float]]  # (group, rival) -> microseconds, one per process
Measure = Callable[[Mapping[str, str]], list[dict[str, Any]]]  # environment -> rows


def measure_with(words: Sequence[str]) -> Measure:
    """Return what runs `python WORDS --output FILE` in an environment and reads the rows of the file."""

    def measure(env: Mapping[str, str]) -> list[dict[str, Any]]:
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "rows.json"
            try:
                fresh.run_python([*words, "--output", str(output)], env)
            except fresh.ProcessError as error:
                raise RevisionError(f"the benchmark failed: {error}") from error
            return json.loads(output.read_text())["rows"]

    return measure


def take_turns(
    measure: Measure, environments: Sequence[Mapping[str, str]], turns: int, say: Callable[[str], None]
) -> tuple[list[Times], set[tuple[str, str]]]:
    """Return the times of each of two environments, A B B A in every turn; and the rows that are ours."""
    who = ("BASE", "the working tree")
    jobs = {name: functools.partial(measure, env) for name, env in zip(who, environments, strict=True)}
    found, _ = fresh.take_turns(jobs, 2 * turns, say)
    times: list[Times] = [{}, {}]
    ours: set[tuple[str, str]] = set()
    for own, processes in zip(times, found.values(), strict=True):
        for row in (row for rows in processes for row in rows):
            key = row["group"], row["rival"]
            own.setdefault(key, []).append(row["us"])
            if row.get("ours", True):
                ours.add(key)
    return times, ours


def compare(before: Times, after: Times) -> dict[tuple[str, str], Change]:
    """Return the change of every row that both have."""
    both = [key for key in before if key in after]
    return {key: change(before[key], after[key], ALPHA / len(both)) for key in both}


def is_regression(found: Change, tolerance: float) -> bool:
    """Say whether it is slower beyond noise, and by more than the tolerance."""
    return found.verdict == "slower" and found.ratio > 1 + tolerance


def rows_of(
    times: Sequence[Times], changes: Mapping[tuple[str, str], Change], ours: set[tuple[str, str]]
) -> list[dict[str, Any]]:
    """Return a row, as JSON has it, for each row of the benchmark that both revisions have."""
    before, after = times
    return [
        {
            "group": key[0],
            "rival": key[1],
            "us_base": median(before[key]),
            "us": median(after[key]),
            **asdict(found),
            "verdict": found.verdict,
            "ours": key in ours,
            "each_us": [before[key], after[key]],
        }
        for key, found in changes.items()
    ]


def _table(rows: Sequence[Mapping[str, Any]], base: str) -> Table:
    columns = ("what", "who", "base, µs", "here, µs", "ratio", "noise", "verdict")
    table = new_table(f"Changes since {base} beyond noise", columns, text=("what", "who", "verdict"))
    for row in sorted(rows, key=lambda row: -row["ratio"]):
        if row["verdict"] != "same":
            figures = [f"{row[name]:.4g}" for name in ("us_base", "us", "ratio")]
            noise = f"{row['low']:.3g} to {row['high']:.3g}"
            table.add_row(row["group"], row["rival"], *figures, noise, row["verdict"])
    return table


def _parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our options, and the benchmark with its own: those after its name."""
    at = next((i for i, word in enumerate(argv) if i and word in COMPARABLE), len(argv))
    parser = Parser("--compare", __doc__, RESULTS / "compare.json")
    add = parser.add_argument
    add("base", metavar="BASE", help="a revision that git knows")
    add("--turns", type=int, default=3, help="A B B A so often; default: 3")
    add("--tolerance", type=float, default=0.1, help="how much slower is no failure; default: 0.1")
    add("--own-harness", action="store_true", help="measure BASE by its own harness")
    options = parser.parse_args(argv[:at])
    options.command = command("bench", ["--compare", *argv])
    if options.turns < 2 or options.tolerance < 0:
        parser.error("--turns is at least 2: fewer tell no change from noise; --tolerance at least 0")
    return options, list(argv[at:]) or ["catalog"]


def command_of(benchmark: str, options: Sequence[str]) -> list[str]:
    """Return what Python runs for a benchmark with its options."""
    return ["-m", f"{__package__}.{benchmark}", *options]


def main(argv: Sequence[str] | None = None, repository: Path = HARNESS.parent) -> int:
    """Compare, show and write; return the exit status."""
    options, (benchmark, *words) = _parse(sys.argv[1:] if argv is None else argv)
    console = Console()
    measure = measure_with(command_of(benchmark, words))
    try:
        with worktree(repository, options.base) as base, console.status("measuring") as status:
            trees = (base, repository)
            harness = base / HARNESS.name if options.own_harness else HARNESS
            environments = [environment(base, harness), environment(repository, HARNESS)]
            for tree, env in zip(trees, environments, strict=True):
                check(tree, env)
            times, ours = take_turns(measure, environments, options.turns, status.update)
            named = ("describe", "--always", "--dirty", "--exclude=*", "--abbrev=40")
            commits = {"base": git(base, *named), "here": git(repository, *named)}
    except RevisionError as error:
        console.print(f"cannot compare: {error}", markup=False, soft_wrap=True)
        return 2
    return report(console, options, times, ours, commits)


def report(
    console: Console,
    options: argparse.Namespace,
    times: Sequence[Times],
    ours: set[tuple[str, str]],
    commits: Mapping[str, str],
) -> int:
    """Show and write the changes; return 1 where one of ours is a regression."""
    changes = compare(*times)
    rows = rows_of(times, changes, ours)
    failed = [
        key for key, found in changes.items() if key in ours and is_regression(found, options.tolerance)
    ]
    alone = [[list(key) for key in own if key not in changes] for own in times]
    console.print(_table(rows, options.base))
    same = sum(row["verdict"] == "same" for row in rows)
    console.print(
        f"{same} of {len(rows)} rows: the same within noise; {sum(map(len, alone))} in one revision only"
    )
    for group, rival in failed:
        ratio = changes[group, rival].ratio
        console.print(f"slower: {group}, {rival}: {ratio:.2f} x", markup=False, soft_wrap=True)
    sections = {"commits": commits, "only_base": alone[0], "only_here": alone[1], "regressions": failed}
    write(options, rows, **sections)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
