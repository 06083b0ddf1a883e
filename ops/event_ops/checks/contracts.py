"""The rules that a `contract` declares for the arguments of an operator, for example `indices=columns`."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import jax
import numpy as np

from event_ops.checks.arrays import as_array, is_known
from event_ops.checks.csr import matrix_shape
from event_ops.checks.packed_entries import column_bits, columns_in, equal_starts
from event_ops.checks.values import Declared, Rule

# The largest mean of a Poisson number: with a larger one, a number could exceed 255, the last in the tables.
MAX_MEAN: Final = 100.0


def within(low: int, high: int, expected: str) -> Rule:
    """Return the rule that every element is in [low, high]."""
    return Rule(lambda x, xp: _outside(x, low, high, xp), expected)


def ids_in(size: int, axis: str) -> Rule:
    """Return the rule that every element is in [0, size), and numbers one of the `axis`."""
    return within(0, size - 1, f"{_range(size)}, for {size} {axis}")


def is_poisson_mean(mean: Any) -> Any:
    """Return where a Poisson number can be drawn for `mean`: False for NaN."""
    return (mean >= 0) & (mean <= int(MAX_MEAN))


def ends_of(entries: str) -> Callable[[Mapping[str, Any]], Rule]:
    """Declare a row pointer: it rises from 0 to the number of `entries`."""

    def rule(arguments: Mapping[str, Any]) -> Rule:
        nse = int(np.prod(np.shape(arguments[entries])))
        return Rule(
            lambda x, xp: _no_ascent(x, nse, xp), f"an ascent from 0 to {nse}, the number of {entries}"
        )

    return rule


def columns(arguments: Mapping[str, Any]) -> Rule:
    """Declare the column of every entry."""
    return ids_in(matrix_shape(arguments["shape"])[1], "columns")


def words(arguments: Mapping[str, Any]) -> Rule | None:
    """Declare words whose low bits are the column of an entry, in a matrix in parts that within its part.

    Where parts begin, or which words they have, may be traced: then any column will do.
    """
    indptr, starts, size = arguments["indptr"], arguments.get("starts"), matrix_shape(arguments["shape"])[1]
    widths, expected, bits = size, _range(size), column_bits(as_array(arguments["entries"]), size)
    if np.ndim(indptr) == 2 and is_known(indptr, starts):
        ends = np.asarray(indptr).astype(np.int64)
        edges = equal_starts(size, len(ends)) if starts is None else np.asarray(starts)
        if edges.shape != (len(ends) + 1,):
            return None
        part = np.searchsorted(ends[1:, 0], np.arange(np.size(arguments["entries"])), side="right")
        widths = np.maximum(np.diff(edges.astype(np.int64)), 0).astype(np.uint32)[part]
        expected = "a column of their part, counted from its first,"
    return Rule(
        lambda x, xp: columns_in(x, size) >= widths,
        f"words with {expected} in their low {bits} bits, for {size} columns",
        "u",
    )


def starts(arguments: Mapping[str, Any]) -> Rule:
    """Declare where parts of the columns begin: a rise from 0 to the number of columns."""
    size = matrix_shape(arguments["shape"])[1]
    return Rule(lambda x, xp: _no_ascent(x, size, xp), f"an ascent from 0 to {size}, the number of columns")


def rows(arguments: Mapping[str, Any]) -> Rule:
    """Declare the row of every entry."""
    return ids_in(matrix_shape(arguments["shape"])[0], "rows")


def columns_or_padding(arguments: Mapping[str, Any]) -> Rule:
    """Declare the column of every entry of an ELLPACK matrix, whose rows may be padded."""
    size = matrix_shape(arguments["shape"])[1]
    return Rule(
        lambda x, xp: _outside(x, -1, size, xp) & (x != np.iinfo(x.dtype).max),
        f"{_range(size)}, for {size} columns, or as padding -1, {size} or the largest integer",
    )


def spike_ids(arguments: Mapping[str, Any]) -> Rule | None:
    """Declare spike ids as `spike_compact` returns them, if the encoding is "ids"."""
    if arguments["encoding"] != "ids":
        return None
    size = matrix_shape(arguments["shape"])[0 if arguments["transpose"] else 1]
    return within(0, size, f"{_range(size)}, for {size} neurons, or {size} as padding")


def recent_ids(arguments: Mapping[str, Any]) -> Rule | None:
    """Declare spike ids for every row of a history, in front of its padding, if the encoding is "ids"."""
    if arguments["encoding"] != "ids" or len(shape := np.shape(arguments["history"])) != 2:
        return None
    size, capacity = matrix_shape(arguments["shape"])[0], shape[1]

    def wrong(x: Any, xp: Any) -> Any:
        # What is no neuron ends the ids of a row: there is only padding after it.
        after = xp.concatenate([xp.zeros(1, bool), _outside(x[:-1], 0, size - 1, xp)])
        is_first = xp.arange(x.size) % capacity == 0
        return _outside(x, 0, size, xp) | (after & ~is_first & (x != size))

    return Rule(wrong, f"{_range(size)}, for {size} neurons, and behind these only {size} as padding")


def delays(arguments: Mapping[str, Any]) -> Rule | None:
    """Declare delays shorter than the ring buffer."""
    shape = np.shape(arguments["buffer"])
    return ids_in(shape[0], "slots of buffer") if shape else None


def permutation_of(entries: str) -> Declared:
    """Declare a permutation of the `entries`, if one is given: each number once."""

    def rule(arguments: Mapping[str, Any]) -> Rule:
        nse = int(np.prod(np.shape(arguments[entries])))
        return Rule(
            lambda x, xp: _outside(x, 0, nse - 1, xp) | _repeated(x, xp), f"each of {_range(nse)} once"
        )

    return rule


def target_indices(arguments: Mapping[str, Any]) -> Rule | None:
    """Declare indices into the first axis of target, also from its end; any if mode="clip"."""
    shape = np.shape(arguments["target"])
    if not shape or arguments["mode"] == "clip":
        return None
    return within(-shape[0], shape[0] - 1, f"-{shape[0]} to {shape[0] - 1}, for {shape[0]} rows of target")


def segments(arguments: Mapping[str, Any]) -> Rule | None:
    """Declare ids of segments, any if mode="clip"; ascending if indices_are_sorted."""
    if not isinstance(size := arguments["num_segments"], int | np.integer):
        return None
    ids = _ANY if arguments["mode"] == "clip" else ids_in(int(size), "segments")
    if not arguments["indices_are_sorted"]:
        return ids
    return Rule(lambda x, xp: ids.wrong(x, xp) | _falls(x, xp), f"{ids.expected}, ascending as was promised")


def poisson_means(arguments: Mapping[str, Any]) -> Rule | None:
    """Declare means of Poisson numbers, if they are JAX arrays; the operator itself checks constants."""
    if not isinstance(arguments["mean"], jax.Array):
        return None
    return Rule(lambda x, xp: ~is_poisson_mean(x), f"numbers per step in [0, {MAX_MEAN:g}]", "fiu")


_ANY: Final = Rule(lambda x, xp: xp.zeros(x.shape, bool), "any integers")


def _range(size: int) -> str:
    return f"0 to {size - 1}" if size else "nothing"


def _outside(x: Any, low: int, high: int, xp: Any) -> Any:
    if high < low:
        return xp.ones(x.shape, bool)
    # A limit that the dtype does not have cannot be crossed, nor be compared with.
    limits = np.iinfo(x.dtype)
    below = x < low if low > limits.min else xp.zeros(x.shape, bool)
    return below | (x > high) if high < limits.max else below


def _falls(x: Any, xp: Any) -> Any:
    """Return where an element is below the one before it."""
    return xp.concatenate([xp.zeros(1, bool), x[1:] < x[:-1]])


def _no_ascent(x: Any, nse: int, xp: Any) -> Any:
    at_ends = xp.arange(x.size) == 0, xp.arange(x.size) == x.size - 1
    last = min(nse, int(np.iinfo(x.dtype).max))
    return _falls(x, xp) | (at_ends[0] & (x != 0)) | (at_ends[1] & (x != last))


def _repeated(x: Any, xp: Any) -> Any:
    """Return where a value has occurred before."""
    order = xp.argsort(x, stable=True)
    ordered = x[order]
    again = xp.concatenate([xp.zeros(1, bool), ordered[1:] == ordered[:-1]])
    return again[xp.argsort(order)]
