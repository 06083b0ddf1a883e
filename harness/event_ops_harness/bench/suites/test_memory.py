"""Measure memory per synapse: resident memory of a matrix, and the peak while it is built and multiplied.

Each figure is the slope, by least squares, of a fresh process's resident memory over the number of synapses
(`--sizes`: at least three), so that what every process needs (Python, libraries, compiled programs) is not in
it. Peaks count the matrix itself, and are of a second building and of second products. While building there
are NumPy's arrays too, of which the matrix is made. Per row of the matrix, of 1000 synapses, a few vectors
are counted as well: a few hundredths of a byte. A round is a process of each size; its seconds are those of
the largest, and those of building contain making random numbers.

Events: `Events(e) @ A`, 1 % active; with a plan, and for BCSR, which has no other product, `A @ e`; SciPy and
BCSR take them as floats. Measured through /proc, so on Linux only. Not measured: memory on a GPU, gradients.

`extra_info`: bytes_per_synapse with its standard error, and fixed_MiB, which every size takes;
kept_bytes_per_synapse once the matrix is built.
"""

import functools
import itertools
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from scipy.stats import linregress

from event_ops_harness.bench import options
from event_ops_harness.bench.fresh import RETURNS_MEMORY, ask, group_of, take_turns
from event_ops_harness.bench.workers.memory import KINDS

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="no /proc/self/clear_refs: measured on Linux only"
)
FIRST, *_ = KINDS
RIVALS = [kind for kind in KINDS if not kind.startswith("event_ops")]
STAGES = ("building", "product", "event product")
SYNAPSES = (2_000_000, 8_000_000, 16_000_000, 32_000_000)
PER_ROW = 1000


def sizes_of(config):
    """Return the numbers of synapses, in order. Raises UsageError where a line through them says nothing."""
    sizes = options.counts(config, "sizes", SYNAPSES)
    if len(sizes) < 3 or any(n % PER_ROW or n < PER_ROW**2 for n in sizes):
        listed = ",".join(map(str, sizes))
        least = f"at least three different multiples of {PER_ROW} from {PER_ROW**2} on"
        raise pytest.UsageError(
            f"--sizes {listed}: expected {least}, synapses of a square with {PER_ROW} in a row"
        )
    return tuple(sizes)


def pytest_generate_tests(metafunc):
    sizes_of(metafunc.config)  # wrong ones are one error, before anything is measured
    metafunc.parametrize(("stage", "member"), list(itertools.product(STAGES, KINDS)))


@functools.cache
def stages(kinds, sizes, rounds):
    """Return the group of each stage, of the selected kinds, the first one always."""
    names = [kind for kind in KINDS if kind in (FIRST, *kinds)]
    answers, failed = take_turns({name: functools.partial(of_sizes, name, sizes) for name in names}, rounds)
    failed |= different(answers)
    return {
        stage: group_of(
            answers,
            failed,
            lambda each, stage=stage: each[-1]["seconds"][stage],
            functools.partial(per_synapse, stage, sizes),
        )
        for stage in STAGES
    }


def of_sizes(kind, sizes):
    compile_once(kind)
    return [ask_for(kind, n) for n in sizes]


@functools.cache
def compile_once(kind):
    """Fill the kernel cache: compiling leaves memory behind."""
    ask_for(kind, PER_ROW**2)


def ask_for(kind, synapses):
    return ask("memory", {"kind": kind, "rows": synapses // PER_ROW, "per_row": PER_ROW}, RETURNS_MEMORY)


def per_synapse(stage, sizes, rounds):
    line = fitted(sizes, [[each[i][stage] for each in rounds] for i in range(len(sizes))])
    if stage != "building":
        return line
    line_of_kept = fitted(sizes, [[each[i]["kept"] for each in rounds] for i in range(len(sizes))])
    return line | {"kept_bytes_per_synapse": line_of_kept["bytes_per_synapse"], "synapses": list(sizes)}


def fitted(sizes, resident):
    """Fit a line to the medians of resident memory at each size."""
    fit: Any = linregress(sizes, [median(x) for x in resident])
    return {"bytes_per_synapse": fit.slope, "error": fit.stderr, "fixed_MiB": fit.intercept / 2**20}


def different(answers_by_kind):
    """Return the kinds whose products differ from the first kind's with the same matrix, and why."""
    wrong = {}
    for kind, (answers, *_) in answers_by_kind.items():
        for answer, right in zip(answers, answers_by_kind.get(FIRST, [answers])[0], strict=True):
            for name in KINDS[kind].compared:
                norm, expected = answer[f"norm of {name}"], right[f"norm of {name}"]
                # In float32, and in any order of the sums.
                if abs(norm - expected) > 1e-3 * expected:
                    wrong[kind] = f"its {name} has norm {norm:.6g}; that of {FIRST} {expected:.6g}"
    return wrong


def test_memory(in_turns, benchmark, request, stage, member):
    benchmark.group = stage
    groups = stages(options.selected(request), sizes_of(request.config), in_turns.rounds)
    in_turns.report(groups[stage], member, rivals=RIVALS)
