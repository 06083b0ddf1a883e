"""Cases of `procedural_matvec`."""

from __future__ import annotations

from event_ops.cases import benchmark
from event_ops.cases.bench import Bench, Call, Outs
from event_ops.cases.operations import generated_product
from event_ops.cases.procedural import DTYPES as DTYPES
from event_ops.cases.procedural import OPERAND, WEIGHT, generated, summed, wrong_numbers
from event_ops.cases.procedural import ROUNDING as ROUNDING

_INPUTS = {
    "normal": generated((17, 23), 0.2, "normal"),
    "uniform-transposed": generated((17, 23), 0.2, "uniform", True),
    "sparse-transposed": generated((3, 9000), 1e-4, "constant", True, seed=2**32 - 1),
    "full": generated((6, 7), 1.0, "constant"),
    "no-columns": generated((4, 0), 0.5, "normal"),
    "threads": generated((60, 1000), 0.15, "constant"),
    "threads-transposed": generated((1000, 60), 0.15, "constant", True),
}

CASES = (
    *summed(_INPUTS, lambda name: (WEIGHT, OPERAND) if name in ("normal", "uniform-transposed") else ()),
    *(
        benchmark(
            f"{size}-{per_row}{'-transposed' * transpose}",
            generated((size, size), per_row / size, "constant", transpose),
            tolerance=50,
        )
        for size, per_row in ((1000, 50), (4000, 80), (20_000, 100))
        for transpose in (False, True)
    ),
)

INVALID_CALLS = wrong_numbers("v")


def _operations(call: Call, outs: Outs) -> int:
    """Count a product and a sum for each entry, beside what generates it."""
    return generated_product(call, call.v.size, 2)


BENCH = Bench(operations=_operations)
