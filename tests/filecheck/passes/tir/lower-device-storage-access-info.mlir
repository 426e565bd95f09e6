// RUN: xdsl-opt %s -p tir-lower-device-storage-access-info --split-input-file | filecheck %s

// Memory with a head address: its pointer is that address, for all uses.
// CASE: LowerDeviceStorageAccessInfo.1
// CASE: LowerDeviceStorageAccessInfo.2
builtin.module attributes {tir.memory_info = {local.L1 = {unit_bits = 32, max_num_bits = 1024, max_simd_bits = 64, head_address = "l1_base"}, local.L2 = {unit_bits = 8, max_num_bits = 1024, max_simd_bits = 64, head_address = 4096}}} {
  tir.func @head(%x: f32, %n: i1) {
    %c0 = tir.const 0 : i32
    %name = tir.string "use"
    %p = tir.allocate "ptr" [16] if %n : !tir.ptr<f32, "local.L1">
    %B = tir.decl_buffer "B" %p : !tir.buffer<16xf32, "local.L1">
    tir.store %x, %B[%c0] : f32
    %0 = tir.call "call_extern"(%name, %p) : (!tir.handle, !tir.ptr<f32, "local.L1">) -> i32
    %q = tir.allocate "second" [16] : !tir.ptr<f32, "local.L2">
    %1 = tir.call "call_extern"(%name, %q) : (!tir.handle, !tir.ptr<f32, "local.L2">) -> i32
  }
}
// CHECK-LABEL: tir.func @head
// CHECK:         %[[F:.*]] = tir.string "l1_base"
// CHECK-NEXT:    %[[H:.*]] = tir.call "call_extern"(%[[F]]) : (!tir.handle) -> !tir.handle
// CHECK-NEXT:    %[[P:.*]] = tir.let "ptr" %[[H]] : !tir.handle -> !tir.ptr<f32, "local.L1">
// CHECK-NEXT:    %[[B:.*]] = tir.decl_buffer "B" %[[P]] : !tir.buffer<16xf32, "local.L1">
// CHECK-NEXT:    tir.store %{{.*}}, %[[B]]
// CHECK-NEXT:    tir.call "call_extern"(%{{.*}}, %[[P]])
// CHECK-NEXT:    %[[A:.*]] = tir.const 4096 : i64
// CHECK-NEXT:    %[[H:.*]] = tir.call "reinterpret"(%[[A]]) : (i64) -> !tir.handle
// CHECK-NEXT:    %[[Q:.*]] = tir.let "second" %[[H]] : !tir.handle -> !tir.ptr<f32, "local.L2">
// CHECK-NEXT:    tir.call "call_extern"(%{{.*}}, %[[Q]])
// CHECK-NOT:     tir.allocate

// -----

// Memory without one is erased, with its declarations.
// CASE: LowerDeviceStorageAccessInfo.3
// CASE: LowerDeviceStorageAccessInfo.4
builtin.module attributes {tir.memory_info = {global.texture = {unit_bits = 32, max_num_bits = 1024, max_simd_bits = 64}}} {
  tir.func @no_head(%n: i32) -> i32 {
    %p = tir.allocate [16] : !tir.ptr<f32, "global.texture">
    %m = tir.add %n, %n : i32
    %q = tir.allocate [%m] : !tir.ptr<f32, "global.texture">
    %B = tir.decl_buffer %q : !tir.buffer<16xf32, "global.texture">
    %d = tir.data %B : !tir.ptr<f32, "global.texture">
    %C = tir.decl_buffer %d : !tir.buffer<8xf32, "global.texture">
    tir.ret %n : i32
  }
}
// CHECK-LABEL: tir.func @no_head
// CHECK-NEXT:    tir.ret

// -----

