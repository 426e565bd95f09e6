// RUN: xdsl-opt %s -p tir-lower-tvm-builtin --split-input-file | filecheck %s

// CASE: LowerTVMBuiltin.12 CASE: LowerTVMBuiltin.13
// Arguments go to slots, with their type codes; the call inside of another one uses the
// slots after it.

tir.func @nested(%x: f32, %p: !tir.handle) attributes {target = #tir.target<"llvm">} {
  %g = tir.string "g"
  %h = tir.string "h"
  %r = tir.call "tvm_call_packed"(%g, %x) : (!tir.handle, f32) -> i32
  %s = tir.call "tvm_call_packed"(%h, %r, %p) : (!tir.handle, i32, !tir.handle) -> i32
}

// CHECK-LABEL: tir.func @nested
// CHECK:         %[[CODES:.*]] = tir.let "stack_tcode" %{{.*}} : !tir.handle -> !tir.ptr<i32>
// CHECK-NEXT:    %[[C:.*]] = tir.decl_buffer "stack_tcode" %[[CODES]] {index_type = ui64} : !tir.buffer<5xi32>
// CHECK:         %[[V:.*]] = tir.let "stack_value" %{{.*}} : !tir.handle
// CHECK:         %[[G:.*]] = tir.string "g"
// CHECK:         %[[H:.*]] = tir.string "h"
// CHECK:         %[[X:.*]] = tir.cast %x : f32 to f64
// CHECK:         %[[C3:.*]] = tir.const 3 : i32
// CHECK:         tir.call "tvm_struct_set"(%[[V]], %[[C3]], %{{.*}}, %[[X]])
// CHECK:         tir.store %{{.*}}, %[[C]][%[[C3]]] : i32
// CHECK:         %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:    %[[R:.*]] = tir.call "tvm_call_packed_lowered"(%[[G]], %[[V]], %[[CODES]], %[[C3]], %[[C4]])
// CHECK-NEXT:    %[[RI:.*]] = tir.cast %[[R]] : i32 to i64
// CHECK:         tir.call "tvm_struct_set"(%[[V]], %{{.*}}, %{{.*}}, %[[RI]])
// CHECK:         tir.call "tvm_struct_set"(%[[V]], %{{.*}}, %{{.*}}, %p)
// CHECK-NEXT:    %[[N:.*]] = tir.call "isnullptr"(%p)
// CHECK-NEXT:    tir.if %[[N]] {
// CHECK:         } else {
// CHECK:         }
// CHECK:         tir.call "tvm_call_packed_lowered"(%[[H]], %[[V]], %[[CODES]],

// -----

// CASE: LowerTVMBuiltin.6 CASE: LowerTVMBuiltin.7
// Memory of a device is taken from the runtime; a little of the host stays.

tir.func @memory() attributes {target = #tir.target<"llvm">} {
  %c0 = tir.const 0 : i32
  %x = tir.const 1.0 : f32
  %p = tir.allocate [16] : !tir.ptr<f32>
  tir.attr "device_id" ("default") = 0 : i32 {
    tir.attr "device_type" ("default") = 2 : i32 {
      %q = tir.allocate "q" [16] : !tir.ptr<f32>
      %Q = tir.decl_buffer %q : !tir.buffer<16xf32>
      tir.store %x, %Q[%c0] : f32
    }
  }
}

// CHECK-LABEL: tir.func @memory
// CHECK:         tir.allocate [16] : !tir.ptr<f32>
// CHECK-NOT:     tir.attr "device
// CHECK:         %[[M:.*]] = tir.call "TVMBackendAllocWorkspace"
// CHECK-NEXT:    %[[Q:.*]] = tir.let "q" %[[M]] : !tir.handle -> !tir.ptr<f32>
// CHECK-NEXT:    tir.attr "storage_alignment" (%[[Q]]) = 64 : i32 {
// CHECK-NEXT:      %[[N:.*]] = tir.call "isnullptr"(%[[Q]])
// CHECK-NEXT:      tir.if %[[N]] {
// CHECK-NEXT:        tir.call "tvm_throw_last_error"()
// CHECK:           tir.decl_buffer %[[Q]]
// CHECK:           tir.call "TVMBackendFreeWorkspace"(%{{.*}}, %{{.*}}, %[[Q]])
// CHECK:           tir.call "tvm_throw_last_error"()

// -----

// CASE: LowerTVMBuiltin.17
// Functions of a device stay.

tir.func @kernel() attributes {target = #tir.target<"cuda">} {
  %g = tir.string "g"
  %r = tir.call "tvm_call_packed"(%g) : (!tir.handle) -> i32
}

// CHECK-LABEL: tir.func @kernel
// CHECK:         tir.call "tvm_call_packed"
