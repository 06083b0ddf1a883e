"""No misuse from Python ends the process: each of a catalogue ends in an exception or a documented result.

A chapter of the catalogue is a module `misuse_*.py`. Its cases run in one child process; when that dies, the
rest goes on in a new one. The slow form gives every case a process of its own.
"""

import importlib
import json
from collections.abc import Sequence
from typing import Final

import pytest
from child_processes import run
from misuse import Misuse
from misuse_in_child import BEGINS, ENDED

CHAPTERS: Final = {
    "misuse_kernels": 150,
    "misuse_inputs": 150,
    "misuse_vmap": 150,
    "misuse_raising": 150,
    "misuse_custom_kernels": 150,
    "misuse_warp": 300,
    "misuse_warp_callable": 150,
    "misuse_operators": 300,
    "misuse_csr": 300,
    "misuse_guarded": 150,
    "misuse_workqueue": 150,
    "misuse_omp": 150,
    "misuse_no_libgomp": 150,
    "misuse_cuda": 300,
    "misuse_cuda_callable": 150,
    "misuse_no_gpu": 150,
}
NEEDS: Final = {
    "misuse_warp": "warp",
    "misuse_warp_callable": "warp",
    "misuse_cuda": "numba_cuda",
    "misuse_cuda_callable": "numba_cuda",
    "misuse_no_gpu": "numba_cuda",
}
QUICK: Final = ("misuse_kernels", "misuse_inputs", "misuse_operators", "misuse_warp", "misuse_cuda")
QUICKLY_COMPILED: Final = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
pytestmark = pytest.mark.promise(1)


def catalogue(chapter: str) -> tuple[Misuse, ...]:
    """The chapter's cases; skips where what they misuse is not installed."""
    if chapter in NEEDS:
        pytest.importorskip(NEEDS[chapter], reason=f"{NEEDS[chapter]} is not installed")
    cases: tuple[Misuse, ...] = importlib.import_module(chapter).CASES
    names = [case.name for case in cases]
    assert len(set(names)) == len(names)
    return cases


def problems(chapter: str, names: Sequence[str], limit: float) -> dict[str, str]:
    """Name of a case -> what was wrong with how it ended."""
    env = QUICKLY_COMPILED | getattr(importlib.import_module(chapter), "ENV", {})
    outcomes: dict[str, str] = {}
    left = list(names)
    while left:
        ended = run("misuse_in_child.py", chapter, *left, limit=limit, **env)
        lines = ended.out.splitlines()
        results = dict(json.loads(line[len(ENDED) :]) for line in lines if line.startswith(ENDED))
        begun = [line[len(BEGINS) :] for line in lines if line.startswith(BEGINS)]
        if ended.code:
            assert begun and begun[-1] not in results, str(ended)
            results[begun[-1]] = f"the process ended: {ended}"
        outcomes |= results
        assert results, str(ended)
        left = [name for name in left if name not in outcomes]
    return {name: problem for name, problem in outcomes.items() if problem}


@pytest.mark.parametrize(
    "chapter", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in CHAPTERS]
)
def test_misuse_ends_in_an_exception_or_a_documented_result(chapter, record_property):
    names = [case.name for case in catalogue(chapter) if not case.slow]
    record_property("tried", len(names))
    assert problems(chapter, names, CHAPTERS[chapter]) == {}


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_misuse_in_a_process_of_its_own(chapter, record_property):
    names = [case.name for case in catalogue(chapter)]
    record_property("tried", len(names))
    wrong = [problems(chapter, [name], CHAPTERS[chapter]) for name in names]
    assert [problem for problem in wrong if problem] == []


def test_the_catalogue_has_at_least_120_cases():
    assert sum(len(catalogue(chapter)) for chapter in CHAPTERS if chapter not in NEEDS) >= 120
