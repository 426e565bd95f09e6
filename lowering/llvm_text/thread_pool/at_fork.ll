@xt_registered = internal global i32 0, align 4
declare i32 @pthread_atfork(ptr, ptr, ptr)

define internal void @xt_register() nounwind noinline {
  %was = atomicrmw xchg ptr @xt_registered, i32 1 seq_cst
  %new = icmp eq i32 %was, 0
  br i1 %new, label %add, label %end
add:
  %r = call i32 @pthread_atfork(ptr null, ptr null, ptr @xdsl_tvm_forget_threads)
  br label %end
end:
  ret void
}
