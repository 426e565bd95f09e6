@xt_binds = internal global i32 0, align 4
@xt_processor = internal global [$max_threads x i32] zeroinitializer, align 4
@xt_bind_variable = private constant [$bind_variable_size x i8] c"$bind_variable\00"
declare i32 @sched_getcpu()
declare i32 @pthread_setaffinity_np(i64, i64, ptr)

; Chooses a processor for each thread, if there are as many of both.
define internal void @xt_choose(i32 %wanted, i32 %cores) nounwind noinline {
entry:
  %mask = alloca [128 x i64], align 8
  store atomic i32 0, ptr @xt_binds monotonic, align 4
  %fit = icmp eq i32 %wanted, %cores
  br i1 %fit, label %ask, label %end
ask:
  %text = call ptr @getenv(ptr @xt_bind_variable)
  %unset = icmp eq ptr %text, null
  br i1 %unset, label %list, label %read
read:
  %value = call i32 @atoi(ptr %text)
  %off = icmp eq i32 %value, 0
  br i1 %off, label %end, label %list
list:
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 1024, i1 false)
  %r = call i32 @sched_getaffinity(i32 0, i64 1024, ptr %mask)
  br label %look
look:
  %cpu = phi i64 [ 0, %list ], [ %cpu2, %next ]
  %t = phi i64 [ 0, %list ], [ %t2, %next ]
  %word = lshr i64 %cpu, 6
  %p = getelementptr inbounds [128 x i64], ptr %mask, i64 0, i64 %word
  %bits = load i64, ptr %p, align 8
  %shift = and i64 %cpu, 63
  %shifted = lshr i64 %bits, %shift
  %usable = trunc i64 %shifted to i1
  br i1 %usable, label %take, label %next
take:
  %q = getelementptr inbounds [$max_threads x i32], ptr @xt_processor, i64 0, i64 %t
  %cpu32 = trunc i64 %cpu to i32
  store atomic i32 %cpu32, ptr %q monotonic, align 4
  %taken = add i64 %t, 1
  br label %next
next:
  %t2 = phi i64 [ %t, %look ], [ %taken, %take ]
  %cpu2 = add i64 %cpu, 1
  %t32 = trunc i64 %t2 to i32
  %all = icmp eq i32 %t32, %wanted
  %last = icmp eq i64 %cpu2, 8192
  %stop = or i1 %all, %last
  br i1 %stop, label %done, label %look
done:
  %binds = zext i1 %all to i32
  store atomic i32 %binds, ptr @xt_binds release, align 4
  br label %end
end:
  ret void
}

; Gives threads 1 to %k - 1 their processors; the one whose processor the caller is on
; gets the first. Tells whether that changed anything.
define internal i1 @xt_spread(i32 %k) nounwind noinline {
entry:
  %mask = alloca [128 x i64], align 8
  %binds = load atomic i32, ptr @xt_binds acquire, align 4
  %bind = icmp ne i32 %binds, 0
  %here = call i32 @sched_getcpu()
  %first = load atomic i32, ptr @xt_processor monotonic, align 4
  %end = zext i32 %k to i64
  br label %look
look:
  %t = phi i64 [ 1, %entry ], [ %t2, %next ]
  %moved = phi i1 [ false, %entry ], [ %moved2, %next ]
  %p = getelementptr inbounds [$max_threads x i32], ptr @xt_processor, i64 0, i64 %t
  %own = load atomic i32, ptr %p monotonic, align 4
  %taken = icmp eq i32 %own, %here
  %cpu = select i1 %taken, i32 %first, i32 %own
  %number = add i32 %cpu, 1
  %want = select i1 %bind, i32 %number, i32 0
  %q = getelementptr inbounds [$max_threads x i32], ptr @xt_bound, i64 0, i64 %t
  %have = load i32, ptr %q, align 4
  %same = icmp eq i32 %have, %want
  br i1 %same, label %next, label %change
change:
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 1024, i1 false)
  br i1 %bind, label %one, label %any
one:
  %cpu64 = zext i32 %cpu to i64
  %word = lshr i64 %cpu64, 6
  %shift = and i64 %cpu64, 63
  %bit = shl i64 1, %shift
  %m = getelementptr inbounds [128 x i64], ptr %mask, i64 0, i64 %word
  store i64 %bit, ptr %m, align 8
  br label %set
any:
  %r = call i32 @sched_getaffinity(i32 0, i64 1024, ptr %mask)
  br label %set
set:
  store i32 %want, ptr %q, align 4
  %handle = getelementptr inbounds i64, ptr @xt_handles, i64 %t
  %h = load i64, ptr %handle, align 8
  %e = call i32 @pthread_setaffinity_np(i64 %h, i64 1024, ptr %mask)
  br label %next
next:
  %moved2 = phi i1 [ %moved, %look ], [ true, %set ]
  %t2 = add i64 %t, 1
  %more = icmp ult i64 %t2, %end
  br i1 %more, label %look, label %done
done:
  ret i1 %moved2
}
