"""Delivery in a small network: each warp pulls the entries onto its own neurons, which it finds by an index.

Nobody waits for sums of others, and no block for its warps: with two or three spikes in a step most of the
time is that of scans, barriers and reads in a chain, not that of entries.
"""

from collections.abc import Sequence
from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from event_ops.codegen.emit import filled
from event_ops.kernels.numba_cuda.threads import WARP
from event_ops.kernels.reference.entries import rows_of
from event_ops.network.plan import Arrays, Plan
from event_ops.network.projections import Projection
from event_ops.sparse.compact import CompactCSR

MOST_ENTRIES: Final = 1 << 22  # of all matrices: an index is made in each run
MOST_CELLS: Final = 1 << 22  # of a matrix: one for each row and warp of targets

BEGIN: Final = (
    "lead = thread - lane",
    "own_noted, own_ages = noted[lead : lead + WARP], ages_of[lead : lead + WARP]",
)

# A turn is one step, and the first delivers at most one of the history.
_PULL: Final = """\
for page in range(0, rows * words, 4 * WARP):
    word, mine = page + 4 * lane, 0
    bits = np.uint32(0), np.uint32(0), np.uint32(0), np.uint32(0)
    if word < rows * words:
        bits = wide_load(fired, row * words + word, 4)
        mine = count_bits(bits)
    up_to = sum_up_to(mine)
    total = cuda.shfl_sync(np.uint32(FULL), up_to, WARP - 1)
    for window in range(0, total, WARP):
        note_words(bits, word, offset, up_to - mine - window, own_noted, own_ages)
        cuda.syncwarp()
        number = min(total - window, WARP)
        place = found + window + lane
        if turn > 0 and block == blocks - 1 and thread < number and place < ids.size:
            times[place] = base
            ids[place] = id_of(own_noted[lane], places, first)
        if lane < number:
            neuron = own_noted[lane]
            {pulls}
        cuda.syncwarp()
    if turn > 0:
        found += total"""

_ENTRIES: Final = """\
sender = neuron - WARP * places[SOURCE]
if hasTARGET and 0 <= sender < sizeSOURCE and ages[0] + offset >= 0:
    cell = (low + thread // WARP - places[TARGET]) * sizeSOURCE + sender
    for k in range(startsQ[cell], startsQ[cell + 1]):
        cuda.atomic.add(pulledSUMS, lead + lanesQ[k], widened(at(weightsQ, k)))"""


def pull_lines(plan: Plan) -> list[str]:
    """Return the lines that list the spikes of a step, record them, and add the entries of each warp."""
    pulls = []
    for j, sums in enumerate(plan.sums):
        for q, source, _ in sums.projections:
            numbers = {"SOURCE": source, "TARGET": sums.population, "SUMS": j, "ages": f"ages{q}", "Q": q}
            text = _ENTRIES
            for name, number in numbers.items():
                text = text.replace(name, str(number))
            pulls += text.splitlines()
    return filled(_PULL, pulls=pulls or ["pass"])


def by_warp(projections: Sequence[Projection], arrays: Arrays) -> Arrays:
    """Return the arrays with each matrix in the order of the warps of targets, then of sources.

    starts[word * rows + i] is the first entry of row i onto the neurons of a word, lanes and weights are the
    entries. Columns and rows that are out of range have none.
    """
    in_order = {name: x for name, x in arrays.items() if not name.startswith("matrix")}
    for q, part in enumerate(projections):
        A: Any = part.A.tocsr() if isinstance(part.A, CompactCSR) else part.A
        data = A.data.astype(part.dtype) if isinstance(part.A, CompactCSR) else arrays[f"matrix{q}_0"]
        (rows, columns), row = part.shape, rows_of(A.indptr, A.indices.size)
        cells = -(-columns // WARP) * rows
        held = (A.indices >= 0) & (A.indices < columns) & (row >= 0) & (row < rows)
        cell = jnp.where(held, (A.indices // WARP).astype(jnp.int32) * rows + row.astype(jnp.int32), cells)
        order = jnp.argsort(cell)
        counts = jnp.zeros(cells + 1, jnp.int32).at[cell].add(1)
        in_order[f"starts{q}"] = jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(counts[:-1])])
        in_order[f"lanes{q}"] = (A.indices[order] % WARP).astype(jnp.int32)
        in_order[f"weights{q}"] = data[order] if data.ndim else data
    return in_order


def are_few(projections: Sequence[Projection]) -> bool:
    """Return whether the entries of projections are so few that an index of them pays."""
    cells = [-(-part.shape[1] // WARP) * part.shape[0] for part in projections]
    matrices: list[Any] = [part.A for part in projections]
    return sum(A.nse for A in matrices) <= MOST_ENTRIES and max(cells, default=0) <= MOST_CELLS


def dtypes_of(plan: Plan, projections: Sequence[Projection]) -> tuple[str, ...]:
    """Return the dtype of each sums, or "" of one without projections."""
    firsts = [x.projections[:1] for x in plan.sums]
    return tuple(str(np.dtype(projections[x[0][0]].dtype)) if x else "" for x in firsts)
