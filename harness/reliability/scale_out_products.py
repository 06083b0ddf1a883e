"""A program: products of row-sharded matrices beside those of one device; run by test_scale_out.py.

    python scale_out_products.py DEVICES CASES [COORDINATOR PROCESSES PROCESS_ID]

prints, as JSON, how many products it compared, which differ, and which have other collectives than intended.
Weights are small whole numbers, so that sums are exact in any order and results have to be equal bit by bit.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import scipy.sparse
from jax.sharding import Mesh

import event_ops
from event_ops import CSR, CompactCSR, Events
from event_ops_harness.networks.shared.processes import join, prepare_devices

COLLECTIVES = re.compile(
    r"\b(all-gather|all-reduce|all-to-all|collective-permute|collective-broadcast|reduce-scatter)(?:-start)?\("
)
AXIS = "shards"


def random_rows(lengths: np.ndarray, columns: int, rng: np.random.Generator) -> CSR:
    """Rows of these lengths, with duplicates, unsorted."""
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    indices = rng.integers(0, columns, indptr[-1]).astype(np.int32)
    data = rng.integers(-4, 5, indptr[-1]).astype(np.float32)
    return CSR(data, indices, indptr, shape=(lengths.size, columns))


def matrices(rng: np.random.Generator) -> dict[str, CSR | CompactCSR]:
    """The cases, the first two of which are the short form."""
    skewed = random_rows((40 / np.arange(1, 54)).astype(int), 37, rng)
    one_weight = random_rows(rng.integers(0, 9, 41), 50, rng)
    scales = 2.0 ** rng.integers(-30, 30, 17).astype(np.float32)
    one_row = np.zeros(19, int)
    one_row[7] = 60
    return {
        "skewed": skewed,
        "one weight": one_weight.with_data(3.0),
        "compact": random_rows(rng.integers(0, 9, 23), 31, rng).compact(),
        "compact, a scale per row": (
            random_rows(rng.integers(0, 9, 17), 29, rng) * scales[:, None]
        ).compact(),
        "one row has all": random_rows(one_row, 11, rng),
        "fewer rows than shards": random_rows(np.array([5]), 9, rng),
        "empty": random_rows(np.zeros(12, int), 9, rng),
        "int64 from SciPy": CSR.from_scipy(scipy.sparse.eye_array(33, 20, k=-3, format="csr", dtype="f")),
    }


def operands(sizes: tuple[int, int], rng: np.random.Generator) -> Iterator[tuple[str, bool, Any]]:
    """(name, whether the matrix is on its right, operand)."""
    rows, columns = sizes
    flags = rng.random(columns) < 0.3
    yield "A @ v", False, rng.integers(-5, 6, columns).astype(np.float32)
    yield "A @ flags", False, Events(flags)
    yield "A @ ids", False, Events(np.flatnonzero(flags).astype(np.int32), encoding="ids")
    yield "A @ bits", False, Events(event_ops.pack_events(flags), encoding="bits")
    yield "x @ A", True, rng.integers(-5, 6, rows).astype(np.float32)
    yield "flags @ A", True, Events(rng.random(rows) < 0.3)


def product_before(x: Any, A: Any) -> jax.Array:
    return x @ A


def product_after(x: Any, A: Any) -> jax.Array:
    return A @ x


def scattered(S: event_ops.ShardedCSR, x: Any) -> Any:
    return Events(S.scatter(x.values)) if isinstance(x, Events) else S.scatter(x)


def on_host(x: Any) -> Any:
    """Operands that are whole on every device: as NumPy, which belongs to none of them."""
    return jax.tree.map(np.asarray, x)


def compare(
    name: str, A: CSR | CompactCSR, mesh: Mesh, rng: np.random.Generator
) -> Iterator[tuple[str, bool, bool]]:
    """(what was compared, whether it is equal, whether it has the intended collectives)."""
    S = event_ops.shard_csr(A, mesh, AXIS)
    for operand, before, x in operands(A.shape, rng):
        product: Callable[..., jax.Array] = product_before if before else product_after
        expected = np.asarray(product(x, A))
        arguments = (scattered(S, x) if before else on_host(x)), S
        compiled = jax.jit(product).lower(*arguments).compile()
        result = compiled(*arguments)
        values = np.asarray(result) if before else S.gather(result)
        intended = ["all-reduce"] if before else []
        equal = values.dtype == expected.dtype and np.array_equal(values, expected)
        # XLA leaves the sum out where it sees that all terms are 0.
        collectives = COLLECTIVES.findall(compiled.as_text())
        yield f"{name}: {operand}", equal, collectives in (intended, [])


def main(devices: int, cases: int, coordinator: str = "", processes: int = 1, process_id: int = 0) -> None:
    prepare_devices(devices // processes)
    if coordinator:
        join(coordinator, processes, process_id)
    mesh, rng = jax.make_mesh((devices,), (AXIS,)), np.random.default_rng(7)
    results = [
        result
        for name, A in list(matrices(rng).items())[:cases]
        for label, stored in ((name, A), (f"{name}, transposed", A.T))
        for result in compare(label, stored, mesh, rng)
    ]
    report = {
        "devices": jax.device_count(),
        "tried": len(results),
        "different": [compared for compared, equal, _ in results if not equal],
        "other collectives": [compared for compared, _, intended in results if not intended],
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4], *map(int, sys.argv[4:]))
