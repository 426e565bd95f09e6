define ${linkage}void @xdsl_tvm_set_num_threads(i32 %n) noinline nounwind {
  %low = icmp slt i32 %n, 1
  %atleast = select i1 %low, i32 1, i32 %n
  %high = icmp sgt i32 %atleast, $max_threads
  %wanted = select i1 %high, i32 $max_threads, i32 %atleast
  %cores = call i32 @xt_cores()
  %crowded = icmp sgt i32 %wanted, %cores
  %looks = select i1 %crowded, i32 $crowded_looks, i32 $looks
  %patience = select i1 %crowded, i64 0, i64 $patience
  store atomic i32 %looks, ptr @xt_looks monotonic, align 4
  store atomic i64 %patience, ptr @xt_patience monotonic, align 8
  call void @xt_choose(i32 %wanted, i32 %cores)
  store atomic i32 %wanted, ptr @xt_wanted release, align 4
  ret void
}

define internal i32 @xt_default() nounwind noinline {
entry:
  %text = call ptr @getenv(ptr @xt_variable)
  %unset = icmp eq ptr %text, null
  br i1 %unset, label %all, label %read
read:
  %n = call i32 @atoi(ptr %text)
  %bad = icmp slt i32 %n, 1
  br i1 %bad, label %all, label %set
all:
  %cores = call i32 @xt_cores()
  br label %set
set:
  %wanted = phi i32 [ %n, %read ], [ %cores, %all ]
  call void @xdsl_tvm_set_num_threads(i32 %wanted)
  %now = load atomic i32, ptr @xt_wanted acquire, align 4
  ret i32 %now
}

define internal i64 @xt_now() nounwind noinline {
  %time = alloca { i64, i64 }, align 8
  %r = call i32 @clock_gettime(i32 $monotonic_clock, ptr %time)
  %seconds = load i64, ptr %time, align 8
  %rest = getelementptr inbounds { i64, i64 }, ptr %time, i64 0, i32 1
  %nanoseconds = load i64, ptr %rest, align 8
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %nanoseconds
  ret i64 %now
}

; Whether to look again: `%since` is when waiting began, as far as it is known, or 0.
define internal { i1, i64 } @xt_waits(i64 %since) nounwind noinline {
entry:
  %patience = load atomic i64, ptr @xt_patience monotonic, align 8
  %none = icmp eq i64 %patience, 0
  br i1 %none, label %give_up, label %ask
ask:
  %now = call i64 @xt_now()
  %first = icmp eq i64 %since, 0
  %start = select i1 %first, i64 %now, i64 %since
  %passed = sub i64 %now, %start
  %more = icmp slt i64 %passed, %patience
  %a = insertvalue { i1, i64 } poison, i1 %more, 0
  %b = insertvalue { i1, i64 } %a, i64 %start, 1
  ret { i1, i64 } %b
give_up:
  ret { i1, i64 } zeroinitializer
}

; Runs the chunks that are left of a thread's part of the loop; gives how many it ran.
; Who takes one has it alone, and with it the loop that it is of: that ends only when all
; chunks are done, whichever loop it was that the caller of this function looked for.
define internal i32 @xt_run(i64 %t) nounwind noinline {
entry:
  %part = getelementptr inbounds %xt.slot, ptr @xt_slots, i64 %t, i32 2
  br label %head
head:
  %ran = phi i32 [ 0, %entry ], [ %more, %done ]
  ; Looking first leaves the cache line where it is.
  %seen = load atomic i64, ptr %part acquire, align 8
  %seen_next = trunc i64 %seen to i32
  %seen_high = lshr i64 %seen, 32
  %seen_end = trunc i64 %seen_high to i32
  %is_left = icmp slt i32 %seen_next, %seen_end
  br i1 %is_left, label %take, label %leave
take:
  %old = atomicrmw add ptr %part, i64 1 acq_rel
  %number = trunc i64 %old to i32
  %high = lshr i64 %old, 32
  %end = trunc i64 %high to i32
  %mine = icmp slt i32 %number, %end
  br i1 %mine, label %run, label %leave
run:
  %chunk = load ptr, ptr @xt_chunk, align 8
  %context = load ptr, ptr @xt_context, align 8
  %count = load i32, ptr @xt_count, align 4
  %r = call i64 %chunk(i32 %number, i32 %count, ptr %context)
  %ok = icmp eq i64 %r, 0
  br i1 %ok, label %done, label %fail
fail:
  %wide = zext i32 %number to i64
  %result = getelementptr inbounds i64, ptr @xt_results, i64 %wide
  store i64 %r, ptr %result, align 8
  %f = atomicrmw umin ptr @xt_failed, i32 %number acq_rel
  br label %done
done:
  %more = add i32 %ran, 1
  br label %head
leave:
  ret i32 %ran
}

