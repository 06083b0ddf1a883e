"""Measure which backend is the fastest for which calls, and write the tuning table of this kind of device.

Every operator of the catalog, its benchmark cases and smaller ones, in its first dtype, with events as they
are made and at densities of 0.1 %, 1 %, 10 % and 100 %; timed in turns as `bench catalog` does, after each
result was compared with the reference's. A backend gets a row where it is more than 10 % faster than the
documented first one beyond noise, by an interval of ranks, in every case and at every density of a size: the
choice knows a call's size, and not its events. A backend that fails once is not measured further. Not
measured: first calls, gradients, batches, other dtypes and static arguments, for which no row is written.

It measures on JAX's default device: a GPU where CUDA wheels are installed and JAX sees one.
The table in the package's folder is written whole, in a source checkout. Elsewhere, and for some operators
only, `--output` names a file; an operator reads it after `kernel.def_tuning(Path(folder))`.
"""

import argparse
import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

import event_ops
from event_ops.discover import operators
from event_ops_harness.bench.steps import Problem, make_problem, steps_of
from event_ops_harness.bench.timing import times_per_step
from event_ops_harness.bench.tuned_rows import Measured, at_densities, cases, lead, rows_of, signature_of
from event_ops_harness.conformance.compare import Mismatch, assert_same
from event_ops_harness.networks.shared.cli import positive, positive_int
from event_ops_harness.results import command, new_table, write_results
from ffi_bridge.operators import FORMAT, platform_of, slug

PACKAGE: Final = Path(event_ops.__file__).parent

Call = Callable[..., Any]
Say = Callable[[str], None]


def measure(problem: Problem, platform: str, options: argparse.Namespace, say: Say) -> Measured:
    """Return which backends of the operator lead its first one in this case."""
    operator, kwargs = problem.operator, problem.kwargs
    first, *others = operator.kernel.available_backends(platform)
    calls = {
        name: jax.jit(functools.partial(operator.function, backend=name, **kwargs))
        for name in (first, *others)
    }
    leads: dict[str, dict[str, float]] = {name: {} for name in others}
    for density, dense in at_densities(problem):
        able = [name for name in _able(dense, calls, [first, *leads], say) if name != first]
        runs = {name: steps_of(dense, calls[name]).run for name in (first, *able)} if able else {}
        times = times_per_step(runs, rounds=options.rounds, budget=options.budget, at_least=3)
        ratios = {name: lead(times[first], times[name]) for name in able}
        leads = {name: leads[name] | {density: ratio} for name, ratio in ratios.items() if ratio is not None}
        if not leads:
            break
    return Measured(operator.name, platform, signature_of(problem), problem.case.name, first, leads)


def _able(problem: Problem, calls: dict[str, Call], names: Sequence[str], say: Say) -> list[str]:
    """Return the backends of `names` that agree with the reference."""
    # The reference, too, may be off by one tolerance.
    rtol = 2 * problem.case.relative_tolerance(problem.operator.dtypes[0])
    expected = jax.tree.map(np.asarray, calls["reference"](*problem.on_device))
    able: list[str] = []
    for name in names:
        try:
            assert_same(calls[name](*problem.on_device), expected, rtol)
            able.append(name)
        except Mismatch as wrong:
            say(f"{problem.name}: {name} is left out: {wrong}")
    return able


def _table(rows: Sequence[dict[str, Any]], kind: str) -> Table:
    text = {"operator", "dtypes", "flags", "backend", "times as fast as"}
    columns = ("operator", "dtypes", "flags", "above", "up to", "backend", "times as fast as")
    table = new_table(f"Rows measured on {kind}", columns, text)
    for row in rows:
        size, faster = (str(row["above"]), str(row["up_to"])), f"{row['ratio']:.2f} {row['over']}"
        table.add_row(row["operator"], row["dtypes"], ", ".join(row["flags"]), *size, row["backend"], faster)
    return table


def _parse(argv: Sequence[str] | None, kind: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tune", description=__doc__, allow_abbrev=False)
    names = [operator.name for operator in operators()]
    add = parser.add_argument
    add("--only", nargs="+", default=[], metavar="OPERATOR", choices=names, help="these operators")
    add("--rounds", type=positive_int, default=8, help="turns of each backend; default: 8")
    add("--budget", type=positive, default=0.1, help="seconds per backend, case and density; default: 0.1")
    add("--output", type=Path, metavar="FILE", help="JSON; default: that of this device in event_ops/tuning")
    options = parser.parse_args(argv)
    if options.rounds < 4:
        parser.error("--rounds is at least 4: fewer tell no lead from noise")
    if options.output is None:
        if options.only or not (PACKAGE.parent / "pyproject.toml").exists():
            parser.error(
                "name the file with --output: only in a source checkout, and whole, is the package's written"
            )
        options.output = PACKAGE / "tuning" / f"{slug(kind)}.json"
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show and write; return the exit status."""
    kind = jax.local_devices()[0].device_kind
    options = _parse(argv, kind)
    # A row of the table needs as many columns, or rich would cut its words.
    platform, console = platform_of(jax.default_backend()), Console(width=max(Console().width, 165))
    say = functools.partial(console.print, markup=False, highlight=False, soft_wrap=True)
    with console.status("measuring") as status:
        measured: list[Measured] = []
        chosen = [x for x in operators() if x.name in (options.only or [x.name])]
        for problem in (make_problem(x, case) for x in chosen for case in cases(x)):
            status.update(f"measuring {problem.name}")
            measured.append(measure(problem, platform, options, say))
    rows = rows_of(measured)
    console.print(_table(rows, kind))
    repeating = command("tune", sys.argv[1:] if argv is None else argv)
    write_results(options.output, repeating, {"format": FORMAT, "device_kind": kind, "rows": rows})
    console.print(f"{len(rows)} rows in {options.output}", markup=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
