"""Time what a fresh process waits for: imports, and the first product of `csr_matvec`, called eagerly.

Figures are medians of processes that take turns. Imports: on top of `import jax`, which NumPy is a part of.
A first call is from arrays on the device to y, after the imports and after JAX has compiled another
program; Numba is loaded within it, unless the row says otherwise. Every first call is measured in two
processes, one after the other, that share a folder, empty at first, for everything that a library keeps on
disk: where both take as long, nothing was kept that helps. Once more with JAX's own cache in that folder.
Not measured: a disk whose files the system has not read before, the start of Python, other operators.
"""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import scipy.sparse
from rich.console import Console

from event_ops_harness.bench.fresh import Found, ProcessError, ask, row_of, take_turns
from event_ops_harness.bench.suite import Parser, count, print_skipped, write
from event_ops_harness.bench.workers.cold import WAYS
from event_ops_harness.bench.workers.matrix import norm, square_csr, vector
from event_ops_harness.results import Row, as_json, show

BASELINE: Final = "event_ops, reference"

# What is imported on top of `import jax`.
IMPORTED: Final[Mapping[str, str]] = {
    "event_ops": "event_ops",
    "BrainEvent": "brainevent",
    "Numba": "numba",
    "scipy.sparse": "scipy.sparse",
}
SETTINGS: Final = ("", ", JAX's cache on")  # of each first call, by what is added to the group's name


def measure_imports(rounds: int, say: Callable[[str], None]) -> tuple[list[Row], dict[str, str]]:
    """Time the import of JAX by itself, and of each module after it."""
    jobs = {
        name: functools.partial(ask, "cold", {"modules": ["jax", module]})
        for name, module in IMPORTED.items()
    }
    found, failed = take_turns(jobs, rounds, say)
    alone = [each["imports"]["jax"] for results in found.values() for each in results]
    rows = [row_of("import", "jax", alone, "jax", ours=False)] if alone else []
    for name, results in found.items():
        seconds = [each["imports"][IMPORTED[name]] for each in results]
        rows.append(row_of("import", f"{name}, after jax", seconds, "jax", ours=name == "event_ops"))
    return rows, failed


def measure_calls(
    ways: Sequence[str], rows: int, per_row: int, rounds: int, say: Callable[[str], None]
) -> tuple[list[Row], dict[str, str]]:
    """Time first calls in a first and in a second process, without and with JAX's cache."""
    request, expected = {"rows": rows, "per_row": per_row}, _expected(rows, per_row)
    jobs = {
        way + setting: functools.partial(two_processes, request | {"way": way}, bool(setting), expected)
        for setting in SETTINGS
        for way in ways
        if not setting or "jax" in WAYS[way].modules
    }
    found, failed = take_turns(jobs, rounds, say)
    return [
        _first_call(way, found[way + setting], process, setting)
        for setting in SETTINGS
        for process in ("first", "second")
        for way in ways
        if way + setting in found
    ], failed


def two_processes(request: Mapping[str, Any], jax_cache: bool, expected: float) -> Found:
    """Ask the same of two processes; what the first one leaves on disk is there for the second."""
    with tempfile.TemporaryDirectory() as folder:
        env = caches(Path(folder), jax_cache)
        first = ask("cold", request, env)
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        kept = {"files": len(files), "bytes": sum(path.stat().st_size for path in files)}
        second = ask("cold", request, env)
    for answer in (first, second):
        if abs(answer["norm"] - expected) > 1e-3 * expected:
            raise ProcessError(f"y has norm {answer['norm']:.6g}; expected {expected:.6g}")
    return {"first": first, "second": second, "kept": kept}


def caches(folder: Path, jax_cache: bool) -> dict[str, str | None]:
    """Return the environment in which everything that is kept on disk is kept in `folder`."""
    in_folder = {
        **{"XDG_CACHE_HOME": "cache", "FFI_BRIDGE_CACHE_DIR": "kernels"},
        **{"NUMBA_CACHE_DIR": "numba", "WARP_CACHE_PATH": "warp"},
    }
    own = {name: str(folder / place) for name, place in in_folder.items()}
    if not jax_cache:
        return {**own, "JAX_COMPILATION_CACHE_DIR": None}
    everything = {
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    return {**own, **everything, "JAX_COMPILATION_CACHE_DIR": str(folder / "jax")}


def _first_call(way: str, found: Sequence[Found], process: str, setting: str) -> Row:
    answers = [each[process] for each in found]
    second_call = median([each["second"] for each in answers])
    more = {"ours": way.startswith("event_ops"), "second_call_us": second_call * 1e6, **found[0]["kept"]}
    if "start" in answers[0]:
        more["jax_start_us"] = median([each["start"] for each in answers]) * 1e6
    group = f"first call, {process} process{setting}"
    return row_of(group, way, [each["first"] for each in answers], BASELINE, **more)


def _expected(rows: int, per_row: int) -> float:
    matrix = scipy.sparse.csr_matrix(square_csr(rows, per_row), shape=(rows, rows))
    return norm(matrix @ vector(rows))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, show and write; return the exit status."""
    parser = Parser("cold", __doc__)
    add = parser.add_argument
    add("--rounds", type=count, default=5, help="processes of each kind; default: 5")
    add("--rows", type=count, default=1000, help="of the square matrix; default: 1000")
    add("--per-row", type=count, default=100, help="entries; default: 100")
    add("--only", nargs="+", metavar="WORD", help="ways whose name contains it, and the reference")
    options, console = parser.parse(argv), Console()
    wanted = [*options.only, BASELINE] if options.only else [""]
    ways = [way for way in WAYS if any(word in way for word in wanted)]
    with console.status("measuring") as status:
        rows, failed = measure_imports(options.rounds, status.update)
        calls, more_failed = measure_calls(ways, options.rows, options.per_row, options.rounds, status.update)
    failed |= more_failed
    show(console, "Cold start", rows + calls)
    print_skipped(console, failed)
    problem = {"rows": options.rows, "per_row": options.per_row, "dtype": "float32"}
    write(options, as_json(rows + calls), problem=problem, skipped=failed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
