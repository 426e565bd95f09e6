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

// -----

// No target.
tir.func @no_target(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %p = tir.allocate [32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
  }
}
// CHECK: tir.allocate in @no_target: memory of a warp needs a target for its size; run tir-bind-target

// -----

// A number of threads that is not constant.
tir.func @symbolic_threads(%a: !tir.handle, %n: i32) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %n {
    %p = tir.allocate [32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
  }
}
// CHECK: tir.launch_thread in @symbolic_threads: warp memory needs a constant number of threads; specialize it

// -----

// Two numbers of threads.
tir.func @two_extents(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %p = tir.allocate [32] : !tir.ptr<f32, "warp">
  %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
  }
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    %y = tir.load %A[%tx] : f32
    tir.store %y, %W[%tx] : f32
  }
}
// CHECK: tir.store in @two_extents: warp memory is accessed by 16 threads here and 32 elsewhere; launch one number of them

// -----

// No launch of threads. TVM asks for one inside of the allocation.
// CASE: LowerWarpMemory.9
tir.func @no_launch(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %p = tir.allocate [32] : !tir.ptr<f32, "warp">
  %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
  %x = tir.load %A[%c0] : f32
  tir.store %x, %W[%c0] : f32
}
// CHECK: tir.store in @no_launch: uses warp memory outside a launch of threadIdx.x; move it inside

// -----

// A launch of another axis.
tir.func @other_axis(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %ty = "threadIdx.y" to %c32 {
    %p = tir.allocate [32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
    %x = tir.load %A[%ty] : f32
    tir.store %x, %W[%ty] : f32
  }
}
// CHECK: tir.store in @other_axis: uses warp memory outside a launch of threadIdx.x; move it inside

// -----

// A view of another shape.
tir.func @other_shape(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %p = tir.allocate [64] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<2x32xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%c0, %tx] : f32
  }
}
// CHECK: tir.decl_buffer in @other_shape: a buffer in memory of a warp has its elements and one dimension; run tir-flatten-buffer

// -----

// A view of other elements.
tir.func @other_element(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %p = tir.allocate [32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xi32, "warp">
    tir.store %tx, %W[%tx] : i32
  }
}
// CHECK: tir.decl_buffer in @other_element: a buffer in memory of a warp has its elements and one dimension; run tir-flatten-buffer

// -----

// A vector with gaps.
tir.func @gaps(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %p = tir.allocate [128] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<128xf32, "warp">
    %x = tir.load %A[%tx] : f32
    %v = tir.broadcast %x : vector<2xf32>
    %t = tir.mul %tx, %c4 : i32
    %r = tir.ramp %t, %c2 : vector<2xi32>
    tir.store %v, %W[%r] : vector<2xf32>
  }
}
// CHECK: tir.store in @gaps: vectors in warp memory must be contiguous; access elements one by one

// -----

// A vector of several lanes.
tir.func @several_lanes(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %p = tir.allocate [32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
    %t = tir.floormod %tx, %c16 : i32
    %r = tir.ramp %t, %c1 : vector<2xi32>
    %y = tir.load %W[%r] : vector<2xf32>
  }
}
// CHECK: tir.load in @several_lanes: a vector of 2 elements in warp memory may belong to several lanes; access elements one by one

// -----

// A masked load from another lane.
tir.func @masked(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %p = tir.allocate [32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
    %k = tir.cmp lt %tx, %c8 : i32
    %y = tir.load %W[%c0] if %k : f32
    tir.store %y, %A[%tx] : f32
  }
}
// CHECK: tir.load in @masked: reads other lanes of a warp under a mask; load without a mask

// -----

// A loop that not all lanes run as often.
tir.func @loop(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %p = tir.allocate [32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
    tir.for %i = %c0 to %tx {
      %y = tir.load %W[%c0] : f32
      tir.store %y, %A[%tx] : f32
    }
  }
}
// CHECK: tir.load in @loop: reads other lanes of a warp under tir.for, which they may not reach; load before it

// -----

