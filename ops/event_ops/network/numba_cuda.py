"""A run of a network as one persistent CUDA kernel: its blocks stay, and wait for each other in every step.

A turn of the loop delivers the spikes of the turn before, and steps the neurons: at once where no spike can
arrive within its turn, with a barrier between else. What arrives is summed in a ring of times, at which it
is read: behind the step for variables, one later for states, so that their step moves the potential by the
current of the step before, as NEST's does.
"""

import math
import re
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numba
import numpy as np
from numba import cuda

from event_ops.checks.packed_entries import are_narrow
from event_ops.codegen.emit import array_names, body_lines, defined, filled, tables_of, tuple_of
from event_ops.codegen.primitives import NUMBA_CUDA
from event_ops.kernels.numba_cuda.access import at, is_inside, upper_bound
from event_ops.kernels.numba_cuda.packed_entries import bits_for, code_of, narrow_bits
from event_ops.kernels.numba_cuda.random_numbers import random_functions
from event_ops.kernels.numba_cuda.threads import WARP, lanes_where
from event_ops.kernels.numba_cuda.wide import wide_load
from event_ops.network import cuda_loops as loops
from event_ops.network import reference
from event_ops.network.layout import Layout
from event_ops.network.numba_cpu import changed, outputs
from event_ops.network.plan import NoNativeRunError, Plan, Sums, plan_of
from event_ops.network.projections import Projection
from event_ops.network.states import State
from event_ops.neurons.emit import divided_step
from event_ops.neurons.numba_cuda import shared_names, step_of
from ffi_bridge import numba_cuda_kernel
from ffi_bridge.cuda.driver import cuda_driver

_KEPT: Final = 1024  # plans
_MOST_STEPS: Final = 16  # of a turn
_WORDS: Final = 4  # of a block, at least, where there are more blocks
_MOST_THREADS: Final = 768  # more would have too few registers
MOST_PULLED: Final = 1 << 22  # entries of all matrices


class Rows(NamedTuple):
    """Hold the rows of a projection, or of one part of its matrix: a spike has so many items as there are.

    Args:
        sums: the place of the sums that they are added to.
        projection: its place; source: the population that sends.
        part: of a matrix in words, or -1 for a CSR matrix; narrow: whether words have 16 bits.
        delays: whether there is a row for each delay.
    """

    sums: int
    projection: int
    source: int
    part: int
    narrow: bool
    delays: bool


class Launch(NamedTuple):
    """Hold the blocks of a run and their threads, all of which a GPU holds at once."""

    blocks: int
    threads: int


class How(NamedTuple):
    """Hold how a run goes.

    Args:
        threads: of a block.
        two: whether a turn has two barriers.
        resident: whether a warp has one word only.
        pulled: where every block reads all entries, and adds those of its own neurons, the dtype of each
            sums, or "".
    """

    threads: int
    two: bool
    resident: bool
    pulled: tuple[str, ...] = ()


class Lines:
    """Hold the lines of all populations for the places of a run."""

    def __init__(self) -> None:
        self.begin: list[str] = []
        self.ahead: list[str] = []
        self.neurons: list[str] = []
        self.meanwhile: list[str] = []
        self.end: list[str] = []


_ROOM: Final = 1024  # row ends in shared memory
_LOOPS: Final = (
    "add_at", "add_own", "arrive", "delay_near", "delay_of", "extent", "fetch_rows", "id_of", "note_bits",
    "wait_for_all",
)  # fmt: skip


