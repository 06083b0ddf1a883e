; The memory of a derivative: see `from_enzyme.py`.
;
; A block begins with two words. One of its own from C: the address of the next such block, and that of the
; pointer to itself. One of a chunk: the class of its size, and null; once it is let go of, the address of the
; next free one of the class follows. Sizes are of 4 classes from each power of two to the next, so that less
; than a fifth of a block is unused. The smallest is of 64 bytes, class 23: arrays that grow begin with that.
; Arrays that are written side by side are not to begin at the same place of a page: lines of a cache that are
; whole pages apart take each other's place.
;
; Each chunk is 4 times as large as the one before, up to 16 MiB. The last is kept for the next call of the
; derivative: memory comes from the system page by page, and in a process that has just compiled, C gives it
; back after each call.
;
; An arena: its first block from C, where the next block of the last chunk begins, where that chunk ends, how
; large the next one is to be, the free blocks of each class, where to jump if the kernel raises, where the
; last chunk begins.
%arena = type { ptr, ptr, ptr, i64, [80 x ptr], [64 x i64], ptr }
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
define internal void @enter(ptr %.arena, ptr %block) {
  %next = load ptr, ptr %.arena
  store ptr %next, ptr %block
  store ptr %block, ptr %.arena
  %back = getelementptr i8, ptr %block, i64 8
  store ptr %.arena, ptr %back
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
define internal ptr @own_block(ptr %.arena, i64 %size) noinline {
  %total = add i64 %size, 16
  %block = call ptr @malloc(i64 %total)
  call void @enter(ptr %.arena, ptr %block)
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
define internal void @new_chunk(ptr %.arena, i64 %needed) noinline {
  %chunk.at = getelementptr %arena, ptr %.arena, i64 0, i32 3
  %chunk = load i64, ptr %chunk.at
  %size = call i64 @llvm.umax.i64(i64 %chunk, i64 %needed)
  %start = call ptr @own_block(ptr %.arena, i64 %size)
  call void @cut_from(ptr %.arena, ptr %start, i64 %size)
  ret void
}
define internal void @cut_from(ptr %.arena, ptr %start, i64 %size) noinline {
  %chunk.at = getelementptr %arena, ptr %.arena, i64 0, i32 6
  store ptr %start, ptr %chunk.at
  %end = getelementptr i8, ptr %start, i64 %size
  %next.at = getelementptr %arena, ptr %.arena, i64 0, i32 1
  store ptr %start, ptr %next.at
  %end.at = getelementptr %arena, ptr %.arena, i64 0, i32 2
  store ptr %end, ptr %end.at
  %larger = shl i64 %size, 2
  %following = call i64 @llvm.umin.i64(i64 %larger, i64 16777216)
  %size.at = getelementptr %arena, ptr %.arena, i64 0, i32 3
  store i64 %following, ptr %size.at
  ret void
}
define internal void @take_kept(ptr %.arena) noinline {
  %block = atomicrmw xchg ptr @kept, ptr null acquire
  %none = icmp eq ptr %block, null
  br i1 %none, label %end, label %some
some:
  %size = load i64, ptr %block
  call void @enter(ptr %.arena, ptr %block)
  %start = getelementptr i8, ptr %block, i64 16
  call void @cut_from(ptr %.arena, ptr %start, i64 %size)
  br label %end
end:
  ret void
}
define internal void @keep(ptr %.arena) noinline {
  %chunk.at = getelementptr %arena, ptr %.arena, i64 0, i32 6
  %start = load ptr, ptr %chunk.at
  %none = icmp eq ptr %start, null
  br i1 %none, label %end, label %some
some:
  %block = getelementptr i8, ptr %start, i64 -16
  call void @leave(ptr %block)
  %end.at = getelementptr %arena, ptr %.arena, i64 0, i32 2
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

; The smallest blocks are given without a call of `larger`. What gives a block promises that nothing else is
; there, so that loops over kept values become vectors: calls of it stay calls, since LLVM forgets the promise
; where it takes one apart, and those of `arena_free`, which reads what stands before a block.
define internal void @arena_leave_if(ptr %.arena, i1 %fails) alwaysinline {
  br i1 %fails, label %leave, label %stay
leave:
  %jump = getelementptr %arena, ptr %.arena, i64 0, i32 5
  call void @longjmp(ptr %jump, i32 1)
  unreachable
stay:
  ret void
}
define internal noalias ptr @smallest(ptr %.arena) noinline {
  %free.at = getelementptr %arena, ptr %.arena, i64 0, i32 4, i64 23
  %free = load ptr, ptr %free.at
  %none = icmp eq ptr %free, null
  br i1 %none, label %cut, label %again
again:
  %after = load ptr, ptr %free
  store ptr %after, ptr %free.at
  ret ptr %free
cut:
  %next.at = getelementptr %arena, ptr %.arena, i64 0, i32 1
  %end.at = getelementptr %arena, ptr %.arena, i64 0, i32 2
  %next = load ptr, ptr %next.at
  %end = load ptr, ptr %end.at
  %from = ptrtoint ptr %next to i64
  %to = ptrtoint ptr %end to i64
  %left = sub i64 %to, %from
  %full = icmp ult i64 %left, 80
  br i1 %full, label %fetch, label %give
fetch:
  %other = call ptr @larger(ptr %.arena, i64 64)
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
define internal ptr @arena_malloc(ptr %.arena, i64 %size) alwaysinline {
  %is_small = icmp ule i64 %size, 64
  br i1 %is_small, label %small, label %large
small:
  %one = call ptr @smallest(ptr %.arena)
  ret ptr %one
large:
  %other = call ptr @larger(ptr %.arena, i64 %size)
  ret ptr %other
}
define internal noalias ptr @larger(ptr %.arena, i64 %size) noinline {
  %large = icmp ugt i64 %size, 1048576
  br i1 %large, label %own, label %small
own:
  %alone = call ptr @own_block(ptr %.arena, i64 %size)
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
  %free.at = getelementptr %arena, ptr %.arena, i64 0, i32 4, i64 %class
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
  %next.at = getelementptr %arena, ptr %.arena, i64 0, i32 1
  %end.at = getelementptr %arena, ptr %.arena, i64 0, i32 2
  %next = load ptr, ptr %next.at
  %end = load ptr, ptr %end.at
  %from = ptrtoint ptr %next to i64
  %to = ptrtoint ptr %end to i64
  %left = sub i64 %to, %from
  %full = icmp ult i64 %left, %needed
  br i1 %full, label %fetch, label %give
fetch:
  call void @new_chunk(ptr %.arena, i64 %needed)
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
define internal ptr @arena_calloc(ptr %.arena, i64 %count, i64 %size) alwaysinline {
  %bytes = mul i64 %count, %size
  %start = call ptr @arena_malloc(ptr %.arena, i64 %bytes)
  call void @llvm.memset.p0.i64(ptr %start, i8 0, i64 %bytes, i1 false)
  ret ptr %start
}
define internal void @arena_free(ptr %.arena, ptr %start) noinline {
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
  %free.at = getelementptr %arena, ptr %.arena, i64 0, i32 4, i64 %class
  %free = load ptr, ptr %free.at
  store ptr %free, ptr %start
  store ptr %start, ptr %free.at
  br label %end
end:
  ret void
}
define internal ptr @arena_realloc(ptr %.arena, ptr %start, i64 %size) alwaysinline {
  %is_small = icmp ule i64 %size, 64
  br i1 %is_small, label %small, label %large
small:
  %none = icmp eq ptr %start, null
  br i1 %none, label %new, label %same
new:
  %first = call ptr @smallest(ptr %.arena)
  ret ptr %first
same:
  ret ptr %start
large:
  %grown = call ptr @grown(ptr %.arena, ptr %start, i64 %size)
  ret ptr %grown
}
define internal ptr @grown(ptr %.arena, ptr %start, i64 %size) noinline {
  %none = icmp eq ptr %start, null
  br i1 %none, label %new, label %old
new:
  %first = call ptr @larger(ptr %.arena, i64 %size)
  ret ptr %first
old:
  %block = getelementptr i8, ptr %start, i64 -16
  %is_own = call i1 @is_own(ptr %start)
  br i1 %is_own, label %own, label %small
own:
  call void @leave(ptr %block)
  %total = add i64 %size, 16
  %grown = call ptr @realloc(ptr %block, i64 %total)
  call void @enter(ptr %.arena, ptr %grown)
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
  %moved = call ptr @larger(ptr %.arena, i64 %size)
  call void @llvm.memcpy.p0.p0.i64(ptr %moved, ptr %start, i64 %bytes, i1 false)
  call void @arena_free(ptr %.arena, ptr %start)
  ret ptr %moved
}

; The arena is where Enzyme's function expects the addresses of its inputs, of which it has none. The first
; chunk is to have 64 KiB.
define void @"$name"(ptr %table) {
  %outs = alloca ptr
  store ptr %table, ptr %outs
  %.arena = alloca %arena
  store %arena zeroinitializer, ptr %.arena
  %chunk.at = getelementptr %arena, ptr %.arena, i64 0, i32 3
  store i64 65536, ptr %chunk.at
  call void @take_kept(ptr %.arena)
  %jump = getelementptr %arena, ptr %.arena, i64 0, i32 5
  %failed = call i32 @_setjmp(ptr %jump) returns_twice
  %begins = icmp eq i32 %failed, 0
  br i1 %begins, label %begin, label %failure
begin:
  call void @entry(ptr %outs, ptr %.arena)
  br label %keep
failure:
  %status = load ptr, ptr %table
  store i32 1, ptr %status
  br label %keep
keep:
  call void @keep(ptr %.arena)
  br label %next
next:
  %block = load ptr, ptr %.arena
  %none = icmp eq ptr %block, null
  br i1 %none, label %end, label %release
release:
  %following = load ptr, ptr %block
  store ptr %following, ptr %.arena
  call void @free(ptr %block)
  br label %next
end:
  ret void
}
