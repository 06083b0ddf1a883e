"""Products with weights of 16 bits on the GPU, beside float32: the largest cases, in one loop each.

Such weights are widened as they are read, so a product that reads all of them moves fewer bytes; one that
reads the rows of few events must not take longer than with float32.
"""

import json
from functools import partial

from event_ops.checks.arrays import HALVES
from event_ops.discover import operators
from event_ops_harness.bench.steps import largest, make_problem, stored_in_halves
from event_ops_harness.gpu.catalog import CALLS, loop_of
from event_ops_harness.gpu.kernels import recorded, us_per_call

WIDTHS = ("float32", *HALVES)


def main() -> None:
    """Print the figures as one line of JSON."""
    figures: dict[str, float] = {}
    for operator in filter(stored_in_halves, operators()):
        for case in largest(operator):
            problem = make_problem(operator, case)
            call = partial(operator.function, backend="numba_cuda", **problem.kwargs)
            runs = {dtype: loop_of(problem.with_weights_in(dtype), call) for dtype in WIDTHS}
            calls = us_per_call(runs)
            for (dtype, took), kernels in zip(calls.items(), recorded(list(runs.values())), strict=True):
                figures[f"{problem.name}, weights in {dtype}, us"] = took / CALLS
                busy = sum(kernel.us for kernel in kernels.values()) / CALLS
                figures[f"{problem.name}, weights in {dtype}, GPU busy, us"] = busy
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
