declare i32 @sched_getaffinity(i32, i64, ptr)
declare i64 @llvm.ctpop.i64(i64)

define internal i32 @xt_cores() nounwind noinline {
entry:
  %mask = alloca [128 x i64], align 8
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 1024, i1 false)
  %r = call i32 @sched_getaffinity(i32 0, i64 1024, ptr %mask)
  br label %add
add:
  %i = phi i64 [ 0, %entry ], [ %i2, %add ]
  %sum = phi i64 [ 0, %entry ], [ %sum2, %add ]
  %p = getelementptr inbounds [128 x i64], ptr %mask, i64 0, i64 %i
  %bits = load i64, ptr %p, align 8
  %ones = call i64 @llvm.ctpop.i64(i64 %bits)
  %sum2 = add i64 %sum, %ones
  %i2 = add i64 %i, 1
  %more = icmp ult i64 %i2, 128
  br i1 %more, label %add, label %end
end:
  %n = trunc i64 %sum2 to i32
  %none = icmp slt i32 %n, 1
  %cores = select i1 %none, i32 1, i32 %n
  ret i32 %cores
}
