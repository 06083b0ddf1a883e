"""The lines of the kernel that deliver spikes: each block lists them, and adds its share of their entries.

Entries of all spikes of a step are counted together, so that every thread has as many as any other, whatever
the lengths of rows. A trip to memory takes longer than the rest: two entries of a thread are under way at
once, and with them the row ends that say which delays they have.
"""

import re
from collections.abc import Callable
from typing import Final

from event_ops.codegen.emit import filled
from event_ops.network.cuda.division import How, Rows
from event_ops.network.plan import Plan

ROOM: Final = 1024  # row ends in shared memory
_FEW: Final = 2  # parts: with more, the kernel would take long to compile

_DELIVER: Final = """\
for page in range(0, rows * words, 4 * THREADS):
    word, age, mine = page + 4 * thread, offset, 0
    bits0, bits1, bits2, bits3 = np.uint32(0), np.uint32(0), np.uint32(0), np.uint32(0)
    if word < rows * words:
        bits0, bits1, bits2, bits3 = wide_load(fired, row * words + word, 4)
        mine = cuda.popc(bits0) + cuda.popc(bits1) + cuda.popc(bits2) + cuda.popc(bits3)
    while word >= words:
        word, age = word - words, age + 1
    before, total = sum_before(np.int32(mine), of_warp)
    for window in range(0, total, THREADS):
        place = note_bits(bits0, WARP * word, age, before - window, noted, ages_of)
        place = note_bits(bits1, WARP * (word + 1), age, place, noted, ages_of)
        place = note_bits(bits2, WARP * (word + 2), age, place, noted, ages_of)
        place = note_bits(bits3, WARP * (word + 3), age, place, noted, ages_of)
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
        kind, neuron, age = item - spike * ITEMS, noted[spike], ages_of[spike]
        {extents}
    before, of_all = sum_before(np.int32(length), of_warp)
    begins[thread], ends[thread] = entry - before, before + length
    cuda.syncthreads()
    piece = max(-(-of_all // SHARES), np.int64(WARP))
    first_entry, last_entry = share_of * piece, min((share_of + 1) * piece, np.int64(of_all))
    for begin_entry in range(first_entry, last_entry, AT_ONCE * THREADS):
        {loads}
        {row_ends}
        {adds}"""

# Of two entries at once, so that both are under way in memory.
_LOAD: Final = """\
k_N, item_N = begin_entry + N * THREADS + thread, 0
entry_N, raw_N, factor_N = np.int64(0), np.int64(0), FACTOR
if k_N < last_entry:
    item_N = upper_bound(ends, k_N, 0, items)
    entry_N = begins[item_N] + k_N
    spike = (item0 + item_N) // ITEMS
    kind, neuron = item0 + item_N - spike * ITEMS, noted[spike]
    {load}"""

_ROW_ENDS: Final = """\
if begin_entry == first_entry:
    near = upper_bound(ends, first_entry, 0, items)
    places_near = (upper_bound(ends, last_entry - 1, 0, items) + 1 - near) * most
    are_near = places_near <= ROOM
    if are_near:
        for place in range(thread, places_near, THREADS):
            item = place // most
            delay, spike = place - item * most, (item0 + near + item) // ITEMS
            kind, neuron = item0 + near + item - spike * ITEMS, noted[spike]
            {ends}
    cuda.syncthreads()"""

_ADD: Final = """\
if k_N < last_entry:
    spike = (item0 + item_N) // ITEMS
    kind, neuron, arrival = item0 + item_N - spike * ITEMS, noted[spike], base_slot + ages_of[spike]
    entry, raw, factor, item = entry_N, raw_N, factor_N, item_N
    {add}"""


def deliver_lines(plan: Plan, parts: tuple[Rows, ...], how: How) -> list[str]:
    """Return the lines that list the spikes of a turn, record them, and add their entries."""
    return filled(_DELIVER, items=_items(plan, parts, how))


