"""Every operator's largest cases on the GPU: our backends beside the reference, which XLA compiles.

A time is that of one of many calls in a loop on the device, each of which waits for the one before. Busy is
the part of it in which the GPU works: where kernels are short, the rest goes to launches. Shares are those of
the bytes that must move, in what a device copy moves while the GPU works: above 1 where a case fits a cache.
"""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from event_ops.discover import operators
from event_ops_harness.bench.steps import EVENT_BANK, Problem, largest, make_problem
from event_ops_harness.bench.traffic import bytes_moved
from event_ops_harness.gpu.kernels import copy_bandwidth, recorded, us_per_call

REFERENCE = "reference"
CALLS = 20  # in one loop
THREADS = 8  # that compile
SLICE = "dynamic_slice"  # in the names that XLA gives to kernels
TOLERANCE = 1e-3  # of the norm of what the reference gives: a wrong kernel is far beyond it

Run = Callable[[], list[Any]]


def loop_of(problem: Problem, function: Callable[..., Any]) -> Run:
    """Compile CALLS calls of `function` in sequence, with new events each time."""
    varying, carried = problem.varying, problem.carried
    args = list(problem.on_device)
    bank = None if varying is None else jnp.asarray(problem.bank)

    def call(t: Any, state: Any, args: list[Any], bank: Any) -> list[Any]:
        # Not the loop of `bench.steps`: its number of steps is an argument, for which a GPU would have to ask
        # the host at each. The barrier makes a call depend on the one before: XLA would do one once for all.
        args, state = jax.lax.optimization_barrier((args, state))
        for i, out in carried.items():
            args[i] = state[out]
        if varying is not None:
            args[varying] = jax.lax.dynamic_index_in_dim(bank, t % EVENT_BANK, keepdims=False)
        return jax.tree.leaves(function(*args))

    def run(args: list[Any], bank: Any) -> list[Any]:
        state = [jnp.zeros(x.shape, x.dtype) for x in jax.tree.leaves(jax.eval_shape(function, *args))]
        for i, out in carried.items():
            state[out] = args[i]
        return jax.lax.fori_loop(0, CALLS, partial(call, args=args, bank=bank), state)

    compiled = jax.jit(run).lower(args, bank).compile()
    return lambda: compiled(args, bank)


def compiled(problem: Problem, backend: str) -> Run | str:
    """Return the loop of a backend, or the error that it raised."""
    try:
        return loop_of(problem, partial(problem.operator.function, backend=backend, **problem.kwargs))
    except Exception as error:  # the other rows stand
        return f"failed: {type(error).__name__}: {str(error)[:300]}"


def distance(results: list[Any], expected: list[Any]) -> float:
    """Return the largest distance of an output from the reference's, relative to the norm of that."""
    pairs = [
        (np.asarray(a, np.float64), np.asarray(b, np.float64)) for a, b in zip(results, expected, strict=True)
    ]
    # Divided by no 0 where the reference is 0.
    return max(float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30)) for a, b in pairs)


def times(members: list[tuple[Problem, str]], runs: list[Run | str], bandwidth: float) -> dict[str, Any]:
    """Time each member of each case; an error stands in place of its figure."""
    figures: dict[str, Any] = {}
    named = {(problem.name, backend): run for (problem, backend), run in zip(members, runs, strict=True)}
    able = {name: run for name, run in named.items() if callable(run)}
    busy = dict(zip(able, recorded(list(able.values())), strict=True))
    calls = {name: took / CALLS for name, took in us_per_call(able).items()}
    for problem, backend in members:
        case, run = problem.name, named[problem.name, backend]
        who = "us" if backend == backends_of(problem)[0] else f"{backend} us"
        if isinstance(run, str):
            figures[f"{case}, {who}"] = run
            continue
        # Slices of the events are the loop's own: XLA makes them within its own kernels, and before a call of
        # another.
        own = SLICE if problem.varying is not None else None
        kernels = busy[case, backend].items()
        us = sum(x.us for name, x in kernels if own is None or own not in name) / CALLS
        figures |= {f"{case}, {who}": calls[case, backend], f"{case}, GPU busy, {who}": us}
        if who == "us":
            moved = bytes_moved(problem.operator, problem.args, problem.kwargs)
            figures[f"{case}, GPU busy, share"] = moved / (us * 1e-6) / bandwidth
        reference = named[case, REFERENCE]
        if backend != REFERENCE and callable(reference):
            away = distance(run(), reference())
            figures |= {f"{case}, {backend} away from the reference": away} if away > TOLERANCE else {}
    return figures


def backends_of(problem: Problem) -> list[str]:
    """Return the backends on a GPU, the reference last."""
    ours = problem.operator.kernel.available_backends("gpu")
    return [*(name for name in ours if name != REFERENCE), REFERENCE]


def main() -> None:
    """Print the figures as one line of JSON."""
    bandwidth = copy_bandwidth()
    started = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as threads:
        cases = [(operator, case) for operator in operators() for case in largest(operator)]
        problems = list(threads.map(lambda case: make_problem(*case), cases))
        members = [(problem, backend) for problem in problems for backend in backends_of(problem)]
        runs = list(threads.map(lambda member: compiled(*member), members))
    figures = {"device copy, GB/s": bandwidth / 1e9, "compilation, s": time.perf_counter() - started}
    print(json.dumps(figures | times(members, runs, bandwidth)))


if __name__ == "__main__":
    main()
