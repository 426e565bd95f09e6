// RUN: xdsl-opt %s -p tir-bf16-compute-legalize --split-input-file --verify-diagnostics | filecheck %s

// CASE: BF16ComputeLegalize.10
tir.func @no_target(%x : bf16) -> bf16 {
  tir.ret %x : bf16
}
// CHECK: tir.func @no_target: tir-bf16-compute-legalize goes by the target of the function, which has none; run tir-bind-target first

// -----

tir.func @allreduce(%a : !tir.handle) attributes {target = #tir.target<"cuda", arch = "sm_75">} {
  %A = tir.match_buffer %a : !tir.buffer<32xbf16>
  %c0 = tir.const 0 : i32
  %c32 = tir.const 32 : i32
  %r = tir.reducer (%l : bf16, %m : bf16) identity [0.0 : bf16] {
    %s = tir.add %l, %m : bf16
    tir.yield %s : bf16
  }
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %x = tir.load %A[%t] : bf16
    tir.attr "reduce_scope" (%r) = 0 : i32 {
      tir.thread_allreduce [%x] into [%A[%t]] over [%t]
    }
  }
}
// CHECK: tir.thread_allreduce in @allreduce: it stores to memory that stays bfloat16, but reduces in float32; reduce into an allocation of constant size that is accessed by element only
