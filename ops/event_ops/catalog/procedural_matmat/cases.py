"""Cases of `procedural_matmat`."""

from __future__ import annotations

from event_ops.cases import benchmark
from event_ops.cases.bench import Bench, Call, Outs
from event_ops.cases.operations import generated_product
from event_ops.cases.procedural import DTYPES as DTYPES
from event_ops.cases.procedural import OPERAND, WEIGHT, generated, summed, wrong_numbers
from event_ops.cases.procedural import ROUNDING as ROUNDING

_INPUTS = {
    "normal": generated((17, 23), 0.2, "normal", n=5),
    "uniform-transposed": generated((17, 23), 0.2, "uniform", True, n=3),
    "sparse-transposed": generated((3, 9000), 1e-4, "constant", True, n=2, seed=2**32 - 1),
    "wide-transposed": generated((17, 23), 0.2, "normal", True, n=40),
    "full-wide": generated((6, 7), 1.0, "constant", n=35),
    "no-columns": generated((4, 0), 0.5, "normal", n=3),
    "no-vectors": generated((4, 5), 0.5, "normal", True, n=0),
    "threads": generated((60, 1000), 0.15, "constant", n=3),
    "threads-transposed": generated((1000, 60), 0.15, "constant", True, n=3),
}

CASES = (
    *summed(_INPUTS, lambda name: (WEIGHT, OPERAND) if name in ("normal", "uniform-transposed") else ()),
    *(
        benchmark(
            f"{size}-{per_row}-n{n}{'-transposed' * transpose}",
            generated((size, size), per_row / size, "constant", transpose, n=n),
            tolerance=50,
        )
        for size, per_row, n in ((1000, 50, 16), (4000, 80, 16), (20_000, 100, 32))
        for transpose in (False, True)
    ),
)

INVALID_CALLS = wrong_numbers("B", 3)


def _operations(call: Call, outs: Outs) -> int:
    """Count a product and a sum for each entry and column, beside what generates each entry once."""
    neurons, n = call.B.shape
    return generated_product(call, neurons, 2 * n)


BENCH = Bench(operations=_operations)
