"""Cases of products with a CSR matrix: draws that siblings share, and calls that are wrong in the matrix."""

from typing import Any

import numpy as np

from event_ops.cases import Arguments, InvalidCall, Wrong
from event_ops.cases.draw import Draw, Make, Shape, drawn
from event_ops.cases.matrices import lead_astray

Row = tuple[int, ...]  # the shape of a row of the other factor: () in a vector


@drawn
def random_product(draw: Draw, shape: Shape, nse: int, transpose: bool = False, row: Row = ()) -> Arguments:
    """Return a random matrix and the vector, or the matrix with rows of shape `row`, that it multiplies."""
    factor = draw.numbers((shape[0] if transpose else shape[1], *row))
    return (*draw.csr(shape, nse), factor), {"shape": shape, "transpose": transpose}


@drawn
def sized_product(draw: Draw, shape: Shape, per_row: int, transpose: bool, row: Row = ()) -> Arguments:
    """Return a matrix with as many entries in every row, and the vector or matrix that it multiplies."""
    factor = draw.numbers((shape[0] if transpose else shape[1], *row))
    return (*draw.fixed_degree_csr(shape, per_row), factor), {"shape": shape, "transpose": transpose}


@drawn
def one_weight(draw: Draw, make: Make, of_weight: Row = ()) -> Arguments:
    """Return columns out of range, too, which one weight for all cannot hide by being 0."""
    (_, *args), kwargs = make(*draw)
    lead_astray(args[0], kwargs["shape"][1])
    return (draw.numbers(of_weight), *args), kwargs


@drawn
def out_of_range(draw: Draw, make: Make, first: int = 0) -> Arguments:
    """Return columns out of range, none of them in front of entry `first`."""
    args, kwargs = make(*draw)
    lead_astray(args[1][first:], kwargs["shape"][1])
    return args, kwargs


@drawn
def random_event_product(
    draw: Draw,
    shape: Shape,
    nse: int,
    transpose: bool = False,
    kind: str = "bool",
    one: bool = False,
    row: Row = (),
    rate: float = 0.3,
) -> Arguments:
    """Return a random matrix, or `one` weight for all entries, and events; integers are counts."""
    data, indices, indptr = draw.csr(shape, nse)
    each = (shape[0] if transpose else shape[1], *row)
    events = draw.events(int(np.prod(each)), rate, kind).reshape(each)
    static: dict[str, Any] = {"shape": shape, "transpose": transpose}
    if events.dtype.kind in "iu":
        static["encoding"] = "counts"
    return (draw.numbers(()) if one else data, indices, indptr, events), static


@drawn
def permuted(draw: Draw, make: Make, astray: bool = False) -> Arguments:
    """Return a place in data for each entry, some of them out of range and some taken twice if `astray`."""
    args, kwargs = make(*draw)
    nse = args[1].size
    permutation = draw.rng.permutation(nse).astype(draw.index_dtype)
    if astray:
        lead_astray(permutation, nse)
    return (*args, permutation), kwargs


_WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "integer": ({"data": np.ones(3, np.int32)}, TypeError, "data has dtype int32"),
    "bool-data": ({"data": np.ones(3, bool)}, TypeError, "data has dtype bool"),
    "float-indices": ({"indices": np.zeros(3, "f")}, TypeError, "indices has dtype"),
    "float-indptr": ({"indptr": np.zeros(3, "f")}, TypeError, "indptr has dtype"),
    "grid-of-weights": ({"data": np.ones((3, 1), "f")}, ValueError, r"data has shape \(3, 1\)"),
    "short-data": ({"data": np.ones(2, "f")}, ValueError, r"data has shape \(2,\)"),
    "flat": ({"indices": np.zeros((3, 1), np.int32)}, ValueError, "indices has 2 dim"),
    "short-indptr": ({"indptr": np.array([0, 3])}, ValueError, r"one more than the \d rows"),
    "reversed": ({"shape": (4, 2)}, ValueError, "it fits shape reversed"),
    "shape": ({"shape": 8}, ValueError, "expected two integers"),
    "negative-shape": ({"shape": (-1, 4)}, ValueError, "sizes >= 0"),
    "short-permutation": ({"permutation": np.arange(2)}, ValueError, r"permutation has shape \(2"),
    "float-permutation": ({"permutation": np.ones(3, "f")}, TypeError, "permutation has dtype fl"),
}


def invalid_matrices(wrong: Wrong, names: str) -> list[InvalidCall]:
    """Return the named calls, which are wrong in a matrix of 3 entries; `wrong` is that of `changes_to`."""
    return [wrong(name, *_WRONG[name][1:], **_WRONG[name][0]) for name in names.split()]
