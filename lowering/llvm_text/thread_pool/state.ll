; What a thread waits for (it changes), whether it sleeps, and its part of the loop: the
; number of the next chunk, and 2**32 times that after the last; a cache line, and the one
; that is fetched with it, for each thread.
%xt.slot = type { i32, i32, i64, [112 x i8] }
@xt_slots = internal global [$max_threads x %xt.slot] zeroinitializer, align 128
@xt_busy = internal global i32 0, align 128
@xt_pending = internal global i32 0, align 128
@xt_waiting = internal global i32 0, align 4
; The number of the first chunk that has failed, or -1, and what each that failed gave.
@xt_failed = internal global i32 -1, align 4
@xt_results = internal global [$max_chunks x i64] zeroinitializer, align 8
@xt_chunk = internal global ptr null, align 128
@xt_context = internal global ptr null, align 8
@xt_count = internal global i32 0, align 4
@xt_parts = internal global i64 0, align 8
@xt_wanted = internal global i32 0, align 128
@xt_looks = internal global i32 $looks, align 4
@xt_patience = internal global i64 $patience, align 8
@xt_started = internal global i32 1, align 4
@xt_stop = internal global i32 0, align 4
@xt_handles = internal global [$max_threads x i64] zeroinitializer, align 8
; One more than the processor that a thread is bound to, 0 for any.
@xt_bound = internal global [$max_threads x i32] zeroinitializer, align 4
@xt_variable = private constant [$variable_size x i8] c"$variable\00"

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare ptr @getenv(ptr)
declare i32 @clock_gettime(i32, ptr)
declare i32 @atoi(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
