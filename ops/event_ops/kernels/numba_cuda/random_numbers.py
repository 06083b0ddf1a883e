"""The functions of kernels/random_numbers.py on a GPU, and rows of Bernoulli matrices that a warp generates.

A warp makes 32 draws of a row's stream at a time: the columns of entries are a prefix sum of gaps.
"""

from typing import Any, Final

import numpy as np
from numba import cuda

from event_ops.kernels.numba_cuda.threads import FULL, WARP, sum_up_to
from event_ops.kernels.random_numbers import compiled
from event_ops.kernels.reference import bernoulli

_GAP_BITS: Final = np.uint32(bernoulli.GAP_BITS)
_NO_ENTRY: Final = np.int32(bernoulli.NO_ENTRY)

random_functions = compiled(cuda.jit(device=True))
chosen, philox2x32 = random_functions.chosen, random_functions.philox2x32


@cuda.jit(device=True)
def next_draws(table: Any, seed: Any, row: Any, draw: Any, column: Any) -> Any:
    """Return whether draw `draw` + lane is an entry, its column and word, and the column after 32 draws."""
    choice, word = philox2x32(draw + cuda.laneid, row, seed)
    gap = np.int32(chosen(table, np.uint32(0), np.uint32(choice), _GAP_BITS))
    is_entry = gap != _NO_ENTRY
    step = np.int32(gap + 1 if is_entry else gap)
    reached = sum_up_to(step)
    following = column + cuda.shfl_sync(FULL, reached, WARP - 1)
    return is_entry, column + (reached - step) + gap, word, following
