"""Delivery in a small network: each warp pulls the entries onto its own neurons, which it finds by an index.

A warp waits for the spikes of the step before, and for nothing else: a word of bits arrives with the number
of its turn, so that there is no barrier. With two or three spikes in a step most of the time is that of
scans, fences and reads in a chain, not that of entries. A word of turn t is overwritten in turn t + 2, by a
warp that has the words of t + 1 of all others, which these sent when they had read those of t.
"""

from collections.abc import Sequence
from typing import Any, Final

import jax
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
    "lead, own_word = thread - lane, low + thread // WARP",
    "has_word, is_last = own_word < high, own_word == places[POPULATIONS] - 1",
    "own_noted, own_ages = noted[lead : lead + WARP], ages_of[lead : lead + WARP]",
)

# The places of the record behind the last spike: a warp without a word does not know the last.
UNUSED: Final = "(WARP * own_word + lane if has_word else ids.size), ids.size, WARP * places[POPULATIONS]"

# A turn is one step, and the first delivers at most one of the history.
_PULL: Final = """\
if has_word:
    for page in range(0, rows * places[POPULATIONS], 4 * WARP):
        word = page + 4 * lane
        size = places[POPULATIONS] - word
        bits0, bits1, bits2, bits3 = receive_bits(fired, row * words + word, size, turn)
        mine = cuda.popc(bits0) + cuda.popc(bits1) + cuda.popc(bits2) + cuda.popc(bits3)
        up_to = sum_up_to(mine)
        total = cuda.shfl_sync(np.uint32(FULL), up_to, WARP - 1)
        for window in range(0, total, WARP):
            place = note_bits(bits0, WARP * word, offset, up_to - mine - window, own_noted, own_ages)
            place = note_bits(bits1, WARP * (word + 1), offset, place, own_noted, own_ages)
            place = note_bits(bits2, WARP * (word + 2), offset, place, own_noted, own_ages)
            place = note_bits(bits3, WARP * (word + 3), offset, place, own_noted, own_ages)
            cuda.syncwarp()
            number = min(total - window, WARP)
            place = found + window + lane
            if turn > 0 and is_last and lane < number and place < ids.size:
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
    cell = (own_word - places[TARGET]) * sizeSOURCE + sender
    for k in range(startsQ[cell], startsQ[cell + 1]):
        cuda.atomic.add(pulledSUMS, lead + lanesQ[k], at(weightsQ, k))"""


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
    """Return the arrays with those of each matrix by the warp of the target, then by the source.

    starts[word * rows + i] is the first entry of row i onto the neurons of a word, lanes and weights are the
    entries. Columns and rows that are out of range have none.
    """
    found = {name: x for name, x in arrays.items() if not name.startswith("matrix")}
    for q, part in enumerate(projections):
        A: Any = part.A.tocsr() if isinstance(part.A, CompactCSR) else part.A
        data = A.data.astype(part.dtype) if isinstance(part.A, CompactCSR) else arrays[f"matrix{q}_0"]
        (rows, columns), row = part.shape, rows_of(A.indptr, A.indices.size)
        cells = -(-columns // WARP) * rows
        held = (A.indices >= 0) & (A.indices < columns) & (row >= 0) & (row < rows)
        cell = jnp.where(held, (A.indices // WARP).astype(jnp.int32) * rows + row.astype(jnp.int32), cells)
        order = jnp.argsort(cell)
        counts = jnp.zeros(cells + 1, jnp.int32).at[cell].add(1)
        found[f"starts{q}"] = jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(counts[:-1])])
        found[f"lanes{q}"] = (A.indices[order] % WARP).astype(jnp.int32)
        found[f"weights{q}"] = data[order] if data.ndim else data
    return found


def are_few(projections: Sequence[Projection]) -> bool:
    """Return whether the entries of projections are so few that an index of them pays."""
    cells = [-(-part.shape[1] // WARP) * part.shape[0] for part in projections]
    return sum(part.A.nse for part in projections) <= MOST_ENTRIES and max(cells, default=0) <= MOST_CELLS


def dtypes_of(plan: Plan, projections: Sequence[Projection]) -> tuple[str, ...]:
    """Return the dtype of each sums, or "" of one without projections."""
    firsts = [x.projections[:1] for x in plan.sums]
    return tuple(str(np.dtype(projections[x[0][0]].dtype)) if x else "" for x in firsts)


def sent(history: jax.Array) -> jax.Array:
    """Return words of bits as they are received in turn 0."""
    return jnp.stack([history, jnp.zeros_like(history)], axis=-1).reshape(-1)
