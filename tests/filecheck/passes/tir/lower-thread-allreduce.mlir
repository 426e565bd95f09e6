// RUN: xdsl-opt %s -p tir-lower-thread-allreduce,tir-verify-well-formed --split-input-file | filecheck %s

// A row of a warp.
tir.func @warp(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %sum = tir.reducer (%x : f32, %y : f32) identity [0.0 : f32] {
    %z = tir.add %x, %y : f32
    tir.yield %z : f32
  }
  tir.launch_thread %tx = "threadIdx.x" to %c4 {
    %p = tir.allocate "R" [1] : !tir.ptr<f32, "local">
    %R = tir.decl_buffer "R" %p : !tir.buffer<1xf32, "local">
    %v = tir.load %A[%tx] : f32
    tir.attr "reduce_scope" (%sum) = 0 : i32 {
      tir.thread_allreduce [%v] into [%R[%c0]] over [%tx]
    }
    %w = tir.load %R[%c0] : f32
    tir.store %w, %B[%tx] : f32
  }
}

// CHECK-LABEL: tir.func @warp
// CHECK:       tir.launch_thread %[[TX:.*]] = "threadIdx.x"
// CHECK-NEXT:    %[[P:.*]] = tir.allocate "red_buf0" [1] : !tir.ptr<f32, "local">
// CHECK-NEXT:    %[[R:.*]] = tir.decl_buffer "red_buf0" %[[P]] : !tir.buffer<1xf32, "local">
// CHECK-NEXT:    %[[V:.*]] = tir.load %A[%[[TX]]] : f32
// CHECK-NEXT:    tir.attr "reduce_scope" (%{{.*}}) = 0 : i32 {
// CHECK-NEXT:      %[[M:.*]] = tir.allocate "mask" [1] : !tir.ptr<ui32, "local">
// CHECK-NEXT:      %[[MASK:.*]] = tir.decl_buffer "mask" %[[M]] : !tir.buffer<1xui32, "local">
// CHECK-NEXT:      %[[Q:.*]] = tir.allocate "t0" [1] : !tir.ptr<f32, "local">
// CHECK-NEXT:      %[[T:.*]] = tir.decl_buffer "t0" %[[Q]] : !tir.buffer<1xf32, "local">
// CHECK:           tir.store %[[V]], %[[R]]
// CHECK:           %[[ACTIVE:.*]] = tir.call "tvm_warp_activemask"() : () -> ui32
// CHECK:           tir.store %[[ACTIVE]], %[[MASK]]
// CHECK:           tir.call "tvm_warp_shuffle_down"
// CHECK:           tir.add
// CHECK:           tir.call "tvm_warp_shuffle_down"
// CHECK:           tir.add
// CHECK-NOT:       tvm_warp_shuffle_down
// CHECK:           %[[S:.*]] = tir.call "tvm_warp_shuffle"(
// CHECK:           tir.store %[[S]], %[[R]]
// CHECK-NEXT:    }
// CHECK:         %[[W:.*]] = tir.load %[[R]]
// CHECK-NEXT:    tir.store %[[W]], %B[%[[TX]]] : f32

// -----

// 16-bit integers have no shuffles: a tree in shared memory.
tir.func @tree(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<3xi16>
  %B = tir.match_buffer "B" %b : !tir.buffer<3xi16>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %largest = tir.reducer (%x : i16, %y : i16) identity [-32768 : i16] {
    %z = tir.max %x, %y : i16
    tir.yield %z : i16
  }
  tir.launch_thread %tx = "threadIdx.x" to %c3 {
    %p = tir.allocate "R" [1] : !tir.ptr<i16, "local">
    %R = tir.decl_buffer "R" %p : !tir.buffer<1xi16, "local">
    %v = tir.load %A[%tx] : i16
    tir.attr "reduce_scope" (%largest) = 0 : i32 {
      tir.thread_allreduce [%v] into [%R[%c0]] over [%tx]
    }
    %w = tir.load %R[%c0] : i16
    tir.store %w, %B[%tx] : i16
  }
}

// CHECK-LABEL: tir.func @tree
// CHECK:         %[[P:.*]] = tir.allocate "red_buf0" [3] : !tir.ptr<i16, "shared">
// CHECK-NEXT:    tir.attr "volatile_scope" (%[[P]]) = 1 : i32 {
// CHECK-NEXT:      %[[R:.*]] = tir.decl_buffer "red_buf0" %[[P]] : !tir.buffer<3xi16, "shared">
// CHECK:           tir.attr "reduce_scope"
// CHECK-NEXT:        %{{.*}} = tir.string "shared"
// CHECK-NEXT:        tir.call "tvm_storage_sync"
// CHECK-NEXT:        tir.store %{{.*}}, %[[R]]
// CHECK-NEXT:        %{{.*}} = tir.string "shared"
// CHECK-NEXT:        tir.call "tvm_storage_sync"
// CHECK:             tir.if
// CHECK:             %{{.*}} = tir.string "shared"
// CHECK:             tir.if
// CHECK:             %{{.*}} = tir.string "warp"
// CHECK:             %{{.*}} = tir.string "shared"
// CHECK:           tir.load %[[R]]

// -----

// Nothing to reduce, and no target.
tir.func @other(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %x = tir.load %A[%c0] : f32
  tir.store %x, %A[%c0] : f32
}

// CHECK-LABEL: tir.func @other
// CHECK-NOT:     tir.allocate
