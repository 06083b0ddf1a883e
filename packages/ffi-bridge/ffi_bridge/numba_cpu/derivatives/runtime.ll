; Numba's runtime, and its function that gives an array another shape: a contiguous one, others fail. The
; count of references and the address of an array's elements are where Numba has them. The elements are a
; block of their own, so that all of it has one type; marks as C's say that a count is an integer. Null
; pointers have no shadow, and are not stored. What `ffi_bridge_keep` was told of, Enzyme's reverse mode does
; not make anew: the tangents of an array that takes the place of another would be lost.
declare noalias ptr @malloc(i64)
declare void @free(ptr)
declare void @ffi_bridge_keep(ptr "enzyme_type"="{[-1]:Pointer}") nofree nosync nounwind willreturn memory(inaccessiblemem: readwrite) "enzyme_inactive"
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
define internal i32 @numba_attempt_nocopy_reshape(i64 %nd, ptr %dims, ptr %strides, i64 %newnd, ptr %newdims, ptr %newstrides, i64 %itemsize, i32 %fortran) alwaysinline {
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
