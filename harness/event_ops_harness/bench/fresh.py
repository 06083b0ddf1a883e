"""Measure in fresh processes, in turns: each figure comes from a Python that has done nothing before."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from event_ops_harness.bench.interleaved import Group
from event_ops_harness.networks.shared.processes import LOOPBACK, free_port
from event_ops_harness.networks.shared.rivals import WorkerError

Answer = dict[str, Any]
_ANSWER: Final = (
    "import importlib, json, sys; _, worker, request = sys.argv; "
    "print(json.dumps(importlib.import_module(worker).measure(json.loads(request))))"
)
T = TypeVar("T")
# Large blocks go back to the system when they are freed, so that no allocator's leftovers are counted.
RETURNS_MEMORY: Final = {"MALLOC_MMAP_THRESHOLD_": str(1 << 20)}
_HARNESS: Final = Path(__file__).parents[2]
_ABSENT: Final = ("ModuleNotFoundError", "ImportError")  # how reasons begin where a library is missing


def ask(
    worker: str,
    request: Mapping[str, Any],
    env: Mapping[str, str | None] | None = None,
    python: str = sys.executable,
) -> Answer:
    """Return the answer of `workers.<worker>` to a request, from a fresh process.

    Args:
        worker: name of a module in `workers`.
        request: what JSON can say; the process has it as its only argument.
        env: changes to the environment; None takes a variable away.
        python: the interpreter; another one than this finds the worker, too, and no other package of ours.

    Raises:
        WorkerError: the process failed; the text is the last line of its error.
    """
    changed = os.environ | (env or {})
    words = ["-c", _ANSWER, f"{__package__}.workers.{worker}", json.dumps(request)]
    if python != sys.executable:
        changed["PYTHONPATH"] = str(_HARNESS)
    output = run_python(words, {k: value for k, value in changed.items() if value is not None}, python)
    # Libraries print, too, as Warp does when it starts.
    answers = [line for line in output.splitlines() if line.startswith("{")]
    if not answers:
        raise WorkerError("the process ended without a result")
    return json.loads(answers[-1])


def ask_together(
    worker: str, request: Mapping[str, Any], env: Mapping[str, str | None] | None = None
) -> Answer:
    """Return the answer of the first of the processes that a request asks for; they meet on this host."""
    processes = request.get("processes", 1)
    if processes == 1:
        return ask(worker, request, env)
    together = {**request, "coordinator": f"{LOOPBACK}:{free_port()}"}
    requests = [together | {"process-id": k} for k in range(processes)]
    with ThreadPoolExecutor(processes) as pool:
        first, *_ = pool.map(lambda each: ask(worker, each, env), requests)
    return first


def run_python(words: Sequence[str], env: Mapping[str, str], python: str = sys.executable) -> str:
    """Run a Python in an environment and return its output. Raises WorkerError with its last line."""
    done = subprocess.run([python, *words], capture_output=True, text=True, env=dict(env))
    if done.returncode:
        errors = (done.stderr or done.stdout).strip().splitlines()
        raise WorkerError(errors[-1] if errors else f"exit status {done.returncode}")
    return done.stdout


def take_turns(
    jobs: Mapping[str, Callable[[], T]], rounds: int, say: Callable[[str], None] = lambda _: None
) -> tuple[dict[str, list[T]], dict[str, str]]:
    """Return the answers of each job in each round, A B C C B A ...; and why jobs, left out, failed."""
    answers: dict[str, list[T]] = {name: [] for name in jobs}
    failed: dict[str, str] = {}
    for turn in range(rounds):
        # Backwards every second time: a machine that slows down meanwhile then favours nobody.
        for name in [x for x in list(jobs)[:: -1 if turn % 2 else 1] if x not in failed]:
            say(f"round {turn + 1} of {rounds}: {name}")
            try:
                answers[name].append(jobs[name]())
            except (WorkerError, OSError) as error:
                failed[name] = str(error)
    return {name: results for name, results in answers.items() if name not in failed}, failed


def apart(answers: Mapping[str, Sequence[Answer]], first: str, key: str, rtol: float = 0) -> dict[str, str]:
    """Return the members whose answer by `key` is not that of the first, and why they are left out."""
    right = answers[first][0][key] if first in answers else None
    return {
        name: f"{key} {each[key]!r}; {first} has {right!r}"
        for name, rounds in answers.items()
        for each in rounds
        if right is not None and each[key] != right
        if not (rtol and math.isclose(each[key], right, rel_tol=rtol))
    }


def group_of(
    answers: Mapping[str, Sequence[T]],
    failed: Mapping[str, str],
    seconds: Callable[[T], float],
    info: Callable[[Sequence[T]], Answer] = lambda _: {},
) -> Group:
    """Return a group of the answers of `take_turns`.

    Args:
        answers: of each member, in each round.
        failed: why members are left out: those that cannot be imported are skipped, others are wrong.
        seconds: reads the time of a round.
        info: makes more of all rounds of a member.
    """
    right = {name: rounds for name, rounds in answers.items() if name not in failed}
    absent = {name: why for name, why in failed.items() if why.startswith(_ABSENT)}
    return Group(
        {name: [seconds(each) for each in rounds] for name, rounds in right.items()},
        {name: info(rounds) for name, rounds in right.items()},
        {name: f"failed: {why}" for name, why in failed.items() if name not in absent},
        absent,
    )
