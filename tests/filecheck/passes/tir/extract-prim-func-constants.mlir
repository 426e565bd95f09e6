// RUN: xdsl-opt %s -p tir-extract-prim-func-constants --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p tir-extract-prim-func-constants,tir-extract-prim-func-constants --split-input-file | filecheck %s

// CASE: ExtractPrimFuncConstants.1
builtin.module @three {
  tir.func @a() attributes {global_symbol = "a"} {
    %p = tir.allocate_const dense<[1, 2, 3]> : tensor<3xi32> : !tir.ptr<i32>
  }
  tir.func @b() attributes {global_symbol = "b"} {
    %p = tir.allocate_const dense<[4, 5, 6]> : tensor<3xi32> : !tir.ptr<i32>
  }
  tir.func @c() attributes {global_symbol = "c"} {
    %p = tir.allocate_const dense<[1, 2, 3]> : tensor<3xi32> : !tir.ptr<i32>
  }
}
// CHECK:       builtin.module @three attributes {tir.module_attrs = {constants = [dense<[1, 2, 3]> : tensor<3xi32>, dense<[4, 5, 6]> : tensor<3xi32>]}}
// CHECK-LABEL: tir.func @a
// CHECK-NEXT:    tir.allocate_const 0 : i32 : !tir.ptr<i32>
// CHECK-LABEL: tir.func @b
// CHECK-NEXT:    tir.allocate_const 1 : i32 : !tir.ptr<i32>
// CHECK-LABEL: tir.func @c
// CHECK-NEXT:    tir.allocate_const 0 : i32 : !tir.ptr<i32>

// -----

// CASE: ExtractPrimFuncConstants.2
// An op that holds an index of the list is left alone.
builtin.module @present attributes {tir.module_attrs = {constants = [dense<7> : tensor<2xi8>]}} {
  tir.func @two() {
    %p = tir.allocate_const dense<[1.0, 2.0]> : tensor<2xf32> : !tir.ptr<f32>
    %q = tir.allocate_const dense<7> : tensor<2xi8> : !tir.ptr<i8>
    %r = tir.allocate_const 0 : i32 : !tir.ptr<i8>
  }
}
// CHECK:       builtin.module @present attributes {tir.module_attrs = {constants = [dense<7> : tensor<2xi8>, dense<[1.{{.*}}]> : tensor<2xf32>]}}
// CHECK-LABEL: tir.func @two
// CHECK-NEXT:    tir.allocate_const 1 : i32 : !tir.ptr<f32>
// CHECK-NEXT:    tir.allocate_const 0 : i32 : !tir.ptr<i8>
// CHECK-NEXT:    tir.allocate_const 0 : i32 : !tir.ptr<i8>

// -----

// CASE: ExtractPrimFuncConstants.3
builtin.module @none {
  tir.func @without() {
    %p = tir.allocate [4] : !tir.ptr<i32>
  }
}
// CHECK:      builtin.module @none {
// CHECK-NEXT:   tir.func @without

// -----

// Another type, shape or sign of zero is another constant; nested ones are reached.
builtin.module @different {
  tir.func @nested(%n: i32) {
    %c0 = tir.const 0 : i32
    %p = tir.allocate_const dense<0.0> : tensor<2xf32> : !tir.ptr<f32>
    tir.for %i = %c0 to %n {
      %q = tir.allocate_const dense<-0.0> : tensor<2xf32> : !tir.ptr<f32>
      %r = tir.allocate_const dense<0.0> : tensor<2x1xf32> : !tir.ptr<f32>
      %s = tir.allocate_const dense<0.0> : tensor<2xf64> : !tir.ptr<f64>
    }
  }
}
// CHECK-LABEL: tir.func @nested
// CHECK:         tir.allocate_const 0 : i32 : !tir.ptr<f32>
// CHECK:           tir.allocate_const 1 : i32 : !tir.ptr<f32>
// CHECK-NEXT:      tir.allocate_const 2 : i32 : !tir.ptr<f32>
// CHECK-NEXT:      tir.allocate_const 3 : i32 : !tir.ptr<f64>
