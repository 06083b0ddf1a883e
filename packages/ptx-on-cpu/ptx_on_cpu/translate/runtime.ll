; What each module has beside its kernel: how an access is checked, the loop over threads, calls of the host.
; A record and its field in braces are the offset of the field, a word in capitals is a number: see `runtime.py`.

define internal void @fail(ptr %thread, i32 %fault, i32 %pc, i64 %address, i64 %size) cold noinline {
  %s = getelementptr i8, ptr %thread, i64 {thread.status}
  store i32 {FAULT}, ptr %s
  %f = getelementptr i8, ptr %thread, i64 {thread.fault}
  store i32 %fault, ptr %f
  %p = getelementptr i8, ptr %thread, i64 {thread.pc}
  store i32 %pc, ptr %p
  %a = getelementptr i8, ptr %thread, i64 {thread.address}
  store i64 %address, ptr %a
  %z = getelementptr i8, ptr %thread, i64 {thread.size}
  %size4 = trunc i64 %size to i32
  store i32 %size4, ptr %z
  ret void
}
define internal ptr @host(i64 %address) alwaysinline {
  %a = and i64 %address, {MASK}
  %p = inttoptr i64 %a to ptr
  ret ptr %p
}
define internal ptr @row(ptr %block, i64 %number) alwaysinline {
  %tp = getelementptr i8, ptr %block, i64 {block.buffers}
  %table = load ptr, ptr %tp
  %o = mul i64 %number, {BUFFER_SIZE}
  %row = getelementptr i8, ptr %table, i64 %o
  ret ptr %row
}
define internal i64 @address_of(ptr %block, i64 %number) alwaysinline {
  %row = call ptr @row(ptr %block, i64 %number)
  %first = load i64, ptr %row
  %high = shl i64 %number, {BITS}
  %pointer = or i64 %high, %first
  ret i64 %pointer
}
define internal i64 @shared_to_generic(i64 %a) alwaysinline {
  %r = or i64 %a, {SHARED_BASE}
  ret i64 %r
}
define internal i64 @local_to_generic(i64 %a) alwaysinline {
  %r = or i64 %a, {LOCAL_BASE}
  ret i64 %r
}
define internal i64 @from_generic(i64 %a) alwaysinline {
  %r = and i64 %a, {MASK}
  ret i64 %r
}
define internal i1 @is_shared(i64 %a) alwaysinline {
  %n = lshr i64 %a, {BITS}
  %r = icmp eq i64 %n, {SHARED}
  ret i1 %r
}
define internal i1 @is_local(i64 %a) alwaysinline {
  %n = lshr i64 %a, {BITS}
  %r = icmp eq i64 %n, {LOCAL}
  ret i1 %r
}
define internal i1 @is_global(i64 %a) alwaysinline {
  %n = lshr i64 %a, {BITS}
  %r = icmp ult i64 %n, {LOCAL}
  ret i1 %r
}
define internal i1 @is_param(i64 %a) alwaysinline {
  %n = lshr i64 %a, {BITS}
  %r = icmp eq i64 %n, 1
  ret i1 %r
}
define internal i1 @is_const(i64 %a) alwaysinline {
  ret i1 false
}

; The number of the buffer that an address without a number lies in; 0 if it is in none.
define internal i64 @buffer_around(ptr %block, i64 %address) noinline {
  %np = getelementptr i8, ptr %block, i64 {block.num_buffers}
  %count = load i64, ptr %np
  br label %loop
loop:
  %i = phi i64 [1, %0], [%next, %more]
  %over = icmp uge i64 %i, %count
  br i1 %over, label %none, label %look
look:
  %row = call ptr @row(ptr %block, i64 %i)
  %first = load i64, ptr %row
  %ep = getelementptr i8, ptr %row, i64 {buffer.end}
  %end = load i64, ptr %ep
  %a = icmp uge i64 %address, %first
  %b = icmp ult i64 %address, %end
  %in = and i1 %a, %b
  br i1 %in, label %found, label %more
more:
  %next = add i64 %i, 1
  br label %loop
found:
  ret i64 %i
none:
  ret i64 0
}

