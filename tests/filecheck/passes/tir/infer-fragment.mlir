// RUN: xdsl-opt %s -p tir-infer-fragment --split-input-file | filecheck %s

// Loads, a fill before the product, and a store.
// CASE: InferFragment.1
tir.func @product(%p: !tir.ptr<f16>, %q: !tir.ptr<f32>) {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %row = tir.string "row_major"
  %col = tir.string "col_major"
  %zero = tir.const 0.0 : f32
  %a = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_a">
  %b = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_b">
  %c = tir.allocate [256] : !tir.ptr<f32, "wmma.accumulator">
  tir.call "tvm_load_matrix_sync"(%a, %c16, %c16, %c16, %c0, %p, %c16, %row)
    : (!tir.ptr<f16, "wmma.matrix_a">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> ()
  tir.call "tvm_load_matrix_sync"(%b, %c16, %c16, %c16, %c0, %p, %c16, %col)
    : (!tir.ptr<f16, "wmma.matrix_b">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> ()
  tir.call "tvm_fill_fragment"(%c, %c16, %c16, %c16, %c0, %zero)
    : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, f32) -> ()
  tir.call "tvm_mma_sync"(%c, %c0, %a, %c0, %b, %c0, %c, %c0)
    : (!tir.ptr<f32, "wmma.accumulator">, i32, !tir.ptr<f16, "wmma.matrix_a">, i32,
       !tir.ptr<f16, "wmma.matrix_b">, i32, !tir.ptr<f32, "wmma.accumulator">, i32) -> ()
  tir.call "tvm_store_matrix_sync"(%c, %c16, %c16, %c16, %c0, %q, %c16, %row)
    : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, !tir.ptr<f32>, i32, !tir.handle) -> ()
}
// CHECK-LABEL: tir.func @product
// CHECK-NEXT:     %[[c0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[c8:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[c16:.*]] = tir.const 16 : i32
// CHECK-NEXT:     %[[c32:.*]] = tir.const 32 : i32
// CHECK-NEXT:     %[[row:.*]] = tir.string "row_major"
// CHECK-NEXT:     %[[col:.*]] = tir.string "col_major"
// CHECK-NEXT:     %[[zero:.*]] = tir.const 0.000000e+00 : f32
// CHECK-NEXT:     %[[a:.*]] = tir.allocate [256] annotations {fragment_layout = "row_major", fragment_shape = "16, 16, 16"} : !tir.ptr<f16, "wmma.matrix_a">
// CHECK-NEXT:     %[[b:.*]] = tir.allocate [256] annotations {fragment_layout = "col_major", fragment_shape = "16, 16, 16"} : !tir.ptr<f16, "wmma.matrix_b">
// CHECK-NEXT:     %[[c:.*]] = tir.allocate [256] annotations {fragment_layout = "row_major", fragment_shape = "16, 16, 16"} : !tir.ptr<f32, "wmma.accumulator">
// CHECK-NEXT:     tir.call "tvm_load_matrix_sync"(%[[a]], %[[c16]], %[[c16]], %[[c16]], %[[c0]], %{{.*}}, %[[c16]], %[[row]]) : (!tir.ptr<f16, "wmma.matrix_a">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> ()
// CHECK-NEXT:     tir.call "tvm_load_matrix_sync"(%[[b]], %[[c16]], %[[c16]], %[[c16]], %[[c0]], %{{.*}}, %[[c16]], %[[col]]) : (!tir.ptr<f16, "wmma.matrix_b">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> ()
// CHECK-NEXT:     tir.call "tvm_fill_fragment"(%[[c]], %[[c16]], %[[c16]], %[[c16]], %[[c0]], %[[zero]]) : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, f32) -> ()
// CHECK-NEXT:     tir.call "tvm_mma_sync"(%[[c]], %[[c0]], %[[a]], %[[c0]], %[[b]], %[[c0]], %[[c]], %[[c0]]) : (!tir.ptr<f32, "wmma.accumulator">, i32, !tir.ptr<f16, "wmma.matrix_a">, i32, !tir.ptr<f16, "wmma.matrix_b">, i32, !tir.ptr<f32, "wmma.accumulator">, i32) -> ()
// CHECK-NEXT:     tir.call "tvm_store_matrix_sync"(%[[c]], %[[c16]], %[[c16]], %[[c16]], %[[c0]], %{{.*}}, %[[c16]], %[[row]]) : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, !tir.ptr<f32>, i32, !tir.handle) -> ()
// CHECK-NEXT:   }