define internal ptr @xt_worker(ptr %number) nounwind noinline {
entry:
  %t64 = ptrtoint ptr %number to i64
  %go = getelementptr inbounds %xt.slot, ptr @xt_slots, i64 %t64, i32 0
  %asleep = getelementptr inbounds %xt.slot, ptr @xt_slots, i64 %t64, i32 1
  br label %wait
wait:
  %last = phi i32 [ 0, %entry ], [ %g, %done ]
  %looks = load atomic i32, ptr @xt_looks monotonic, align 4
  br label %look
look:
  %i = phi i32 [ 0, %wait ], [ %i2, %pause ], [ 0, %tire ]
  %since = phi i64 [ 0, %wait ], [ %since, %pause ], [ %since2, %tire ]
  %g0 = load atomic i32, ptr %go acquire, align 4
  %new0 = icmp ne i32 %g0, %last
  br i1 %new0, label %work, label %pause
pause:
  $pause
  %i2 = add i32 %i, 1
  %again = icmp ult i32 %i2, %looks
  br i1 %again, label %look, label %tire
tire:
  %asked = call { i1, i64 } @xt_waits(i64 %since)
  %waits = extractvalue { i1, i64 } %asked, 0
  %since2 = extractvalue { i1, i64 } %asked, 1
  br i1 %waits, label %look, label %doze
doze:
  ; The caller writes the word, then reads this flag; here it is the other way round. So
  ; one of the two sees the other.
  store atomic i32 1, ptr %asleep seq_cst, align 4
  br label %sleep
sleep:
  %g1 = load atomic i32, ptr %go seq_cst, align 4
  %new1 = icmp ne i32 %g1, %last
  br i1 %new1, label %awake, label %block
block:
  call void @xt_wait(ptr %go, i32 %last)
  br label %sleep
awake:
  store atomic i32 0, ptr %asleep monotonic, align 4
  br label %work
work:
  %g = phi i32 [ %g0, %look ], [ %g1, %awake ]
  %stop = load atomic i32, ptr @xt_stop monotonic, align 4
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %exit, label %part
part:
  ; Its own part first, then what others have not come to.
  %s = phi i64 [ %t64, %work ], [ %s2, %next ]
  %ran = call i32 @xt_run(i64 %s)
  %idle = icmp eq i32 %ran, 0
  br i1 %idle, label %next, label %report
report:
  ; On x86 the locked instruction also completes stores that bypass the cache.
  %left = atomicrmw sub ptr @xt_pending, i32 %ran seq_cst
  %isend = icmp eq i32 %left, %ran
  br i1 %isend, label %end, label %next
end:
  %waiting = load atomic i32, ptr @xt_waiting seq_cst, align 4
  %sleeps = icmp ne i32 %waiting, 0
  br i1 %sleeps, label %wake, label %next
wake:
  call void @xt_wake(ptr @xt_pending)
  br label %next
next:
  %parts = load atomic i64, ptr @xt_parts monotonic, align 8
  %s1 = add i64 %s, 1
  %over = icmp uge i64 %s1, %parts
  %s2 = select i1 %over, i64 0, i64 %s1
  %round = icmp eq i64 %s2, %t64
  %few = icmp uge i64 %t64, %parts
  %stays = or i1 %round, %few
  br i1 %stays, label %done, label %part
done:
  br label %wait
exit:
  ret ptr null
}

; Makes threads until there are `wanted`; gives how many there are.
define internal i32 @xt_start(i32 %wanted) nounwind noinline {
entry:
  %all = alloca [128 x i8], align 16
  %old = alloca [128 x i8], align 16
  %have = load i32, ptr @xt_started, align 4
  %first = icmp eq i32 %have, 1
  br i1 %first, label %prepare, label %mask
prepare:
  call void @xt_prepare_sleep()
  $register_at_fork
  br label %mask
mask:
  ; Signals are for the threads that the program has made.
  %f = call i32 @sigfillset(ptr %all)
  %m = call i32 @pthread_sigmask(i32 $sig_setmask, ptr %all, ptr %old)
  br label %head
head:
  %t = phi i32 [ %have, %mask ], [ %t2, %made ]
  %more = icmp slt i32 %t, %wanted
  br i1 %more, label %make, label %end
make:
  %t64 = zext i32 %t to i64
  %number = inttoptr i64 %t64 to ptr
  %handle = getelementptr inbounds i64, ptr @xt_handles, i64 %t64
  %rc = call i32 @pthread_create(ptr %handle, ptr null, ptr @xt_worker, ptr %number)
  %ok = icmp eq i32 %rc, 0
  br i1 %ok, label %made, label %few
made:
  %t2 = add i32 %t, 1
  br label %head
few:
  store atomic i32 %t, ptr @xt_wanted monotonic, align 4
  br label %end
end:
  store i32 %t, ptr @xt_started, align 4
  %u = call i32 @pthread_sigmask(i32 $sig_setmask, ptr %old, ptr null)
  ret i32 %t
}

