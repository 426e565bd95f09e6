// RUN: xdsl-opt %s -p tir-decorate-device-scope --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p tir-decorate-device-scope,tir-decorate-device-scope --split-input-file | filecheck %s --check-prefix=TWICE

// CASE: DecorateDeviceScope.1
// CASE: DecorateDeviceScope.2
tir.func @f(%a: !tir.handle) attributes {global_symbol = "f"} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i32
  %one = tir.const 1.0 : f32
  tir.for %i = %c0 to %n {
    tir.store %one, %A[%i] : f32
  }
}
// CHECK-LABEL: tir.func @f
// CHECK-NEXT:    %{{.*}} = tir.shape_var "n" : i32
// CHECK-NEXT:    %{{.*}} = tir.match_buffer
// CHECK-NEXT:    tir.attr "device_scope" (0 : i32) = 0 : i32 {
// CHECK-NEXT:      %{{.*}} = tir.const 0 : i32
// CHECK-NEXT:      %{{.*}} = tir.const 1.0
// CHECK-NEXT:      tir.for
// CHECK-NEXT:        tir.store
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }

// TWICE-LABEL: tir.func @f
// TWICE:         tir.attr "device_scope" (0 : i32) = 0 : i32 {
// TWICE-NEXT:      tir.attr "device_scope" (0 : i32) = 0 : i32 {

// -----

// What a declaration is computed from stays with it; the rest moves in its order.
tir.func @shared_values(%a: !tir.handle, %m: i32) -> i32 {
  %c4 = tir.const 4 : i32
  %x = tir.call "tvm_thread_context"(%m) : (i32) -> i32
  %s = tir.mul %m, %c4 : i32
  %A = tir.match_buffer %a strides [%s] : !tir.buffer<8xi32>
  tir.store %x, %A[%c4] : i32
  tir.ret %s : i32
}
// CHECK-LABEL: tir.func @shared_values
// CHECK-NEXT:    %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:    %[[S:.*]] = tir.mul %{{.*}}, %[[C4]] : i32
// CHECK-NEXT:    tir.match_buffer
// CHECK-NEXT:    tir.attr "device_scope"
// CHECK-NEXT:      tir.call "tvm_thread_context"
// CHECK-NEXT:      tir.store
// CHECK-NEXT:      tir.ret %[[S]] : i32

// -----

// Declarations have no body.
tir.func private @callee(i32) -> i32
// CHECK: tir.func private @callee(i32) -> i32
