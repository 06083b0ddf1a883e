"""The parallel kernels of `misuse_workqueue` on OpenMP, where two threads may enter a region."""

from misuse_workqueue import CASES as CASES

ENV = {"NUMBA_THREADING_LAYER": "omp", "NUMBA_NUM_THREADS": "4"}
