"""Time messages along edges beside gathering them into an array of edges times features.

`gspmm` makes a kernel of a message; "segments" gathers sources and destinations and reduces by
`jax.ops.segment_sum` or `segment_max`, as jraph does; "BCOO" is the product of JAX's sparse matrix, where the
message is a weight times a source. Graphs are random, with 10 edges into each node, planned outside of the
time; "gradient" is of the sum of squares, in the weights and the sources. All find the same values.

Not measured: compilation, the plan, a GPU, peak memory, DGL and PyG.

`--sizes` are the nodes, of which each is timed at 1, 16 and 64 features.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.sparse import BCOO

from event_ops import CSR, gspmm
from event_ops_harness.bench import options

SIZES = (10_000, 100_000)
FEATURES = (1, 16, 64)
PER_NODE = 10
OURS, SEGMENTS, PRODUCT = "gspmm", "segments", "BCOO"
RIVALS = (SEGMENTS, PRODUCT)
MESSAGES = {
    "product": ("sum", lambda weight, x_src, x_dst: weight * x_src),
    "difference": ("sum", lambda weight, x_src, x_dst: weight * jax.nn.relu(x_src - x_dst)),
    "maximum": ("max", lambda weight, x_src, x_dst: weight * x_src - x_dst),
}


def pytest_generate_tests(metafunc):
    metafunc.parametrize("nodes", options.counts(metafunc.config, "sizes", SIZES))


@functools.lru_cache(maxsize=1)
def members_of(name, nodes, features, gradient):
    """Return member -> work that returns the reduction, or its gradient."""
    reduce, message = MESSAGES[name]
    drawn: Any = CSR.random((nodes, nodes), key=jax.random.key(0), per_row=PER_NODE)
    A = drawn.plan(weights=False)
    x = jax.random.normal(jax.random.key(1), (nodes, features))
    weight = jax.random.normal(jax.random.key(2), (A.nse,))
    rows = jnp.asarray(np.repeat(np.arange(nodes, dtype=np.int32), np.diff(A.indptr)))
    places = jnp.stack([rows, A.indices], 1)

    def fused(weight, x):
        return gspmm(message, A.with_data(weight), x_src=x, x_dst=x, reduce=reduce)

    def segments(weight, x):
        each = message(weight[:, None], x[A.indices], x[rows])
        return getattr(jax.ops, f"segment_{reduce}")(each, rows, nodes, indices_are_sorted=True)

    def product(weight, x):
        return BCOO((weight, places), shape=A.shape, indices_sorted=True) @ x

    ways = {OURS: fused, SEGMENTS: segments} | ({PRODUCT: product} if name == "product" else {})

    def work(way):
        loss = jax.grad(lambda weight, x: (way(weight, x) ** 2).sum(), (0, 1))
        return functools.partial(jax.jit(loss if gradient else way), weight, x)

    return {member: work(way) for member, way in ways.items()}


@pytest.mark.parametrize("member", [OURS, *RIVALS])
@pytest.mark.parametrize("pass_", ["forward", "gradient"])
@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("name", MESSAGES)
def test_messages(in_turns, benchmark, nodes, name, features, pass_, member):
    members = members_of(name, nodes, features, pass_ == "gradient")
    if member not in members:
        pytest.skip("BCOO has products alone")
    benchmark.group = f"{name}, {pass_}, {nodes:,} nodes, {features} features"
    info = {"nodes": nodes, "features": features}
    in_turns(members, member, rivals=RIVALS, info=info)
