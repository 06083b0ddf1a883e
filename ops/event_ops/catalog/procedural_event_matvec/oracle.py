from event_ops.kernels.oracle.generated import entries, product


def procedural_event_matvec(weight, seed, events, *, prob, shape, distribution="constant", transpose=False):
    found = entries(weight, seed, prob, shape, distribution)
    active = [(i, j, w) for i, j, w in found if events[i if transpose else j]]
    return product(active, events, shape, transpose)