; The number of the buffer that an address is for.
define internal i64 @number_of(ptr %block, i64 %address) {
  %given = lshr i64 %address, {BITS}
  %untagged = icmp eq i64 %given, 0
  br i1 %untagged, label %search, label %known
search:
  %found = call i64 @buffer_around(ptr %block, i64 %address)
  ret i64 %found
known:
  ret i64 %given
}

; The space of an access: that of its instruction, or of its address where the instruction leaves it open.
define internal i32 @space_of(i64 %address, i32 %space) {
  %number = lshr i64 %address, {BITS}
  %is_shared = icmp eq i64 %number, {SHARED}
  %is_local = icmp eq i64 %number, {LOCAL}
  %generic = icmp eq i32 %space, 3
  %x = select i1 %is_local, i32 2, i32 0
  %y = select i1 %is_shared, i32 1, i32 %x
  %found = select i1 %generic, i32 %y, i32 %space
  ret i32 %found
}

; Check a read of bytes that may not have been written, or note that they are now.
define internal i1 @initialised(ptr %shadow, i64 %offset, i64 %size, i32 %kind) noinline {
  %start = getelementptr i8, ptr %shadow, i64 %offset
  %stores = icmp eq i32 %kind, 1
  br label %loop
loop:
  %i = phi i64 [0, %0], [%next, %more]
  %over = icmp uge i64 %i, %size
  br i1 %over, label %fine, label %look
look:
  %p = getelementptr i8, ptr %start, i64 %i
  br i1 %stores, label %mark, label %test
mark:
  store i8 1, ptr %p
  br label %more
test:
  %v = load i8, ptr %p
  %w = icmp ne i8 %v, 0
  br i1 %w, label %more, label %bad
more:
  %next = add i64 %i, 1
  br label %loop
fine:
  ret i1 true
bad:
  ret i1 false
}