// Pointers with a region become addresses in a buffer that no text declares.
// CASE: LowerDeviceStorageAccessInfo.5
// CASE: LowerDeviceStorageAccessInfo.9
builtin.module attributes {tir.memory_info = {local.L1 = {unit_bits = 32, max_num_bits = 1024, max_simd_bits = 64, head_address = "l1_base"}}} {
  tir.func @pointers(%a: !tir.handle, %o: !tir.handle) {
    %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
    %O = tir.match_buffer "O" %o : !tir.buffer<64xf32>
    %c0 = tir.const 0 : i32
    %c1 = tir.const 1 : i32
    %c3 = tir.const 3 : i32
    %c16 = tir.const 16 : i32
    %S = tir.data %A : !tir.ptr<f32>
    %q = tir.access_ptr r %S[%c3 to %c3 + %c1] : !tir.ptr<f32>
    %V = tir.decl_buffer %q : !tir.buffer<8xf32>
    %x = tir.load %V[%c0] : f32
    tir.store %x, %O[%c0] : f32
    %q4 = tir.access_ptr r %S[%c3 to %c3 + %c1] : !tir.ptr<vector<4xf32>>
    %V4 = tir.decl_buffer %q4 : !tir.buffer<1xvector<4xf32>>
    %x4 = tir.load %V4[%c0] : vector<4xf32>
    %four = tir.ramp %c16, %c1 : vector<4xi32>
    tir.store %x4, %O[%four] : vector<4xf32>
    tir.for %i = %c0 to %c3 {
      %0 = tir.mul %i, %c16 : i32
      %1 = tir.add %0, %c16 : i32
      %r = tir.access_ptr r %S[%1 to %1 + %c16] : !tir.ptr<f32>
      %W = tir.decl_buffer %r : !tir.buffer<16xf32>
      %y = tir.load %W[%i] : f32
      tir.store %y, %O[%i] : f32
    }
  }
  tir.func @operands(%c2: i32) {
    %c0 = tir.const 0 : i32
    %c1 = tir.const 1 : i32
    %c16 = tir.const 16 : i32
    %name = tir.string "use"
    %p = tir.allocate "ptr" [64] : !tir.ptr<f32, "local.L1">
    tir.for %i = %c0 to %c2 {
      %0 = tir.mul %i, %c16 : i32
      %1 = tir.add %0, %c16 : i32
      %q = tir.access_ptr rw %p[%1 to %1 + %c16] : !tir.ptr<f32, "local.L1">
      %2 = tir.call "call_extern"(%name, %q) : (!tir.handle, !tir.ptr<f32, "local.L1">) -> i32
      %q4 = tir.access_ptr rw %p[%i to %i + %c1] : !tir.ptr<vector<4xf32>, "local.L1">
      %3 = tir.call "call_extern"(%name, %q4) : (!tir.handle, !tir.ptr<vector<4xf32>, "local.L1">) -> i32
      %4 = tir.call "prefetch"(%q4, %c0, %c0, %c0) : (!tir.ptr<vector<4xf32>, "local.L1">, i32, i32, i32) -> i32
    }
  }
}
// CHECK-LABEL: tir.func @pointers
// CHECK:         %[[C3:.*]] = tir.const 3
// CHECK:         %[[C16:.*]] = tir.const 16
// CHECK:         %[[S:.*]] = tir.data
// CHECK-NEXT:    %[[B:.*]] = tir.decl_buffer %[[S]] {implicit} : !tir.buffer<4xf32>
// CHECK-NEXT:    %[[Q:.*]] = tir.address_of %[[B]][%[[C3]]] : !tir.ptr<f32>
// CHECK-NEXT:    tir.decl_buffer %[[Q]]
// CHECK:         %[[B:.*]] = tir.decl_buffer %[[S]] {implicit} : !tir.buffer<4xf32>
// CHECK-NEXT:    %[[N:.*]] = tir.const 12 : i32
// CHECK-NEXT:    %[[ONE:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[R:.*]] = tir.ramp %[[N]], %[[ONE]] : vector<4xi32>
// CHECK-NEXT:    %[[Q:.*]] = tir.address_of %[[B]][%[[R]]] : !tir.ptr<f32>
// CHECK-NEXT:    tir.decl_buffer %[[Q]]
// CHECK:           %[[X:.*]] = tir.mul
// CHECK-NEXT:      %[[Y:.*]] = tir.add %[[X]], %[[C16]]
// CHECK-NEXT:      %[[ONE:.*]] = tir.const 1 : i32
// CHECK-NEXT:      %[[N:.*]] = tir.add %[[Y]], %[[ONE]]
// CHECK-NEXT:      %[[B:.*]] = tir.decl_buffer %[[S]] [%[[N]]] {implicit} : !tir.buffer<?xf32>
// CHECK-NEXT:      tir.address_of %[[B]][%[[Y]]]
// CHECK-LABEL: tir.func @operands
// CHECK:         %[[P:.*]] = tir.let "ptr"
// CHECK:           %[[B:.*]] = tir.decl_buffer "ptr" %[[P]] [%{{.*}}] {implicit} : !tir.buffer<?xf32, "local.L1">
// CHECK-NEXT:      %[[Q:.*]] = tir.address_of %[[B]]
// CHECK-NEXT:      tir.call "call_extern"(%{{.*}}, %[[Q]]) : (!tir.handle, !tir.ptr<f32, "local.L1">) -> i32
// CHECK:           %[[Q:.*]] = tir.address_of
// CHECK-NEXT:      %[[T:.*]] = tir.call "reinterpret"(%[[Q]]) : (!tir.ptr<f32, "local.L1">) -> !tir.ptr<vector<4xf32>, "local.L1">
// CHECK-NEXT:      tir.call "call_extern"(%{{.*}}, %[[Q]])
// CHECK-NEXT:      tir.call "prefetch"(%[[T]],
// CHECK-NOT:     tir.access_ptr

