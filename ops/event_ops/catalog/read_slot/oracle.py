from event_ops.kernels.oracle import wide


def read_slot(buffer, slot):
    rest = wide(buffer).copy()
    now = int(slot) % len(rest)
    arrivals = rest[now].copy()
    rest[now] = 0
    return arrivals, rest
