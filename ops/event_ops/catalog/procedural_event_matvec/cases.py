"""Cases of `procedural_event_matvec`."""

from __future__ import annotations

import numpy as np

from event_ops.cases import benchmark
from event_ops.cases.bench import Bench, Call, Outs
from event_ops.cases.operations import each_term, generated_product
from event_ops.cases.procedural import DTYPES as DTYPES
from event_ops.cases.procedural import OPERAND, WEIGHT, generated, summed, wrong_events
from event_ops.cases.procedural import ROUNDING as ROUNDING

_INPUTS = {
    "random-float": generated((17, 23), 0.2, "uniform", events="float"),
    "constant-transposed": generated((17, 23), 0.2, "constant", True, events="bool"),
    "normal-float-transposed": generated((17, 23), 0.2, "normal", True, events="float"),
    "no-rows": generated((0, 4), 0.5, "constant", True, events="bool"),
    "threads": generated((60, 1000), 0.15, "constant", events="bool"),
    "threads-transposed": generated((1000, 60), 0.15, "constant", True, events="bool", rate=0.9),
}

CASES = (
    *summed(_INPUTS, lambda name: (WEIGHT, OPERAND) if "float" in name else (WEIGHT,)),
    *(
        benchmark(
            f"{size}-{per_row}-{rate:.2%}",
            generated((size, size), per_row / size, "constant", True, events="bool", rate=rate),
            tolerance=20,
        )
        for size, per_row, rate in ((4000, 80, 0.01), (100_000, 100, 0.001), (100_000, 100, 0.01))
    ),
)

INVALID_CALLS = wrong_events()


def _operations(call: Call, outs: Outs) -> int:
    """Count what each active event does with its entries, beside what generates them."""
    return generated_product(call, int(np.count_nonzero(call.events)), each_term(call.events))


BENCH = Bench(operations=_operations)
