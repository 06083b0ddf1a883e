"""Products of an ELLPACK matrix, by the oracle of a CSR matrix with rows of equal length."""

import numpy as np

from event_ops.kernels.oracle import weights_of
from event_ops.kernels.oracle.csr_products import csr_event_matvec, csr_matvec


def _of_equal_rows(product):
    def of_ell(data, indices, x, **static):
        rows, per_row = indices.shape
        weights = weights_of(data, indices).reshape(-1)
        return product(weights, indices.reshape(-1), per_row * np.arange(rows + 1), x, **static)

    return of_ell


ell_matvec, ell_event_matvec = _of_equal_rows(csr_matvec), _of_equal_rows(csr_event_matvec)
