"""Digests of what every operator's CPU kernel gives, in this process's thread count; prints JSON.

Each orientation of each on the first case that is large enough for its kernel to share work between threads.
"""

import functools
import hashlib
import json

import jax
import numpy as np

from event_ops.cases import BENCHMARK
from event_ops.discover import operators

LARGE = 100_000  # elements of all inputs


def problems(operator):
    """The operator's name, with its orientation -> arguments of a case."""
    inputs = {}
    for case in operator.tagged(BENCHMARK):
        args, kwargs = case.make(np.random.default_rng(0), operator.dtypes[0], "int32")
        name = operator.name + (" transposed" if kwargs.get("transpose") else "")
        if sum(np.size(x) for x in inputs.get(name, ([], {}))[0]) < LARGE:
            inputs[name] = args, kwargs
    return inputs


def bits(results):
    return b"".join(np.asarray(x).tobytes() for x in jax.tree.leaves(results))


def digests(operator, args, kwargs):
    """Of five calls; one, where all gave the same bits."""
    call = jax.jit(functools.partial(operator.function, backend="numba_cpu", **kwargs))
    return sorted({hashlib.sha256(bits(call(*args))).hexdigest() for _ in range(5)})


if __name__ == "__main__":
    digests_by_name = {
        name: digests(operator, args, kwargs)
        for operator in operators()
        for name, (args, kwargs) in problems(operator).items()
    }
    print(json.dumps(digests_by_name))
