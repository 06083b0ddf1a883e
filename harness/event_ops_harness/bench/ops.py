"""Operators beside their rivals, on the cases of the catalog that are tagged "benchmark".

`csr_matvec`, `scatter_add` and `trace_decay` are timed per call from Python, ours jitted, until the result is
ready; `csr_event_matvec` and `expsyn_step` per step of a loop in machine code, ours in `lax.fori_loop`, so
that the cost of a call is out, with other events at each step. Not measured: memory, first calls, other types
than float32.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np
from rich.console import Console

from event_ops.case import BENCHMARK, Case
from event_ops.discover import Operator, operators
from event_ops_harness.bench.results import Row, show, write
from event_ops_harness.bench.rivals import EVENT_BANK, RIVALS, mkl
from event_ops_harness.bench.timing import Work, seconds_per_call

OUTPUT: Final = Path(__file__).parents[2] / "results" / "ops.json"
OURS: Final = "event_ops"
PER_STEP: Final = ("csr_event_matvec", "expsyn_step")


def works(operator: Operator, case: Case) -> tuple[int, dict[str, Work]]:
    """How many steps one call of each rival does, and the rivals, ours among them, all on the same arrays."""
    args, kwargs = case.make(np.random.default_rng(0), "float32", "int32")
    if operator.name in PER_STEP:
        return _event_works(operator, args, kwargs)
    on_device = tuple(map(jax.numpy.asarray, args))
    run = jax.jit(lambda *ins: operator.function(*ins, **kwargs))
    ours = {OURS: lambda: jax.block_until_ready(run(*on_device))}
    return 1, ours | RIVALS[operator.name](args, kwargs)


def _event_works(operator: Operator, args: Any, kwargs: Any) -> tuple[int, dict[str, Work]]:
    """A loop over time steps with other events, the last argument, at each; `g` is what the last one gave."""
    *arrays, events = args
    rng = np.random.default_rng(1)
    bank = np.stack([rng.permutation(events) for _ in range(EVENT_BANK)])
    steps = max(EVENT_BANK, 200_000 // max(1, events.size // 1000))
    steps = min(steps, 20_000) if cost_follows_events(operator, kwargs) else EVENT_BANK
    device = [jax.numpy.asarray(x) for x in (*arrays, bank)]
    rows, columns = kwargs["shape"]
    carried = operator.name == "expsyn_step"
    start = (
        device.pop(0) if carried else np.zeros(columns if kwargs.get("transpose") else rows, args[0].dtype)
    )

    @jax.jit
    def loop(y: Any, data: Any, indices: Any, indptr: Any, bank: Any) -> Any:
        def step(t: Any, y: Any) -> Any:
            now = jax.lax.dynamic_index_in_dim(bank, t % EVENT_BANK, keepdims=False)
            state = (y,) if carried else ()
            return operator.function(*state, data, indices, indptr, now, **kwargs)

        return jax.lax.fori_loop(0, steps, step, y)

    ours = {OURS: lambda: jax.block_until_ready(loop(start, *device))}
    return steps, ours | RIVALS[operator.name]((*arrays, bank, steps), kwargs)


def cost_follows_events(operator: Operator, kwargs: Any) -> bool:
    """Whether a step looks at the entries of active rows only, so that there is time for many steps."""
    return operator.name == "expsyn_step" or bool(kwargs.get("transpose"))


def measure(names: Sequence[str], rounds: int, budget: float) -> Iterator[Row]:
    """One row per rival of every benchmark case of the operators `names` (all, if empty)."""
    for operator in operators():
        if operator.name not in RIVALS or (names and operator.name not in names):
            continue
        for case in operator.tagged(BENCHMARK):
            steps, rivals = works(operator, case)
            best = seconds_per_call(rivals, rounds=rounds, budget=budget)
            for rival, seconds in best.items():
                yield Row(f"{operator.name} {case.name}", rival, seconds / steps, OURS)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show and write; returns the exit status."""
    parser = argparse.ArgumentParser(prog="bench ops", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="OPERATOR")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--budget", type=float, default=2.0, help="seconds per rival and case")
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="FILE")
    options = parser.parse_args(argv)
    console = Console()
    if mkl()[0] is None:
        console.print(mkl()[1])
    with console.status("measuring"):
        rows = list(measure(options.only, options.rounds, options.budget))
    show(console, "Operators beside their rivals", rows)
    write(options.output, "ops", sys.argv[1:] if argv is None else argv, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
