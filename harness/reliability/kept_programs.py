"""Programs with native kernels, in a process that keeps JAX's compiled programs on disk; prints JSON."""

import json
import sys

import jax
import jax.numpy as jnp
import numba
import numpy as np

from event_ops.cases import CONFORMANCE
from event_ops.discover import operators
from ffi_bridge import numba_kernel

X = jnp.arange(4, dtype=jnp.float32)
HIT = "/jax/compilation_cache/cache_hits"
hits = []


def scaled(factor):
    @numba.njit(parallel=True)
    def kernel(x, y):
        for i in numba.prange(x.size):
            y[i] = factor * x[i]

    return jax.jit(lambda x: numba_kernel(kernel, jax.ShapeDtypeStruct((4,), jnp.float32))(x) + 1)


def results(names):
    """What each operator gives on its first case."""
    for operator in operators():
        if operator.name in names:
            args, kwargs = operator.tagged(CONFORMANCE)[0].make(
                np.random.default_rng(0), operator.dtypes[0], "int32"
            )
            call = jax.jit(lambda *xs: operator.function(*xs, backend="numba_cpu", **kwargs))  # noqa: B023
            yield [np.asarray(x).tolist() for x in jax.tree.leaves(call(*args))]


if __name__ == "__main__":
    jax.monitoring.register_event_listener(lambda event, **_: hits.append(event) if event == HIT else None)
    factor, *names = sys.argv[1:]
    outputs = [scaled(float(factor))(X).tolist(), *results(names)]
    print(json.dumps({"results": outputs, "hits": len(hits)}))