; What almost every access is: aligned, inside of the buffer that the pointer was made for, which is a plain one.
define internal ptr @global_place(ptr %block, ptr %thread, ptr %frame, i64 %address, i64 %size, i32 %kind, i32 %pc) alwaysinline {
  %number = lshr i64 %address, {BITS}
  %a = and i64 %address, {MASK}
  %np = getelementptr i8, ptr %block, i64 {block.num_buffers}
  %count = load i64, ptr %np
  %valid = icmp ult i64 %number, %count
  br i1 %valid, label %look, label %slow
look:
  %row = call ptr @row(ptr %block, i64 %number)
  %first = load i64, ptr %row
  %offset = sub i64 %a, %first
  %lp = getelementptr i8, ptr %row, i64 {buffer.plain_size}
  %limit = load i64, ptr %lp
  %end = add i64 %offset, %size
  %x = icmp ult i64 %offset, %end
  %y = icmp ule i64 %end, %limit
  %low = sub i64 %size, 1
  %rest = and i64 %a, %low
  %aligned = icmp eq i64 %rest, 0
  %in = and i1 %x, %y
  %plain = and i1 %in, %aligned
  br i1 %plain, label %fine, label %slow
fine:
  %place = inttoptr i64 %a to ptr
  ret ptr %place
slow:
  %found = call ptr @checked_place(ptr %block, ptr %thread, ptr %frame, i64 %address, i64 %size, i32 %kind, i32 %pc)
  ret ptr %found
}
define internal ptr @checked_place(ptr %block, ptr %thread, ptr %frame, i64 %address, i64 %size, i32 %kind, i32 %pc) noinline {
  %a = and i64 %address, {MASK}
  %number = call i64 @number_of(ptr %block, i64 %address)
  %np = getelementptr i8, ptr %block, i64 {block.num_buffers}
  %count = load i64, ptr %np
  %valid = icmp ult i64 %number, %count
  br i1 %valid, label %look, label %outside
look:
  %row = call ptr @row(ptr %block, i64 %number)
  %first = load i64, ptr %row
  %ep = getelementptr i8, ptr %row, i64 {buffer.end}
  %limit = load i64, ptr %ep
  %end = add i64 %a, %size
  %x = icmp uge i64 %a, %first
  %y = icmp ule i64 %end, %limit
  %in = and i1 %x, %y
  br i1 %in, label %inside, label %outside
inside:
  %low = sub i64 %size, 1
  %rest = and i64 %a, %low
  %aligned = icmp eq i64 %rest, 0
  br i1 %aligned, label %right, label %crooked
right:
  %loads = icmp eq i32 %kind, 0
  %rp = getelementptr i8, ptr %row, i64 {buffer.read_only}
  %ro = load i64, ptr %rp
  %writable = icmp eq i64 %ro, 0
  %allowed = or i1 %loads, %writable
  br i1 %allowed, label %shadowed, label %protected
shadowed:
  %sp = getelementptr i8, ptr %row, i64 {buffer.shadow}
  %shadow = load ptr, ptr %sp
  %plain = icmp eq ptr %shadow, null
  br i1 %plain, label %fine, label %test
test:
  %offset = sub i64 %a, %first
  %initialised = call i1 @initialised(ptr %shadow, i64 %offset, i64 %size, i32 %kind)
  br i1 %initialised, label %fine, label %unwritten
fine:
  %place = inttoptr i64 %a to ptr
  ret ptr %place
outside:
  call void @fail(ptr %thread, i32 {OUT_OF_BOUNDS}, i32 %pc, i64 %address, i64 %size)
  ret ptr null
crooked:
  call void @fail(ptr %thread, i32 {MISALIGNED}, i32 %pc, i64 %address, i64 %size)
  ret ptr null
protected:
  call void @fail(ptr %thread, i32 {READ_ONLY}, i32 %pc, i64 %address, i64 %size)
  ret ptr null
unwritten:
  call void @fail(ptr %thread, i32 {UNINITIALISED}, i32 %pc, i64 %address, i64 %size)
  ret ptr null
}

define internal ptr @shared_place(ptr %block, ptr %thread, ptr %frame, i64 %address, i64 %size, i32 %kind, i32 %pc) inlinehint {
  %a = and i64 %address, {MASK}
  %lp = getelementptr i8, ptr %block, i64 {block.shared_size}
  %limit4 = load i32, ptr %lp
  %limit = zext i32 %limit4 to i64
  %end = add i64 %a, %size
  %in = icmp ule i64 %end, %limit
  br i1 %in, label %inside, label %outside
inside:
  %low = sub i64 %size, 1
  %rest = and i64 %a, %low
  %aligned = icmp eq i64 %rest, 0
  br i1 %aligned, label %right, label %crooked
right:
  %sp = getelementptr i8, ptr %block, i64 {block.shared_shadow}
  %shadow = load ptr, ptr %sp
  %plain = icmp eq ptr %shadow, null
  br i1 %plain, label %fine, label %test
test:
  %initialised = call i1 @initialised(ptr %shadow, i64 %a, i64 %size, i32 %kind)
  br i1 %initialised, label %fine, label %unwritten
fine:
  %mp = getelementptr i8, ptr %block, i64 {block.shared}
  %memory = load ptr, ptr %mp
  %place = getelementptr i8, ptr %memory, i64 %a
  ret ptr %place
outside:
  %far = or i64 %address, {SHARED_BASE}
  call void @fail(ptr %thread, i32 {OUT_OF_BOUNDS}, i32 %pc, i64 %far, i64 %size)
  ret ptr null
crooked:
  %odd = or i64 %address, {SHARED_BASE}
  call void @fail(ptr %thread, i32 {MISALIGNED}, i32 %pc, i64 %odd, i64 %size)
  ret ptr null
unwritten:
  %new = or i64 %address, {SHARED_BASE}
  call void @fail(ptr %thread, i32 {UNINITIALISED}, i32 %pc, i64 %new, i64 %size)
  ret ptr null
}

