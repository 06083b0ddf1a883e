import numpy as np

from event_ops.kernels.oracle import wide


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
