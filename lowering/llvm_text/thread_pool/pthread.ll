@xt_mutex = internal global [128 x i8] zeroinitializer, align 16
@xt_condition = internal global [128 x i8] zeroinitializer, align 16
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)

define internal void @xt_wait(ptr %word, i32 %old) nounwind noinline {
entry:
  %l = call i32 @pthread_mutex_lock(ptr @xt_mutex)
  br label %look
look:
  %now = load atomic i32, ptr %word seq_cst, align 4
  %same = icmp eq i32 %now, %old
  br i1 %same, label %sleep, label %leave
sleep:
  %w = call i32 @pthread_cond_wait(ptr @xt_condition, ptr @xt_mutex)
  br label %look
leave:
  %u = call i32 @pthread_mutex_unlock(ptr @xt_mutex)
  ret void
}

define internal void @xt_wake(ptr %word) nounwind noinline {
  %l = call i32 @pthread_mutex_lock(ptr @xt_mutex)
  %b = call i32 @pthread_cond_broadcast(ptr @xt_condition)
  %u = call i32 @pthread_mutex_unlock(ptr @xt_mutex)
  ret void
}

define internal void @xt_prepare_sleep() nounwind {
  %m = call i32 @pthread_mutex_init(ptr @xt_mutex, ptr null)
  %c = call i32 @pthread_cond_init(ptr @xt_condition, ptr null)
  ret void
}
