"""Send messages along the edges of a random graph, as `bench graph_messages` does; read the peak memory."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.sparse import BCOO

from event_ops import CSR, gspmm
from event_ops_harness.bench.workers.matrix import norm, structure, vector
from event_ops_harness.bench.workers.memory import finished
from event_ops_harness.bench.workers.resident import first_and_median

Way = Callable[[jax.Array, jax.Array], jax.Array]  # weights and features -> the reduction at each node

OURS, SEGMENTS, PRODUCT = "gspmm", "segments", "BCOO"
MESSAGES: Final = {
    "product": ("sum", lambda weight, x_src, x_dst: weight * x_src),
    "difference": ("sum", lambda weight, x_src, x_dst: weight * jax.nn.relu(x_src - x_dst)),
    "maximum": ("max", lambda weight, x_src, x_dst: weight * x_src - x_dst),
}


def graph(nodes: int, edges: int, features: int) -> dict[str, np.ndarray]:
    """Return indptr and indices (int32) of a graph with as many edges into each node, its weights and x."""
    indices, indptr = structure(nodes, edges)
    weight, x = vector(nodes * edges), vector(nodes * features).reshape(nodes, features)
    return {"indptr": indptr, "indices": indices, "weight": weight, "x": x}


def gspmm_way(name: str, indptr: np.ndarray, indices: np.ndarray) -> Way:
    """Return the reduction of messages as one kernel."""
    reduce, message = MESSAGES[name]
    nodes = indptr.size - 1
    A: Any = CSR(np.float32(1), indices, indptr, shape=(nodes, nodes)).plan(weights=False)
    return lambda weight, x: gspmm(message, A.with_data(weight), x_src=x, x_dst=x, reduce=reduce)


def segments_way(name: str, indptr: np.ndarray, indices: np.ndarray) -> Way:
    """Return the reduction of an array of edges times features."""
    reduce, message = MESSAGES[name]
    nodes = indptr.size - 1
    rows, columns = jnp.repeat(jnp.arange(nodes), np.diff(indptr)), jnp.asarray(indices)
    reduction = getattr(jax.ops, f"segment_{reduce}")

    def way(weight: jax.Array, x: jax.Array) -> jax.Array:
        return reduction(message(weight[:, None], x[columns], x[rows]), rows, nodes, indices_are_sorted=True)

    return way


def bcoo_way(name: str, indptr: np.ndarray, indices: np.ndarray) -> Way | None:
    """Return the product with JAX's sparse matrix; None for messages that are no product."""
    nodes = indptr.size - 1
    rows = np.repeat(np.arange(nodes, dtype=np.int32), np.diff(indptr))
    places = jnp.stack([jnp.asarray(rows), jnp.asarray(indices)], 1)

    def way(weight: jax.Array, x: jax.Array) -> jax.Array:
        return BCOO((weight, places), shape=(nodes, nodes), indices_sorted=True) @ x

    return way if name == "product" else None


WAYS: Final = {OURS: gspmm_way, SEGMENTS: segments_way, PRODUCT: bcoo_way}


def work_of(
    member: str, name: str, arrays: Mapping[str, np.ndarray], gradient: bool
) -> functools.partial[Any] | None:
    """Return work that returns the reduction, or its gradients; None where a member has no message `name`."""
    way = WAYS[member](name, arrays["indptr"], arrays["indices"])
    if way is None:
        return None
    loss = jax.grad(lambda weight, x: (way(weight, x) ** 2).sum(), (0, 1))
    inputs = jnp.asarray(arrays["weight"]), jnp.asarray(arrays["x"])
    return functools.partial(jax.jit(loss if gradient else way), *inputs)


def measure(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the seconds of a call, its peak beyond the bytes before it, and a norm of its result."""
    arrays = graph(request["nodes"], request["edges"], request["features"])
    work = work_of(request["member"], request["name"], arrays, request["gradient"])
    assert work is not None
    jitted: Any = work.func
    run = finished(functools.partial(jitted.lower(*work.args).compile(), *work.args))
    figures, result = first_and_median(run, 1)
    return figures | {"norm": sum(map(norm, jax.tree.leaves(result)))}
