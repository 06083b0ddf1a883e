"""Phases of equal numbers of shares, which threads take within one parallel region, without being woken.

A phase is over when all its shares are done. Whoever is there takes shares, so that a thread that comes late,
or never, holds nothing up. Each begins with its own share: it finds in its caches what it had there in the
phase before.
"""

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import overload

from event_ops.kernels.numba_cpu.jit import instruction, njit

# Counters lie so many words of 64 bits apart: two cache lines, which processors fetch together.
LINE: Final = 16
# How often a thread looks for the next phase before it takes the share of another one, and before it offers
# its processor to others; a look takes some 40 ns.
LOOKS_FOR_OTHERS: Final = 32
LOOKS_BEFORE_YIELD: Final = 256

_ORDER: Final = "seq_cst"
_PAUSE: Final = {"x86": ("llvm.x86.sse2.pause", ()), "aarch64": ("llvm.aarch64.hint", (1,))}
_yield: Any = types.ExternalFunction("sched_yield", types.int32())


def offer_processor() -> None:
    """Let another thread that waits for this processor have it; interpreted, there is one thread.

    No call of `os`: a function without contents has no name that holds in another process, which would keep
    every kernel that takes shares out of the cache on disk.
    """


@overload(offer_processor)
def _offer_processor() -> Any:
    return lambda: _yield()


def _place(context: Any, builder: Any, array_type: Any, array: Any, i: Any) -> Any:
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [i])


@instruction(lambda counts, i: counts[i])
def load(context: Any, counts: Any, i: Any) -> Any:
    """Return counts[i], in one order with all that threads store."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(place, _ORDER, 8)

    return counts.dtype(counts, types.intp), emit


def _add(counts: Any, i: Any) -> None:
    counts[i] += 1


@instruction(_add)
def add_one(context: Any, counts: Any, i: Any) -> Any:
    """counts[i] += 1, whoever else adds."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], *arguments)
        builder.atomic_rmw("add", place, ir.Constant(place.type.pointee, 1), _ORDER)
        return context.get_dummy_value()

    return types.void(counts, types.intp), emit


def _advance(counts: Any, i: Any, expected: Any) -> bool:
    is_mine = counts[i] == expected
    counts[i] += is_mine
    return bool(is_mine)


@instruction(_advance)
def advance(context: Any, counts: Any, i: Any, expected: Any) -> Any:
    """If counts[i] is `expected`, add 1; return whether it was: of several threads this is so for one."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], *arguments[:2])
        after = builder.add(arguments[2], ir.Constant(arguments[2].type, 1))
        return builder.extract_value(builder.cmpxchg(place, arguments[2], after, _ORDER, _ORDER), 1)

    return types.boolean(counts, types.intp, counts.dtype), emit


@instruction(lambda: None)
def pause(context: Any) -> Any:
    """Wait for some cycles, in which another thread has the processor if two share it."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        machine = builder.module.triple.partition("-")[0].partition("_")[0].replace("arm64", "aarch64")
        if machine in _PAUSE:
            name, hints = _PAUSE[machine]
            word = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [word] * len(hints))
            builder.call(builder.module.declare_intrinsic(name, (), kind), [word(x) for x in hints])
        return context.get_dummy_value()

    return types.void(), emit


@njit
def new_phases(shares: Any) -> Any:
    """Return the counters of a region: of shares that are done, then of each share how often it was taken."""
    return np.zeros((shares + 1) * LINE, np.int64)


@njit
def take(phases: Any, shares: Any, last: Any, worker: Any, patience: Any) -> Any:
    """Wait for an open share, and take it: phase * shares + share, or `last` once `last` are done.

    Return it, and the patience of the next time: how often to look for the next phase before taking the share
    of another thread. That one may only be late, and has the neurons of its share in its caches.
    """
    looks, seen = 0, np.int64(-1)
    while True:
        count = load(phases, 0)
        if count >= last:
            return last, patience
        phase = count // shares
        if phase != seen:
            if seen >= 0:
                patience = min(2 * patience + 1, LOOKS_FOR_OTHERS)
            looks, seen = 0, phase
            if is_taken(phases, worker, phase):
                return phase * shares + worker, patience
        elif looks >= patience:
            for i in range(1, shares):
                share = (worker + i) % shares
                if is_taken(phases, share, phase):
                    return phase * shares + share, 0
        looks += 1
        pause()
        if looks > LOOKS_BEFORE_YIELD:
            offer_processor()


@njit
def is_taken(phases: Any, share: Any, phase: Any) -> Any:
    """Take a share if nobody has in this phase; return whether it is this thread's."""
    place = (share + 1) * LINE
    # Looking alone leaves the counter in the caches of its thread.
    return load(phases, place) == phase and advance(phases, place, phase)


@njit
def done(phases: Any) -> None:
    """Say that the share that was taken is done."""
    add_one(phases, 0)
