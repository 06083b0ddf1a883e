"""The parallel kernels of `misuse_workqueue` where Numba has OpenMP, which no call from XLA enters."""

from misuse_workqueue import CASES as CASES

ENV = {"NUMBA_THREADING_LAYER": "omp", "NUMBA_NUM_THREADS": "4"}
