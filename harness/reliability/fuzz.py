"""Makes corrupt calls: `fuzz.py BACKEND CALLS PROFILE RECORD [OPERATOR ...]`; prints how many, as JSON.

Before every call it is written to the file RECORD, so that of a process that dies the last call is known.
PROFILE is "quick" (one size and dtype), "full", or "threads": full, with kernels that use all threads.
"""

import functools
import json
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
from corrupt_calls import OPERATORS, Call, calls
from guarded_inputs import beside_guards
from hypothesis import HealthCheck, given, settings

import event_ops
from event_ops.discover import operators
from event_ops_harness.conformance.all_threads import use_all_threads

KERNELS = {operator.name: operator.kernel for operator in operators()}


@functools.cache
def jitted(operator: str, backend: str, static: tuple[tuple[str, Any], ...]) -> Any:
    """The operator as a function of its arrays: what it closes over is no data, so nothing is known early."""
    function = getattr(event_ops, operator)
    return jax.jit(lambda arrays: function(**arrays, **dict(static), backend=backend))


def outputs(call: Call, backend: str) -> list[np.ndarray]:
    """What the call gives; that its inputs are as they were is looked at, too."""
    before = {name: x.copy() for name, x in call.arrays.items()}
    run = jitted(call.operator, backend, tuple(call.static.items()))
    given_arrays = {name: beside_guards(x, at_end=call.at_end) for name, x in call.arrays.items()}
    results = [np.asarray(x) for x in jax.tree.leaves(jax.block_until_ready(run(given_arrays)))]
    for name, x in before.items():
        np.testing.assert_array_equal(call.arrays[name], x, err_msg=f"the input {name} was written")
        np.testing.assert_array_equal(given_arrays[name], x, err_msg=f"the array {name} was written")
    return results


def fuzz(operator: str, backend: str, count: int, profile: str, record: Path) -> int:
    """Make about `count` calls; return how many were made."""
    made = 0

    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(calls(operator, profile == "quick"))
    def one(call: Call) -> None:
        nonlocal made
        made += 1
        record.write_text(repr(call))
        try:
            results = outputs(call, backend)
        except (jax.errors.JaxRuntimeError, ValueError) as error:
            # Rows that overlap, or ids that are not sorted as was said, lead two shares to one element.
            if call.defined or " races: " not in str(error):
                raise
            return
        if call.defined:
            for one, other in zip(results, outputs(call, "reference"), strict=True):
                np.testing.assert_array_equal(one, other)

    one()
    return made


def main(backend: str, count: str, profile: str, record: str, *names: str) -> None:
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_disable_most_optimizations", True)  # thousands of calls, and hundreds of programs
    if profile == "threads":
        use_all_threads()
    wanted = [name for name in names or OPERATORS if backend in KERNELS[name].available_backends("cpu")]
    tried = {name: fuzz(name, backend, int(count), profile, Path(record)) for name in wanted}
    print(json.dumps(tried))


if __name__ == "__main__":
    main(*sys.argv[1:])
