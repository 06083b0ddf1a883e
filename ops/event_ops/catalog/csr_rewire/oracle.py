from event_ops.kernels.oracle.generated import philox


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
