"""Numba's runtime as functions of LLVM's text.

Numba counts the references to an array. Enzyme follows that where the counts are plain loads and stores of
memory from `malloc`.
"""

from __future__ import annotations

import re
from typing import Final

# Numba's runtime, and its function that gives an array another shape: a contiguous one, others fail. The
# count of references and the address of an array's elements are where Numba has them. The elements are a
# block of their own, so that all of it has one type; marks as C's say that a count is an integer. Null
# pointers have no shadow, and are not stored. What `ffi_bridge_keep` was told of, Enzyme's reverse mode does
# not make anew: the tangents of an array that takes the place of another would be lost.
RUNTIME: Final = """
declare noalias ptr @malloc(i64)
declare void @free(ptr)
declare void @ffi_bridge_keep(ptr "enzyme_type"="{[-1]:Pointer}") nofree nosync nounwind willreturn \
memory(inaccessiblemem: readwrite) "enzyme_inactive"
define internal ptr @NRT_Allocate(i64 %size) alwaysinline {
  %block = call ptr @malloc(i64 %size)
  call void @ffi_bridge_keep(ptr %block)
  ret ptr %block
}
define internal void @NRT_Free(ptr %block) alwaysinline {
  call void @free(ptr %block)
  ret void
}
define internal ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) alwaysinline {
  %info = call ptr @malloc(i64 32)
  store i64 1, ptr %info, !tbaa !1000
  %start = call ptr @malloc(i64 %size)
  call void @ffi_bridge_keep(ptr %start)
  %address = getelementptr i8, ptr %info, i64 24
  store ptr %start, ptr %address
  ret ptr %info
}
define internal ptr @NRT_MemInfo_alloc(i64 %size) alwaysinline {
  %info = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 0)
  ret ptr %info
}
define internal ptr @NRT_MemInfo_new_varsize_dtor(i64 %size, ptr %dtor) alwaysinline {
  %info = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 0)
  ret ptr %info
}
define internal ptr @NRT_MemInfo_data_fast(ptr %info) alwaysinline {
  %address = getelementptr i8, ptr %info, i64 24
  %start = load ptr, ptr %address
  ret ptr %start
}
define internal i32 @numba_attempt_nocopy_reshape(i64 %nd, ptr %dims, ptr %strides, i64 %newnd, \
ptr %newdims, ptr %newstrides, i64 %itemsize, i32 %fortran) alwaysinline {
  %other = icmp ne i32 %fortran, 0
  br i1 %other, label %no, label %axis
axis:
  %i = phi i64 [ %nd, %0 ], [ %j, %next ]
  %expected = phi i64 [ %itemsize, %0 ], [ %following, %next ]
  %seen = icmp eq i64 %i, 0
  br i1 %seen, label %newaxis, label %look
look:
  %j = sub i64 %i, 1
  %dim.at = getelementptr i64, ptr %dims, i64 %j
  %dim = load i64, ptr %dim.at
  %stride.at = getelementptr i64, ptr %strides, i64 %j
  %stride = load i64, ptr %stride.at
  %same = icmp eq i64 %stride, %expected
  %one = icmp eq i64 %dim, 1
  %fits = or i1 %same, %one
  br i1 %fits, label %next, label %no
next:
  %following = mul i64 %expected, %dim
  br label %axis
newaxis:
  %k = phi i64 [ %newnd, %axis ], [ %m, %set ]
  %newstride = phi i64 [ %itemsize, %axis ], [ %newfollowing, %set ]
  %all = icmp eq i64 %k, 0
  br i1 %all, label %yes, label %set
set:
  %m = sub i64 %k, 1
  %newstride.at = getelementptr i64, ptr %newstrides, i64 %m
  store i64 %newstride, ptr %newstride.at, !tbaa !1000
  %newdim.at = getelementptr i64, ptr %newdims, i64 %m
  %newdim = load i64, ptr %newdim.at
  %newfollowing = mul i64 %newstride, %newdim
  br label %newaxis
yes:
  ret i32 1
no:
  ret i32 0
}
!1000 = !{!1001, !1001, i64 0}
!1001 = !{!"long", !1002, i64 0}
!1002 = !{!"omnipotent char", !1003, i64 0}
!1003 = !{!"Simple C++ TBAA"}
"""
# In the forward mode an array is let go of where nothing refers to it.
COUNTED: Final = """define internal void @NRT_incref(ptr %info) alwaysinline {
  %none = icmp eq ptr %info, null
  br i1 %none, label %end, label %count
count:
  %before = load i64, ptr %info, !tbaa !1000
  %after = add i64 %before, 1
  store i64 %after, ptr %info, !tbaa !1000
  br label %end
end:
  ret void
}
define internal void @NRT_decref(ptr %info) alwaysinline {
  %none = icmp eq ptr %info, null
  br i1 %none, label %end, label %count
count:
  %before = load i64, ptr %info, !tbaa !1000
  %after = sub i64 %before, 1
  store i64 %after, ptr %info, !tbaa !1000
  %last = icmp eq i64 %after, 0
  br i1 %last, label %release, label %end
release:
  %start = call ptr @NRT_MemInfo_data_fast(ptr %info)
  call void @free(ptr %start)
  call void @free(ptr %info)
  br label %end
end:
  ret void
}
"""
# In the reverse mode all of them are kept for the way back. Whether a count came to 0 would be kept, too, for
# each turn of a loop, and the counts themselves.
UNCOUNTED: Final = """
define internal void @NRT_incref(ptr %info) alwaysinline {
  ret void
}
define internal void @NRT_decref(ptr %info) alwaysinline {
  ret void
}
"""
IN_RUNTIME: Final = re.compile(
    r"numba_attempt_nocopy_reshape|NRT_(Allocate|Free|MemInfo_alloc|MemInfo_alloc_aligned|MemInfo_new_varsize_dtor|MemInfo_data_fast|incref|decref)|malloc|free"
)
