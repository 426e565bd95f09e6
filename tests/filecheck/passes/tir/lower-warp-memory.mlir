// RUN: xdsl-opt %s -p tir-lower-warp-memory --split-input-file | filecheck %s

// Two registers; the own lane needs no shuffle.
// CASE: LowerWarpMemory.1
tir.func @two(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
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
    %j = tir.add %tx, %c32 : i32
    tir.store %x, %W[%j] : f32
    %y = tir.load %W[%j] : f32
    tir.store %y, %A[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @two(
// CHECK:      tir.launch_thread %[[tx:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK:      %[[p:.*]] = tir.allocate [2] : !tir.ptr<f32, "local">
// CHECK:      %[[W:.*]] = tir.decl_buffer "W" %[[p]] : !tir.buffer<64xf32, "local">
// CHECK:      %[[x:.*]] = tir.load %{{.*}}[%[[tx]]] : f32
// CHECK:      %[[v4:.*]] = tir.const 0 : i32
// CHECK:      tir.store %[[x]], %[[W]][%[[v4]]] : f32
// CHECK:      %[[v5:.*]] = tir.const 1 : i32
// CHECK:      tir.store %[[x]], %[[W]][%[[v5]]] : f32
// CHECK:      %[[v6:.*]] = tir.const 1 : i32
// CHECK:      %[[y:.*]] = tir.load %[[W]][%[[v6]]] : f32
// CHECK:      tir.store %[[y]], %{{.*}}[%[[tx]]] : f32

// -----

// Another lane.
// CASE: LowerWarpMemory.2
tir.func @exchange(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
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
    %m = tir.floormod %tx, %c4 : i32
    %n = tir.mul %m, %c8 : i32
    %d = tir.floordiv %tx, %c4 : i32
    %l = tir.add %n, %d : i32
    %y = tir.load %W[%l] : f32
    tir.store %y, %A[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @exchange(
// CHECK:      tir.launch_thread %[[tx:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK:      %[[p:.*]] = tir.allocate [1] : !tir.ptr<f32, "local">
// CHECK:      %[[W:.*]] = tir.decl_buffer "W" %[[p]] : !tir.buffer<32xf32, "local">
// CHECK:      %[[x:.*]] = tir.load %{{.*}}[%[[tx]]] : f32
// CHECK:      %[[v4:.*]] = tir.const 0 : i32
// CHECK:      tir.store %[[x]], %[[W]][%[[v4]]] : f32
// CHECK:      %[[v5:.*]] = tir.call "tvm_warp_activemask"() : () -> ui32
// CHECK:      %[[v6:.*]] = tir.const 0 : i32
// CHECK:      %[[v7:.*]] = tir.load %[[W]][%[[v6]]] : f32
// CHECK:      %[[v8:.*]] = tir.const 4 : i32
// CHECK:      %[[v9:.*]] = tir.floormod %[[tx]], %[[v8]] : i32
// CHECK:      %[[v10:.*]] = tir.const 8 : i32
// CHECK:      %[[v11:.*]] = tir.mul %[[v9]], %[[v10]] : i32
// CHECK:      %[[v12:.*]] = tir.floordiv %[[tx]], %[[v8]] : i32
// CHECK:      %[[v13:.*]] = tir.add %[[v11]], %[[v12]] : i32
// CHECK:      %[[v14:.*]] = tir.const 32 : i32
// CHECK:      %[[v15:.*]] = tir.const 32 : i32
// CHECK:      %[[y:.*]] = tir.call "tvm_warp_shuffle"(%[[v5]], %[[v7]], %[[v13]], %[[v14]], %[[v15]]) : (ui32, f32, i32, i32, i32) -> f32
// CHECK:      tir.store %[[y]], %{{.*}}[%[[tx]]] : f32

// -----

// Rotation; half a warp.
// CASE: LowerWarpMemory.3
tir.func @half(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
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
    %p = tir.allocate [16] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<16xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
    %s = tir.add %tx, %c1 : i32
    %l = tir.floormod %s, %threads : i32
    %y = tir.load %W[%l] : f32
    tir.store %y, %A[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @half(
// CHECK:      tir.launch_thread %[[tx:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK:      %[[p:.*]] = tir.allocate [1] : !tir.ptr<f32, "local">
// CHECK:      %[[W:.*]] = tir.decl_buffer "W" %[[p]] : !tir.buffer<16xf32, "local">
// CHECK:      %[[x:.*]] = tir.load %{{.*}}[%[[tx]]] : f32
// CHECK:      %[[v4:.*]] = tir.const 0 : i32
// CHECK:      tir.store %[[x]], %[[W]][%[[v4]]] : f32
// CHECK:      %[[v5:.*]] = tir.call "tvm_warp_activemask"() : () -> ui32
// CHECK:      %[[v6:.*]] = tir.const 0 : i32
// CHECK:      %[[v7:.*]] = tir.load %[[W]][%[[v6]]] : f32
// CHECK:      %[[v8:.*]] = tir.const 1 : i32
// CHECK:      %[[v9:.*]] = tir.add %[[tx]], %[[v8]] : i32
// CHECK:      %[[v10:.*]] = tir.const 16 : i32
// CHECK:      %[[v11:.*]] = tir.floormod %[[v9]], %[[v10]] : i32
// CHECK:      %[[v12:.*]] = tir.const 16 : i32
// CHECK:      %[[v13:.*]] = tir.const 32 : i32
// CHECK:      %[[y:.*]] = tir.call "tvm_warp_shuffle"(%[[v5]], %[[v7]], %[[v11]], %[[v12]], %[[v13]]) : (ui32, f32, i32, i32, i32) -> f32
// CHECK:      tir.store %[[y]], %{{.*}}[%[[tx]]] : f32

// -----

// Two elements that follow each other in each lane.
// CASE: LowerWarpMemory.4
tir.func @strided(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
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
    tir.for %i = %c0 to %c2 {
    %t = tir.mul %tx, %c2 : i32
    %k = tir.add %t, %i : i32
    tir.store %x, %W[%k] : f32
    %r = tir.sub %c31, %tx : i32
    %u = tir.mul %r, %c2 : i32
    %l = tir.add %u, %i : i32
    %y = tir.load %W[%l] : f32
    tir.store %y, %A[%tx] : f32
    }
  }
}
// CHECK-LABEL: tir.func @strided(
// CHECK:      tir.launch_thread %[[tx:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK:      %[[p:.*]] = tir.allocate [2] : !tir.ptr<f32, "local">
// CHECK:      %[[W:.*]] = tir.decl_buffer "W" %[[p]] : !tir.buffer<64xf32, "local">
// CHECK:      %[[x:.*]] = tir.load %{{.*}}[%[[tx]]] : f32
// CHECK:      tir.for %[[i:.*]] = %{{.*}} to %{{.*}} {
// CHECK:      tir.store %[[x]], %[[W]][%[[i]]] : f32
// CHECK:      %[[v5:.*]] = tir.call "tvm_warp_activemask"() : () -> ui32
// CHECK:      %[[v6:.*]] = tir.load %[[W]][%[[i]]] : f32
// CHECK:      %[[v7:.*]] = tir.const 31 : i32
// CHECK:      %[[v8:.*]] = tir.sub %[[v7]], %[[tx]] : i32
// CHECK:      %[[v9:.*]] = tir.const 32 : i32
// CHECK:      %[[v10:.*]] = tir.const 32 : i32
// CHECK:      %[[y:.*]] = tir.call "tvm_warp_shuffle"(%[[v5]], %[[v6]], %[[v8]], %[[v9]], %[[v10]]) : (ui32, f32, i32, i32, i32) -> f32
// CHECK:      tir.store %[[y]], %{{.*}}[%[[tx]]] : f32

// -----

// 31 elements.
// CASE: LowerWarpMemory.5
tir.func @size31(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
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
    %p = tir.allocate [31] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<31xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
    %y = tir.load %W[%tx] : f32
    tir.store %y, %A[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @size31(
// CHECK:      tir.launch_thread %[[tx:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK:      %[[p:.*]] = tir.allocate [1] : !tir.ptr<f32, "local">
// CHECK:      %[[W:.*]] = tir.decl_buffer "W" %[[p]] : !tir.buffer<31xf32, "local">
// CHECK:      %[[x:.*]] = tir.load %{{.*}}[%[[tx]]] : f32
// CHECK:      %[[v4:.*]] = tir.const 0 : i32
// CHECK:      tir.store %[[x]], %[[W]][%[[v4]]] : f32
// CHECK:      %[[v5:.*]] = tir.const 0 : i32
// CHECK:      %[[y:.*]] = tir.load %[[W]][%[[v5]]] : f32
// CHECK:      tir.store %[[y]], %{{.*}}[%[[tx]]] : f32

// -----

// 32 elements.
// CASE: LowerWarpMemory.5
tir.func @size32(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
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
    %y = tir.load %W[%tx] : f32
    tir.store %y, %A[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @size32(
// CHECK:      tir.launch_thread %[[tx:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK:      %[[p:.*]] = tir.allocate [1] : !tir.ptr<f32, "local">
// CHECK:      %[[W:.*]] = tir.decl_buffer "W" %[[p]] : !tir.buffer<32xf32, "local">
// CHECK:      %[[x:.*]] = tir.load %{{.*}}[%[[tx]]] : f32
// CHECK:      %[[v4:.*]] = tir.const 0 : i32
// CHECK:      tir.store %[[x]], %[[W]][%[[v4]]] : f32
// CHECK:      %[[v5:.*]] = tir.const 0 : i32
// CHECK:      %[[y:.*]] = tir.load %[[W]][%[[v5]]] : f32
// CHECK:      tir.store %[[y]], %{{.*}}[%[[tx]]] : f32

// -----

// 33 elements.
// CASE: LowerWarpMemory.5
tir.func @size33(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
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
    %p = tir.allocate [33] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<33xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
    %y = tir.load %W[%tx] : f32
    tir.store %y, %A[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @size33(
// CHECK:      tir.launch_thread %[[tx:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK:      %[[p:.*]] = tir.allocate [2] : !tir.ptr<f32, "local">
// CHECK:      %[[W:.*]] = tir.decl_buffer "W" %[[p]] : !tir.buffer<33xf32, "local">
// CHECK:      %[[x:.*]] = tir.load %{{.*}}[%[[tx]]] : f32
// CHECK:      %[[v4:.*]] = tir.const 0 : i32
// CHECK:      tir.store %[[x]], %[[W]][%[[v4]]] : f32
// CHECK:      %[[v5:.*]] = tir.const 0 : i32
// CHECK:      %[[y:.*]] = tir.load %[[W]][%[[v5]]] : f32
// CHECK:      tir.store %[[y]], %{{.*}}[%[[tx]]] : f32

// -----

// 63 elements.
// CASE: LowerWarpMemory.5
tir.func @size63(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
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
    %p = tir.allocate [63] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<63xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
    %y = tir.load %W[%tx] : f32
    tir.store %y, %A[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @size63(
// CHECK:      tir.launch_thread %[[tx:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK:      %[[p:.*]] = tir.allocate [2] : !tir.ptr<f32, "local">
// CHECK:      %[[W:.*]] = tir.decl_buffer "W" %[[p]] : !tir.buffer<63xf32, "local">
// CHECK:      %[[x:.*]] = tir.load %{{.*}}[%[[tx]]] : f32
// CHECK:      %[[v4:.*]] = tir.const 0 : i32
// CHECK:      tir.store %[[x]], %[[W]][%[[v4]]] : f32
// CHECK:      %[[v5:.*]] = tir.const 0 : i32
// CHECK:      %[[y:.*]] = tir.load %[[W]][%[[v5]]] : f32
// CHECK:      tir.store %[[y]], %{{.*}}[%[[tx]]] : f32

// -----

// 64 elements.
// CASE: LowerWarpMemory.5
tir.func @size64(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
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
    %y = tir.load %W[%tx] : f32
    tir.store %y, %A[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @size64(
// CHECK:      tir.launch_thread %[[tx:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK:      %[[p:.*]] = tir.allocate [2] : !tir.ptr<f32, "local">
// CHECK:      %[[W:.*]] = tir.decl_buffer "W" %[[p]] : !tir.buffer<64xf32, "local">
// CHECK:      %[[x:.*]] = tir.load %{{.*}}[%[[tx]]] : f32
// CHECK:      %[[v4:.*]] = tir.const 0 : i32
// CHECK:      tir.store %[[x]], %[[W]][%[[v4]]] : f32
// CHECK:      %[[v5:.*]] = tir.const 0 : i32
// CHECK:      %[[y:.*]] = tir.load %[[W]][%[[v5]]] : f32
// CHECK:      tir.store %[[y]], %{{.*}}[%[[tx]]] : f32

// -----

// 65 elements.
// CASE: LowerWarpMemory.5
tir.func @size65(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
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
    %p = tir.allocate [65] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<65xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
    %y = tir.load %W[%tx] : f32
    tir.store %y, %A[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @size65(
// CHECK:      tir.launch_thread %[[tx:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK:      %[[p:.*]] = tir.allocate [3] : !tir.ptr<f32, "local">
// CHECK:      %[[W:.*]] = tir.decl_buffer "W" %[[p]] : !tir.buffer<65xf32, "local">
// CHECK:      %[[x:.*]] = tir.load %{{.*}}[%[[tx]]] : f32
// CHECK:      %[[v4:.*]] = tir.const 0 : i32
// CHECK:      tir.store %[[x]], %[[W]][%[[v4]]] : f32
// CHECK:      %[[v5:.*]] = tir.const 0 : i32
// CHECK:      %[[y:.*]] = tir.load %[[W]][%[[v5]]] : f32
// CHECK:      tir.store %[[y]], %{{.*}}[%[[tx]]] : f32

// -----

// Only the own lane.
// CASE: LowerWarpMemory.6
tir.func @own(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
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
    %v = tir.load %W[%tx] : f32
    %y = tir.add %v, %x : f32
    tir.store %y, %W[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @own(
// CHECK:      tir.launch_thread %[[tx:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK:      %[[p:.*]] = tir.allocate [1] : !tir.ptr<f32, "local">
// CHECK:      %[[W:.*]] = tir.decl_buffer "W" %[[p]] : !tir.buffer<32xf32, "local">
// CHECK:      %[[x:.*]] = tir.load %{{.*}}[%[[tx]]] : f32
// CHECK:      %[[v4:.*]] = tir.const 0 : i32
// CHECK:      tir.store %[[x]], %[[W]][%[[v4]]] : f32
// CHECK:      %[[v5:.*]] = tir.const 0 : i32
// CHECK:      %[[v:.*]] = tir.load %[[W]][%[[v5]]] : f32
// CHECK:      %[[y:.*]] = tir.add %[[v]], %[[x]] : f32
// CHECK:      %[[v8:.*]] = tir.const 0 : i32
// CHECK:      tir.store %[[y]], %[[W]][%[[v8]]] : f32

// -----

// Vectors of a lane.
// CASE: LowerWarpMemory.7
tir.func @vectors(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
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
    %t = tir.mul %tx, %c2 : i32
    %r = tir.ramp %t, %c1 : vector<2xi32>
    %v = tir.broadcast %x : vector<2xf32>
    tir.store %v, %W[%r] : vector<2xf32>
    %y = tir.load %W[%r] : vector<2xf32>
    %u = tir.sub %c31, %tx : i32
    %s = tir.mul %u, %c2 : i32
    %q = tir.ramp %s, %c1 : vector<2xi32>
    %z = tir.load %W[%q] : vector<2xf32>
  }
}
// CHECK-LABEL: tir.func @vectors(
// CHECK:      tir.launch_thread %[[tx:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK:      %[[p:.*]] = tir.allocate [2] : !tir.ptr<f32, "local">
// CHECK:      %[[W:.*]] = tir.decl_buffer "W" %[[p]] : !tir.buffer<64xf32, "local">
// CHECK:      %[[x:.*]] = tir.load %{{.*}}[%[[tx]]] : f32
// CHECK:      %[[v:.*]] = tir.broadcast %[[x]] : vector<2xf32>
// CHECK:      %[[v5:.*]] = tir.const 0 : i32
// CHECK:      %[[v6:.*]] = tir.const 1 : i32
// CHECK:      %[[v7:.*]] = tir.ramp %[[v5]], %[[v6]] : vector<2xi32>
// CHECK:      tir.store %[[v]], %[[W]][%[[v7]]] : vector<2xf32>
// CHECK:      %[[v8:.*]] = tir.const 0 : i32
// CHECK:      %[[v9:.*]] = tir.const 1 : i32
// CHECK:      %[[v10:.*]] = tir.ramp %[[v8]], %[[v9]] : vector<2xi32>
// CHECK:      %[[y:.*]] = tir.load %[[W]][%[[v10]]] : vector<2xf32>
// CHECK:      %[[v12:.*]] = tir.call "tvm_warp_activemask"() : () -> ui32
// CHECK:      %[[v13:.*]] = tir.const 0 : i32
// CHECK:      %[[v14:.*]] = tir.const 1 : i32
// CHECK:      %[[v15:.*]] = tir.ramp %[[v13]], %[[v14]] : vector<2xi32>
// CHECK:      %[[v16:.*]] = tir.load %[[W]][%[[v15]]] : vector<2xf32>
// CHECK:      %[[v17:.*]] = tir.const 31 : i32
// CHECK:      %[[v18:.*]] = tir.sub %[[v17]], %[[tx]] : i32
// CHECK:      %[[v19:.*]] = tir.const 32 : i32
// CHECK:      %[[v20:.*]] = tir.const 32 : i32
// CHECK:      %[[z:.*]] = tir.call "tvm_warp_shuffle"(%[[v12]], %[[v16]], %[[v18]], %[[v19]], %[[v20]]) : (ui32, vector<2xf32>, i32, i32, i32) -> vector<2xf32>

// -----

// A fill and a store add the lane to the offset themselves, which is a multiple of what
// all lanes have together: each lane has 8 registers of the first 256 elements, then 8 of
// the next.
// CASE: LowerWarpMemory.8
tir.func @fill(%c: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %C = tir.match_buffer "C" %c : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c256 = tir.const 256 : i32
  %threads = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %threads {
    %p = tir.allocate [512] : !tir.ptr<f32, "warp">
    tir.for %i = %c0 to %c2 {
      %start = tir.mul %i, %c256 : i32
      %r = tir.call "mma_fill"(%c8, %p, %start) : (i32, !tir.ptr<f32, "warp">, i32) -> f32
    }
    %D = tir.data %C : !tir.ptr<f32>
    %q = tir.call "mma_store"(%c16, %c16, %D, %p, %c256, %c16) : (i32, i32, !tir.ptr<f32>, !tir.ptr<f32, "warp">, i32, i32) -> f32
  }
}
// CHECK-LABEL: tir.func @fill(
// CHECK:      %[[p:.*]] = tir.allocate [16] : !tir.ptr<f32, "local">
// CHECK:      tir.for %[[i:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:   %[[v1:.*]] = tir.const 8 : i32
// CHECK-NEXT:   %[[v2:.*]] = tir.mul %[[i]], %[[v1]] : i32
// CHECK-NEXT:   tir.call "mma_fill"(%{{.*}}, %[[p]], %[[v2]]) : (i32, !tir.ptr<f32, "local">, i32) -> f32
// CHECK:      %[[v3:.*]] = tir.const 8 : i32
// CHECK-NEXT: tir.call "mma_store"(%{{.*}}, %{{.*}}, %{{.*}}, %[[p]], %[[v3]], %{{.*}}) : (i32, i32, !tir.ptr<f32>, !tir.ptr<f32, "local">, i32, i32) -> f32

// -----

// Registers of matrices: `start + size * tx` becomes the place in a lane.
// CASE: LowerWarpMemory.8
tir.func @matrices(%s: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %S = tir.match_buffer "S" %s : !tir.buffer<512xf16, "shared">
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c256 = tir.const 256 : i32
  %no = tir.const false
  %b16 = tir.string ".b16"
  %shape = tir.string "m16n8k16"
  %row = tir.string "row"
  %col = tir.string "col"
  %fp16 = tir.string "fp16"
  %fp32 = tir.string "fp32"
  %threads = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %threads {
    %a = tir.allocate [512] : !tir.ptr<f16, "warp">
    %b = tir.allocate [256] : !tir.ptr<f16, "warp">
    %c = tir.allocate [256] : !tir.ptr<f32, "warp">
    %S_0 = tir.data %S : !tir.ptr<f16, "shared">
    %q = tir.access_ptr r %S_0[%c0 to %c256] : !tir.ptr<f16, "shared">
    %own = tir.mul %tx, %c8 : i32
    %r0 = tir.call "mma_fill"(%c8, %c, %c0) : (i32, !tir.ptr<f32, "warp">, i32) -> f32
    %r1 = tir.call "ptx_ldmatrix"(%no, %c4, %b16, %b, %own, %q, %own) : (i1, i32, !tir.handle, !tir.ptr<f16, "warp">, i32, !tir.ptr<f16, "shared">, i32) -> f16
    %half = tir.add %own, %c4 : i32
    tir.for %i = %c0 to %c2 {
      %version = tir.mul %i, %c256 : i32
      %at = tir.add %version, %own : i32
      %r2 = tir.call "ptx_ldmatrix"(%no, %c4, %b16, %a, %at, %q, %own) : (i1, i32, !tir.handle, !tir.ptr<f16, "warp">, i32, !tir.ptr<f16, "shared">, i32) -> f16
      %r3 = tir.call "ptx_mma"(%shape, %row, %col, %fp16, %fp16, %fp32, %a, %at, %b, %half, %c, %half, %no) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.ptr<f16, "warp">, i32, !tir.ptr<f16, "warp">, i32, !tir.ptr<f32, "warp">, i32, i1) -> f32
    }
  }
}
// CHECK-LABEL: tir.func @matrices(
// CHECK:      %[[a:.*]] = tir.allocate [16] : !tir.ptr<f16, "local">
// CHECK-NEXT: %[[b:.*]] = tir.allocate [8] : !tir.ptr<f16, "local">
// CHECK-NEXT: %[[c:.*]] = tir.allocate [8] : !tir.ptr<f32, "local">
// CHECK:      %[[zero:.*]] = tir.const 0 : i32
// CHECK-NEXT: tir.call "mma_fill"(%{{.*}}, %[[c]], %[[zero]])
// CHECK:      %[[zero2:.*]] = tir.const 0 : i32
// CHECK-NEXT: tir.call "ptx_ldmatrix"(%{{.*}}, %{{.*}}, %{{.*}}, %[[b]], %[[zero2]], %{{.*}}, %{{.*}})
// CHECK:      tir.for %[[i:.*]] = %{{.*}} to %{{.*}} {
// CHECK:      %[[slot:.*]] = tir.mul %[[i]], %{{.*}} : i32
// CHECK-NEXT: tir.call "ptx_ldmatrix"(%{{.*}}, %{{.*}}, %{{.*}}, %[[a]], %[[slot]], %{{.*}}, %{{.*}})
// CHECK:      %[[slot2:.*]] = tir.mul %[[i]], %{{.*}} : i32
// CHECK-NEXT: %[[four:.*]] = tir.const 4 : i32
// CHECK-NEXT: %[[four2:.*]] = tir.const 4 : i32
// CHECK-NEXT: tir.call "ptx_mma"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[a]], %[[slot2]], %[[b]], %[[four]], %[[c]], %[[four2]], %{{.*}})

// -----

// Halves, and two memories.
// CASE: LowerWarpMemory.3
tir.func @two_memories(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<32xf16>
  %B = tir.match_buffer "B" %b : !tir.buffer<32xf16>
  %c1 = tir.const 1 : i32
  %c31 = tir.const 31 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %p = tir.allocate [32] : !tir.ptr<f16, "warp">
    %V = tir.decl_buffer "V" %p : !tir.buffer<32xf16, "warp">
    %q = tir.allocate [32] : !tir.ptr<f16, "warp">
    %W = tir.decl_buffer "W" %q : !tir.buffer<32xf16, "warp">
    %x = tir.load %A[%tx] : f16
    tir.store %x, %V[%tx] : f16
    %s = tir.add %tx, %c1 : i32
    %l = tir.floormod %s, %c32 : i32
    %y = tir.load %V[%l] : f16
    tir.store %y, %W[%tx] : f16
    %r = tir.sub %c31, %tx : i32
    %z = tir.load %W[%r] : f16
    tir.store %z, %B[%tx] : f16
  }
}
// CHECK-LABEL: tir.func @two_memories(
// CHECK:      %[[p:.*]] = tir.allocate [1] : !tir.ptr<f16, "local">
// CHECK:      %[[V:.*]] = tir.decl_buffer "V" %[[p]] : !tir.buffer<32xf16, "local">
// CHECK:      %[[q:.*]] = tir.allocate [1] : !tir.ptr<f16, "local">
// CHECK:      %[[W:.*]] = tir.decl_buffer "W" %[[q]] : !tir.buffer<32xf16, "local">
// CHECK:      tir.store %{{.*}}, %[[V]][%{{.*}}] : f16
// CHECK:      %[[own:.*]] = tir.load %[[V]][%{{.*}}] : f16
// CHECK:      %[[lane:.*]] = tir.floormod %{{.*}}, %{{.*}} : i32
// CHECK:      %[[y:.*]] = tir.call "tvm_warp_shuffle"(%{{.*}}, %[[own]], %[[lane]], %{{.*}}, %{{.*}}) : (ui32, f16, i32, i32, i32) -> f16
// CHECK:      tir.store %[[y]], %[[W]][%{{.*}}] : f16
// CHECK:      %[[own2:.*]] = tir.load %[[W]][%{{.*}}] : f16
// CHECK:      %[[lane2:.*]] = tir.sub %{{.*}}, %{{.*}} : i32
// CHECK:      %[[z:.*]] = tir.call "tvm_warp_shuffle"(%{{.*}}, %[[own2]], %[[lane2]], %{{.*}}, %{{.*}}) : (ui32, f16, i32, i32, i32) -> f16
// CHECK:      tir.store %[[z]], %{{.*}}[%{{.*}}] : f16

// -----

// An allocation and declaration around the launch; the declared shape stays.
// CASE: LowerWarpMemory.10
tir.func @outside(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
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
    %p = tir.allocate [32] : !tir.ptr<f32, "warp">
  tir.launch_thread %tx = "threadIdx.x" to %threads {
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @outside(
// CHECK:      %[[p:.*]] = tir.allocate [1] : !tir.ptr<f32, "local">
// CHECK:      tir.launch_thread %[[tx:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK:      %[[W:.*]] = tir.decl_buffer "W" %[[p]] : !tir.buffer<32xf32, "local">
// CHECK:      %[[x:.*]] = tir.load %{{.*}}[%[[tx]]] : f32
// CHECK:      %[[v4:.*]] = tir.const 0 : i32
// CHECK:      tir.store %[[x]], %[[W]][%[[v4]]] : f32

// -----

// All lanes read the first, in a branch that all of them take.
// CASE: LowerWarpMemory.11
tir.func @first(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
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
    %k = tir.cmp lt %c0, %c1 : i32
    %y = tir.if_then_else %k -> f32 {
    %v = tir.load %W[%c0] : f32
    tir.yield %v : f32
    } else {
    tir.yield %x : f32
    }
    tir.store %y, %A[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @first(
// CHECK:      tir.launch_thread %[[tx:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK:      %[[p:.*]] = tir.allocate [1] : !tir.ptr<f32, "local">
// CHECK:      %[[W:.*]] = tir.decl_buffer "W" %[[p]] : !tir.buffer<32xf32, "local">
// CHECK:      %[[x:.*]] = tir.load %{{.*}}[%[[tx]]] : f32
// CHECK:      %[[v4:.*]] = tir.const 0 : i32
// CHECK:      tir.store %[[x]], %[[W]][%[[v4]]] : f32
// CHECK:      %[[k:.*]] = tir.cmp lt %{{.*}}, %{{.*}} : i32
// CHECK:      %[[y:.*]] = tir.if_then_else %[[k]] -> f32 {
// CHECK:      %[[v7:.*]] = tir.call "tvm_warp_activemask"() : () -> ui32
// CHECK:      %[[v8:.*]] = tir.const 0 : i32
// CHECK:      %[[v9:.*]] = tir.load %[[W]][%[[v8]]] : f32
// CHECK:      %[[v10:.*]] = tir.const 0 : i32
// CHECK:      %[[v11:.*]] = tir.const 32 : i32
// CHECK:      %[[v12:.*]] = tir.const 32 : i32
// CHECK:      %[[v:.*]] = tir.call "tvm_warp_shuffle"(%[[v7]], %[[v9]], %[[v10]], %[[v11]], %[[v12]]) : (ui32, f32, i32, i32, i32) -> f32
// CHECK:      tir.yield %[[v]] : f32
// CHECK:      } else {
// CHECK:      tir.yield %[[x]] : f32
// CHECK:      tir.store %[[y]], %{{.*}}[%[[tx]]] : f32

// -----

// Two registers, counted by a loop.
// CASE: LowerWarpMemory.11
tir.func @slots(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
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
    tir.for %i = %c0 to %c2 {
    %t = tir.mul %i, %c32 : i32
    %k = tir.add %t, %tx : i32
    tir.store %x, %W[%k] : f32
    }
    %o = tir.add %tx, %c32 : i32
    %u = tir.load %W[%o] : f32
    %a3 = tir.mul %tx, %c3 : i32
    %a5 = tir.add %a3, %c5 : i32
    %l = tir.floormod %a5, %c32 : i32
    %v = tir.load %W[%l] : f32
    %y = tir.add %u, %v : f32
    tir.store %y, %A[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @slots(
// CHECK:      tir.launch_thread %[[tx:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK:      %[[p:.*]] = tir.allocate [2] : !tir.ptr<f32, "local">
// CHECK:      %[[W:.*]] = tir.decl_buffer "W" %[[p]] : !tir.buffer<64xf32, "local">
// CHECK:      %[[x:.*]] = tir.load %{{.*}}[%[[tx]]] : f32
// CHECK:      tir.for %[[i:.*]] = %{{.*}} to %{{.*}} {
// CHECK:      tir.store %[[x]], %[[W]][%[[i]]] : f32
// CHECK:      %[[v5:.*]] = tir.const 1 : i32
// CHECK:      %[[u:.*]] = tir.load %[[W]][%[[v5]]] : f32
// CHECK:      %[[v7:.*]] = tir.call "tvm_warp_activemask"() : () -> ui32
// CHECK:      %[[v8:.*]] = tir.const 0 : i32
// CHECK:      %[[v9:.*]] = tir.load %[[W]][%[[v8]]] : f32
// CHECK:      %[[v10:.*]] = tir.const 3 : i32
// CHECK:      %[[v11:.*]] = tir.mul %[[tx]], %[[v10]] : i32
// CHECK:      %[[v12:.*]] = tir.const 5 : i32
// CHECK:      %[[v13:.*]] = tir.add %[[v11]], %[[v12]] : i32
// CHECK:      %[[v14:.*]] = tir.const 32 : i32
// CHECK:      %[[v15:.*]] = tir.floormod %[[v13]], %[[v14]] : i32
// CHECK:      %[[v16:.*]] = tir.const 32 : i32
// CHECK:      %[[v17:.*]] = tir.const 32 : i32
// CHECK:      %[[v:.*]] = tir.call "tvm_warp_shuffle"(%[[v7]], %[[v9]], %[[v15]], %[[v16]], %[[v17]]) : (ui32, f32, i32, i32, i32) -> f32
// CHECK:      %[[y:.*]] = tir.add %[[u]], %[[v]] : f32
// CHECK:      tir.store %[[y]], %{{.*}}[%[[tx]]] : f32

// -----

// A launch around the allocation, which the case has as an error: TVM looks for the launch
// inside of the allocation only. Which lanes have the memory together is known either way.
// CASE: LowerWarpMemory.9
tir.func @around(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<32xf32>
  %c31 = tir.const 31 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %p = tir.allocate [32] : !tir.ptr<f32, "warp">
    %W = tir.decl_buffer "W" %p : !tir.buffer<32xf32, "warp">
    %x = tir.load %A[%tx] : f32
    tir.store %x, %W[%tx] : f32
    %r = tir.sub %c31, %tx : i32
    %y = tir.load %W[%r] : f32
    tir.store %y, %A[%tx] : f32
  }
}
// CHECK-LABEL: tir.func @around(
// CHECK:      tir.launch_thread %[[tx:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK-NEXT:   %[[p:.*]] = tir.allocate [1] : !tir.ptr<f32, "local">
// CHECK:        tir.call "tvm_warp_shuffle"
