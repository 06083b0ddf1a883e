"""The lines of a projection that learns on a GPU: its rules at the spikes that arrive, and that come back.

All of a step meets its spikes where it acts, not where they are sent: weights are those of that time. Rules
of both sides change the same weights, so a barrier is between them. Traces have two rows, of the step before
and of this one, so that neurons raise their own while others still read.
"""

import math
from typing import Any, Final

import numpy as np
from numba import cuda

from event_ops.codegen.emit import defined, filled, function_lines, tables_of
from event_ops.codegen.function import ALL, Traced
from event_ops.codegen.primitives import NUMBA_CUDA
from event_ops.network.learning_plan import Learning
from event_ops.network.plan import Plan
from event_ops.plasticity.emit import OTHER, SPIKING, SYNAPSE

# Warps share the rows of the neurons of a population that spiked in a step: pieces of each, where there are
# fewer spikes than warps. All blocks note the same spikes.
_VISIT: Final = """\
if first_step < last_step and start <= first_step - BEHIND < stop:
    current, size = np.uint64((first_step - BEHIND - start) % 2), np.int64(WORDS.shape[1])
    sent = np.uint64((first_step - BEHIND - LAG) % WORDS.shape[0])
    for page in range(0, size, THREADS):
        flags = WORDS[sent, np.uint64(page + thread)] if page + thread < size else np.uint32(0)
        before, total = sum_before(np.int32(cuda.popc(flags)), of_warp)
        for window in range(0, total, THREADS):
            note_words((flags,), page + thread, 0, before - window, noted, ages_of)
            cuda.syncthreads()
            number = min(total - window, THREADS)
            pieces = max(blocks * WARPS // number, 1)
            for task in range(block * WARPS + thread // WARP, number * pieces, blocks * WARPS):
                spiking = np.int64(noted[task // pieces])
                if spiking < ROWS:
                    entry, end = csr_row(INDPTR, spiking, OTHERS.size)
                    entry += task % pieces * WARP + lane
                    while entry < end:
                        other = np.int64(OTHERS[np.uint64(entry)])
                        {change}
                        entry += pieces * WARP
            cuda.syncthreads()"""
_ARRIVING: Final = """\
if is_inside(other, COLUMNS):
    {learn}
    cuda.atomic.add(RING, (np.uint64(slot), np.uint64(other)), weightsQ[np.uint64(entry)])"""
_RETURNING: Final = """\
place = columnsQ_2[np.uint64(entry)]
if is_inside(other, ROWS) and is_inside(place, weightsQ.size):
    bit = bit_at(keptSOURCE[np.uint64((first_step - BEHIND - agesQ[0]) % keptSOURCE.shape[0])], other)
    learnQ_1(np.uint64(place), np.uint64(spiking), np.uint64(other), current, bit, {given})"""
# The trace of a neuron, raised behind all that reads it in this step.
_RAISE: Final = """\
if is_own and start <= time - BEHIND < stop:
    bit = bit_at(WORDS[np.uint64((time - BEHIND - LAG) % WORDS.shape[0])], np.int64(i))
    current = np.uint64((time - BEHIND - start) % 2)
    {raised}"""


def kept(plan: Plan) -> list[int]:
    """Return the populations whose spikes a run keeps as bits, since projections with their spikes learn."""
    return sorted({p for part in plan.learning for p in (part.source, part.target)})


def two_rows(plan: Plan) -> list[str]:
    """Return the names of the arrays of traces, which have two rows in a run."""
    return [name for part in plan.learning for side in ("pre", "post") for name in _traces(part, side)]


def keep_lines(plan: Plan, p: int) -> list[str]:
    """Return the lines that keep the bits of a word of a population."""
    kept_rows = f"np.uint64(time % kept{p}.shape[0])"
    return [f"kept{p}[{kept_rows}, np.uint64(word - places[{p}])] = bits"] if p in kept(plan) else []


def functions(plan: Plan) -> dict[str, Any]:
    """Return the functions that apply the rules to one synapse, by name."""
    return {
        f"learn{part.projection}_{axis}": _rule(part, axis, rule)
        for part in plan.learning
        for axis, rule in enumerate(part.rules)
        if rule is not None
    }


def learn_lines(plan: Plan, axis: int, *, post_first: bool) -> list[str]:
    """Return the lines of on_pre, which deliver the weights, too, or of on_post."""
    chosen = [
        part for part in plan.learning if part.post_first == post_first and (axis == 0 or part.rules[1])
    ]
    return [line for part in chosen for line in _visit(plan, part, axis)]