define internal ptr @local_place(ptr %block, ptr %thread, ptr %frame, i64 %address, i64 %size, i32 %kind, i32 %pc) {
  %a = and i64 %address, {MASK}
  %lp = getelementptr i8, ptr %block, i64 {block.local_size}
  %limit4 = load i32, ptr %lp
  %limit = zext i32 %limit4 to i64
  %end = add i64 %a, %size
  %in = icmp ule i64 %end, %limit
  br i1 %in, label %inside, label %outside
inside:
  %low = sub i64 %size, 1
  %rest = and i64 %a, %low
  %aligned = icmp eq i64 %rest, 0
  br i1 %aligned, label %right, label %crooked
right:
  %op = getelementptr i8, ptr %block, i64 {block.local_shadow}
  %behind4 = load i32, ptr %op
  %plain = icmp eq i32 %behind4, 0
  br i1 %plain, label %fine, label %test
test:
  %behind = zext i32 %behind4 to i64
  %shadow = getelementptr i8, ptr %frame, i64 %behind
  %initialised = call i1 @initialised(ptr %shadow, i64 %a, i64 %size, i32 %kind)
  br i1 %initialised, label %fine, label %unwritten
fine:
  %place = getelementptr i8, ptr %frame, i64 %a
  ret ptr %place
unwritten:
  %new = or i64 %address, {LOCAL_BASE}
  call void @fail(ptr %thread, i32 {UNINITIALISED}, i32 %pc, i64 %new, i64 %size)
  ret ptr null
outside:
  %far = or i64 %address, {LOCAL_BASE}
  call void @fail(ptr %thread, i32 {OUT_OF_BOUNDS}, i32 %pc, i64 %far, i64 %size)
  ret ptr null
crooked:
  %odd = or i64 %address, {LOCAL_BASE}
  call void @fail(ptr %thread, i32 {MISALIGNED}, i32 %pc, i64 %odd, i64 %size)
  ret ptr null
}

define internal ptr @generic_place(ptr %block, ptr %thread, ptr %frame, i64 %address, i64 %size, i32 %kind, i32 %pc) {
  %number = lshr i64 %address, {BITS}
  switch i64 %number, label %global [i64 {SHARED}, label %shared i64 {LOCAL}, label %local]
global:
  %g = call ptr @global_place(ptr %block, ptr %thread, ptr %frame, i64 %address, i64 %size, i32 %kind, i32 %pc)
  ret ptr %g
shared:
  %s = call ptr @shared_place(ptr %block, ptr %thread, ptr %frame, i64 %address, i64 %size, i32 %kind, i32 %pc)
  ret ptr %s
local:
  %l = call ptr @local_place(ptr %block, ptr %thread, ptr %frame, i64 %address, i64 %size, i32 %kind, i32 %pc)
  ret ptr %l
}

