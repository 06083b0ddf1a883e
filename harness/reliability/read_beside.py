"""Reads the element number READ of an input of sixteen that lies beside guards: `read_beside.py READ`."""

import sys

import jax
import numba
import numpy as np
from guarded_inputs import beside_guards

from ffi_bridge import numba_kernel


@numba.njit
def element(x, i, y):
    y[()] = x[np.uintp(i[()])] if i[()] >= 0 else x[i[()] - x.size]


def main(read: str) -> None:
    x = beside_guards(np.arange(16, dtype=np.float32), at_end=int(read) >= 0)
    print(float(numba_kernel(element, jax.ShapeDtypeStruct((), np.float32))(x, np.int32(read))))


if __name__ == "__main__":
    main(*sys.argv[1:])
