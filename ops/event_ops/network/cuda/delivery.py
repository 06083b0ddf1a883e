"""The lines of the kernel that deliver spikes: each block lists them, and adds its share of their entries.

Entries of all spikes of a step are counted together, so that every thread has as many as any other, whatever
the lengths of rows.
"""

from collections.abc import Callable
from typing import Final

from event_ops.codegen.emit import filled
from event_ops.network.cuda.division import Rows
from event_ops.network.plan import Plan

_DELIVER: Final = """\
for page in range(0, rows * words, 4 * THREADS):
    word, age, mine = page + 4 * thread, offset, 0
    bits = np.uint32(0), np.uint32(0), np.uint32(0), np.uint32(0)
    if word < rows * words:
        bits = wide_load(fired, row * words + word, 4)
        mine = count_bits(bits)
    while word >= words:
        word, age = word - words, age + 1
    before, total = sum_before(np.int32(mine), of_warp)
    for window in range(0, total, THREADS):
        note_words(bits, word, age, before - window, noted, ages_of)
        cuda.syncthreads()
        number = min(total - window, THREADS)
        place = found + window + thread
        if turn > 0 and block == blocks - 1 and thread < number and place < ids.size:
            times[place] = base + ages_of[thread]
            ids[place] = id_of(noted[thread], places, first)
        {items}
        cuda.syncthreads()
    if turn > 0:
        found += total"""

_ITEMS: Final = """\
for item0 in range(0, number * ITEMS, THREADS):
    items, item = min(number * ITEMS - item0, THREADS), item0 + thread
    entry, length = np.int64(0), np.int64(0)
    if thread < items:
        spike = item // ITEMS
        kind, neuron, since = item - spike * ITEMS, noted[spike], ages_of[spike]
        {extents}
    passed, of_all = entries_before(COUNT(length), entries_of_warp)
    begins[thread], ends[thread] = entry - passed, passed + length
    cuda.syncthreads()
    piece = max(-(-of_all // blocks), np.int64(WARP))
    first_entry, last_entry = block * piece, min((block + 1) * piece, np.int64(of_all))
    for k in range(first_entry + thread, last_entry, THREADS):
        item = upper_bound(ends, k, 0, items)
        entry, spike = begins[item] + k, (item0 + item) // ITEMS
        kind, neuron, arrival = item0 + item - spike * ITEMS, noted[spike], base_slot + ages_of[spike]
        {adds}"""


def deliver_lines(plan: Plan, parts: tuple[Rows, ...]) -> list[str]:
    """Return the lines that list the spikes of a turn, record them, and add their entries."""
    return filled(_DELIVER, items=_items(plan, parts))


def _cases(parts: tuple[Rows, ...], line_of: Callable[[Rows], list[str]]) -> list[str]:
    """Return lines that choose between the parts by their `kind`."""
    if len(parts) == 1:
        return line_of(parts[0])
    return [
        line
        for kind, part in enumerate(parts)
        for line in [f"{'elif' if kind else 'if'} kind == {kind}:", *(f"    {x}" for x in line_of(part))]
    ]


def _arrays(part: Rows) -> tuple[str, str, str]:
    """Return the names of entries, row ends, and ends of neurons."""
    q = part.projection
    one = f"[{part.part}]" if part.part >= 0 else ""
    entries, indptr = (f"matrix{q}_0", f"matrix{q}_1{one}") if one else (f"matrix{q}_1", f"matrix{q}_2")
    return entries, indptr, f"near{q}{one}" if part.delays else indptr


def _extent(part: Rows) -> list[str]:
    q, s = part.projection, part.source
    entries, indptr, near = _arrays(part)
    own = f"neuron - WARP * places[{s}], size{s}, since, {entries}.size"
    return [f"entry, length = extent({indptr}, {near}, ages{q}, {own})"]


def _add(plan: Plan) -> Callable[[Rows], list[str]]:
    """Return the function of the lines that add an entry of a part."""

    def lines(part: Rows) -> list[str]:
        q, sums, own = part.projection, plan.sums[part.sums], f"neuron - WARP * places[{part.source}]"
        target, behind = sums.population, int(plan.is_state(sums))
        added = [f"column, weight = matrix{q}_1[np.uint64(entry)], widened(at(matrix{q}_0, entry))"]
        if part.part >= 0:
            word = "narrow_word_in" if part.narrow else "word_in"
            given = f"matrix{q}_0[np.uint64(entry)], at(matrix{q}_2, {own})"
            added = [f"column, weight = {word}({given}, matrix{q}_3, {part.part}, size{target})"]
        delay = f"np.int64(ages{q}[0])"
        if part.delays:
            delay = f"delay_of({_arrays(part)[1]}, ages{q}.size, {own}, entry)"
        return [*added, f"add_at(ring{part.sums}, arrival + {delay} + {behind}, column, weight)"]

    return lines


def _items(plan: Plan, parts: tuple[Rows, ...]) -> list[str]:
    """Return the lines that deliver the spikes that a block has noted."""
    if not parts:
        return ["pass"]
    return filled(_ITEMS, extents=_cases(parts, _extent), adds=_cases(parts, _add(plan)))