; The place of an argument that a function of the host takes: nobody checks what lies behind it.
define internal i64 @host_place(ptr %block, ptr %frame, i64 %address) {
  %number = lshr i64 %address, {BITS}
  %a = and i64 %address, {MASK}
  switch i64 %number, label %global [i64 {SHARED}, label %shared i64 {LOCAL}, label %local]
global:
  ret i64 %a
shared:
  %mp = getelementptr i8, ptr %block, i64 {block.shared}
  %memory = load i64, ptr %mp
  %s = add i64 %memory, %a
  ret i64 %s
local:
  %base = ptrtoint ptr %frame to i64
  %l = add i64 %base, %a
  ret i64 %l
}
define internal i64 @host_function(ptr %block, ptr %thread, ptr %frame, i32 %what, i64 %a, i64 %b) noinline {
  %fp = getelementptr i8, ptr %block, i64 {block.call_host}
  %function = load ptr, ptr %fp
  %x = call i64 @host_place(ptr %block, ptr %frame, i64 %a)
  %y = call i64 @host_place(ptr %block, ptr %frame, i64 %b)
  %r = call i64 %function(i32 %what, ptr %block, ptr %thread, i64 %x, i64 %y)
  ret i64 %r
}
; Count the arrival of a thread at a barrier; a warp counts as 32 threads, so that the last one of a block counts for
; those that its warp lacks.
define internal void @arrive(ptr %block, ptr %thread, i32 %number) {
  %xp = getelementptr i8, ptr %block, i64 {block.ntid_x}
  %yp = getelementptr i8, ptr %block, i64 {block.ntid_y}
  %zp = getelementptr i8, ptr %block, i64 {block.ntid_z}
  %x = load i32, ptr %xp
  %y = load i32, ptr %yp
  %z = load i32, ptr %zp
  %xy = mul i32 %x, %y
  %count = mul i32 %xy, %z
  %rp = getelementptr i8, ptr %thread, i64 {thread.rank}
  %rank = load i32, ptr %rp
  %behind = add i32 %rank, 1
  %is_last = icmp eq i32 %behind, %count
  %minus = sub i32 0, %count
  %lacking = and i32 %minus, 31
  %alone = add i32 %lacking, 1
  %weight = select i1 %is_last, i32 %alone, i32 1
  %ap = getelementptr i8, ptr %block, i64 {block.arrived}
  %n = zext i32 %number to i64
  %o = mul i64 %n, 4
  %p = getelementptr i8, ptr %ap, i64 %o
  %before = load i32, ptr %p
  %after = add i32 %before, %weight
  store i32 %after, ptr %p
  ret void
}
define internal i32 @nth_bit(i32 %mask, i32 %base, i32 %n) {
  %zero = icmp eq i32 %n, 0
  %down = icmp slt i32 %n, 0
  %step = select i1 %down, i32 -1, i32 1
  %size = mul i32 %n, %step
  %wanted = select i1 %zero, i32 1, i32 %size
  br label %loop
loop:
  %at = phi i32 [%base, %0], [%next, %more]
  %left = phi i32 [%wanted, %0], [%fewer, %more]
  %outside = icmp ugt i32 %at, 31
  br i1 %outside, label %none, label %look
look:
  %shifted = lshr i32 %mask, %at
  %bit = and i32 %shifted, 1
  %fewer = sub i32 %left, %bit
  %found = icmp eq i32 %fewer, 0
  %here = icmp eq i32 %bit, 1
  %done = and i1 %found, %here
  br i1 %done, label %yes, label %only
only:
  br i1 %zero, label %none, label %more
more:
  %next = add i32 %at, %step
  br label %loop
yes:
  ret i32 %at
none:
  ret i32 -1
}