// -----

// A pointer without a type gets one. A call with the dtype of a number, which TVM divides
// by the unit of the memory, cannot be written: a `tir.access_ptr` is a pointer.
// CASE: LowerDeviceStorageAccessInfo.6
tir.func @handle(%h: !tir.handle, %i: i64) {
  %c2 = tir.const 2 : i64
  %name = tir.string "use"
  %q = tir.access_ptr r %h[%i to %i + %c2] : !tir.ptr<f16>
  %0 = tir.call "call_extern"(%name, %q) : (!tir.handle, !tir.ptr<f16>) -> i32
}
// CHECK-LABEL: tir.func @handle
// CHECK-SAME:      %[[I:[a-z0-9_]*]]: i64
// CHECK:         %[[P:.*]] = tir.let %{{.*}} : !tir.handle -> !tir.ptr<f16>
// CHECK:         %[[N:.*]] = tir.add %[[I]], %{{.*}} : i64
// CHECK-NEXT:    %[[B:.*]] = tir.decl_buffer %[[P]] [%[[N]]] {implicit} : !tir.buffer<?xf16>
// CHECK-NEXT:    tir.address_of %[[B]][%[[I]]]

// -----

// Allocations without a tag, and dynamic ones, stay.
// CASE: LowerDeviceStorageAccessInfo.8
tir.func @plain() {
  %c1 = tir.const 1 : i32
  tir.launch_thread %b = "blockIdx.x" to %c1 {
    %p = tir.allocate [16] : !tir.ptr<f32, "shared.dyn">
    %q = tir.allocate [16] : !tir.ptr<f32, "shared">
    %r = tir.allocate [16] : !tir.ptr<f32, "wmma.accumulator">
    %s = tir.allocate [16] : !tir.ptr<f32, "local">
  }
}
// CHECK-LABEL: tir.func @plain
// CHECK:         tir.allocate [16] : !tir.ptr<f32, "shared.dyn">
// CHECK-NEXT:    tir.allocate [16] : !tir.ptr<f32, "shared">
// CHECK-NEXT:    tir.allocate [16] : !tir.ptr<f32, "wmma.accumulator">
// CHECK-NEXT:    tir.allocate [16] : !tir.ptr<f32, "local">
