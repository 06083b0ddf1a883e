"""Changes of the rows of a CSR matrix, row by row."""

import numpy as np

from event_ops.kernels.oracle import wide
from event_ops.kernels.oracle.generated import philox


def csr_normalize(
    data, indices, indptr, target, active=None, *, shape, permutation=None, subtractive=False
):  # fmt: skip
    w, goals = wide(data).copy(), np.broadcast_to(wide(target), shape[0])
    places = np.arange(len(w)) if permutation is None else permutation
    for i in range(shape[0]):
        row = [
            int(places[p])
            for p in range(int(indptr[i]), int(indptr[i + 1]))
            if 0 <= int(indices[p]) < shape[1] and 0 <= int(places[p]) < len(w)
        ]
        total = sum(w[k] if subtractive else abs(w[k]) for k in row)
        if active is not None and not active[i]:
            continue
        for k in row:
            if subtractive:
                w[k] += (goals[i] - total) / len(row)
            elif total != 0:
                w[k] *= goals[i] / total
    return w


def csr_rewire(
    indices, indptr, rewired, seed=None, step=None, *, shape, targets=None, allow_autapses=True,
    allow_multapses=True,
):  # fmt: skip
    y = indices.copy()
    for i in range(shape[0]):
        slots = list(range(int(indptr[i]), int(indptr[i + 1])))
        flagged = [k for k in slots if rewired[k]]
        y[flagged] = shape[1]
        for k in flagged:
            for j in proposals(k, seed, step, shape[1], targets):
                allowed = (allow_autapses or j != i) and (allow_multapses or j not in y[slots])
                if 0 <= j < shape[1] and allowed:
                    y[k] = j
                    break
    return y


def proposals(k, seed, step, columns, targets):
    """The columns that slot k tries."""
    if targets is not None:
        yield int(targets[k])
        return
    x, z = k, int(step) % 2**32
    for _ in range(256):
        x, z = philox(x, z, int(seed) % 2**32)
        yield x * columns // 2**32
