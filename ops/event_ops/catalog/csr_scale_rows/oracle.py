import numpy as np

from event_ops.kernels.oracle import wide


def csr_scale_rows(data, indptr, x):
    out = np.zeros_like(wide(data))
    for i, factor in enumerate(x):
        for k in range(int(indptr[i]), int(indptr[i + 1])):
            out[k] = wide(data[k]) * wide(factor) if factor or x.dtype != bool else 0
    return out
