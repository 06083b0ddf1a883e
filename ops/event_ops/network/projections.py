"""Projections: synapses between populations, with one delay for all or one for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from event_ops.checks.arrays import FLOATS, as_array, check_dtype, is_known, summed_in
from event_ops.checks.csr import check_indptr
from event_ops.checks.keywords import known_integer
from event_ops.network.plasticity import Plasticity
from event_ops.sparse.compact import CompactCSR
from event_ops.sparse.convert import row_of_each
from event_ops.sparse.csr import CSR
from event_ops.sparse.pytree import register


@dataclass(frozen=True, eq=False, init=False)
class Projection:
    """`receptor[j] += A[i, j]` for each spike of neuron i, `delay` steps later: synapses between populations.

    A pytree, whose leaf is the matrix.

    Args:
        A: CSR, CompactCSR or a 2-d array, of float32 or float64; rows are neurons that send, columns neurons
            that receive. Weights are in the unit and dtype of the receptor.
        receptor: the name of a state or variable of the model that receives. To a state the weight is added
            behind the step of the neurons, as NEST adds to currents. A variable, like the `jump` of delta
            synapses, is the sum of what arrives in a step, 0 where nothing does.
        delay: in steps, the same for all, or (nse,) of integers that are known now, one for each entry of A,
            unless it is a 2-d array.
            A spike of step t arrives in step t + delay; so with a delay of 0 it is added behind its own step,
            as Brian2 does without delay, and a variable takes at least 1.
        slots: in place of `delay`, of a matrix that has a row for each neuron and delay, as
            `csr_event_arrivals` takes it: row i * slots + d is what neuron i sends with a delay of d steps,
            0 <= d < slots. It is read as it is, without a sort or a copy.
        plasticity: how the weights of a CSR change; default: not at all. The state of the network has them,
            beginning with those of A.
        source, target: names of the populations, where the network has several.

    Raises:
        TypeError: A is no such matrix, a delay or slots no integer, or there are both of these, or none; with
            plasticity, another matrix than a CSR of float32 or float64.
        ValueError: A is read transposed, a delay is below 0, there are as many as A has no entries, or there
            is one for each word of a matrix in parts; slots do not divide the rows, or a scale differs
                between rows of one neuron; with plasticity, more than one delay.
    """

    A: CSR | CompactCSR | jax.Array
    receptor: str
    ages: tuple[int, ...]
    min_delay: int
    source: str
    target: str
    plasticity: Plasticity | None

    def __init__(
        self,
        A: CSR | CompactCSR | ArrayLike,
        receptor: str,
        *,
        delay: Any = None,
        slots: int | None = None,
        plasticity: Plasticity | None = None,
        source: str = "",
        target: str = "",
    ) -> None:
        matrix = _checked(A)
        if (delay is None) == (slots is None):
            raise TypeError(
                f"delay is {delay} and slots is {slots}; expected one of both: a delay for all or for each "
                "entry of A, or the number of rows that A has for each neuron"
            )
        if slots is None:
            if not is_known(delay):
                raise TypeError(
                    "delay is traced; expected integers that are known when traced: make the projection "
                    "outside of the traced function"
                )
            by_delay, ages, least = _by_delay(matrix, np.asarray(delay))
        else:
            by_delay, (ages, least) = matrix, _slots_of(matrix, known_integer("slots", slots))
        if plasticity is not None:
            by_delay = _learning(by_delay, plasticity, delay)
        vars(self).update(A=by_delay, plasticity=plasticity, receptor=receptor, source=source, target=target)
        vars(self).update(ages=ages, min_delay=least)

    @property
    def shape(self) -> tuple[int, int]:
        """Return how many neurons send, and how many receive."""
        rows, columns = self.A.shape
        return rows // len(self.ages), columns

    @property
    def dtype(self) -> Any:
        """Return the dtype in which arrivals are summed."""
        return summed_in(self.A.data) if isinstance(self.A, CSR) else self.A.dtype

    @property
    def words(self) -> tuple[jax.Array, ...]:
        """Return the words of a CompactCSR, the row ends of each part, and the scale of each or all."""
        if not isinstance(self.A, CompactCSR):
            return ()
        A = self.A
        ends = A.indptr if A.indptr.ndim > 1 else A.indptr[None]
        return A.entries, ends, A.scale[:: len(self.ages)] if A.scale.ndim else A.scale


register(
    Projection,
    ("A", "plasticity"),
    ("receptor", "ages", "min_delay", "source", "target"),
    "event_ops.network.Projection",
)


def _checked(A: Any) -> Any:
    """Return the matrix, as an array if it is dense; raise unless it is one."""
    if isinstance(A, np.ndarray | jax.Array) and A.ndim == 2:
        dense = as_array(A, "A")
        check_dtype("A", dense, FLOATS)
        return dense
    if not isinstance(A, CSR | CompactCSR):
        raise TypeError(
            f"A is a {type(A).__name__}; expected a CSR or CompactCSR matrix or a 2-d array, rows = source, "
            "columns = target: CSR(A) of a matrix of SciPy or JAX, A.tocsr() of an ELL"
        )
    if A.transposed:
        raise ValueError("A is read transposed; expected rows = source, as stored; use A.tocsr()")
    return A


def _learning(A: Any, plasticity: Any, delay: Any) -> CSR:
    """Return a matrix that can learn, with its entries found by column where a rule needs it."""
    if not isinstance(plasticity, Plasticity):
        raise TypeError(f"plasticity is a {type(plasticity).__name__}; expected a Plasticity")
    if not isinstance(A, CSR) or A.dtype not in FLOATS:
        kind = type(A).__name__ if not isinstance(A, CSR) else f"CSR of {A.dtype}"
        raise TypeError(
            f"A is a {kind}, and weights that learn are float32 or float64; use a CSR of one of these"
        )
    if np.ndim(delay) or delay is None:
        raise ValueError(
            f"{'slots' if delay is None else 'a delay for each entry'} is given, and plasticity; expected "
            "one delay for all entries: make a projection of each delay, or a loop of your own with branches "
            "as rows"
        )
    plasticity.check(A)
    return A if plasticity.on_post is None or A.by_column is not None else A.plan(weights=False)


def _by_delay(A: Any, delays: np.ndarray) -> tuple[Any, tuple[int, ...], int]:
    """Return the matrix with a row for each neuron and delay, its delays, and the least of an entry."""
    if delays.dtype.kind not in "iu":
        raise TypeError(f"delay has dtype {delays.dtype}; expected integers, in steps: round(ms / dt)")
    if delays.shape and isinstance(A, jax.Array):
        raise ValueError(
            f"delay has shape {delays.shape}, and A is a 2-d array; expected one delay for all, or a CSR"
        )
    if delays.shape and delays.shape != (A.nse,):
        raise ValueError(f"delay has shape {delays.shape}; expected () or ({A.nse},), one for each entry")
    if delays.size and (delays.min() < 0 or delays.max() >= np.iinfo(np.int32).max):
        wrong = delays.min() if delays.min() < 0 else delays.max()
        raise ValueError(f"delay is or contains {wrong}; expected >= 0, in steps, and below 2**31 - 1")
    delays = delays.astype(np.int64)  # a narrow dtype does not hold the number of slots
    if not delays.ndim:
        return A, (int(delays),), int(delays)
    if not is_known(A.indptr):
        raise TypeError(
            "A is traced, and there is a delay for each entry, by which entries are sorted; expected one for "
            "all; or make the projection outside of the traced function, and pass it as an argument"
        )
    (rows, columns), slots = A.shape, int(delays.max(initial=0)) + 1
    if A.indptr.ndim > 1:
        raise ValueError(f"A has {len(A.indptr)} parts; expected one delay for all, or a CSR matrix")
    check_indptr(A.indptr, A.nse, "without an entry behind the last row, each has a delay")
    row = row_of_each(A.indptr) * slots + delays
    order = np.argsort(row, kind="stable")
    ends = np.searchsorted(row[order], np.arange(rows * slots + 1)).astype(A.indptr.dtype)
    shape, least = (rows * slots, columns), int(delays.min(initial=slots))  # of no entries, none arrives
    if isinstance(A, CompactCSR):
        scale = jnp.repeat(A.scale, slots) if A.scale.ndim else A.scale
        return CompactCSR(A.entries[order], ends, scale, A.error, shape=shape), _ages(slots), least
    data = A.data[order] if A.data.ndim else A.data
    return CSR(data, A.indices[order], ends, shape=shape, validate=False), _ages(slots), least


def _slots_of(A: Any, slots: int) -> tuple[tuple[int, ...], int]:
    """Return the delays of a matrix that has a row for each neuron and delay, and the least with an entry."""
    if isinstance(A, jax.Array):
        raise TypeError(
            "A is a 2-d array, and slots is given; expected a delay, or a CSR or CompactCSR matrix"
        )
    rows = A.shape[0]
    if slots < 1 or rows % slots:
        raise ValueError(
            f"slots is {slots}, and A has {rows} rows; expected as many rows for each neuron: row i * slots "
            "+ d is what neuron i sends with a delay of d"
        )
    if isinstance(A, CompactCSR) and A.scale.ndim:
        each = np.asarray(A.scale).reshape(-1, slots) if is_known(A.scale) else None
        if each is None or (each != each[:, :1]).any():
            raise ValueError(
                f"the scale of A {'is traced' if each is None else 'differs between rows of one neuron'}; "
                "expected one scale for all delays of a neuron, known now, or one for all entries; A.tocsr() "
                "has none"
            )
    if not is_known(A.indptr):
        return _ages(slots), 0
    counts = np.diff(np.asarray(A.indptr)).reshape(-1, slots).any(axis=0)
    return _ages(slots), int(np.argmax(counts)) if counts.any() else slots


def _ages(slots: int) -> tuple[int, ...]:
    """Return the delays in the order of a history, from slot 0.

    In slot 0 are the spikes of now, then those of slots - 1 steps ago, and so on to the last step's.
    """
    return 0, *range(slots - 1, 0, -1)
