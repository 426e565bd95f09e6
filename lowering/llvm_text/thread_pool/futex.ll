declare i64 @syscall(i64, ...)

; 128 is FUTEX_WAIT, 129 FUTEX_WAKE, both private to the process.
define internal void @xt_wait(ptr %word, i32 %old) nounwind noinline {
  %r = call i64 (i64, ...) @syscall(i64 $futex_syscall, ptr %word, i32 128, i32 %old,
    ptr null, ptr null, i32 0)
  ret void
}

define internal void @xt_wake(ptr %word) nounwind noinline {
  %r = call i64 (i64, ...) @syscall(i64 $futex_syscall, ptr %word, i32 129, i32 2147483647,
    ptr null, ptr null, i32 0)
  ret void
}

define internal void @xt_prepare_sleep() nounwind {
  ret void
}
