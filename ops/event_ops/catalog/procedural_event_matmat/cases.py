"""Cases of `procedural_event_matmat`."""

from __future__ import annotations

import numpy as np

from event_ops.cases import benchmark
from event_ops.cases.bench import Bench, Call, Outs
from event_ops.cases.operations import each_term, generated_product
from event_ops.cases.procedural import DTYPES as DTYPES
from event_ops.cases.procedural import OPERAND, WEIGHT, generated, summed, wrong_events
from event_ops.cases.procedural import ROUNDING as ROUNDING

_INPUTS = {
    "random-float": generated((17, 23), 0.2, "uniform", n=5, events="float"),
    "constant-transposed": generated((17, 23), 0.2, "constant", True, n=3, events="bool"),
    "normal-float-transposed": generated((17, 23), 0.2, "normal", True, n=35, events="float"),
    "wide": generated((6, 40), 0.3, "constant", n=40, events="bool"),
    "no-rows": generated((0, 4), 0.5, "constant", True, n=3, events="bool"),
    "no-vectors": generated((5, 4), 0.5, "constant", n=0, events="bool"),
    "threads": generated((60, 1000), 0.15, "constant", n=3, events="bool"),
    "threads-transposed": generated((1000, 60), 0.15, "constant", True, n=3, events="bool", rate=0.9),
}

CASES = (
    *summed(_INPUTS, lambda name: (WEIGHT, OPERAND) if "float" in name else (WEIGHT,)),
    *(
        benchmark(
            f"{size}-{per_row}-n{n}-{rate:.2%}{'-transposed' * transpose}",
            generated((size, size), per_row / size, "constant", transpose, n=n, events="bool", rate=rate),
            tolerance=20,
        )
        for size, per_row, n, rate in ((1000, 50, 16, 0.01), (50_000, 100, 32, 0.01))
        for transpose in (False, True)
    ),
)

INVALID_CALLS = wrong_events(3)


def _operations(call: Call, outs: Outs) -> int:
    """Count what each active event does with its entries, beside what generates these once."""
    active, events = np.count_nonzero(call.events.any(axis=1)), np.count_nonzero(call.events)
    others = outs[0].shape[0]
    return generated_product(call, int(active), 0) + round(
        call.prob * events * others * each_term(call.events)
    )


BENCH = Bench(operations=_operations)
