"""The blocks of memory that a pool consists of, as functions of LLVM's text: see `pool`."""

from __future__ import annotations

from typing import Final

# A block begins with two words. One of its own from C: the address of the next such block, and that of the
# pointer to itself. One of a chunk: the class of its size, and null; once it is let go of, the address of the
# next free one of the class follows. Sizes are of 4 classes from each power of two to the next, so that less
# than a fifth of a block is unused. The smallest is of 64 bytes, class 23: arrays that grow begin with that.
# Arrays that are written side by side are not to begin at the same place of a page: lines of a cache that are
# whole pages apart take each other's place.
#
# Each chunk is 4 times as large as the one before, up to 16 MiB. The last is kept for the next call of the
# derivative: memory comes from the system page by page, and in a process that has just compiled, C gives it
# back after each call.
#
# A pool: its first block from C, where the next block of the last chunk begins, where that chunk ends, how
# large the next one is to be, the free blocks of each class, where to jump if the kernel raises, where the
# last chunk begins.
BLOCKS: Final = """
%pool = type { ptr, ptr, ptr, i64, [80 x ptr], [64 x i64], ptr }
@kept = internal global ptr null
declare ptr @malloc(i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i32 @_setjmp(ptr) returns_twice
declare void @longjmp(ptr, i32) noreturn
define internal void @enter(ptr %.pool, ptr %block) {
  %next = load ptr, ptr %.pool
  store ptr %next, ptr %block
  store ptr %block, ptr %.pool
  %back = getelementptr i8, ptr %block, i64 8
  store ptr %.pool, ptr %back
  %last = icmp eq ptr %next, null
  br i1 %last, label %end, label %link
link:
  %behind = getelementptr i8, ptr %next, i64 8
  store ptr %block, ptr %behind
  br label %end
end:
  ret void
}
define internal void @leave(ptr %block) {
  %next = load ptr, ptr %block
  %back = getelementptr i8, ptr %block, i64 8
  %place = load ptr, ptr %back
  store ptr %next, ptr %place
  %last = icmp eq ptr %next, null
  br i1 %last, label %end, label %link
link:
  %behind = getelementptr i8, ptr %next, i64 8
  store ptr %place, ptr %behind
  br label %end
end:
  ret void
}
define internal ptr @own_block(ptr %.pool, i64 %size) noinline {
  %total = add i64 %size, 16
  %block = call ptr @malloc(i64 %total)
  call void @enter(ptr %.pool, ptr %block)
  %start = getelementptr i8, ptr %block, i64 16
  ret ptr %start
}
define internal i1 @is_own(ptr %start) alwaysinline {
  %back = getelementptr i8, ptr %start, i64 -8
  %place = load ptr, ptr %back
  %is_own = icmp ne ptr %place, null
  ret i1 %is_own
}
define internal i64 @bytes_of(i64 %class) alwaysinline {
  %power = lshr i64 %class, 2
  %shift = sub i64 %power, 2
  %quarter = and i64 %class, 3
  %units = add i64 %quarter, 5
  %bytes = shl i64 %units, %shift
  ret i64 %bytes
}
define internal void @new_chunk(ptr %.pool, i64 %needed) noinline {
  %chunk.at = getelementptr %pool, ptr %.pool, i64 0, i32 3
  %chunk = load i64, ptr %chunk.at
  %size = call i64 @llvm.umax.i64(i64 %chunk, i64 %needed)
  %start = call ptr @own_block(ptr %.pool, i64 %size)
  call void @cut_from(ptr %.pool, ptr %start, i64 %size)
  ret void
}
define internal void @cut_from(ptr %.pool, ptr %start, i64 %size) noinline {
  %chunk.at = getelementptr %pool, ptr %.pool, i64 0, i32 6
  store ptr %start, ptr %chunk.at
  %end = getelementptr i8, ptr %start, i64 %size
  %next.at = getelementptr %pool, ptr %.pool, i64 0, i32 1
  store ptr %start, ptr %next.at
  %end.at = getelementptr %pool, ptr %.pool, i64 0, i32 2
  store ptr %end, ptr %end.at
  %larger = shl i64 %size, 2
  %following = call i64 @llvm.umin.i64(i64 %larger, i64 16777216)
  %size.at = getelementptr %pool, ptr %.pool, i64 0, i32 3
  store i64 %following, ptr %size.at
  ret void
}
define internal void @take_kept(ptr %.pool) noinline {
  %block = atomicrmw xchg ptr @kept, ptr null acquire
  %none = icmp eq ptr %block, null
  br i1 %none, label %end, label %some
some:
  %size = load i64, ptr %block
  call void @enter(ptr %.pool, ptr %block)
  %start = getelementptr i8, ptr %block, i64 16
  call void @cut_from(ptr %.pool, ptr %start, i64 %size)
  br label %end
end:
  ret void
}
define internal void @keep(ptr %.pool) noinline {
  %chunk.at = getelementptr %pool, ptr %.pool, i64 0, i32 6
  %start = load ptr, ptr %chunk.at
  %none = icmp eq ptr %start, null
  br i1 %none, label %end, label %some
some:
  %block = getelementptr i8, ptr %start, i64 -16
  call void @leave(ptr %block)
  %end.at = getelementptr %pool, ptr %.pool, i64 0, i32 2
  %last = load ptr, ptr %end.at
  %from = ptrtoint ptr %start to i64
  %to = ptrtoint ptr %last to i64
  %size = sub i64 %to, %from
  store i64 %size, ptr %block
  %other = atomicrmw xchg ptr @kept, ptr %block acq_rel
  call void @free(ptr %other)
  br label %end
end:
  ret void
}
"""
