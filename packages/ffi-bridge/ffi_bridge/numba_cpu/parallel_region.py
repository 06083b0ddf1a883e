"""Emit functions that run parallel regions of Numba kernels on XLA's threads; have Numba's code call them.

Numba compiles a parallel loop into a call that enters its thread pool, with one share for each thread, or one
for each chunk of `numba.parallel_chunksize`. Within a call from XLA that is `enter` below: it asks XLA's pool
for help, and takes shares itself until none is left. Each thread begins at another share and goes on from
there, so that it finds in its caches what it had in the call before; then it takes what others have left. It
waits only for shares that have begun: a thread of the pool that comes late, or never, holds nothing up. A
region inside a share runs in that share's thread. In the debug mode `isolation` runs the shares.
"""

import ctypes
import functools
from collections.abc import Callable
from typing import Any, Final

import numba
from llvmlite import binding as llvm
from llvmlite import ir

from ffi_bridge.handler.c_code import (
    begin_function,
    call_c,
    compile_module,
    count_to,
    load_member,
    member,
    new_module,
    variable,
)
from ffi_bridge.handler.frame import I32, I64, NULL, POINTER, Frame
from ffi_bridge.numba_cpu.internals import GET_NUM_THREADS, PARALLEL_FOR, SET_NUM_THREADS, THREAD_ID
from ffi_bridge.numba_cpu.isolation import OUTPUTS, RUN, emit_isolated

ARRIVE: Final = "ffi_bridge_arrive"
DEPART: Final = "ffi_bridge_depart"

NONE: Final = ir.VoidType()
# The arrays of a region, their extents and strides, its data; what runs it, or a part of it.
REGION: Final = (POINTER.as_pointer(), I64.as_pointer(), I64.as_pointer(), POINTER)
BODY: Final = ir.FunctionType(NONE, REGION).as_pointer()
# A body and its region; then how many inner extents, arrays, and threads there are.
ENTER: Final = ir.FunctionType(NONE, (BODY, *REGION, I64, I64, I64))
GET_ID: Final = ir.FunctionType(I64, ())
TASK: Final = ir.FunctionType(NONE, (POINTER,))

# Where a thread is: in this call frame, or, if NULL, in a share, under this number; where it was before; and
# the outputs that shares are isolated in, or NULL.
PLACE: Final = ir.LiteralStructType((POINTER, I64, POINTER, POINTER))
FRAME, NUMBER, BEFORE, WATCHED = range(4)

# What the threads in a region share: the arguments of ENTER, the number of shares, how many are not done, how
# many threads have come, how many may still look at this; and for each share, whether somebody has taken it.
SHARED: Final = ir.LiteralStructType((*ENTER.args, I64, I64, I64, I64))
BODY_OF, ARRAYS, EXTENTS, STRIDES, DATA, INNER, COUNT, THREADS, SHARES, OPEN, COME, HOLDERS = range(12)
SHARED_BYTES: Final = 12 * 8

# How often a thread looks whether the others are done before it offers them its processor: microseconds.
LOOKS: Final = 1 << 14


def emit_pool(key: int, enter: int, thread_id: int) -> Any:
    """Emit a module with `enter`, `thread_id`, and the functions that `arrive` calls.

    `key`: under it POSIX threads keep where each thread is. One that is not in a call from XLA is served by
    Numba's own functions, at the addresses `enter` and `thread_id`.
    """
    module = new_module("ffi_bridge.parallel_region")
    _emit_arrive(module, key)
    _emit_depart(module, key)
    _emit_thread_id(module, key, thread_id)
    _emit_run(module, key)
    _emit_take(module)
    _emit_help(module)
    emit_isolated(module)
    _emit_enter(module, key, enter)
    return module


def arrive(frame: Frame, watched: Any) -> Callable[[], object]:
    """Emit, in a handler, that its kernel is entered; return a function that emits that it was left.

    `watched`: the address of the outputs that its shares are to be isolated in, or NULL.
    """
    builder = frame.builder
    with builder.goto_entry_block():
        place = builder.bitcast(builder.alloca(PLACE), POINTER)
    call_c(builder, ARRIVE, NONE, [place, frame.pointer, watched])
    return lambda: call_c(builder, DEPART, NONE, [place])


def _emit_arrive(module: Any, key: int) -> None:
    kind = ir.FunctionType(NONE, (POINTER, POINTER, POINTER))
    builder, (place, frame, watched) = begin_function(module, ARRIVE, kind)
    _go_to(builder, key, builder.bitcast(place, PLACE.as_pointer()), frame, watched)
    builder.ret_void()


def _emit_depart(module: Any, key: int) -> None:
    builder, (place,) = begin_function(module, DEPART, TASK)
    _go_back(builder, key, builder.bitcast(place, PLACE.as_pointer()))
    builder.ret_void()


def _emit_thread_id(module: Any, key: int, otherwise: int) -> None:
    builder, _ = begin_function(module, "thread_id", GET_ID)
    place = _place(builder, key)
    with builder.if_then(_is_null(builder, place), likely=False):
        builder.ret(builder.call(_at_address(builder, otherwise, GET_ID), ()))
    builder.ret(load_member(builder, place, NUMBER))


