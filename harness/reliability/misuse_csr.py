"""CSR structures that are corrupt, through every operator that takes one, and through the container `CSR`.

Known arrays are refused by `CSR`. Operators skip what is out of range; where indptr falls, is negative or
goes beyond the entries, the result is not defined, and stays within the arrays. Numba looks at every index,
too: a kernel that left its arrays would raise.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import jax
import numpy as np
from csr_oracles import COLUMNS, DATA, NSE, OPERATORS, ROWS, SHAPE, Array, Operator, V
from jax.experimental import checkify
from misuse import Misuse

from event_ops import CSR

ENV = {"NUMBA_BOUNDSCHECK": "1"}
LOWEST, HIGHEST = np.iinfo(np.int32).min, np.iinfo(np.int32).max
BACKENDS: Final = ("numba_cpu", "reference")
Corrupt = Callable[[Array, Array], None]  # changes indices and indptr in place


def _sound(by_column: bool) -> tuple[Array, Array]:
    """Indices and indptr of a matrix with an empty row."""
    rows, columns = SHAPE[::-1] if by_column else SHAPE
    indices = np.random.default_rng(1).integers(0, columns, NSE).astype(np.int32)
    counts = np.full(rows, NSE // (rows - 1))
    counts[2] = 0
    counts[-1] += NSE - counts.sum()
    return indices, np.append(0, np.cumsum(counts)).astype(np.int32)


def _put(which: int, places: Any, values: Any) -> Corrupt:
    def change(*arrays: Array) -> None:
        arrays[which][places] = values

    return change


INDICES, INDPTR = 0, 1
# What the operators skip: the rest of the matrix counts.
SKIPPED: Final = {
    "a column behind the last": _put(INDICES, slice(None, None, 5), max(ROWS, COLUMNS)),
    "the highest column": _put(INDICES, [0, 7, -1], HIGHEST),
    "a negative column": _put(INDICES, slice(1, None, 4), -1),
    "the lowest column": _put(INDICES, [0, 7, -1], LOWEST),
    "every column": _put(INDICES, slice(None), -3),
    "indptr begins late": _put(INDPTR, 0, 2),
    "indptr ends early": _put(INDPTR, -1, NSE - 2),
    "indptr spans nothing": _put(INDPTR, slice(None), 5),
}
# What leaves the result open.
OPEN: Final = {
    "indptr falls": _put(INDPTR, 2, 0),
    "indptr is reversed": lambda _, indptr: indptr.__setitem__(slice(None), indptr[::-1].copy()),
    "indptr is negative": _put(INDPTR, [0, 3], -7),
    "indptr ends behind the entries": _put(INDPTR, -1, NSE + 1000),
    "indptr begins behind the entries": _put(INDPTR, slice(None), NSE + 5),
    "indptr is as low as can be": _put(INDPTR, slice(None), LOWEST),
    "indptr is as high as can be": _put(INDPTR, slice(None), HIGHEST),
    "indptr alternates": _put(INDPTR, slice(None, None, 2), [LOWEST, HIGHEST, -5, HIGHEST]),
}


def _counting(indices: Array, indptr: Array, columns: int) -> tuple[Array, Array, Array]:
    """The entries that count, their rows and their columns."""
    k = np.arange(indptr[0], indptr[-1])
    row = np.searchsorted(indptr, k, side="right") - 1
    valid = (indices[k] >= 0) & (indices[k] < columns)
    return k[valid], row[valid], indices[k[valid]]


@cache
def _calls(operator: Operator, backend: str) -> list[Callable[..., Any]]:
    """The operator for known arrays, and for traced ones."""
    call = partial(operator.call, backend=backend)
    return [call, jax.jit(call)]


def _through(operator: Operator, backend: str, corrupt: Corrupt, defined: bool) -> None:
    indices, indptr = _sound(operator.by_column)
    columns = SHAPE[0 if operator.by_column else 1]
    whole = operator.expected(*_counting(indices, indptr, columns))
    corrupt(indices, indptr)
    for call in _calls(operator, backend):
        y = np.asarray(call(indices, indptr))
        assert y.shape == whole.shape
        assert np.isfinite(y).all()
        if defined:
            expected = operator.expected(*_counting(indices, indptr, columns))
            np.testing.assert_allclose(y, expected, rtol=1e-6)


def _container(corrupt: Corrupt, **options: Any) -> CSR:
    indices, indptr = _sound(by_column=False)
    corrupt(indices, indptr)
    return CSR(DATA, indices, indptr, shape=SHAPE, **options)


USES: Final = (lambda A: A @ V, lambda A: A.T.todense(), lambda A: A.plan() @ V)
RUNS: Final = (*USES, *map(jax.jit, USES))


def _unvalidated(corrupt: Corrupt) -> None:
    """Products, conversions and plans, with and without jit: each entry adds to its sums once at most."""
    A = _container(corrupt, validate=False)
    for run in RUNS:
        assert (np.abs(run(A)) <= ROWS * DATA.sum() * V.max()).all()


@jax.jit
def _check_and_multiply(A: CSR) -> Any:
    A.check()
    return A @ V


CHECKED: Final = checkify.checkify(_check_and_multiply)


def _checked(corrupt: Corrupt) -> object:
    """Traced arrays are looked at where the program asks for it."""
    return CHECKED(_container(corrupt, validate=False))[0].throw()


REFUSED: Final = SKIPPED | OPEN
CASES = (
    *(
        Misuse(
            f"{operator.name} on {backend}: {name}",
            partial(_through, operator, backend, corrupt, names is SKIPPED),
            error=None,
            slow=backend == "reference",
        )
        for operator in OPERATORS
        for backend in BACKENDS
        for names in (SKIPPED, OPEN)
        for name, corrupt in names.items()
    ),
    *(
        Misuse(f"CSR: {name}", partial(_container, corrupt), "expected.*validate=False", ValueError)
        for name, corrupt in REFUSED.items()
    ),
    *(
        Misuse(f"CSR unvalidated: {name}", partial(_unvalidated, corrupt), error=None, slow=True)
        for name, corrupt in REFUSED.items()
    ),
    *(
        Misuse(f"CSR.check in jit: {name}", partial(_checked, corrupt), "expected", ValueError)
        for name, corrupt in REFUSED.items()
    ),
    *(
        Misuse(
            f"CSR to SciPy: {name}",
            lambda corrupt=corrupt: _container(corrupt, validate=False).to_scipy(),
            "expected",
            ValueError,
        )
        for name, corrupt in REFUSED.items()
        if "indptr" not in name or name in OPEN
    ),
)