define ${linkage}i64 @xdsl_tvm_parallel_for(ptr %chunk, ptr %context, i64 %limit) noinline {
entry:
  %w0 = load atomic i32, ptr @xt_wanted acquire, align 4
  %unset = icmp eq i32 %w0, 0
  br i1 %unset, label %ask, label %known
ask:
  %w1 = call i32 @xt_default()
  br label %known
known:
  %w = phi i32 [ %w0, %entry ], [ %w1, %ask ]
  %w64 = sext i32 %w to i64
  %few = icmp slt i64 %limit, %w64
  %k64 = select i1 %few, i64 %limit, i64 %w64
  %k0 = trunc i64 %k64 to i32
  %one = icmp slt i64 %k64, 2
  br i1 %one, label %serial, label %try
try:
  %pair = cmpxchg ptr @xt_busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %pair, 1
  br i1 %mine, label %take, label %serial
serial:
  %rs = call i64 %chunk(i32 0, i32 1, ptr %context)
  ret i64 %rs
take:
  %have0 = load i32, ptr @xt_started, align 4
  %short = icmp slt i32 %have0, %k0
  br i1 %short, label %start, label %ready
start:
  %have1 = call i32 @xt_start(i32 %k0)
  br label %ready
ready:
  %have = phi i32 [ %have0, %take ], [ %have1, %start ]
  %less = icmp slt i32 %have, %k0
  %k = select i1 %less, i32 %have, i32 %k0
  %alone = icmp slt i32 %k, 2
  br i1 %alone, label %release, label %divide
release:
  store atomic i32 0, ptr @xt_busy release, align 4
  br label %serial
divide:
  %wide = zext i32 %k to i64
  %most = mul i64 %wide, $chunks_of_a_thread
  %fewer = icmp slt i64 %limit, %most
  %n64 = select i1 %fewer, i64 %limit, i64 %most
  %n = trunc i64 %n64 to i32
  store ptr %chunk, ptr @xt_chunk, align 8
  store ptr %context, ptr @xt_context, align 8
  store i32 %n, ptr @xt_count, align 4
  store atomic i64 %wide, ptr @xt_parts monotonic, align 8
  store atomic i32 -1, ptr @xt_failed monotonic, align 4
  store atomic i32 %n, ptr @xt_pending monotonic, align 4
  br label %post
post:
  ; The number after the last chunk of a part, and that of the next one.
  %d = phi i64 [ 0, %divide ], [ %d2, %post ]
  %begin = phi i64 [ 0, %divide ], [ %until, %post ]
  %d2 = add i64 %d, 1
  %scaled = mul i64 %n64, %d2
  %until = udiv i64 %scaled, %wide
  %upper = shl i64 %until, 32
  %both = or i64 %upper, %begin
  %dpart = getelementptr inbounds %xt.slot, ptr @xt_slots, i64 %d, i32 2
  store atomic i64 %both, ptr %dpart release, align 8
  %dmore = icmp ult i64 %d2, %wide
  br i1 %dmore, label %post, label %call

call:
  %a = phi i64 [ 1, %post ], [ %a2, %call ]
  %ago = getelementptr inbounds %xt.slot, ptr @xt_slots, i64 %a, i32 0
  %aold = load atomic i32, ptr %ago monotonic, align 4
  %anew = add i32 %aold, 1
  store atomic i32 %anew, ptr %ago release, align 4
  %a2 = add i64 %a, 1
  %amore = icmp ult i64 %a2, %wide
  br i1 %amore, label %call, label %called
called:
  fence seq_cst
  br label %rouse
rouse:
  %b = phi i64 [ 1, %called ], [ %b2, %next ]
  %spread = phi i1 [ false, %called ], [ %spread2, %next ]
  %basleep = getelementptr inbounds %xt.slot, ptr @xt_slots, i64 %b, i32 1
  %bflag = load atomic i32, ptr %basleep seq_cst, align 4
  %bsleeps = icmp ne i32 %bflag, 0
  br i1 %bsleeps, label %shake, label %next
shake:
  br i1 %spread, label %wake, label %place
place:
  %placed = call i1 @xt_spread(i32 %k)
  br label %wake
wake:
  %bgo = getelementptr inbounds %xt.slot, ptr @xt_slots, i64 %b, i32 0
  call void @xt_wake(ptr %bgo)
  br label %next
next:
  %spread2 = phi i1 [ %spread, %rouse ], [ true, %wake ]
  %b2 = add i64 %b, 1
  %bmore = icmp ult i64 %b2, %wide
  br i1 %bmore, label %rouse, label %own
own:
  ; Its own part, then what threads have not come to: those that sleep do so for long.
  %c = phi i64 [ 0, %next ], [ %c2, %own ]
  %sum = phi i32 [ 0, %next ], [ %sum2, %own ]
  %ran = call i32 @xt_run(i64 %c)
  %sum2 = add i32 %sum, %ran
  %c2 = add i64 %c, 1
  %cmore = icmp ult i64 %c2, %wide
  br i1 %cmore, label %own, label %finish
finish:
  %left = atomicrmw sub ptr @xt_pending, i32 %sum2 seq_cst
  %last = icmp eq i32 %left, %sum2
  br i1 %last, label %joined, label %wait
wait:
  %looks = load atomic i32, ptr @xt_looks monotonic, align 4
  br label %look
look:
  %i = phi i32 [ 0, %wait ], [ %i2, %pause ], [ 0, %tire ], [ 0, %time ]
  %since = phi i64 [ 0, %wait ], [ %since, %pause ], [ %since, %tire ], [ %since2, %time ]
  %p0 = load atomic i32, ptr @xt_pending acquire, align 4
  %done0 = icmp eq i32 %p0, 0
  br i1 %done0, label %joined, label %pause
pause:
  $pause
  %i2 = add i32 %i, 1
  %again = icmp ult i32 %i2, %looks
  br i1 %again, label %look, label %tire
tire:
  ; Perhaps a thread waits for this processor.
  %apart = call i1 @xt_spread(i32 %k)
  br i1 %apart, label %look, label %time
time:
  %asked = call { i1, i64 } @xt_waits(i64 %since)
  %waits = extractvalue { i1, i64 } %asked, 0
  %since2 = extractvalue { i1, i64 } %asked, 1
  br i1 %waits, label %look, label %rest
rest:
  store atomic i32 1, ptr @xt_waiting seq_cst, align 4
  br label %sleep
sleep:
  %p1 = load atomic i32, ptr @xt_pending seq_cst, align 4
  %done1 = icmp eq i32 %p1, 0
  br i1 %done1, label %awake, label %block
block:
  call void @xt_wait(ptr @xt_pending, i32 %p1)
  br label %sleep
awake:
  store atomic i32 0, ptr @xt_waiting monotonic, align 4
  br label %joined
joined:
  %failed = load atomic i32, ptr @xt_failed acquire, align 4
  %clean = icmp eq i32 %failed, -1
  br i1 %clean, label %leave, label %find
find:
  %f64 = zext i32 %failed to i64
  %result = getelementptr inbounds i64, ptr @xt_results, i64 %f64
  %bad = load i64, ptr %result, align 8
  br label %leave
leave:
  %r = phi i64 [ 0, %joined ], [ %bad, %find ]
  store atomic i32 0, ptr @xt_busy release, align 4
  ret i64 %r
}