_RUN: Final = """\
noted, ages_of = cuda.shared.array(THREADS, numba.int32), cuda.shared.array(THREADS, numba.int32)
begins, ends = cuda.shared.array(THREADS, numba.int64), cuda.shared.array(THREADS, numba.int32)
of_warp, row_ends = cuda.shared.array(WARP, numba.int32), cuda.shared.array(ROOM, numba.int64)
thread, lane, block, blocks = cuda.threadIdx.x, cuda.laneid, cuda.blockIdx.x, cuda.gridDim.x
start, stop = np.int64(begin[0]), np.int64(begin[0]) + steps[0]
words, slots, span = np.int64(numbers[0]), np.int64(numbers[1]), np.int64(numbers[2])
most, near, are_near = np.int64(numbers[5]), np.int64(0), False
share = -(-np.int64(places[POPULATIONS]) // blocks)
low, high = min(block * share, places[POPULATIONS]), min((block + 1) * share, places[POPULATIONS])
{begin}
hint_word, hint_bits = np.int64(0), np.uint32(0)
found, target = np.int64(0), np.int32(0)
# The first turn delivers the spikes of the history.
row, rows, offset, base, base_slot = np.int64(0), np.int64(numbers[3]), -np.int64(numbers[3]), start, np.int64(0)
half, first_step, last_step, slot = np.int64(0), start, start, np.int64(0)
for turn in range(numbers[4]):
    {ahead}
    {deliver}
    {between}
    {neurons}
    arrive(arrived)
    target = np.int32(target + blocks)
    {meanwhile}
    wait_for_all(arrived, target)
    row, rows, offset = half, min(last_step, stop) - first_step, np.int64(0)
    base, base_slot, half = first_step, slot, span - half
    slot += last_step - first_step
    while slot >= slots:
        slot -= slots
    first_step, last_step = last_step, min(last_step + span, stop + 1)
{end}
for k in range(found + cuda.grid(1), ids.size, cuda.gridsize(1)):
    times[k], ids[k] = -1, first[POPULATIONS]
if cuda.grid(1) == 0:
    num_spikes[()] = min(found, np.int64(MOST))"""

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
    items, item, entry, length = min(number * ITEMS - item0, THREADS), item0 + thread, np.int64(0), np.int64(0)
    if thread < items:
        spike = item // ITEMS
        kind, neuron, age = item - spike * ITEMS, noted[spike], ages_of[spike]
        {extents}
    before, of_all = sum_before(np.int32(length), of_warp)
    begins[thread], ends[thread] = entry - before, before + length
    cuda.syncthreads()
    piece = max(-(-of_all // SHARES), np.int64(WARP))
    first_entry, last_entry = share_of * piece, min((share_of + 1) * piece, np.int64(of_all))
    for begin_entry in range(first_entry, last_entry, 2 * THREADS):
        {loads}
        {row_ends}
        {adds}"""

# Of two entries at once, so that both are under way in memory.
_LOAD: Final = """\
k_N, item_N, entry_N, raw_N, factor_N = begin_entry + N * THREADS + thread, 0, np.int64(0), np.int64(0), FACTOR
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

_STEP: Final = """\
if time > start:
    {arrive}
    {record}
if time < stop:
    {variables}
    after = stepP({arguments})
    {after}
    bits = lanes_where(is_own and spike)
    if lane == 0:
        fired[(half + time - first_step) * words + word] = bits
        if time >= stop - historyP.shape[0]:
            historyP[time % historyP.shape[0], word - places[P]] = bits
    {hint}"""

_NEURONS: Final = """\
for word in range(max(low, places[P]) + thread // WARP, min(high, places[P + 1]), WARPS):
    own = WARP * (word - places[P]) + lane
    is_own, i, now = own < sizeP, np.uint64(min(own, sizeP - 1)), slot
    {load}
    for time in range(first_step, last_step):
        {step}
        now += 1
        if now >= slots:
            now = np.int64(0)
    if is_own:
        {store}"""

# A warp has one word: its states stay in registers, and what it reads in a step is read ahead.
_RESIDENT: Final = """\
if hasP and first_step < last_step:
    word, i, is_own, time = low + thread // WARP, iP, ownP, first_step
    {step}"""


@lru_cache(_KEPT)
def kernel(plan: Plan, names: tuple[str, ...], parts: tuple[Rows, ...], how: How) -> Any:
    """Return the kernel of a plan: of arrays with these names, then those that a run updates, and results."""
    lines, outside = Lines(), {}
    for p in range(len(plan.populations)):
        outside |= _begin(plan, p, lines)
        _neurons(plan, p, how, lines)
    items = _items(plan, parts, how)
    shared = [f"pulled{j} = cuda.shared.array(THREADS, numba.{x})" for j, x in enumerate(how.pulled) if x]
    shared += [f"pulled{j}[thread] = 0" for j, x in enumerate(how.pulled) if x]
    between = ["arrive(arrived)", "target = np.int32(target + blocks)", "wait_for_all(arrived, target)"]
    body = filled(
        _RUN,
        begin=[*shared, *lines.begin],
        ahead=[] if how.two else lines.ahead,
        deliver=filled(_DELIVER, items=items),
        between=[*(["cuda.syncthreads()"] if how.pulled else between), *lines.ahead] if how.two else [],
        neurons=lines.neurons,
        meanwhile=[*lines.meanwhile, *_fetch(parts)],
        end=lines.end,
    )
    outside |= {"word_in": _word_in(False), "narrow_word_in": _word_in(True), "ROOM": _ROOM}
    outside |= {x.__name__: x for x in (at, is_inside, lanes_where, upper_bound, wide_load)}
    outside |= {x: vars(loops)[x] for x in _LOOPS}
    outside |= {"sum_before": loops.sum_before(how.threads // WARP), "known_poisson": random_functions.known_poisson}
    outside |= {"cuda": cuda, "math": math, "np": np, "numba": numba, **random_functions.numbers}
    outside |= {"THREADS": how.threads, "WARP": WARP, "WARPS": how.threads // WARP, "ITEMS": len(parts)}
    outside |= {"POPULATIONS": len(plan.populations), "MOST": np.iinfo(np.int32).max}
    old = [f"old_{name}" for name in updated(plan)]
    function = defined("network_run", [*names, *old, *results(plan)], body, **outside)
    return cuda.jit(launch_bounds=(how.threads, 1))(function)


def _word_in(narrow: bool) -> Any:
    words = np.empty(0, np.uint16 if narrow else np.uint32)
    return loops.make_word_in(narrow_bits if narrow else bits_for, code_of(words))


def updated(plan: Plan) -> list[str]:
    """Return the names of the arrays that a run updates: states, histories, and those that it works with."""
    rings = [f"ring{k}" for k, sums in enumerate(plan.sums) if sums.projections]
    return [*changed(plan), "arrived", "fired", *rings]


def results(plan: Plan) -> list[str]:
    """Return the names of all outputs of a run."""
    return [*updated(plan), *outputs(plan)[len(changed(plan)) :]]


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
            delay = ["if are_near:", f"    delay = delay_near(row_ends, (item - near) * most, ages{q}, entry)"]
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
    each = [[re.sub(r"_N\b|\bN\b", lambda x: x[0].replace("N", str(n)), y) for y in lines] for lines in (load, add) for n in range(2)]
    has_delays = any(x.delays for x in parts) and not how.pulled
    text = _ITEMS.replace("SHARES", "1" if how.pulled else "blocks").replace("share_of", "0" if how.pulled else "block")
    return filled(
        text,
        extents=_cases(parts, _extent),
        loads=[*each[0], *each[1]],
        row_ends=filled(_ROW_ENDS, ends=_cases(parts, _ends)) if has_delays else [],
        adds=[*each[2], *each[3]],
    )


def _divided(plan: Plan, p: int) -> Any:
    part = plan.populations[p]
    drawn = [
        f"{name}(np.uint64(origin{p}[0]) + i, {stream}, np.uint32(time), seed{p}[0], table{p})"
        for stream, name in enumerate(part.noise)
    ]
    names = [f"y{k}" for k in range(part.neuron.count)]
    return divided_step(part.neuron, NUMBA_CUDA, names, drawn)


def _fetch(parts: tuple[Rows, ...]) -> list[str]:
    """Return the lines that ask for the entries of a warp's last spikes, while it waits."""
    lines = []
    for part in parts:
        s = part.source
        own = f"ages{part.projection}.size, WARP * (hint_word - places[{s}]), size{s}, hint_bits"
        lines.append(f"    fetch_rows({', '.join(_arrays(part))}, {own})")
    return ["if hint_bits != 0:", *lines, "    hint_bits = np.uint32(0)"] if lines else []


def _begin(plan: Plan, p: int, lines: Lines) -> dict[str, Any]:
    """Add the lines in front of the loop for a population; return the functions of its step."""
    part, divided = plan.populations[p], _divided(plan, p)
    names = shared_names(divided)
    arrays = {place.removesuffix("[0]"): x for x, place in divided.once.items()}
    first = part.neuron.positional
    given = [f"given{p}_{array_names(part.neuron).index(a) - first}" for a in arrays]
    lines.begin += [f"size{p} = np.int64(state{p}_0.size)"]
    functions = {f"step{p}": step_of(part.neuron, divided)}
    if names:
        text = [*body_lines(NUMBA_CUDA, divided.once.items(), divided.shared, ()), f"return {tuple_of(names)}"]
        used = {"cuda": cuda, "math": math, "np": np, **tables_of(part.neuron)}
        functions[f"shared_of{p}"] = cuda.jit(device=True)(defined("shared_of", list(arrays), text, **used))
        lines.begin += [f"shared{p} = shared_of{p}({', '.join(given)})"]
    return functions


def _neurons(plan: Plan, p: int, how: How, lines: Lines) -> None:
    """Add the lines that step the neurons of a population that are a block's own."""
    part, divided = plan.populations[p], _divided(plan, p)
    neuron = part.neuron
    states = [f"x{p}_{k}" for k in range(len(part.states))]
    values = {f"y{k}[i]": x for k, x in enumerate(states)}
    for k, receptor in enumerate(part.variables):
        own = next((f"sums{j}" for j, x in enumerate(plan.sums) if (x.population, x.receptor) == (p, receptor)), "")
        values[f"{array_names(neuron)[neuron.positional + k]}[i]"] = own if receptor else f"given{p}_{k}[i]"
    arguments = [values.get(place, place) for place in divided.loads.values()]
    arguments += [f"shared{p}[{k}]" for k in range(len(shared_names(divided)))]
    load = [f"{x} = state{p}_{k}[i]" for k, x in enumerate(states)]
    store = [f"state{p}_{k}[i] = {x}" for k, x in enumerate(states)]
    arrive, variables, ahead, meanwhile = [], [], [], []
    for j, sums in ((j, x) for j, x in enumerate(plan.sums) if x.population == p):
        is_state = plan.is_state(sums)
        y = f"x{p}_{part.states.index(sums.receptor)}" if is_state else f"sums{j}"
        time, drawn = "time - 1" if is_state else "time", {m: _drawn(m) for m in sums.inputs}
        added = [f"{y} += at(weight{m}, i) * weight{m}.dtype.type({x.format(time)})" for m, x in drawn.items()]
        place = f"pulled{j}[thread]" if how.pulled else f"ring{j}[np.uint64(now), i]"
        if how.resident:
            added = [f"{y} += at(weight{m}, i) * weight{m}.dtype.type(drawn{m})" for m in drawn]
            meanwhile += [f"drawn{m} = {x.format('last_step - 1' if is_state else 'last_step')}" for m, x in drawn.items()]
        if sums.projections:
            added += [f"{y} += {f'got{j}' if how.resident else place}", "if is_own:", f"    {place} = 0"]
            ahead += [f"got{j} = {place}"]
        if is_state:
            arrive += added
        else:
            variables += [f"sums{j} = state{p}_0.dtype.type(0)", *added]
    text = _STEP.replace("{arguments}", ", ".join(arguments))
    is_source = any(source == p for x in plan.sums for _, source, _ in x.projections)
    step = filled(
        text,
        arrive=arrive or ["pass"],
        record=_recorded(plan, p),
        variables=variables,
        after=[*(f"{x} = after[{k}]" for k, x in enumerate(states)), f"spike = after[{len(states)}]"],
        hint=["if bits != 0:", "    hint_word, hint_bits = np.int64(word), bits"] if is_source else [],
    )
    if not how.resident:
        lines.neurons += _of(p, filled(_NEURONS, load=load, step=step, store=store))
        return
    begin = [
        "hasP = low + thread // WARP < min(high, places[P + 1]) and low + thread // WARP >= places[P]",
        "own = WARP * (low + thread // WARP - places[P]) + lane",
        "ownP, iP = hasP and own < sizeP, np.uint64(max(min(own, sizeP - 1), 0))",
        "i = iP",
        *load,
        *(f"drawn{m} = np.float32(0)" for x in plan.sums if x.population == p for m in x.inputs),
        *(f"got{j} = {f'pulled{j}[0]' if how.pulled else f'ring{j}[0, 0]'}" for j, x in enumerate(plan.sums) if x.population == p and x.projections),
    ]
    lines.begin += _of(p, begin)
    own = ["i = iP"]
    lines.ahead += _of(p, [f"if hasP:", *(f"    {x}" for x in ["now = slot", *own, *ahead])]) if ahead else []
    lines.meanwhile += _of(p, [f"if hasP:", *(f"    {x}" for x in [*own, *meanwhile])]) if meanwhile else []
    lines.neurons += _of(p, filled(_RESIDENT, step=["now = slot", *step]))
    lines.end += _of(p, [f"if ownP:", *(f"    {x}" for x in [*own, *store])])


def _of(p: int, lines: list[str]) -> list[str]:
    """Return the lines with the number of a population for P."""
    return [re.sub(r"(?<=[a-z])P\b|\bP\b", str(p), line) for line in lines]


def _drawn(m: int) -> str:
    """Return the expression of a Poisson number, with a place for its time."""
    return f"known_poisson(which{m}[i], tables{m}, i, np.uint32({{}}), key{m}[0])"


def _recorded(plan: Plan, p: int) -> list[str]:
    """Return the lines that record the states of a neuron, behind a step."""
    return [
        line
        for r, (population, key) in enumerate(plan.recorded)
        if population == p
        for line in [
            "if (time - start) % every[0] == 0 and is_own:",
            f"    for k in range(begins{r}[i], begins{r}[i + np.uint64(1)]):",
            f"        trace{r}[(time - start) // every[0] - 1, order{r}[k]] = "
            f"x{p}_{plan.populations[p].states.index(key)}",
        ]
    ]


def build(*, tree: Any, steps: int, outs: Any, **_: Any) -> Callable[..., Any]:
    """Return the function of the leaves of a network and a state: the native call, or the scan."""

    def call(*leaves: Any) -> Any:
        network, state = jax.tree.unflatten(tree, leaves)
        try:
            plan, arrays = plan_of(network, state)
        except NoNativeRunError as reason:
            warnings.warn(
                f"the network runs as a scan of operators, since {reason}; put it into the step, or say that "
                "the scan is meant: backend='reference'",
                stacklevel=2,
            )
            return reference.run(network, state, steps)
        return _run(network, state, plan, arrays | {"steps": np.int32(steps)}, outs)

    return call


def launch_for(words: int) -> Launch:
    """Return the launch for so many words of bits: a warp for each, as far as a block has threads."""
    blocks = min(cuda_driver().multiprocessors, max(1, words // _WORDS))
    return Launch(blocks, min(max(-(-words // blocks), _WORDS) * WARP, _MOST_THREADS))


def timing(plan: Plan, projections: Sequence[Projection]) -> tuple[int, int, bool]:
    """Return the slots of the rings, the steps of a turn, and whether it has two barriers.

    What a spike adds is read d steps later, or d + 1 for states. A turn of n steps delivers the spikes of the
    turn before: where all is read 2 n steps later or more, the neurons need not wait for it.
    """
    parts = [(projections[q], int(plan.is_state(x))) for x in plan.sums for q, _, _ in x.projections]
    least = min((part.min_delay + behind for part, behind in parts), default=2 * _MOST_STEPS)
    slots = max((max(part.ages) + behind for part, behind in parts), default=1)
    return max(slots, 1), max(1, min(least // 2, _MOST_STEPS)), least < 2


def _rows(plan: Plan, arrays: dict[str, Any]) -> tuple[Rows, ...]:
    """Return the rows of all projections, those of each part of a matrix by themselves."""
    rows = []
    for k, sums in enumerate(plan.sums):
        for q, source, count in sums.projections:
            parts = range(arrays[f"matrix{q}_1"].shape[0]) if count == 4 else [-1]
            narrow = count == 4 and are_narrow(arrays[f"matrix{q}_0"])
            delays = arrays[f"ages{q}"].size > 1
            rows += [Rows(k, q, source, part, narrow, delays) for part in parts]
    return tuple(rows)


def _history(layout: Layout, history: dict[str, jax.Array], step: jax.Array, rows: int, depth: int) -> jax.Array:
    """Return the bits of `rows` steps, flat, of which the first `depth` are those before this one.

    The words of the populations follow each other, up to a whole number of loads.
    """
    times = step + np.arange(-depth, 0, dtype=np.int32)
    parts = []
    for name, slots in layout.slots.items():
        known = np.arange(-depth, 0) >= 1 - slots
        parts.append(jnp.where(known[:, None], history[name][times % slots], np.uint32(0)))
    words = jnp.concatenate(parts, axis=1)
    padding = -words.shape[1] % loops.AT_ONCE
    return jnp.pad(words, ((0, rows - depth), (0, padding))).reshape(-1)


def _run(network: Any, state: State, plan: Plan, arrays: dict[str, Any], outs: Any) -> Any:
    """Return the results of the native call in the structure of `outs`."""
    layout, steps = network.layout, int(arrays["steps"])
    populations = list(zip(layout.populations, plan.populations, strict=True))
    neurons, history = layout.named(state.neurons), layout.named(state.history)
    places = np.cumsum([0, *(-(-layout.populations[name].size // WARP) for name, _ in populations)])
    slots, span, two = timing(plan, network.projections)
    depth = max(layout.slots.values()) - 1
    fired = _history(layout, history, state.step, max(2 * span, depth), depth)
    words = -(-int(places[-1]) // loops.AT_ONCE) * loops.AT_ONCE
    turns = -(-(steps + 1) // span) + 2
    parts = _rows(plan, arrays)
    for part in parts:
        if part.delays:
            ends, each = arrays[f"matrix{part.projection}_{2 if part.part < 0 else 1}"], arrays[f"ages{part.projection}"].size
            arrays[f"near{part.projection}"] = ends[..., ::each]
    most = max((arrays[f"ages{part.projection}"].size for part in parts), default=1)
    launch = launch_for(int(places[-1]))
    share = -(-int(places[-1]) // launch.blocks)
    resident = span == 1 and share <= launch.threads // WARP
    entries = sum(arrays[f"matrix{q}_{1 if count == 3 else 0}"].size for x in plan.sums for q, _, count in x.projections)
    pulled = two and slots == 1 and resident and entries <= MOST_PULLED
    dtypes = [str(np.dtype(network.projections[x.projections[0][0]].dtype)) if x.projections else "" for x in plan.sums]
    how = How(launch.threads, two, resident, tuple(dtypes) if pulled else ())
    arrays["numbers"] = np.array([words, slots, span, depth, turns, most], np.int32)
    arrays["places"] = places.astype(np.int32)
    for r, (p, _) in enumerate(plan.recorded):
        ids = arrays.pop(f"chosen{r}")
        size = layout.populations[populations[p][0]].size
        arrays[f"order{r}"] = np.argsort(ids, kind="stable").astype(np.int32)
        arrays[f"begins{r}"] = np.searchsorted(np.sort(ids), np.arange(size + 1)).astype(np.int32)
    old = [neurons[name][key] for name, part in populations for key in part.states]
    old += [history[name] for name, _ in populations]
    old += [jnp.zeros(1, jnp.int32), fired]
    for sums in plan.sums:
        if sums.projections:
            name, part = populations[sums.population]
            dtype = network.projections[sums.projections[0][0]].dtype
            old.append(jnp.zeros((slots, layout.populations[name].size), dtype))
    *_, (times, ids, count, traces) = outs
    rows = [layout.named(traces)[populations[p][0]][key] for p, key in plan.recorded]
    like = *(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in old), times, ids, count, *rows
    run = numba_cuda_kernel(
        kernel(plan, tuple(arrays), parts, how),
        like,
        grid=launch.blocks,
        block=launch.threads,
        cooperative=True,
        vmap_method="sequential",
        input_output_aliases={len(arrays) + k: k for k in range(len(old))},
    )
    given = [jnp.asarray(x) for x in arrays.values()]
    found = iter(run(*(x if x.ndim else x.reshape(1) for x in given), *old))
    new = {name: {key: next(found) for key in part.states} for name, part in populations}
    histories = {name: next(found) for name, _ in populations}
    for _ in range(len(old) - len(changed(plan))):
        next(found)
    listed = next(found), next(found), next(found)
    seen: dict[str, dict[str, jax.Array]] = {name: {} for name in layout.named(network.record.states)}
    for p, key in plan.recorded:
        seen[populations[p][0]][key] = next(found)
    return layout.nested(new), layout.nested(histories), (*listed, layout.nested(seen))
