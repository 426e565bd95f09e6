// RUN: xdsl-opt %s -p tir-lower-warp-memory --split-input-file --verify-diagnostics | filecheck %s

// No store.
// CASE: LowerWarpMemory.9
tir.func @nostore(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %neg = tir.const -1 : i32
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %c8 = tir.const 8 : i32
  %c31 = tir.const 31 : i32
  %c32 = tir.const 32 : i32
  %threads = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %threads {
    %p = tir.allocate [32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
    %x = tir.load %A[%tx] : f32
    %y = tir.load %W[%tx] : f32
  }
}
// CHECK: tir.allocate in @nostore: nothing is stored in this memory of a warp; store before use

// -----

// 24 threads.
// CASE: LowerWarpMemory.9
tir.func @threads(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %neg = tir.const -1 : i32
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %c8 = tir.const 8 : i32
  %c31 = tir.const 31 : i32
  %c32 = tir.const 32 : i32
  %threads = tir.const 24 : i32
  tir.launch_thread %tx = "threadIdx.x" to %threads {
    %p = tir.allocate [32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
  }
}
// CHECK: tir.launch_thread in @threads: 24 threads do not divide a warp of 32, whose memory they use; launch as many as divide it

// -----

// Steps that differ.
// CASE: LowerWarpMemory.9
tir.func @steps(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %neg = tir.const -1 : i32
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %c8 = tir.const 8 : i32
  %c31 = tir.const 31 : i32
  %c32 = tir.const 32 : i32
  %threads = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %threads {
    %p = tir.allocate [64] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<64xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
    %t = tir.mul %tx, %c2 : i32
    tir.store %x, %W[%t] : f32
  }
}
// CHECK: tir.store in @steps: stores to warp memory advance by 2 elements with threadIdx.x here and by 1 elsewhere; use one of them

// -----

// A negative step.
// CASE: LowerWarpMemory.9
tir.func @negative(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %neg = tir.const -1 : i32
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %c8 = tir.const 8 : i32
  %c31 = tir.const 31 : i32
  %c32 = tir.const 32 : i32
  %threads = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %threads {
    %p = tir.allocate [32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
    %x = tir.load %A[%tx] : f32
    %r = tir.sub %c31, %tx : i32
    tir.store %x, %W[%r] : f32
  }
}
// CHECK: tir.store in @negative: what a lane stores in warp memory must advance by a positive constant with threadIdx.x; index it by threadIdx.x times a constant

// -----

// The register depends on the lane.
// CASE: LowerWarpMemory.12
tir.func @register(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %neg = tir.const -1 : i32
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %c8 = tir.const 8 : i32
  %c31 = tir.const 31 : i32
  %c32 = tir.const 32 : i32
  %threads = tir.const 16 : i32
  tir.launch_thread %tx = "threadIdx.x" to %threads {
    %p = tir.allocate [32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
    %s = tir.add %tx, %c1 : i32
    %y = tir.load %W[%s] : f32
  }
}
// CHECK: tir.load in @register: failed to rewrite load to shuffle: which register it reads may differ between the lanes; index the memory so that only the lane depends on threadIdx.x

// -----

// 64 threads.
// CASE: LowerWarpMemory.12
tir.func @many(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %neg = tir.const -1 : i32
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %c8 = tir.const 8 : i32
  %c31 = tir.const 31 : i32
  %c32 = tir.const 32 : i32
  %threads = tir.const 64 : i32
  tir.launch_thread %tx = "threadIdx.x" to %threads {
    %p = tir.allocate [64] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<64xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
  }
}
// CHECK: tir.launch_thread in @many: 64 threads do not divide a warp of 32, whose memory they use; launch as many as divide it

// -----

// A store to another lane, which TVM does in the own registers.
// CASE: LowerWarpMemory.9
tir.func @other(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %neg = tir.const -1 : i32
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %c8 = tir.const 8 : i32
  %c31 = tir.const 31 : i32
  %c32 = tir.const 32 : i32
  %threads = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %threads {
    %p = tir.allocate [64] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<64xf32, "warp">
    %x = tir.load %A[%tx] : f32
    %s = tir.add %tx, %c1 : i32
    tir.store %x, %W[%s] : f32
  }
}
// CHECK: tir.store in @other: may access registers of another lane, and can do so only for its own; index the memory so that threadIdx.x has the element

// -----

// A size that is not constant.
// CASE: LowerWarpMemory.9
tir.func @symbolic(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %neg = tir.const -1 : i32
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %c8 = tir.const 8 : i32
  %c31 = tir.const 31 : i32
  %c32 = tir.const 32 : i32
  %threads = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %threads {
    %p = tir.allocate [%c32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
  }
}
// CHECK: tir.allocate in @symbolic: memory of a warp needs a constant size; specialize it

// -----

// An address.
// CASE: LowerWarpMemory.9
tir.func @address(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %neg = tir.const -1 : i32
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %c8 = tir.const 8 : i32
  %c31 = tir.const 31 : i32
  %c32 = tir.const 32 : i32
  %threads = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %threads {
    %p = tir.allocate [32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
    %q = tir.address_of %W[%tx] : !tir.ptr<f32, "warp">
  }
}
// CHECK: tir.address_of in @address: cannot access the address of warp memory directly; use loads, stores and matrix instructions

// -----

// Not all lanes reach the load.
// CASE: LowerWarpMemory.11
tir.func @diverged(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %neg = tir.const -1 : i32
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %c8 = tir.const 8 : i32
  %c31 = tir.const 31 : i32
  %c32 = tir.const 32 : i32
  %threads = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %threads {
    %p = tir.allocate [32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
    %k = tir.cmp lt %tx, %c8 : i32
    tir.if %k {
    %y = tir.load %W[%c0] : f32
    tir.store %y, %A[%tx] : f32
    }
  }
}
// CHECK: tir.load in @diverged: reads other lanes of a warp under tir.if, which they may not reach; load before it
