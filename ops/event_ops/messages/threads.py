"""A pass for threads of a GPU or of Warp: each has a row and a feature, and takes entries in their order.

Results that go to entries are sums over the features that they lack, so that a thread has the others: results
of one kind are one kernel.
"""

from collections.abc import Sequence
from dataclasses import replace

from event_ops.codegen.emit import filled
from event_ops.codegen.primitives import Target
from event_ops.messages.emit import combined, message_lines, nested, offset
from event_ops.messages.passes import ROW, Pass, Result


def by_kind(of: Pass) -> list[tuple[Pass, tuple[int, ...]]]:
    """Return a pass for the results of each kind, of any size of matrix, and the numbers of these results."""
    plain = replace(of, shape=(0, 0), structure=(of.structure[0], 0))
    numbers_of: dict[Result, list[int]] = {}
    for k, x in enumerate(of.results):
        numbers_of.setdefault(x, []).append(k)
    return [(plain.part(numbers), tuple(numbers)) for numbers in numbers_of.values()]


def thread_lines(of: Pass, target: Target, dtype: str, index: str) -> list[str]:
    """Return the lines of thread `thread` of a pass whose results go to one kind of places.

    index: the type of places of arrays.
    """
    (place, axes), sizes = (of.results[0].place, of.results[0].axes), of.sizes
    present = [k for k, has in enumerate(axes) if has]
    lines = [f"i = thread // {index}({of.width(axes)})", f"rest = thread % {index}({of.width(axes)})"]
    for k in reversed(present):
        lines += [f"f{k} = rest % {index}({sizes[k]})", f"rest = rest // {index}({sizes[k]})"]
    missing = [k for k, has in enumerate(axes) if not has]
    results = range(len(of.results))
    number = {"sum": "0", "mul": "1"}.get(of.reduce, "0")
    start = [f"t{k} = {_number(target, dtype, number)}" for k in results]
    if place == ROW:
        adds = [f"t{k} = {combined(of, target, dtype, f't{k}', f'r{k}')}" for k in results]
        if of.reduce in ("max", "min"):  # the first message begins
            # No infinity to begin with, so that a row of infinities is told from one without entries.
            first = [f"t{k} = r{k} if found == {index}(0) else t{k}" for k in results]
            adds = [*first, *adds, f"found = {index}(1)"]
            start.append(f"found = {index}(0)")
        inside = [*message_lines(of, target, index), *adds]
        stores = [f"y{k}[i, {offset(axes, sizes, index)}] = t{k}" for k in results]
        return [*lines, *start, *_entries(of, inside, index), *stores]
    sums = [f"t{k} = t{k} + r{k}" for k in results]
    over = nested(sizes, missing, [*message_lines(of, target, index), *sums], index)
    stores = [f"y{k}[e, {offset(axes, sizes, index)}] = t{k}" for k in results]
    return [*lines, *_entries(of, [*start, *over, *stores], index)]


def _number(target: Target, dtype: str, number: str) -> str:
    # Warp has loops change what a function returned, not what is a constant.
    return f"y0.dtype({number})" if target.module == "wp" else f"np.{dtype}({number})"


def _entries(of: Pass, body: Sequence[str], index: str) -> list[str]:
    """Return the loop over the entries of row i that send something."""
    located = "place(permutation[k], nse)" if of.structure[0] == 3 else "k"
    return filled(
        f"""\
nse = {index}(indices.shape[0])
for k in range(bounded(indptr[i], nse), bounded(indptr[i + 1], nse)):
    j = place(indices[k], limit[0])
    e = {located}
    if j >= {index}(0) and e >= {index}(0):
        {{body}}""",
        body=body,
    )
