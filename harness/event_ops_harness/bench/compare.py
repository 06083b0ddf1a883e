"""Compare two revisions on this machine: BASE beside the working tree, in fresh processes, A B B A.

Each process runs the same benchmark, with the working tree's harness and one revision's libraries, and times
the selected members alone: `-k numba_cpu` takes a fraction of the time of all. An entry's change is the ratio
of its medians over processes. It counts as noise unless an interval by ranks (`noise.py`) excludes 1: at 5 %
for all entries together, or, where there are too few processes for that, unless all times of one revision lie
below all of the other. The status is 1 if an entry of ours got slower beyond noise and by more than the
tolerance. No absolute time decides. Where BASE's libraries lack what this harness needs, there is an error,
and the status is 2; with `--own-harness` BASE is measured by its own.

`--compare BASE [--turns N] [--tolerance X] [--keep FOLDER] [NAME and pytest's options; default: catalog]`:
FOLDER gets a file of each process, for `pytest-benchmark compare`.
"""

import argparse
import functools
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from event_ops_harness.bench import fresh
from event_ops_harness.bench.noise import Change, change_of
from event_ops_harness.bench.plugin import ALONE
from event_ops_harness.networks.shared.rivals import WorkerError
from event_ops_harness.results import RESULTS, new_table
from event_ops_harness.revisions import RevisionError, check, environment, worktree

HARNESS: Final = RESULTS.parent
ALPHA: Final = 0.05

Key = tuple[str, str]  # group, member
Times = dict[Key, list[float]]  # seconds, one per process
Measure = Callable[[Mapping[str, str], str], list[dict[str, Any]]]  # environment, name of a file -> entries


def make_measure(words: Sequence[str], folder: Path) -> Measure:
    """Return a function that runs `python WORDS --benchmark-json FILE` and reads the entries."""

    def measure(env: Mapping[str, str], name: str) -> list[dict[str, Any]]:
        # Numbered: with --keep the folder has a file of each process.
        output = folder / f"{name}-{len(list(folder.glob(f'{name}-*'))) + 1}.json"
        try:
            fresh.run_python([*words, "--benchmark-json", str(output)], env)
            return json.loads(output.read_text())["benchmarks"]
        except (WorkerError, OSError) as error:
            raise RevisionError(f"the benchmark of {name} failed: {error}") from error

    return measure


def take_turns(
    measure: Measure, environments: Sequence[Mapping[str, str]], turns: int, say: Callable[[str], None]
) -> tuple[list[Times], set[Key]]:
    """Return the times of each of two environments, A B B A in every turn; and the entries that are ours."""
    jobs = {
        name: functools.partial(measure, env, name)
        for name, env in zip(("base", "here"), environments, strict=True)
    }
    # Two rounds are A B B A, since every second one goes backwards.
    entries_by_revision, _ = fresh.take_turns(jobs, 2 * turns, say)
    times: list[Times] = [{}, {}]
    ours: set[Key] = set()
    for seconds, processes in zip(times, entries_by_revision.values(), strict=True):
        for entry in (entry for entries in processes for entry in entries):
            key = entry["group"], entry["name"]
            seconds.setdefault(key, []).append(entry["stats"]["median"])
            if entry["extra_info"].get("ours", True):
                ours.add(key)
    return times, ours


def compare(before: Times, after: Times) -> dict[Key, Change]:
    """Return the change of every entry that both have."""
    both = [key for key in before if key in after]
    # Bonferroni: of hundreds of entries, 5 % each would be slower by chance in every comparison.
    return {key: change_of(before[key], after[key], ALPHA / len(both)) for key in both}


def is_regression(change: Change, tolerance: float) -> bool:
    """Say whether it is slower beyond noise, and by more than the tolerance."""
    return change.verdict == "slower" and change.ratio > 1 + tolerance


def _table(times: Sequence[Times], changes: Mapping[Key, Change], base: str) -> Table:
    columns = ("what", "who", "base, µs", "here, µs", "ratio", "noise", "verdict")
    table = new_table(f"Changes since {base} beyond noise", columns, text=("what", "who", "verdict"))
    for key, change in sorted(changes.items(), key=lambda item: -item[1].ratio):
        if change.verdict != "same":
            figures = *(median(revision[key]) * 1e6 for revision in times), change.ratio
            noise = f"{change.low:.3g} to {change.high:.3g}"
            table.add_row(*key, *(f"{x:.4g}" for x in figures), noise, change.verdict)
    return table


def _parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our options, and the remaining words: the benchmark with its options."""
    parser = argparse.ArgumentParser(prog="bench --compare", description=__doc__, allow_abbrev=False)
    add = parser.add_argument
    add("base", metavar="BASE", help="a revision that git knows")
    add("--turns", type=int, default=3, help="how often A B B A; default: 3")
    add("--tolerance", type=float, default=0.1, help="how much slower is no failure; default: 0.1")
    add("--own-harness", action="store_true", help="measure BASE by its own harness")
    add("--keep", type=Path, metavar="FOLDER", help="keep a file of each process there")
    options, words = parser.parse_known_args(argv)
    if options.turns < 2 or options.tolerance < 0:
        parser.error("--turns is at least 2: fewer tell no change from noise; --tolerance at least 0")
    return options, words


def main(argv: Sequence[str], repository: Path = HARNESS.parent) -> int:
    """Compare and show; return the exit status."""
    options, words = _parse(argv)
    console = Console()
    try:
        with (
            tempfile.TemporaryDirectory() as scratch,
            worktree(repository, options.base) as base,
            console.status("measuring") as status,
        ):
            folder = options.keep or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            harness = base / HARNESS.name if options.own_harness else HARNESS
            alone = {ALONE: "1"}
            environments = [environment(base, harness) | alone, environment(repository, HARNESS) | alone]
            # A package that is installed may come before a tree: then one revision would be measured as two.
            for tree, env in zip((base, repository), environments, strict=True):
                check(tree, env)
            measure = make_measure(command_of(words), folder.resolve())
            times, ours = take_turns(measure, environments, options.turns, status.update)
    except RevisionError as error:
        console.print(f"cannot compare: {error}", markup=False, soft_wrap=True)
        return 2
    changes = compare(*times)
    console.print(_table(times, changes, options.base))
    same = sum(change.verdict == "same" for change in changes.values())
    alone = sum(key not in changes for revision in times for key in revision)
    console.print(f"{same} of {len(changes)} entries: the same within noise; {alone} in one revision only")
    failed = [key for key in changes if key in ours and is_regression(changes[key], options.tolerance)]
    for group, member in failed:
        ratio = changes[group, member].ratio
        console.print(f"slower: {group}, {member}: {ratio:.2f} x", markup=False, soft_wrap=True)
    return 1 if failed else 0


def command_of(words: Sequence[str]) -> list[str]:
    """Return the words that Python runs for a benchmark with its options."""
    return ["-m", f"{__package__}", *words]
