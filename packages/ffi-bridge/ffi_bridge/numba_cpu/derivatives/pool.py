"""The memory of a derivative, as functions of LLVM's text.

In the reverse mode Enzyme lets go of some arrays, and keeps others until they are needed, without a last
`free`. So all that a derivative allocates is in a list, and what is left in it at the end is released, also
if the kernel raised.
"""

from __future__ import annotations

import re
from typing import Final

# A block begins with the address of the next block and with that of the pointer to itself.
_LIST: Final = """
declare ptr @malloc(i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define internal void @enter(ptr %list, ptr %block) {
  %next = load ptr, ptr %list
  store ptr %next, ptr %block
  store ptr %block, ptr %list
  %back = getelementptr i8, ptr %block, i64 8
  store ptr %list, ptr %back
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
define internal ptr @listed_malloc(ptr %list, i64 %size) {
  %total = add i64 %size, 16
  %block = call ptr @malloc(i64 %total)
  call void @enter(ptr %list, ptr %block)
  %start = getelementptr i8, ptr %block, i64 16
  ret ptr %start
}
define internal ptr @listed_calloc(ptr %list, i64 %count, i64 %size) {
  %bytes = mul i64 %count, %size
  %start = call ptr @listed_malloc(ptr %list, i64 %bytes)
  call void @llvm.memset.p0.i64(ptr %start, i8 0, i64 %bytes, i1 false)
  ret ptr %start
}
define internal void @listed_free(ptr %list, ptr %start) {
  %none = icmp eq ptr %start, null
  br i1 %none, label %end, label %release
release:
  %block = getelementptr i8, ptr %start, i64 -16
  call void @leave(ptr %block)
  call void @free(ptr %block)
  br label %end
end:
  ret void
}
define internal ptr @listed_realloc(ptr %list, ptr %start, i64 %size) {
  %none = icmp eq ptr %start, null
  br i1 %none, label %new, label %old
new:
  %first = call ptr @listed_malloc(ptr %list, i64 %size)
  ret ptr %first
old:
  %block = getelementptr i8, ptr %start, i64 -16
  call void @leave(ptr %block)
  %total = add i64 %size, 16
  %moved = call ptr @realloc(ptr %block, i64 %total)
  call void @enter(ptr %list, ptr %moved)
  %again = getelementptr i8, ptr %moved, i64 16
  ret ptr %again
}
"""
# The head of the list is where Enzyme's function expects the addresses of its inputs, of which it has none.
_CALLED: Final = """
define void @"{name}"(ptr %table) {{
  %outs = alloca ptr
  store ptr %table, ptr %outs
  %list = alloca ptr
  store ptr null, ptr %list
  call void @entry(ptr %outs, ptr %list)
  br label %next
next:
  %block = load ptr, ptr %list
  %none = icmp eq ptr %block, null
  br i1 %none, label %end, label %release
release:
  %following = load ptr, ptr %block
  store ptr %following, ptr %list
  call void @free(ptr %block)
  br label %next
end:
  ret void
}}
"""
_ALLOCATES: Final = re.compile(r"@(malloc|calloc|realloc|free)\(")
_DECLARED: Final = re.compile(
    r"^declare [^\n]*@(malloc|calloc|realloc|free|llvm\.memset\.p0\.i64)\(.*\n", re.M
)
_DEFINED: Final = re.compile(r"^define [^\n]*?@(\"[^\"]+\"|[\w.$-]+)\(", re.M)
_ENTRY: Final = re.compile(r"^define [^\n]*@entry\([^\n]*\{$", re.M)


def released_at_the_end(text: str, name: str) -> str:
    """Return a module with the function `name(table)` that calls `entry`, and leaves nothing allocated.

    Each function of the module gets the list of blocks as its first argument.
    """
    own = {found[1] for found in _DEFINED.finditer(text)} - {"entry"}
    text = _ENTRY.sub("define internal void @entry(ptr %outs, ptr %list) {", _DECLARED.sub("", text))
    text = _ALLOCATES.sub(r"@listed_\1(", text)
    for called in [*map(re.escape, own), r"listed_(?:malloc|calloc|realloc|free)"]:
        text = re.sub(rf"(@{called}\()(?=(\)?))", lambda x: f"{x[1]}ptr %list{'' if x[2] else ', '}", text)
    return text + _LIST + _CALLED.format(name=name)