def raise_lines(plan: Plan, p: int) -> list[str]:
    """Return the lines that raise the traces of a neuron of a population."""
    lines: list[str] = []
    for part in plan.learning:
        q, behind = part.projection, _behind(plan, part)
        for side, own, lag in (("pre", part.source, f"ages{q}[0]"), ("post", part.target, f"back{q}[0]")):
            if own != p or not part.traces[side == "post"]:
                continue
            one = f"weights{q}.dtype.type(bit)"
            raised = [
                f"{x}[np.uint64(1) - current, i] = {x}[current, i] * decays_{side}{q}[{k}] + {one}"
                for k, x in enumerate(_traces(part, side))
            ]
            lines += _named(_RAISE, {"WORDS": f"kept{p}", "BEHIND": behind, "LAG": lag}, raised=raised)
    return lines


def _rule(part: Learning, axis: int, rule: Traced) -> Any:
    """Return the device function of a rule: of a synapse, both neurons, a row of the traces, and a bit."""
    q, sides = part.projection, (SPIKING, OTHER) if axis == 0 else (OTHER, SPIKING)
    place = {SPIKING: "spiking", OTHER: "other", SYNAPSE: "k", ALL: "0"}
    reads = [f"weights{q}[k]"]
    for k, (name, where) in enumerate(zip(part.taken[axis], rule.places[1:], strict=True)):
        read = f"variable{q}_{axis}_{k}[{place[where]}]"
        for side, names, at in zip(("pre", "post"), part.traces, sides, strict=True):
            if name in names:
                m = names.index(name)
                read = f"{side}{q}_{m}[current, {place[at]}] * decays_{side}{q}[{m}]"
                # Presynaptic traces rise before on_post reads them.
                if side == "pre" and axis == 1 and not part.post_first:
                    read += f" + weights{q}.dtype.type(bit)"
        reads.append(read)
    lines = function_lines(rule, NUMBA_CUDA, reads, [f"weights{q}[k]"])
    names = ["k", "spiking", "other", "current", "bit", *_given(part, axis)]
    used = {"cuda": cuda, "math": math, "np": np, **tables_of(rule)}
    return cuda.jit(device=True)(defined(f"learn{q}_{axis}", names, lines, **used))


def _visit(plan: Plan, part: Learning, axis: int) -> list[str]:
    """Return the lines that change the synapses of the neurons whose spikes arrive, or come back."""
    q, given = part.projection, ", ".join(_given(part, axis))
    names = {"BEHIND": _behind(plan, part), "SOURCE": part.source, "Q": q, "RING": f"ring{_sums(plan, part)}"}
    if axis == 0:
        called = f"learn{q}_0(np.uint64(entry), np.uint64(spiking), np.uint64(other), current, 0, {given})"
        change = filled(_ARRIVING, learn=[called] if part.rules[0] else ["pass"])
        names |= {"OTHERS": f"matrix{q}_1", "INDPTR": f"matrix{q}_2", "LAG": f"ages{q}[0]"}
        names |= {
            "ROWS": f"size{part.source}",
            "COLUMNS": f"size{part.target}",
            "WORDS": f"kept{part.source}",
        }
    else:
        change = _RETURNING.replace("{given}", given).splitlines()
        names |= {"OTHERS": f"columns{q}_0", "INDPTR": f"columns{q}_1", "LAG": f"back{q}[0]"}
        change = [line.replace("ROWS", f"size{part.source}") for line in change]
        names |= {"ROWS": f"size{part.target}", "WORDS": f"kept{part.target}"}
    return _named(_VISIT, names, change=change)


def _behind(plan: Plan, part: Learning) -> int:
    """Return how many steps after its own a turn lets a projection act: 1 where it adds to a state."""
    return int(plan.is_state(plan.sums[_sums(plan, part)]))


def _sums(plan: Plan, part: Learning) -> int:
    """Return the place of the sums that a projection adds to."""
    return next(k for k, x in enumerate(plan.sums) if part.projection in [q for q, _, _ in x.projections])


def _given(part: Learning, axis: int) -> list[str]:
    """Return the names of the arrays that a rule reads."""
    q, names = part.projection, [f"weights{part.projection}"]
    for side in ("pre", "post"):
        names += [*_traces(part, side), f"decays_{side}{q}"]
    both = *part.traces[0], *part.traces[1]
    return names + [f"variable{q}_{axis}_{k}" for k, x in enumerate(part.taken[axis]) if x not in both]


def _traces(part: Learning, side: str) -> list[str]:
    """Return the names of the traces of a side."""
    return [f"{side}{part.projection}_{k}" for k in range(len(part.traces[side == "post"]))]


def _named(text: str, names: dict[str, Any], **lines: list[str]) -> list[str]:
    """Return the lines of a text, with names in place of its capitals."""
    code = "\n".join(filled(text, **lines))
    for name, value in names.items():
        code = code.replace(name, str(value))
    return code.splitlines()