def _emit_enter(module: Any, key: int, otherwise: int) -> None:
    builder, arguments = begin_function(module, "enter", ENTER)
    place = _place(builder, key)
    with builder.if_then(_is_null(builder, place), likely=False):
        builder.call(_at_address(builder, otherwise, ENTER), arguments)
        builder.ret_void()
    frame = load_member(builder, place, FRAME)
    shares, threads = builder.load(arguments[EXTENTS]), arguments[THREADS]
    takers = builder.select(builder.icmp_unsigned("<", shares, threads), shares, threads)
    is_one = builder.icmp_unsigned("<=", takers, ir.Constant(I64, 1))
    _unless(builder, builder.or_(is_one, _is_null(builder, frame)), arguments)
    # Not on the stack: a thread that comes when all is done finds it here.
    size = builder.add(ir.Constant(I64, SHARED_BYTES), shares)
    data = call_c(builder, "calloc", POINTER, [ir.Constant(I64, 1), size])
    _unless(builder, _is_null(builder, data), arguments)
    shared = builder.bitcast(data, SHARED.as_pointer())
    # The flags behind it stay 0, as `calloc` left them: no share is taken.
    for index, value in enumerate((*arguments, shares, shares, ir.Constant(I64, 0), takers)):
        builder.store(value, member(builder, shared, index))
    watched = load_member(builder, place, WATCHED)
    with builder.if_then(builder.not_(_is_null(builder, watched)), likely=False):
        outputs = builder.bitcast(watched, OUTPUTS.as_pointer())
        builder.call(module.globals["isolated"], (outputs, module.globals["run"], data, shares))
        call_c(builder, "free", NONE, (data,))
        builder.ret_void()
    with count_to(builder, builder.sub(takers, ir.Constant(I64, 1))):
        taken = Frame(builder, frame).schedule(module.globals["help"], data)
        with builder.if_then(builder.not_(taken), likely=False):
            _release(builder, shared)
    builder.call(module.globals["take"], (shared, ir.Constant(I64, 0)))
    _wait(builder, member(builder, shared, OPEN))
    _release(builder, shared)
    builder.ret_void()


def _unless(builder: Any, alone: Any, arguments: Any) -> None:
    """Emit the whole region, and the return, for a thread that does it alone."""
    with builder.if_then(alone, likely=False):
        builder.call(arguments[BODY_OF], arguments[ARRAYS:INNER])
        builder.ret_void()


def _emit_help(module: Any) -> None:
    """Emit the task of a thread of XLA's pool: shares until none is left."""
    builder, (data,) = begin_function(module, "help", TASK)
    shared, one = builder.bitcast(data, SHARED.as_pointer()), ir.Constant(I64, 1)
    before = builder.atomic_rmw("add", member(builder, shared, COME), one, "seq_cst")
    builder.call(module.globals["take"], (shared, builder.add(before, one)))
    _release(builder, shared)
    builder.ret_void()


def _emit_take(module: Any) -> None:
    """Emit `take`, by which a thread does every share that is left, beginning at the thread's."""
    kind = ir.FunctionType(NONE, (SHARED.as_pointer(), I64))
    builder, (shared, thread) = begin_function(module, "take", kind)
    one, shares = ir.Constant(I64, 1), load_member(builder, shared, SHARES)
    first = builder.udiv(builder.mul(thread, shares), load_member(builder, shared, THREADS))
    taken = builder.bitcast(builder.gep(shared, [one]), POINTER)
    with count_to(builder, shares) as i:
        share = builder.urem(builder.add(first, i), shares)
        flag = builder.gep(taken, [share])
        # Whoever finds 0 has the share: no two threads do.
        before = builder.atomic_rmw("xchg", flag, ir.Constant(flag.type.pointee, 1), "seq_cst")
        with builder.if_then(builder.icmp_unsigned("==", before, ir.Constant(before.type, 0))):
            builder.call(module.globals["run"], (builder.bitcast(shared, POINTER), share, thread))
            builder.atomic_rmw("sub", member(builder, shared, OPEN), one, "seq_cst")
    builder.ret_void()


def _emit_run(module: Any, key: int) -> None:
    """Emit `run`, which does one share in the calling thread; `thread`: how many had come before it.

    That is the thread's number within a chunk. Where there are no more shares than threads, it is the number
    of the share instead: what is added up by thread is then added up in one order, whoever came first.
    """
    builder, (data, share, thread) = begin_function(module, "run", RUN)
    shared = builder.bitcast(data, SHARED.as_pointer())
    place = builder.alloca(PLACE)
    # A function of its own, so that the stack is free again after each share.
    extents = builder.alloca(I64, builder.add(load_member(builder, shared, INNER), ir.Constant(I64, 1)))
    arrays = builder.alloca(POINTER, load_member(builder, shared, COUNT))
    _go_to(builder, key, place, NULL, NULL)
    most = load_member(builder, shared, THREADS)
    in_chunks = builder.icmp_unsigned(">", load_member(builder, shared, SHARES), most)
    builder.store(builder.select(in_chunks, thread, share), member(builder, place, NUMBER))
    threads = call_c(builder, GET_NUM_THREADS, I64, ())
    call_c(builder, SET_NUM_THREADS, NONE, (most,))
    _cut(builder, shared, share, extents, arrays)
    region = arrays, extents, load_member(builder, shared, STRIDES), load_member(builder, shared, DATA)
    builder.call(load_member(builder, shared, BODY_OF), region)
    call_c(builder, SET_NUM_THREADS, NONE, (threads,))
    _go_back(builder, key, place)
    builder.ret_void()


