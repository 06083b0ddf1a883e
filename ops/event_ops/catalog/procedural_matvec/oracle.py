from event_ops.kernels.oracle.generated import entries, product


def procedural_matvec(weight, seed, v, *, prob, shape, distribution="constant", transpose=False):
    found = entries(weight, seed, prob, shape, distribution)
    return product(found, v, shape, transpose)
