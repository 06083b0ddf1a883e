; In the forward mode an array is let go of where nothing refers to it.
define internal void @NRT_incref(ptr %info) alwaysinline {
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