def fetch_lines(parts: tuple[Rows, ...]) -> list[str]:
    """Return the lines that ask for the entries of a warp's last spikes, while it waits."""
    lines = []
    for part in parts:
        s = part.source
        own = f"ages{part.projection}.size, WARP * (hint_word - places[{s}]), size{s}, hint_bits"
        lines.append(f"    fetch_rows({', '.join(_arrays(part))}, {own})")
    return ["if hint_bits != 0:", *lines, "    hint_bits = np.uint32(0)"] if lines else []


def _of(n: int, line: str) -> str:
    """Return a line with the number of an entry for N."""
    return re.sub(r"_N\b|\bN\b", lambda x: x[0].replace("N", str(n)), line)


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
    own = f"neuron - WARP * places[{s}], size{s}, age, {entries}.size"
    return [f"entry, length = extent({indptr}, {near}, ages{q}, {own})"]


def _load(part: Rows) -> list[str]:
    q = part.projection
    if part.part < 0:
        return [f"raw_N, factor_N = np.int64(matrix{q}_1[np.uint64(entry_N)]), at(matrix{q}_0, entry_N)"]
    own = f"neuron - WARP * places[{part.source}]"
    return [f"raw_N, factor_N = np.int64(matrix{q}_0[np.uint64(entry_N)]), at(matrix{q}_2, {own})"]


def _ends(part: Rows) -> list[str]:
    q, own = part.projection, f"np.int64(neuron - WARP * places[{part.source}])"
    if not part.delays:
        return ["pass"]
    return [
        f"if is_inside({own}, size{part.source}) and delay < ages{q}.size:",
        f"    row_ends[place] = {_arrays(part)[1]}[np.uint64({own} * ages{q}.size + delay + 1)]",
    ]


def _add(plan: Plan, how: How) -> Callable[[Rows], list[str]]:
    """Return the function of the lines that add an entry of a part."""

    def lines(part: Rows) -> list[str]:
        q, sums = part.projection, plan.sums[part.sums]
        target, behind = sums.population, int(plan.is_state(sums))
        added = ["column, weight = raw, factor"]
        if part.part >= 0:
            word = "narrow_word_in" if part.narrow else "word_in"
            added = [f"column, weight = {word}(raw, factor, matrix{q}_3, {part.part}, size{target})"]
        if how.pulled:
            first, own = f"WARP * (places[{target}] - low)", "WARP * (high - low)"
            return [*added, f"add_own(pulled{part.sums}, column, size{target}, {first}, {own}, weight)"]
        delay = [f"delay = np.int64(ages{q}[0])"]
        if part.delays:
            far = f"delay_of({_arrays(part)[1]}, ages{q}, neuron - WARP * places[{part.source}], entry)"
            delay = [
                "if are_near:",
                f"    delay = delay_near(row_ends, (item - near) * most, ages{q}, entry)",
            ]
            delay += ["else:", f"    delay = {far}"]
        return [*added, *delay, f"add_at(ring{part.sums}, arrival + delay + {behind}, column, weight)"]

    return lines


def _items(plan: Plan, parts: tuple[Rows, ...], how: How) -> list[str]:
    """Return the lines that deliver the spikes that a block has noted."""
    if not parts:
        return ["pass"]
    first = parts[0]
    factor = f"matrix{first.projection}_{0 if first.part < 0 else 2}.dtype.type(0)"
    load = filled(_LOAD.replace("FACTOR", factor), load=_cases(parts, _load))
    add = filled(_ADD, add=_cases(parts, _add(plan, how)))
    at_once = 2 if len(parts) <= _FEW else 1
    loads, adds = ([_of(n, line) for n in range(at_once) for line in lines] for lines in (load, add))
    has_delays = any(x.delays for x in parts) and not how.pulled
    text = _ITEMS.replace("AT_ONCE", str(at_once))
    text = text.replace("SHARES", "1" if how.pulled else "blocks").replace(
        "share_of", "0" if how.pulled else "block"
    )
    return filled(
        text,
        extents=_cases(parts, _extent),
        loads=loads,
        row_ends=filled(_ROW_ENDS, ends=_cases(parts, _ends)) if has_delays else [],
        adds=adds,
    )
