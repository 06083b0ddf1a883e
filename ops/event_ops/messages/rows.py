"""The entries of rows as lines for Numba: four messages at a time, combined before they are added."""

import math
from collections.abc import Sequence
from typing import Final

from event_ops.codegen.emit import array_names, filled, tuple_of
from event_ops.codegen.operations import names_read
from event_ops.codegen.primitives import NUMBA_LOOPS
from event_ops.messages.emit import START, combined, nested, offset, outputs, reads
from event_ops.messages.passes import COLUMN, ENTRY, ROW, Pass

# Entries whose messages are combined before they are added: fewer loads and stores of sums.
_AT_ONCE: Final = 4
_MOST_OPERATIONS: Final = 48  # of a message of which so many are written out
_MOST_ON_STACK: Final = 4096  # features


class _Lines:
    """The loop over the entries of one row, as lines."""

    def __init__(self, of: Pass, dtype: str) -> None:
        self.of, self.dtype = of, dtype
        self.vector = bool(of.sizes)  # maybe an axis of one element, of a batch
        self.rows = [k for k, x in enumerate(of.results) if x.place == ROW]
        self.entries = [k for k, x in enumerate(of.results) if x.place == ENTRY]
        self.columns = columns_of(of)
        few = len(of.message.program.operations) <= _MOST_OPERATIONS
        self.steps = _AT_ONCE if few else 1

    @property
    def kept(self) -> list[int]:
        """Return the results that are kept until the messages of all features are made."""
        return [*self.columns, *self.entries]

    def sum_of(self, k: int) -> str:
        """Return where the sum of result k is kept."""
        return f"t{k}[c]" if self.vector else f"t{k}"

    def over_features(self, body: Sequence[str]) -> list[str]:
        """Return lines for every feature, whose place is c."""
        if not self.vector:
            return list(body)
        place = f"c = {offset(self.of.full, self.of.sizes)}"
        return nested(self.of.sizes, range(len(self.of.sizes)), [place, *body], "np.uintp")

    def every(self, body: Sequence[str]) -> list[str]:
        """Return lines for every feature, in a single loop."""
        loop = f"for c in range(np.uintp({self.of.features})):"
        return [loop, *(f"    {line}" for line in body)] if self.vector else list(body)

    def rooms(self) -> list[str]:
        """Return the lines that make room for sums, and for results of entries."""
        if not self.vector:
            return []
        size = self.of.features
        # Stacks of threads are small.
        make = f"on_stack(y{{}}, {size})" if size <= _MOST_ON_STACK else f"np.empty({size}, y{{}}.dtype)"
        rooms = [f"t{k} = {make.format(k)}" for k in self.rows]
        return rooms + [f"b{k}_{u} = {make.format(k)}" for k in self.kept for u in range(self.steps)]

    def step(self, count: int) -> list[str]:
        """Return the lines for `count` entries, at columns j0, j1, ..., and entries e0, e1, ..."""
        body: list[str] = []
        for u in range(count):
            names = ", ".join(f"r{k}_{u}" for k in range(len(self.of.results)))
            body.append(f"{names} = message({', '.join(reads(self.of, 'np.uintp', str(u)))})")
        for k in self.rows:
            terms = [f"r{k}_{u}" for u in range(count)]
            while len(terms) > 1:  # in pairs, which wait for each other less
                terms = [
                    f"({combined(self.of, NUMBA_LOOPS, self.dtype, x, y)})"
                    for x, y in zip(terms[::2], terms[1::2], strict=True)
                ]
            target = self.sum_of(k)
            if self.of.reduce in ("max", "min") and count > 1:
                # By a name, as the expression of a maximum has its operands several times.
                body.append(f"m{k} = {terms[0]}")
                terms = [f"m{k}"]
            body.append(f"{target} = {combined(self.of, NUMBA_LOOPS, self.dtype, target, terms[0])}")
        for k in self.kept:
            body += [f"b{k}_{u}{'[c]' * self.vector} = r{k}_{u}" for u in range(count)]
        stores = [line for k in self.kept for u in range(count) for line in self.stored(k, u)]
        return [*self.over_features(body), *stores]

    def stored(self, k: int, u: int) -> list[str]:
        """Return the lines that add result k at column j{u}, or store it at entry e{u}.

        At an entry it is summed over the features that it lacks.
        """
        axes, sizes = self.of.results[k].axes, self.of.sizes
        if k in self.columns:
            c = "c" if self.vector else "np.uintp(0)"
            return self.every([f"y{k}[j{u}, {c}] += b{k}_{u}{'[c]' * self.vector}"])
        if not self.vector:
            return [f"y{k}[e{u}, np.uintp(0)] = b{k}_{u}"]
        if all(axes):
            return self.every([f"y{k}[e{u}, c] = b{k}_{u}[c]"])
        leading = sum(axes)
        if all(axes[:leading]):  # features that follow each other are summed
            summed = math.prod(sizes[leading:])
            place = offset(axes, sizes)
            count = f"np.uintp({summed})"
            body = f"y{k}[e{u}, {place}] = total_of(b{k}_{u}, ({place}) * {count}, {count})"
            return nested(sizes, range(leading), [body], "np.uintp")
        clear = f"y{k}[e{u}, c] = 0"
        width = self.of.width(axes)
        add = f"y{k}[e{u}, {offset(axes, sizes)}] += b{k}_{u}[c]"
        return [f"for c in range(np.uintp({width})):", f"    {clear}", *self.over_features([add])]

    def cleared(self, entry: str) -> list[str]:
        """Return the lines that set the results of an entry to 0."""
        return [
            line
            for k in self.entries
            for line in (
                f"for c in range(np.uintp({self.of.width(self.of.results[k].axes)})):",
                f"    y{k}[{entry}, c] = 0",
            )
        ]

    def begun(self) -> list[str]:
        """Return the lines in front of the entries of row i."""
        start = START[self.of.reduce]
        number = f"np.{self.dtype}({start!r})".replace("(inf", "(np.inf").replace("(-inf", "(-np.inf")
        return self.every([f"{self.sum_of(k)} = {number}" for k in self.rows]) if self.rows else []

    def ended(self) -> list[str]:
        """Return the lines behind the entries of row i."""
        stores = [f"y{k}[i, {'c' if self.vector else 'np.uintp(0)'}] = {self.sum_of(k)}" for k in self.rows]
        if self.of.reduce not in ("max", "min"):
            return self.every(stores) if stores else []
        none = self.every([f"{self.sum_of(k)} = np.{self.dtype}(0)" for k in self.rows])
        return ["if not found:", *(f"    {line}" for line in none), *self.every(stores)]