def _cut(builder: Any, shared: Any, share: Any, extents: Any, arrays: Any) -> None:
    """Emit the extents of a share, which has 1 of the outermost one, and where its arrays begin."""
    one, whole = ir.Constant(I64, 1), load_member(builder, shared, EXTENTS)
    with count_to(builder, load_member(builder, shared, INNER)) as i:
        inner = builder.add(i, one)
        builder.store(builder.load(builder.gep(whole, [inner])), builder.gep(extents, [inner]))
    builder.store(one, extents)
    begins, strides = load_member(builder, shared, ARRAYS), load_member(builder, shared, STRIDES)
    with count_to(builder, load_member(builder, shared, COUNT)) as i:
        offset = builder.mul(builder.load(builder.gep(strides, [i])), share)
        builder.store(builder.gep(builder.load(builder.gep(begins, [i])), [offset]), builder.gep(arrays, [i]))


def _wait(builder: Any, count: Any) -> None:
    """Emit a wait until the count at an address is 0."""
    function, looks = builder.function, variable(builder, ir.Constant(I64, 0), "looks")
    look, again, offer, done = (function.append_basic_block(x) for x in ("look", "again", "offer", "done"))
    builder.branch(look)
    builder.position_at_end(look)
    is_zero = builder.icmp_unsigned("==", builder.load_atomic(count, "seq_cst", 8), ir.Constant(I64, 0))
    builder.cbranch(is_zero, done, again)
    builder.position_at_end(again)
    so_far = builder.add(builder.load(looks), ir.Constant(I64, 1))
    builder.store(so_far, looks)
    builder.cbranch(builder.icmp_unsigned(">", so_far, ir.Constant(I64, LOOKS)), offer, look)
    builder.position_at_end(offer)
    call_c(builder, "sched_yield", I32, ())
    builder.branch(look)
    builder.position_at_end(done)


def _release(builder: Any, shared: Any) -> None:
    """Emit that this thread is done with the shared memory, which the last one frees."""
    one = ir.Constant(I64, 1)
    holders = builder.atomic_rmw("sub", member(builder, shared, HOLDERS), one, "seq_cst")
    with builder.if_then(builder.icmp_unsigned("==", holders, one)):
        call_c(builder, "free", NONE, (builder.bitcast(shared, POINTER),))


def _place(builder: Any, key: int) -> Any:
    """Emit the address of the place that this thread is in, or NULL."""
    place = call_c(builder, "pthread_getspecific", POINTER, (ir.Constant(I64, key),))
    return builder.bitcast(place, PLACE.as_pointer())


def _go_to(builder: Any, key: int, place: Any, frame: Any, watched: Any) -> None:
    before = builder.bitcast(_place(builder, key), POINTER)
    for index, value in enumerate((frame, ir.Constant(I64, 0), before, watched)):
        builder.store(value, member(builder, place, index))
    _set_place(builder, key, builder.bitcast(place, POINTER))


def _go_back(builder: Any, key: int, place: Any) -> None:
    _set_place(builder, key, load_member(builder, place, BEFORE))


def _set_place(builder: Any, key: int, place: Any) -> None:
    call_c(builder, "pthread_setspecific", I32, (ir.Constant(I64, key), place))


def _at_address(builder: Any, address: int, kind: Any) -> Any:
    return builder.inttoptr(ir.Constant(I64, address), kind.as_pointer())


def _is_null(builder: Any, pointer: Any) -> Any:
    return builder.icmp_unsigned("==", pointer, ir.Constant(pointer.type, None))


_FUNCTIONS: Final = {PARALLEL_FOR: "enter", THREAD_ID: "thread_id", ARRIVE: ARRIVE, DEPART: DEPART}


@functools.cache
def start_threads() -> object:
    """Name our functions to LLVM for all that is loaded from here on; return their owner."""
    numba.get_num_threads()  # has Numba name its own functions
    module = emit_pool(_new_key(), *map(llvm.address_of_symbol, (PARALLEL_FOR, THREAD_ID)))
    engine = compile_module(module, opt=0)  # compiles in a third of the time, and nothing here is slow
    for symbol, function in _FUNCTIONS.items():
        llvm.add_symbol(symbol, engine.get_function_address(function))
    return engine


def _new_key() -> int:
    """Return a new key, under which each POSIX thread keeps one value, NULL to begin with."""
    key = ctypes.c_ulong()  # as wide as the widest of any system
    if error := ctypes.CDLL(None).pthread_key_create(ctypes.byref(key), None):
        raise OSError(error, "no key for values of threads was left")
    return key.value
