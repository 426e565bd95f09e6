// REQUIRES: llvmlite
// RUN: xdsl-opt %s -t llvm-ir | filecheck %s
// RUN: xdsl-opt %s -t 'asm{triple="x86_64-pc-linux-gnu"}' | filecheck %s --check-prefix=FUTEX
// RUN: xdsl-opt %s -t 'asm{triple="aarch64-linux-gnu"}' | filecheck %s --check-prefix=ARM
// RUN: xdsl-opt %s -t 'asm{triple="arm64-apple-darwin"}' | filecheck %s --check-prefix=MAC
// RUN: xdsl-opt %s -t 'asm{triple="x86_64-pc-windows-msvc"}' | filecheck %s --check-prefix=WINDOWS

// Parallel loops come with the pool that they run on, or with one that has no threads.

// CHECK:         define internal void @fill_parallel(
// CHECK:         define internal i64 @fill_chunk(
// CHECK:         define void @fill(
// CHECK:         define weak i64 @xdsl_tvm_parallel_for(

// FUTEX:         fill:
// FUTEX:         callq xdsl_tvm_parallel_for
// FUTEX:         pause
// FUTEX:         callq pthread_create
// FUTEX:         .weak xdsl_tvm_parallel_for

// ARM:           bl xdsl_tvm_parallel_for
// ARM:           {{bl?}} syscall
// ARM:           .weak xdsl_tvm_parallel_for

// MAC:           bl _xdsl_tvm_parallel_for
// MAC:           bl _pthread_cond_wait
// MAC:           .weak_definition _xdsl_tvm_parallel_for

// WINDOWS:       callq xdsl_tvm_parallel_for
// WINDOWS-NOT:   pthread_create
// WINDOWS:       .weak xdsl_tvm_parallel_for

tir.func @fill(%a: !tir.handle, %x: f32) attributes {global_symbol = "fill"} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n parallel {
    tir.store %x, %A[%i] : f32
  }
}
