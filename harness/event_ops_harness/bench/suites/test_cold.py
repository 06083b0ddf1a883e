"""Time how long a fresh process waits: imports, and the first product of `csr_matvec`, called eagerly.

A round is a process. Imports: on top of `import jax`, which NumPy is a part of. A first call is from arrays
on the device to y, of a matrix of 1000 x 1000 with 100 entries a row, after the imports and after JAX has
compiled another program; Numba is loaded within it, unless the member's name says otherwise. Every first call
is measured in two processes, one after the other, that share a folder, empty at first, for everything that a
library keeps on disk: where both take as long, nothing was kept that helps. Once more with JAX's own cache in
that folder.

Not measured: a disk whose files the system has not read before, the start of Python, other operators.

`extra_info`: seconds of the second call and of JAX's start, and how many files and bytes the first process
kept.
"""

import functools
import itertools
import tempfile
from pathlib import Path
from statistics import median

import pytest
import scipy.sparse

from event_ops_harness.bench import options
from event_ops_harness.bench.fresh import ask, group_of, take_turns
from event_ops_harness.bench.workers.cold import WAYS
from event_ops_harness.bench.workers.matrix import norm, square_csr, vector
from event_ops_harness.networks.shared.rivals import WorkerError

JAX = "jax"
AFTER_JAX = {
    "event_ops, after jax": "event_ops",
    "BrainEvent, after jax": "brainevent",
    "Numba, after jax": "numba",
    "scipy.sparse, after jax": "scipy.sparse",
}
SIZE = {"rows": 1000, "per_row": 100}
DEFAULT, *_ = WAYS
RIVALS = [way for way in WAYS if not way.startswith("event_ops")]

# The process that is timed, and whether JAX's cache is on.
CALLS = {
    "first call, first process": ("first", False),
    "first call, second process": ("second", False),
    "first call, first process, JAX's cache on": ("first", True),
    "first call, second process, JAX's cache on": ("second", True),
}


@functools.cache
def imports(members, rounds):
    """Return the group of the selected members, always with the first and JAX, which all import before."""
    first, *_ = AFTER_JAX
    names = [name for name in AFTER_JAX if name in (first, *members)]
    jobs = {name: functools.partial(ask, "cold", {"modules": [JAX, AFTER_JAX[name]]}) for name in names}
    answers, failed = take_turns(jobs, rounds)
    seconds = {name: [x["imports"][AFTER_JAX[name]] for x in each] for name, each in answers.items()}
    alone = [x["imports"][JAX] for each in answers.values() for x in each]
    return group_of(seconds | {JAX: alone}, failed, float)


@pytest.mark.parametrize("member", [*AFTER_JAX, JAX])
def test_import(in_turns, benchmark, request, member):
    benchmark.group = "import"
    in_turns.report(imports(options.selected(request), in_turns.rounds), member)


@functools.cache
def first_calls(ways, jax_cache, rounds):
    """Return a group for each of two processes, of the selected ways, the default always."""
    right = expected()
    names = [way for way in WAYS if way in (DEFAULT, *ways) and takes(way, jax_cache)]
    jobs = {way: functools.partial(two_processes, SIZE | {"way": way}, jax_cache, right) for way in names}
    answers, failed = take_turns(jobs, rounds)
    return {
        process: group_of(
            answers, failed, lambda x, process=process: x[process]["first"], functools.partial(told, process)
        )
        for process in ("first", "second")
    }


def takes(way, jax_cache):
    return not jax_cache or JAX in WAYS[way].modules


def two_processes(request, jax_cache, expected):
    """Ask two processes the same; the second finds the files that the first leaves on disk."""
    with tempfile.TemporaryDirectory() as folder:
        env = caches(Path(folder), jax_cache)
        first = ask("cold", request, env)
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        kept = {"kept_files": len(files), "kept_bytes": sum(path.stat().st_size for path in files)}
        second = ask("cold", request, env)
    for answer in (first, second):
        if abs(answer["norm"] - expected) > 1e-3 * expected:
            raise WorkerError(f"y has norm {answer['norm']:.6g}; expected {expected:.6g}")
    return {"first": first, "second": second, "kept": kept}


def caches(folder, jax_cache):
    """Return the environment in which everything that is kept on disk is kept in `folder`."""
    in_folder = {
        **{"XDG_CACHE_HOME": "cache", "FFI_BRIDGE_CACHE_DIR": "kernels"},
        **{"NUMBA_CACHE_DIR": "numba", "WARP_CACHE_PATH": "warp"},
    }
    folders = {name: str(folder / place) for name, place in in_folder.items()}
    if not jax_cache:
        return {**folders, "JAX_COMPILATION_CACHE_DIR": None}
    # By default JAX keeps no program that took less than a second to compile.
    everything = {
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    return {**folders, **everything, "JAX_COMPILATION_CACHE_DIR": str(folder / "jax")}


def expected():
    """Return the norm of the product, by SciPy."""
    rows = SIZE["rows"]
    return norm(scipy.sparse.csr_matrix(square_csr(**SIZE), shape=(rows, rows)) @ vector(rows))


def told(process, answers_of_rounds):
    answers = [each[process] for each in answers_of_rounds]
    starts = [x["start"] for x in answers if "start" in x]
    start = {"jax_start": median(starts)} if starts else {}
    return {"second_call": median(x["second"] for x in answers), **start, **answers_of_rounds[0]["kept"]}


@pytest.mark.parametrize(
    ("call", "member"), [x for x in itertools.product(CALLS, WAYS) if takes(x[1], CALLS[x[0]][1])]
)
def test_first_call(in_turns, benchmark, request, call, member):
    benchmark.group = call
    process, jax_cache = CALLS[call]
    groups = first_calls(options.selected(request), jax_cache, in_turns.rounds)
    in_turns.report(groups[process], member, rivals=RIVALS)