// A fill adds the lane itself. TVM drops the term, and fills as if it were not there.
// CASE: LowerWarpMemory.8
tir.func @fill_of_lane(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %p = tir.allocate [256] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<256xf32, "warp">
    %x = tir.load %A[%tx] : f32
    %t = tir.mul %tx, %c8 : i32
    %r = tir.call "mma_fill"(%c8, %p, %t) : (i32, !tir.ptr<f32, "warp">, i32) -> f32
  }
}
// CHECK: tir.call in @fill_of_lane: mma_fill adds 8 elements for each lane before to its offset, and must reach the own lane so; give the multiple of what all lanes have together

// -----

// Lanes that have 4 elements at a time do not store 8.
tir.func @store_of_lanes(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %p = tir.allocate [256] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<256xf32, "warp">
    %x = tir.load %A[%tx] : f32
    %r = tir.call "mma_fill"(%c4, %p, %c0) : (i32, !tir.ptr<f32, "warp">, i32) -> f32
    %D = tir.data %A : !tir.ptr<f32>
    %s = tir.call "mma_store"(%c16, %c16, %D, %p, %c0, %c16) : (i32, i32, !tir.ptr<f32>, !tir.ptr<f32, "warp">, i32, i32) -> f32
  }
}
// CHECK: tir.call in @store_of_lanes: mma_store adds 8 elements for each lane before to its offset, and must reach the own lane so; give the multiple of what all lanes have together

// -----

// A product has more elements than the lane.
tir.func @products_of_lanes(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %p = tir.allocate [128] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<128xf32, "warp">
    %x = tir.load %A[%tx] : f32
    %s = tir.allocate [256] : !tir.ptr<f16, "local">
    %t = tir.mul %tx, %c4 : i32
    %r = tir.call "mma_fill"(%c4, %p, %c0) : (i32, !tir.ptr<f32, "warp">, i32) -> f32
    %no = tir.const false
    %shape = tir.string "m16n16k16"
    %row = tir.string "row"
    %col = tir.string "col"
    %fp16 = tir.string "fp16"
    %fp32 = tir.string "fp32"
    %d = tir.call "ptx_mma"(%shape, %row, %col, %fp16, %fp16, %fp32, %s, %c0, %s, %c0, %p, %t, %no) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "local">, i32, !tir.ptr<f32, "warp">, i32, i1) -> f32
  }
}
// CHECK: tir.call in @products_of_lanes: 8 elements from the offset in operand 11 on may belong to several lanes, which have 4 at a time; store as many for each lane

// -----

// A product of no shape.
tir.func @no_shape(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %p = tir.allocate [128] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<128xf32, "warp">
    %x = tir.load %A[%tx] : f32
    %s = tir.allocate [256] : !tir.ptr<f16, "local">
    %t = tir.mul %tx, %c4 : i32
    %r = tir.call "mma_fill"(%c4, %p, %c0) : (i32, !tir.ptr<f32, "warp">, i32) -> f32
    %no = tir.const false
    %shape = tir.string "large"
    %row = tir.string "row"
    %col = tir.string "col"
    %fp16 = tir.string "fp16"
    %fp32 = tir.string "fp32"
    %d = tir.call "ptx_mma"(%shape, %row, %col, %fp16, %fp16, %fp32, %s, %c0, %s, %c0, %p, %t, %no) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "local">, i32, !tir.ptr<f32, "warp">, i32, i1) -> f32
  }
}
// CHECK: tir.call in @no_shape: names no shape and dtypes of a product, such as m16n8k16 of fp16 to fp32; write one

// -----

// A product of the elements of another lane.
tir.func @product_of_other_lane(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %p = tir.allocate [128] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<128xf32, "warp">
    %x = tir.load %A[%tx] : f32
    %s = tir.allocate [256] : !tir.ptr<f16, "local">
    %r = tir.call "mma_fill"(%c4, %p, %c0) : (i32, !tir.ptr<f32, "warp">, i32) -> f32
    %no = tir.const false
    %shape = tir.string "m16n8k16"
    %row = tir.string "row"
    %col = tir.string "col"
    %fp16 = tir.string "fp16"
    %fp32 = tir.string "fp32"
    %d = tir.call "ptx_mma"(%shape, %row, %col, %fp16, %fp16, %fp32, %s, %c0, %s, %c0, %p, %c4, %no) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "local">, i32, !tir.ptr<f32, "warp">, i32, i1) -> f32
  }
}
// CHECK: tir.call in @product_of_other_lane: may access registers of another lane, and can do so only for its own; index the memory so that threadIdx.x has the element