; Have the watch look at an access; a thread whose access races with another one ends with a fault.
define internal i1 @races(ptr %block, ptr %thread, i64 %address, i64 %size, i32 %kind, i32 %pc, i64 %value, i32 %space) noinline {
  %a = and i64 %address, {MASK}
  %where = call i32 @space_of(i64 %address, i32 %space)
  switch i32 %where, label %in_global [i32 1, label %in_shared i32 2, label %none]
in_shared:
  %cp = getelementptr i8, ptr %block, i64 {block.shared_races}
  %own = load i64, ptr %cp
  %marked = or i32 %kind, {IN_SHARED}
  br label %ask
in_global:
  %number = call i64 @number_of(ptr %block, i64 %address)
  %row = call ptr @row(ptr %block, i64 %number)
  %first = load i64, ptr %row
  %xp = getelementptr i8, ptr %row, i64 {buffer.races}
  %of_buffer = load i64, ptr %xp
  %offset = sub i64 %a, %first
  br label %ask
ask:
  %cells = phi i64 [%own, %in_shared], [%of_buffer, %in_global]
  %at = phi i64 [%a, %in_shared], [%offset, %in_global]
  %how = phi i32 [%marked, %in_shared], [%kind, %in_global]
  %fp = getelementptr i8, ptr %block, i64 {block.note_access}
  %function = load ptr, ptr %fp
  %sp = getelementptr i8, ptr %block, i64 {block.races}
  %state = load i64, ptr %sp
  %rp = getelementptr i8, ptr %thread, i64 {thread.rank}
  %rank4 = load i32, ptr %rp
  %rank = zext i32 %rank4 to i64
  %pc8 = zext i32 %pc to i64
  %how8 = zext i32 %how to i64
  %said = call i64 %function(i64 %state, i64 %rank, i64 %pc8, i64 %how8, i64 %cells, i64 %at, i64 %size, i64 %value)
  switch i64 %said, label %full [i64 0, label %none i64 1, label %race]
race:
  call void @fail(ptr %thread, i32 {RACE}, i32 %pc, i64 %address, i64 %size)
  ret i1 true
full:
  call void @fail(ptr %thread, i32 {NO_ROOM}, i32 %pc, i64 %address, i64 %size)
  ret i1 true
none:
  ret i1 false
}
; Tell the watch of a fence or an arrival of a thread, by the field of the block that has the function's address.
define internal void @tell(ptr %block, ptr %thread, i64 %field, i64 %what) {
  %fp = getelementptr i8, ptr %block, i64 %field
  %function = load ptr, ptr %fp
  %sp = getelementptr i8, ptr %block, i64 {block.races}
  %state = load i64, ptr %sp
  %rp = getelementptr i8, ptr %thread, i64 {thread.rank}
  %rank4 = load i32, ptr %rp
  %rank = zext i32 %rank4 to i64
  %r = call i64 %function(i64 %state, i64 %rank, i64 %what)
  ret void
}
define internal void @fenced(ptr %block, ptr %thread, i64 %scope) {
  call void @tell(ptr %block, ptr %thread, i64 {block.note_fence}, i64 %scope)
  ret void
}
define internal void @arrival(ptr %block, ptr %thread, i32 %number) {
  %n = zext i32 %number to i64
  call void @tell(ptr %block, ptr %thread, i64 {block.note_arrival}, i64 %n)
  ret void
}