define ${linkage}i32 @xdsl_tvm_stop_threads() noinline nounwind {
entry:
  %pair = cmpxchg ptr @xt_busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %pair, 1
  br i1 %mine, label %stop, label %busy
busy:
  ret i32 0
stop:
  store atomic i32 1, ptr @xt_wanted monotonic, align 4
  store atomic i32 1, ptr @xt_stop seq_cst, align 4
  %n = load i32, ptr @xt_started, align 4
  %end = zext i32 %n to i64
  br label %head
head:
  %t = phi i64 [ 1, %stop ], [ %t2, %body ]
  %more = icmp ult i64 %t, %end
  br i1 %more, label %body, label %done
body:
  %go = getelementptr inbounds %xt.slot, ptr @xt_slots, i64 %t, i32 0
  %g = atomicrmw add ptr %go, i32 1 seq_cst
  call void @xt_wake(ptr %go)
  %handle = getelementptr inbounds i64, ptr @xt_handles, i64 %t
  %h = load i64, ptr %handle, align 8
  %r = call i32 @pthread_join(i64 %h, ptr null)
  %t2 = add i64 %t, 1
  br label %head
done:
  call void @xdsl_tvm_forget_threads()
  ret i32 1
}

define ${linkage}void @xdsl_tvm_forget_threads() noinline nounwind {
  call void @llvm.memset.p0.i64(ptr align 128 @xt_slots, i8 0, i64 $slot_bytes,
    i1 false)
  call void @llvm.memset.p0.i64(ptr align 4 @xt_bound, i8 0, i64 $bound_bytes, i1 false)
  store i32 1, ptr @xt_started, align 4
  store atomic i32 0, ptr @xt_pending monotonic, align 4
  store atomic i32 0, ptr @xt_waiting monotonic, align 4
  store atomic i32 0, ptr @xt_stop monotonic, align 4
  store atomic i32 0, ptr @xt_busy release, align 4
  ret void
}
