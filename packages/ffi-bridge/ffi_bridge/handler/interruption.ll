; Whether a signal has waited and its handler in Python has raised: see `interruption.py`.
; $FILE: where Python notes signals; $MAIN_THREAD: the thread that calls handlers of signals.
@ffi_bridge_signal = external global i8
@since = internal global i64 0 ; when the signal was seen first, in nanoseconds of a clock that nobody sets; or 0
%time = type { i64, i64 }
%exception = type { ptr, ptr, ptr } ; its type, value and traceback
declare i64 @pthread_self()
declare i32 @clock_gettime(i32, ptr)
declare i64 @lseek(i32, i64, i32)
declare ptr @malloc(i64)
declare void @free(ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare i32 @Py_AddPendingCall(ptr, ptr)
; Not 0 if the handler of a signal raised an exception, which Python is to raise again when it runs code.
define i32 @ffi_bridge_interrupted() {
  %now.at = alloca %time
  %here = call i64 @pthread_self()
  %is_main = icmp eq i64 %here, $MAIN_THREAD
  br i1 %is_main, label %clock, label %no
clock:
  %_ = call i32 @clock_gettime(i32 $CLOCK_MONOTONIC, ptr %now.at)
  %now.parts = load %time, ptr %now.at
  %seconds = extractvalue %time %now.parts, 0
  %rest = extractvalue %time %now.parts, 1
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  %seen = load i64, ptr @since
  %is_new = icmp eq i64 %seen, 0
  br i1 %is_new, label %new, label %known
new:
  store i64 %now, ptr @since
  br label %no
known:
  %waited = sub i64 %now, %seen
  %is_early = icmp ult i64 %waited, $PATIENCE
  br i1 %is_early, label %no, label %ask
ask:
  ; Reset before Python looks for signals, so that none is lost that arrives meanwhile.
  %_1 = call i64 @lseek(i32 $FILE, i64 0, i32 $SEEK_SET)
  store i8 0, ptr @ffi_bridge_signal
  store i64 0, ptr @since
  %gil = call i32 @PyGILState_Ensure()
  %raised = call i32 @PyErr_CheckSignals()
  %is_raised = icmp ne i32 %raised, 0
  br i1 %is_raised, label %keep, label %leave
keep:
  %kept = call ptr @malloc(i64 24)
  %value.at = getelementptr %exception, ptr %kept, i32 0, i32 1
  %traceback.at = getelementptr %exception, ptr %kept, i32 0, i32 2
  call void @PyErr_Fetch(ptr %kept, ptr %value.at, ptr %traceback.at)
  %_2 = call i32 @Py_AddPendingCall(ptr @raise_again, ptr %kept)
  br label %leave
leave:
  call void @PyGILState_Release(i32 %gil)
  ret i32 %raised
no:
  ret i32 0
}
; For Py_AddPendingCall: raises the exception at the address.
define internal i32 @raise_again(ptr %kept) {
  %exception = load %exception, ptr %kept
  %type = extractvalue %exception %exception, 0
  %value = extractvalue %exception %exception, 1
  %traceback = extractvalue %exception %exception, 2
  call void @free(ptr %kept)
  call void @PyErr_Restore(ptr %type, ptr %value, ptr %traceback)
  ret i32 -1
}
