"""The memory of a derivative, as functions of LLVM's text.

In the reverse mode Enzyme lets go of some arrays, and keeps others until they are needed, without a last
`free`. So all that a derivative allocates is of a pool, which is released at the end, also if the kernel
raised; one chunk is kept for the next call. In loops whose number of turns is not known before, Enzyme keeps
a small block or more for each turn, and lets one grow as it goes: the pool cuts blocks of up to a million
bytes from few large chunks.
"""

from __future__ import annotations

import re
from typing import Final

from ffi_bridge.numba_cpu.derivatives import failures
from ffi_bridge.numba_cpu.derivatives.blocks import BLOCKS

# The smallest blocks are given without a call of `larger`. What gives a block promises that nothing else is
# there, so that loops over kept values become vectors: calls of it stay calls, since LLVM forgets the promise
# where it takes one apart, and those of `pool_free`, which reads what stands before a block.
_POOL: Final = """
define internal void @pool_leave_if(ptr %.pool, i1 %fails) alwaysinline {
  br i1 %fails, label %leave, label %stay
leave:
  %jump = getelementptr %pool, ptr %.pool, i64 0, i32 5
  call void @longjmp(ptr %jump, i32 1)
  unreachable
stay:
  ret void
}
define internal noalias ptr @smallest(ptr %.pool) noinline {
  %free.at = getelementptr %pool, ptr %.pool, i64 0, i32 4, i64 23
  %free = load ptr, ptr %free.at
  %none = icmp eq ptr %free, null
  br i1 %none, label %cut, label %again
again:
  %after = load ptr, ptr %free
  store ptr %after, ptr %free.at
  ret ptr %free
cut:
  %next.at = getelementptr %pool, ptr %.pool, i64 0, i32 1
  %end.at = getelementptr %pool, ptr %.pool, i64 0, i32 2
  %next = load ptr, ptr %next.at
  %end = load ptr, ptr %end.at
  %from = ptrtoint ptr %next to i64
  %to = ptrtoint ptr %end to i64
  %left = sub i64 %to, %from
  %full = icmp ult i64 %left, 80
  br i1 %full, label %fetch, label %give
fetch:
  %other = call ptr @larger(ptr %.pool, i64 64)
  ret ptr %other
give:
  %following = getelementptr i8, ptr %next, i64 80
  store ptr %following, ptr %next.at
  store i64 23, ptr %next
  %back = getelementptr i8, ptr %next, i64 8
  store ptr null, ptr %back
  %start = getelementptr i8, ptr %next, i64 16
  ret ptr %start
}
define internal ptr @pool_malloc(ptr %.pool, i64 %size) alwaysinline {
  %is_small = icmp ule i64 %size, 64
  br i1 %is_small, label %small, label %large
small:
  %one = call ptr @smallest(ptr %.pool)
  ret ptr %one
large:
  %other = call ptr @larger(ptr %.pool, i64 %size)
  ret ptr %other
}
define internal noalias ptr @larger(ptr %.pool, i64 %size) noinline {
  %large = icmp ugt i64 %size, 1048576
  br i1 %large, label %own, label %small
own:
  %alone = call ptr @own_block(ptr %.pool, i64 %size)
  ret ptr %alone
small:
  %more = add i64 %size, 15
  %whole = and i64 %more, -16
  %rounded = call i64 @llvm.umax.i64(i64 %whole, i64 64)
  %highest = sub i64 %rounded, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %highest, i1 true)
  %power = sub i64 63, %zeros
  %shift = sub i64 %power, 2
  %units = lshr i64 %highest, %shift
  %quarter = and i64 %units, 3
  %of_power = shl i64 %power, 2
  %class = or i64 %of_power, %quarter
  %free.at = getelementptr %pool, ptr %.pool, i64 0, i32 4, i64 %class
  %free = load ptr, ptr %free.at
  %none = icmp eq ptr %free, null
  br i1 %none, label %cut, label %again
again:
  %after = load ptr, ptr %free
  store ptr %after, ptr %free.at
  ret ptr %free
cut:
  %bytes = call i64 @bytes_of(i64 %class)
  %is_of_pages = icmp uge i64 %bytes, 16384
  %apart = select i1 %is_of_pages, i64 336, i64 16
  %needed = add i64 %bytes, %apart
  %next.at = getelementptr %pool, ptr %.pool, i64 0, i32 1
  %end.at = getelementptr %pool, ptr %.pool, i64 0, i32 2
  %next = load ptr, ptr %next.at
  %end = load ptr, ptr %end.at
  %from = ptrtoint ptr %next to i64
  %to = ptrtoint ptr %end to i64
  %left = sub i64 %to, %from
  %full = icmp ult i64 %left, %needed
  br i1 %full, label %fetch, label %give
fetch:
  call void @new_chunk(ptr %.pool, i64 %needed)
  %fetched = load ptr, ptr %next.at
  br label %give
give:
  %block = phi ptr [ %next, %cut ], [ %fetched, %fetch ]
  %following = getelementptr i8, ptr %block, i64 %needed
  store ptr %following, ptr %next.at
  store i64 %class, ptr %block
  %back = getelementptr i8, ptr %block, i64 8
  store ptr null, ptr %back
  %start = getelementptr i8, ptr %block, i64 16
  ret ptr %start
}
define internal ptr @pool_calloc(ptr %.pool, i64 %count, i64 %size) alwaysinline {
  %bytes = mul i64 %count, %size
  %start = call ptr @pool_malloc(ptr %.pool, i64 %bytes)
  call void @llvm.memset.p0.i64(ptr %start, i8 0, i64 %bytes, i1 false)
  ret ptr %start
}
define internal void @pool_free(ptr %.pool, ptr %start) noinline {
  %none = icmp eq ptr %start, null
  br i1 %none, label %end, label %release
release:
  %block = getelementptr i8, ptr %start, i64 -16
  %is_own = call i1 @is_own(ptr %start)
  br i1 %is_own, label %own, label %small
own:
  call void @leave(ptr %block)
  call void @free(ptr %block)
  br label %end
small:
  %class = load i64, ptr %block
  %free.at = getelementptr %pool, ptr %.pool, i64 0, i32 4, i64 %class
  %free = load ptr, ptr %free.at
  store ptr %free, ptr %start
  store ptr %start, ptr %free.at
  br label %end
end:
  ret void
}
define internal ptr @pool_realloc(ptr %.pool, ptr %start, i64 %size) alwaysinline {
  %is_small = icmp ule i64 %size, 64
  br i1 %is_small, label %small, label %large
small:
  %none = icmp eq ptr %start, null
  br i1 %none, label %new, label %same
new:
  %first = call ptr @smallest(ptr %.pool)
  ret ptr %first
same:
  ret ptr %start
large:
  %grown = call ptr @grown(ptr %.pool, ptr %start, i64 %size)
  ret ptr %grown
}
define internal ptr @grown(ptr %.pool, ptr %start, i64 %size) noinline {
  %none = icmp eq ptr %start, null
  br i1 %none, label %new, label %old
new:
  %first = call ptr @larger(ptr %.pool, i64 %size)
  ret ptr %first
old:
  %block = getelementptr i8, ptr %start, i64 -16
  %is_own = call i1 @is_own(ptr %start)
  br i1 %is_own, label %own, label %small
own:
  call void @leave(ptr %block)
  %total = add i64 %size, 16
  %grown = call ptr @realloc(ptr %block, i64 %total)
  call void @enter(ptr %.pool, ptr %grown)
  %again = getelementptr i8, ptr %grown, i64 16
  ret ptr %again
small:
  %class = load i64, ptr %block
  %bytes = call i64 @bytes_of(i64 %class)
  %fits = icmp ule i64 %size, %bytes
  br i1 %fits, label %same, label %move
same:
  ret ptr %start
move:
  %moved = call ptr @larger(ptr %.pool, i64 %size)
  call void @llvm.memcpy.p0.p0.i64(ptr %moved, ptr %start, i64 %bytes, i1 false)
  call void @pool_free(ptr %.pool, ptr %start)
  ret ptr %moved
}
"""
# The pool is where Enzyme's function expects the addresses of its inputs, of which it has none. The first
# chunk is to have 64 KiB.
_CALLED: Final = """
define void @"{name}"(ptr %table) {{
  %outs = alloca ptr
  store ptr %table, ptr %outs
  %.pool = alloca %pool
  store %pool zeroinitializer, ptr %.pool
  %chunk.at = getelementptr %pool, ptr %.pool, i64 0, i32 3
  store i64 65536, ptr %chunk.at
  call void @take_kept(ptr %.pool)
  %jump = getelementptr %pool, ptr %.pool, i64 0, i32 5
  %failed = call i32 @_setjmp(ptr %jump) returns_twice
  %begins = icmp eq i32 %failed, 0
  br i1 %begins, label %begin, label %failure
begin:
  call void @entry(ptr %outs, ptr %.pool)
  br label %keep
failure:
  %status = load ptr, ptr %table
  store i32 1, ptr %status
  br label %keep
keep:
  call void @keep(ptr %.pool)
  br label %next
next:
  %block = load ptr, ptr %.pool
  %none = icmp eq ptr %block, null
  br i1 %none, label %end, label %release
release:
  %following = load ptr, ptr %block
  store ptr %following, ptr %.pool
  call void @free(ptr %block)
  br label %next
end:
  ret void
}}
"""
_ALLOCATES: Final = re.compile(r"@(malloc|calloc|realloc|free)\(")
_DECLARED: Final = re.compile(
    rf"^declare [^\n]*@(malloc|calloc|realloc|free|{failures.NAME}|"
    r"llvm\.(memset\.p0\.i64|memcpy\.p0\.p0\.i64|ctlz\.i64|u(min|max)\.i64))\(.*\n",
    re.M,
)
_DEFINED: Final = re.compile(r"^define [^\n]*?@(\"[^\"]+\"|[\w.$-]+)\(", re.M)
_ENTRY: Final = re.compile(r"^define [^\n]*@entry\([^\n]*\{$", re.M)


def released_at_the_end(text: str, name: str) -> str:
    """Return a module with the function `name(table)` that calls `entry`, and leaves nothing allocated.

    Each function of the module gets the pool as its first argument.
    """
    own = {found[1] for found in _DEFINED.finditer(text)} - {"entry"}
    text = _ENTRY.sub("define internal void @entry(ptr %outs, ptr %.pool) {", _DECLARED.sub("", text))
    text = _ALLOCATES.sub(r"@pool_\1(", text).replace(f"@{failures.NAME}(", "@pool_leave_if(")
    for called in [*map(re.escape, own), r"pool_(?:malloc|calloc|realloc|free|leave_if)"]:
        text = re.sub(rf"(@{called}\()(?=(\)?))", lambda x: f"{x[1]}ptr %.pool{'' if x[2] else ', '}", text)
    return text + BLOCKS + _POOL + _CALLED.format(name=name)