def columns_of(of: Pass) -> list[int]:
    """Return which results of a pass go to columns."""
    return [k for k, x in enumerate(of.results) if x.place == COLUMN]


def read_at(of: Pass, place: str) -> list[int]:
    """Return which inputs at a place the message reads."""
    read = {*names_read(of.message.program.operations), *of.message.program.results}
    return [k for k, x in enumerate(of.message.places) if x == place and f"x{k}" in read]


def _located(of: Pass, count: int) -> list[str]:
    """Return the lines that name the columns and entries of the next steps."""
    lines: list[str] = []
    for u in range(count):
        at = f"k + np.uintp({u})" if u else "k"
        entry = f"np.uintp(permutation[{at}])" if of.structure[0] == 3 else at
        lines += [f"j{u} = np.uintp(indices[{at}])", f"e{u} = {entry}"]
    return lines


def _inside(of: Pass, count: int) -> str:
    terms = [f"(j{u} < columns)" for u in range(count)]
    if of.structure[0] == 3:
        terms += [f"(e{u} < nse)" for u in range(count)]
    return " & ".join(terms)


def row_lines(of: Pass, dtype: str) -> list[str]:
    """Return the lines that visit the entries of the rows from `low` to `high`."""
    lines = _Lines(of, dtype)
    at_random = [(f"a{k}", "indices") for k in read_at(of, COLUMN)]
    at_random += [(f"y{k}", "indices") for k in lines.columns]
    at_random += [(f"a{k}", "permutation") for k in read_at(of, ENTRY) if of.structure[0] == 3]
    several = filled(
        _SEVERAL.format(steps=lines.steps, inside=_inside(of, lines.steps)),
        located=_located(of, lines.steps),
        found=["found = True"] if of.reduce in ("max", "min") else [],
        step=lines.step(lines.steps),
    )
    cleared = lines.cleared("e0")
    names = [(tuple_of(array_names(of.message)), "arrays"), (tuple_of(outputs(of)), "outs")]
    loops = {
        "several": several if lines.steps > 1 else [],
        "located": _located(of, 1),
        "step": lines.step(1),
        "cleared": filled("else:\n    {cleared}", cleared=cleared) if cleared else [],
    }
    return filled(
        _ROWS.format(inside=_inside(of, 1)),
        unpacked=[f"{left} = {right}" for left, right in names if left != "()"],
        far=[f"far{n} = is_far_to_read({array})" for n, (array, _) in enumerate(at_random)],
        rooms=lines.rooms(),
        gaps=filled(_GAPS, cleared=lines.cleared("e")) if cleared else [],
        prefetches=[
            line
            for n, (array, ids) in enumerate(at_random)
            for line in (f"if far{n}:", f"    prefetch_targets({array}, {ids}, k, end)")
        ],
        begun=lines.begun(),
        ended=lines.ended(),
        **loops,
    )


_SEVERAL: Final = """\
if k + np.uintp({steps}) <= end:
    {{located}}
    if {inside}:
        {{found}}
        {{step}}
        k += np.uintp({steps})
        continue"""
# Entries that no row has.
_GAPS: Final = """\
if low == 0:
    for e in range(np.uintp(0), min(np.uintp(indptr[0]), nse)):
        {cleared}
if high == indptr.size - 1:
    for e in range(min(np.uintp(indptr[indptr.size - 1]), nse), nse):
        {cleared}"""
_ROWS: Final = """\
{{unpacked}}
nse = np.uintp(indices.size)
{{far}}
{{rooms}}
{{gaps}}
for i in range(np.uintp(low), np.uintp(high)):
    k, end = min(np.uintp(indptr[i]), nse), min(np.uintp(indptr[i + np.uintp(1)]), nse)
    {{prefetches}}
    found = False
    {{begun}}
    while k < end:
        {{several}}
        {{located}}
        if {inside}:
            found = True
            {{step}}
        {{cleared}}
        k += np.uintp(1)
    {{ended}}"""