; The next row of a trace, whose number of rows is at %count; the host takes the rows when there is no room.
define internal ptr @trace_row(ptr %block, ptr %thread, ptr %trace, ptr %count, i64 %row_size) {
  %n = load i32, ptr %count
  %full = icmp uge i32 %n, {TRACE_ROOM}
  br i1 %full, label %take, label %put
take:
  %fp = getelementptr i8, ptr %block, i64 {block.call_host}
  %function = load ptr, ptr %fp
  %r = call i64 %function(i32 {TAKE_TRACE}, ptr %block, ptr %thread, i64 0, i64 0)
  br label %put
put:
  %at = load i32, ptr %count
  %after = add i32 %at, 1
  store i32 %after, ptr %count
  %rows = load ptr, ptr %trace
  %at8 = zext i32 %at to i64
  %o = mul i64 %at8, %row_size
  %row = getelementptr i8, ptr %rows, i64 %o
  ret ptr %row
}
define internal void @accessed(ptr %block, ptr %thread, ptr %frame, i64 %address, i64 %size, i32 %kind, i32 %pc, i64 %moment, i32 %space) {
  %found = call i32 @space_of(i64 %address, i32 %space)
  %tp = getelementptr i8, ptr %block, i64 {block.accesses}
  %np = getelementptr i8, ptr %block, i64 {block.num_accesses}
  %row = call ptr @trace_row(ptr %block, ptr %thread, ptr %tp, ptr %np, i64 {ACCESS_SIZE})
  %f0 = getelementptr i8, ptr %row, i64 {access.moment}
  store i64 %moment, ptr %f0
  %f1 = getelementptr i8, ptr %row, i64 {access.address}
  %a = and i64 %address, {MASK}
  store i64 %a, ptr %f1
  %f2 = getelementptr i8, ptr %row, i64 {access.block}
  %bp = getelementptr i8, ptr %block, i64 {block.number}
  %b = load i32, ptr %bp
  store i32 %b, ptr %f2
  %f3 = getelementptr i8, ptr %row, i64 {access.rank}
  %rp = getelementptr i8, ptr %thread, i64 {thread.rank}
  %r = load i32, ptr %rp
  store i32 %r, ptr %f3
  %f4 = getelementptr i8, ptr %row, i64 {access.pc}
  store i32 %pc, ptr %f4
  %f5 = getelementptr i8, ptr %row, i64 {access.size}
  %size2 = trunc i64 %size to i16
  store i16 %size2, ptr %f5
  %f6 = getelementptr i8, ptr %row, i64 {access.kind}
  %kind1 = trunc i32 %kind to i8
  store i8 %kind1, ptr %f6
  %f7 = getelementptr i8, ptr %row, i64 {access.space}
  %space1 = trunc i32 %found to i8
  store i8 %space1, ptr %f7
  ret void
}
define internal void @executed(ptr %block, ptr %thread, i64 %moment, i32 %start) {
  %tp = getelementptr i8, ptr %block, i64 {block.executed}
  %np = getelementptr i8, ptr %block, i64 {block.num_executed}
  %row = call ptr @trace_row(ptr %block, ptr %thread, ptr %tp, ptr %np, i64 {EXECUTED_SIZE})
  %f0 = getelementptr i8, ptr %row, i64 {executed.moment}
  store i64 %moment, ptr %f0
  %f1 = getelementptr i8, ptr %row, i64 {executed.block}
  %bp = getelementptr i8, ptr %block, i64 {block.number}
  %b = load i32, ptr %bp
  store i32 %b, ptr %f1
  %f2 = getelementptr i8, ptr %row, i64 {executed.rank}
  %rp = getelementptr i8, ptr %thread, i64 {thread.rank}
  %r = load i32, ptr %rp
  store i32 %r, ptr %f2
  %f3 = getelementptr i8, ptr %row, i64 {executed.start}
  store i32 %start, ptr %f3
  ret void
}

; Run each thread that can go on, in the block's order; `fresh`: all of them, from their begin on. Return how many
; have not ended.
define i64 @run(ptr noalias %block, ptr noalias %threads, i64 %count, i64 %frame_size, i64 %fresh) {
  %all = icmp ne i64 %fresh, 0
  %fp = getelementptr i8, ptr %block, i64 {block.frames}
  %frames = load ptr, ptr %fp
  %op = getelementptr i8, ptr %block, i64 {block.order}
  %order = load ptr, ptr %op
  br label %loop
loop:
  %i = phi i64 [0, %0], [%next, %more]
  %left = phi i64 [0, %0], [%still, %more]
  %oo = mul i64 %i, 4
  %op1 = getelementptr i8, ptr %order, i64 %oo
  %rank4 = load i32, ptr %op1
  %rank = zext i32 %rank4 to i64
  %to = mul i64 %rank, {THREAD_SIZE}
  %thread = getelementptr i8, ptr %threads, i64 %to
  %sp = getelementptr i8, ptr %thread, i64 {thread.status}
  br i1 %all, label %begin, label %test
begin:
  store i32 0, ptr %thread
  store i32 {RUNNING}, ptr %sp
  br label %go
test:
  %status = load i32, ptr %sp
  %ready = icmp eq i32 %status, {RUNNING}
  br i1 %ready, label %go, label %more
go:
  %fo = mul i64 %rank, %frame_size
  %frame = getelementptr i8, ptr %frames, i64 %fo
  call void @kernel(ptr %block, ptr %thread, ptr %frame)
  br label %more
more:
  %now = load i32, ptr %sp
  %waits = icmp ne i32 %now, {ENDED}
  %one = zext i1 %waits to i64
  %still = add i64 %left, %one
  %next = add i64 %i, 1
  %last = icmp eq i64 %next, %count
  br i1 %last, label %end, label %loop
end:
  ret i64 %still
}