// -----

// An accumulator that is loaded or stored first has no layout.
// CASE: InferFragment.2
tir.func @accumulator(%p: !tir.ptr<f16>, %q: !tir.ptr<f32>) {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %row = tir.string "row_major"
  %col = tir.string "col_major"
  %zero = tir.const 0.0 : f32
  %a = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_a">
  %b = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_b">
  %c = tir.allocate [256] : !tir.ptr<f32, "wmma.accumulator">
  tir.call "tvm_load_matrix_sync"(%c, %c16, %c16, %c16, %c0, %q, %c16, %row)
    : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, !tir.ptr<f32>, i32, !tir.handle) -> ()
  tir.call "tvm_store_matrix_sync"(%c, %c16, %c16, %c16, %c0, %q, %c16, %row)
    : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, !tir.ptr<f32>, i32, !tir.handle) -> ()
}
// CHECK-LABEL: tir.func @accumulator
// CHECK-NEXT:     %[[c0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[c8:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[c16:.*]] = tir.const 16 : i32
// CHECK-NEXT:     %[[c32:.*]] = tir.const 32 : i32
// CHECK-NEXT:     %[[row:.*]] = tir.string "row_major"
// CHECK-NEXT:     %[[col:.*]] = tir.string "col_major"
// CHECK-NEXT:     %[[zero:.*]] = tir.const 0.000000e+00 : f32
// CHECK-NEXT:     %[[a:.*]] = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_a">
// CHECK-NEXT:     %[[b:.*]] = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_b">
// CHECK-NEXT:     %[[c:.*]] = tir.allocate [256] annotations {fragment_shape = "16, 16, 16"} : !tir.ptr<f32, "wmma.accumulator">
// CHECK-NEXT:     tir.call "tvm_load_matrix_sync"(%[[c]], %[[c16]], %[[c16]], %[[c16]], %[[c0]], %{{.*}}, %[[c16]], %[[row]]) : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, !tir.ptr<f32>, i32, !tir.handle) -> ()
// CHECK-NEXT:     tir.call "tvm_store_matrix_sync"(%[[c]], %[[c16]], %[[c16]], %[[c16]], %[[c0]], %{{.*}}, %[[c16]], %[[row]]) : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, !tir.ptr<f32>, i32, !tir.handle) -> ()
// CHECK-NEXT:   }

// -----

// No fragment is used.
// CASE: InferFragment.7
tir.func @none(%p: !tir.ptr<f16>, %q: !tir.ptr<f32>) {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %row = tir.string "row_major"
  %col = tir.string "col_major"
  %zero = tir.const 0.0 : f32
  %a = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_a">
  %b = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_b">
  %c = tir.allocate [256] : !tir.ptr<f32, "wmma.accumulator">
}
// CHECK-LABEL: tir.func @none
// CHECK-NEXT:     %[[c0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[c8:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[c16:.*]] = tir.const 16 : i32
// CHECK-NEXT:     %[[c32:.*]] = tir.const 32 : i32
// CHECK-NEXT:     %[[row:.*]] = tir.string "row_major"
// CHECK-NEXT:     %[[col:.*]] = tir.string "col_major"
// CHECK-NEXT:     %[[zero:.*]] = tir.const 0.000000e+00 : f32
// CHECK-NEXT:     %[[a:.*]] = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_a">
// CHECK-NEXT:     %[[b:.*]] = tir.allocate [256] : !tir.ptr<f16, "wmma.matrix_b">
// CHECK-NEXT:     %[[c:.*]] = tir.allocate [256] : !tir.ptr<f32, "wmma.accumulator">
// CHECK-NEXT:   }
