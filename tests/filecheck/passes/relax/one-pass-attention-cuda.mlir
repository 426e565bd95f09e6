// RUN: xdsl-opt %s --split-input-file --passes 'relax-one-pass-attention{target="cuda -arch=sm_80" least_queries=1}' | filecheck %s
// RUN: xdsl-opt %s --split-input-file --passes 'relax-one-pass-attention{target="cuda -arch=sm_75" least_queries=1}' | filecheck %s --check-prefix=OLD

// Without `-p`, as threads race until tir-thread-sync: tests/unit executes such kernels.

!half = tensor<1x80x1x32xf16>
!single = tensor<1x80x1x32xf32>

// CHECK-LABEL: relax.func @half
// CHECK: relax.call_tir @one_pass_attention(%q, %k, %v)
// OLD-LABEL: relax.func @half
// OLD: relax.nn.attention
relax.func @half(%q: !half, %k: !half, %v: !half) -> !half attributes {global_symbol = "half"} {
  %y = relax.nn.attention %q, %k, %v : (!half, !half, !half) -> !half
  relax.return %y : !half
}

// CHECK-LABEL: relax.func @single
// CHECK: relax.call_tir @one_pass_attention1(%q, %k, %v)
// OLD-LABEL: relax.func @single
// OLD: relax.call_tir @one_pass_attention(%q, %k, %v)
relax.func @single(%q: !single, %k: !single, %v: !single) -> !single attributes {global_symbol = "single"} {
  %y = relax.nn.attention %q, %k, %v : (!single, !single, !single) -> !single
  relax.return %y : !single
}

// Two blocks of up to 64 queries, four warps each; keys and values are copied ahead.
// CHECK: tir.func @one_pass_attention(
// CHECK-SAME: tir.is_scheduled = true
// CHECK: thread_binding "blockIdx.x"
// CHECK: thread_binding "threadIdx.y"
// CHECK: thread_binding "threadIdx.x"
// CHECK: tir.alloc_buffer "query_tile" : !tir.buffer<64x32xf16, "shared.dyn">
// CHECK: software_pipeline_stage = [0 : i32, 0 : i32, 1 : i32]
// CHECK: tir.alloc_buffer "keys" : !tir.buffer<64x32xf16, "shared.dyn">
// CHECK: tir.call "ptx_mma"
// CHECK: tir.call "tvm_warp_shuffle"
// CHECK: tir.call "ptx_mma"

// CHECK: tir.func @one_pass_attention1(
// CHECK: tir.alloc_buffer "weights" : !tir.buffer<64x32xf32, "shared.dyn">
// CHECK: tir.call "fma"

// -----

!wide = tensor<1x80x1x160xf16>
!single = tensor<1x80x1x160xf32>

// Tiles of keys are half as long, and queries stay in shared memory.
// CHECK-LABEL: relax.func @wide
// CHECK: relax.call_tir @one_pass_attention(
// CHECK: relax.call_tir @one_pass_attention1(
relax.func @wide(%q: !wide, %s: !single) -> !single attributes {global_symbol = "wide"} {
  %x = relax.nn.attention %q, %q, %q : (!wide, !wide, !wide) -> !wide
  %y = relax.nn.attention %s, %s, %s : (!single, !single, !single) -> !single
  relax.return %y : !single
}
// CHECK: tir.func @one_pass_attention(
// CHECK-NOT: tir.alloc_buffer "queries"
// CHECK: tir.alloc_buffer "query_tile" : !tir.buffer<64x160xf16, "shared.dyn">
// CHECK: tir.alloc_buffer "keys" : !tir.buffer<32x160xf16, "shared.dyn">
// CHECK: tir.alloc_buffer "query" : !tir.buffer<8xf16, "local">
// CHECK: tir.func @one_pass_attention1(
// CHECK: tir.alloc_buffer "queries" : !tir.buffer<32x160xf32, "shared.dyn">
// CHECK: tir.alloc_buffer "keys" : !tir.buffer<16x160xf32, "shared.dyn">

// -----

!any = tensor<1x?x2x32xf16, #relax.dims<[1, n, 2, 32]>>

// CHECK-LABEL: relax.func @symbolic
// CHECK: relax.call_tir @one_pass_attention(
relax.func @symbolic<n>(%q: !any) -> !any attributes {global_symbol = "symbolic"} {
  %y = relax.nn.attention %q, %q, %q : (!any, !any, !any) -> !any
  relax.return %y : !any
}
// CHECK: tir.func @one_pass_attention(
// CHECK: thread_binding "blockIdx.y"
// CHECK: thread_binding "blockIdx.x"

// -----

!large = tensor<1x80x1x264xf16>

// CHECK-LABEL: relax.func @large
// CHECK: relax.nn.attention
relax.func @large(%q: !large) -> !large attributes {global_symbol = "large"} {
  %y = relax.nn.attention %q, %q, %q : (!large, !large, !large) -> !large
  relax.return %y : !large
}
