"""Weights as integer codes times a scale, with the bits that there are; words in parts of the columns."""

import math
from typing import Any, Final, NamedTuple

import numpy as np

from event_ops.checks.arrays import FLOAT_WEIGHTS, check_dtype, is_known, summed_in
from event_ops.checks.contracts import ids_in
from event_ops.checks.csr import MEND, check_indptr
from event_ops.checks.keywords import known_size
from event_ops.checks.packed_entries import MOST_NARROW, WORD_BITS, are_narrow, equal_starts, index_bits
from event_ops.checks.values import check_values
from event_ops.kernels.reference.packed_entries import in_rows, words_of
from event_ops.sparse.convert import Parts, row_of_each, spanned_entries
from event_ops.sparse.partition import balanced_starts


def narrow_parts(columns: int) -> int:
    """Return in how many parts columns are that narrow words can hold."""
    return max(1, -(-columns // MOST_NARROW))


def saves(nse: int, rows: int, columns: int, indptr: Any, scale: Any) -> bool:
    """Return whether narrow words take fewer bytes than words of 32 bits with one scale.

    Each part has its own indptr, and each row may have a scale.
    """
    ends = (narrow_parts(columns) - 1) * (rows + 1) * indptr.dtype.itemsize
    return 2 * nse > ends + (scale.nbytes if scale.ndim else 0)


def narrowed(columns: Any, indptr: Any, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns, of `width`, as narrow words, and indptr, for each part if there are several."""
    parts = narrow_parts(width)
    if parts == 1:
        return columns.astype(np.uint16), indptr
    starts = equal_starts(width, parts)
    order, part, ends = _cut(columns, indptr, starts)
    return (columns - starts[part])[order].astype(np.uint16), ends


def balanced(words: Any, indptr: Any, shape: tuple[int, int], parts: int) -> tuple[np.ndarray, ...]:
    """Return the words by parts of the columns, (parts, rows + 1), where rows begin, and where parts do.

    If narrow words cannot hold the columns of a part, each is cut into as many.
    """
    columns = shape[1]
    codes, ids, ends = map(np.asarray, in_rows(words, indptr, shape))
    check_indptr(ends, words.size, MEND)
    check_values("entries", ids, ids_in(columns, "columns"), MEND)
    before = np.append(0, np.cumsum(np.bincount(ids, minlength=columns)))
    starts = np.array(balanced_starts(before, known_size("parts", parts, least=1)))
    if are_narrow(words):
        pieces = narrow_parts(int(np.diff(starts).max()))
        steps = np.arange(pieces) / pieces
        starts = np.append(
            (starts[:-1, None] + np.ceil(np.diff(starts)[:, None] * steps)).astype(int), columns
        )
    order, part, split = _cut(ids.astype(np.int64), ends, starts)
    within = (ids - starts[part])[order]
    return (
        within.astype(np.uint16) if are_narrow(words) else words_of(within, codes[order], columns),
        split,
        starts,
    )


def _cut(ids: Any, indptr: Any, starts: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the order of entries by part and row, the part of each, and (parts, rows + 1), their ends."""
    rows, parts = indptr.size - 1, len(starts) - 1
    part = np.searchsorted(starts[1:-1], ids, side="right")
    by_part = part * rows + row_of_each(indptr)
    order = np.argsort(by_part, kind="stable")
    ends = np.searchsorted(by_part[order], np.arange(parts * rows + 1)).astype(indptr.dtype)
    return order, part, np.stack([ends[k * rows :][: rows + 1] for k in range(parts)])


_EXACT_BITS: Final = {"float32": 25, "float64": 32}  # of signed codes that the dtype holds exactly


class _Fit(NamedTuple):
    """A scale for each group of weights; for each weight its code, the value of that, and if it is wrong."""

    scale: Any
    codes: Any
    values: Any
    wrong: Any


def code_bits(columns: int) -> int:
    """Return how many bits of a word are left for a code, its sign among them."""
    return WORD_BITS - index_bits(columns)


def check_known(*arrays: Any) -> None:
    """Raise ValueError while tracing."""
    if not is_known(*arrays):
        raise ValueError(
            "the matrix is being traced, and its values are not known; convert it outside of jit, and hand "
            "the result to the function"
        )


def check_room(codes: np.ndarray, columns: int) -> None:
    """Raise ValueError unless the codes fit beside a column."""
    needed = int(max(codes.max(initial=0), -1 - codes.min(initial=0))).bit_length() + 1
    if needed > code_bits(columns):
        raise ValueError(
            f"the codes take {needed} bits, and {code_bits(columns)} are left beside one of {columns} rows; "
            "expected no more; compact A.T.tocsr() for products with A.T, or keep A without a plan"
        )


def coded(A: Any, rtol: float, atol: float) -> tuple[Any, Any, Any, float]:
    """Return the stored entries of a `CSR` as words that keep the bound, indptr, scale and the error."""
    check_known(A.data, A.indices, A.indptr)
    check_dtype("data", A.data, FLOAT_WEIGHTS)
    for name, bound in (("rtol", rtol), ("atol", atol)):
        if not (0 <= bound < math.inf):
            raise ValueError(f"{name} is {bound}; expected a number >= 0, the error allowed to a weight")
    each = np.broadcast_to(np.asarray(A.data), A.indices.shape)
    data, indices, indptr, shape, _ = spanned_entries(Parts(each, A.indices, A.indptr, A.stored_shape))
    indices, indptr = np.asarray(indices), np.asarray(indptr)
    check_indptr(indptr, indices.size, MEND)
    check_values("indices", indices, ids_in(shape[1], "columns"), MEND)
    weights = np.asarray(data).astype(summed_in(A.data))
    if not np.isfinite(weights).all():
        bad = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise ValueError(f"data[{bad}] is {weights[bad]}, which has no code; expected finite weights")
    scale = _without_codes(weights, indptr)
    if scale is not None and saves(indices.size, *shape, indptr, scale):
        return *narrowed(indices, indptr, shape[1]), scale, 0.0
    if A.data.ndim == 0:
        raise ValueError(
            "the matrix has one weight for all, and takes 4 bytes an entry as it is, of which parts of "
            f"{MOST_NARROW} columns would save nothing; keep the CSR"
        )
    fit = _fit(weights, indptr, shape, rtol, atol)
    return words_of(indices, fit.codes, shape[1]), indptr, fit.scale, float(_relative(fit, weights))


def _without_codes(weights: Any, indptr: Any) -> Any:
    """Return the one weight of all entries, or that of each row if all of its entries have one, or None."""
    if weights.size and (weights == weights[0]).all():
        return weights[0]
    held = np.diff(indptr) > 0
    scale = np.zeros(held.size, weights.dtype)
    scale[held] = weights[indptr[:-1][held]]
    return scale if (weights == scale[row_of_each(indptr)]).all() else None


def _fit(weights: Any, indptr: Any, shape: tuple[int, int], rtol: float, atol: float) -> _Fit:
    """Return codes with one scale for all if they keep the bound, else with one for each row."""
    bits = min(code_bits(shape[1]), _EXACT_BITS[str(weights.dtype)])
    if bits < 2:
        raise ValueError(
            f"{shape[1]} columns leave {bits} bits for a weight; expected 2 or more; keep the CSR"
        )
    bound = atol + rtol * np.abs(weights.astype(float))
    fit = _of_groups(weights, np.zeros(weights.size, int), 1, bits, bound)
    if not fit.wrong.any():
        return fit._replace(scale=fit.scale[0])
    rows = row_of_each(indptr)
    fit = _of_groups(weights, rows, shape[0], bits, bound)
    if fit.wrong.any():
        raise ValueError(_refusal(fit, weights, bound, bits, shape[1]))
    return fit


def _of_groups(weights: Any, group: Any, count: int, bits: int, bound: Any) -> _Fit:
    """Fit each group by a unit of which its weights are multiples, or where there is none by a fine scale.

    Such a unit may be the smallest of the weights, or a power of two.
    """
    # Codes from -limit to limit: the lowest code has no positive counterpart, and stays unused.
    wide, limit = np.abs(weights.astype(float)), 2 ** (bits - 1) - 1
    largest = np.zeros(count)
    # `ufunc.at` takes every weight of a group, where `largest[group] = ...` would take the last.
    np.maximum.at(largest, group, wide)
    fit = _by_scale(weights, group, largest / limit, limit, bound)
    for unit in (_power_of_two(wide), wide):
        smallest, counts = np.full(count, np.inf), wide > 0
        np.minimum.at(smallest, group[counts], unit[counts])
        exact = _by_scale(weights, group, np.where(np.isfinite(smallest), smallest, 0), limit, 0)
        serves = np.bincount(group[exact.wrong], minlength=count) == 0
        fit = _Fit(
            np.where(serves, exact.scale, fit.scale),
            *(np.where(serves[group], x, y) for x, y in zip(exact[1:], fit[1:], strict=True)),
        )
    return fit


def _by_scale(weights: Any, group: Any, scale: Any, limit: int, bound: Any) -> _Fit:
    scale = scale.astype(weights.dtype)
    # XLA takes a number below the least normal one for 0, and so would make all weights of such a scale.
    scale = np.where(scale > 0, np.maximum(scale, np.finfo(weights.dtype).tiny), scale)
    each = scale[group]
    quotients = np.divide(weights, each, out=np.zeros_like(weights), where=each > 0)
    codes = np.clip(np.rint(quotients), -limit, limit)
    values = codes * each
    wrong = np.abs(values.astype(float) - weights) > bound
    return _Fit(scale, codes.astype(np.int32), values, wrong)


def _power_of_two(wide: Any) -> Any:
    """Return the largest power of two of which each weight is a multiple; 0 for 0."""
    mantissa, exponent = np.frexp(wide)
    # A double has 53 bits: so scaled, it is an integer, of which the lowest bit set is the unit.
    whole = (mantissa * 2.0**53).astype(np.int64)
    return np.ldexp((whole & -whole).astype(float), exponent - 53)


def _relative(fit: _Fit, weights: Any) -> Any:
    """Return the largest relative error of a weight."""
    wide = np.abs(weights.astype(float))
    errors = np.abs(fit.values.astype(float) - weights)
    return np.divide(errors, wide, out=np.zeros_like(wide), where=wide > 0).max(initial=0)


def _refusal(fit: _Fit, weights: Any, bound: Any, bits: int, columns: int) -> str:
    """Describe the error of the worst weight, how many bits would do, and which bounds can be kept."""
    errors = np.abs(fit.values.astype(float) - weights)
    k = int(np.argmax(np.where(fit.wrong, errors - bound, -1)))
    rtol, atol = _rounded_up(float(_relative(fit, weights))), _rounded_up(float(errors.max()))
    needed = ""
    if bound[fit.wrong].all():
        steps = np.abs(fit.values.astype(float)).max() / (2 * bound[fit.wrong].min())
        needed = f", {math.ceil(math.log2(steps + 1)) + 1} bits would do"
    relative = f"rtol={rtol:g} or " if rtol < 1 else ""
    return (
        f"codes of {bits} bits, which {columns} columns leave, make {fit.values[k]} of data[{k}], which is "
        f"{weights[k]}; expected an error of at most {bound[k]:.2g}{needed}; allow {relative}atol={atol:g}, "
        "or keep the CSR, which is exact"
    )


def _rounded_up(x: float) -> float:
    """Return x with two digits, not below it."""
    digit = 10.0 ** (math.floor(math.log10(x)) - 1)
    # Up by more than the rounding of the quotient, so that the bound that is advised is kept.
    return float(f"{math.ceil(x / digit * (1 + 1e-9)) * digit:.6g}")
