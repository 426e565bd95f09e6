// RUN: xdsl-opt %s -p tir-transform-mma-buffer-layout --verify-diagnostics --split-input-file | filecheck %s

// CASE: TransformMmaBufferLayout.6
// CHECK: tir.alloc_buffer in @rank: a matrix has two dimensions at least; give it rows and columns
tir.func @rank() {
  %A = tir.alloc_buffer "A" : !tir.buffer<64xf16, "m16n8k8.matrixA">
}

// -----

// CASE: TransformMmaBufferLayout.6
// CHECK: tir.alloc_buffer in @symbolic: rows and columns of a matrix must be constants; specialize them
tir.func @symbolic(%n: i32) {
  %A = tir.alloc_buffer "A" [%n] : !tir.buffer<?x8xf16, "m16n8k8.matrixA">
}

// -----

// CASE: TransformMmaBufferLayout.6
// CHECK: tir.alloc_buffer in @rows: 16 by 8 elements are no tiles of 32 by 8, which m16n8k8.matrixA consists of; pad them
tir.func @rows() {
  %A = tir.alloc_buffer "A" : !tir.buffer<16x8xf16, "m16n8k8.matrixA">
}

// -----

// CASE: TransformMmaBufferLayout.6
// CHECK: tir.alloc_buffer in @columns: 8 by 48 elements are no tiles of 8 by 32, which m16n8k8.matrixB consists of; pad them
tir.func @columns() {
  %B = tir.alloc_buffer "B" : !tir.buffer<8x48xf16, "m16n8k8.matrixB">
}

// -----

// CASE: TransformMmaBufferLayout.6
// CHECK: tir.alloc_buffer in @product: 16 by 12 elements are no tiles of 16 by 8, which m16n8k8.matrixC consists of; pad them
tir.func @product() {
  %C = tir.alloc_buffer "C" : !tir.buffer<16x12xf32, "m16n8k8.matrixC">
}

// -----

// CHECK: tir.load in @element: m16n8k8.matrixA is accessed by intrinsics only, since its elements are in several lanes; use a pointer
tir.func @element(%i: i32) {
  %A = tir.alloc_buffer "A" : !tir.buffer<32x8xf16, "m16n8k8.matrixA">
  %x = tir.load %A[%i, %i] : f16
}

// -----

// CHECK: tir.load in @vector: elements of a matrix are accessed one by one; run before vectorizing
tir.func @vector(%i: i32) {
  %C = tir.alloc_buffer "C" : !tir.buffer<16x8xf32, "m16n8k8.matrixC">
  %j = tir.ramp %i, %i : vector<2xi32>
  %x = tir.load %C[%i, %j] : vector<2xf32>
}

// -----

// CHECK: tir.match_region in @view: views of fragments must be gone here; run tir-lower-match-buffer first
tir.func @view(%i: i32) {
  %C = tir.alloc_buffer "C" : !tir.buffer<16x8xf32, "m16n8k8.matrixC">
  tir.block "B" {
    %D = tir.match_region "D" %C[%i, %i to %i + 2] : !tir.buffer<1x2xf32, "m16n8k8.matrixC">
  }
}

// -----

// CHECK: tir.alloc_buffer in @offset: fragments of a lane have no offset; allocate them without one
tir.func @offset() {
  %c8 = tir.const 8 : i32
  %C = tir.alloc_buffer "C" offset %c8 : !tir.buffer<16x8xf32, "m16n8k8.matrixC">
}

// -----

// CHECK: tir.yield in @choice: chooses a pointer to fragments; choose between statements
tir.func @choice(%q: i1, %p: !tir.ptr<f32, "m16n8k8.matrixC">) {
  %C = tir.alloc_buffer "C" : !tir.buffer<16x8xf32, "m16n8k8.matrixC">
  %d = tir.data %C : !tir.ptr<f32, "m16n8k8.matrixC">
  %e = tir.if_then_else %q -> !tir.ptr<f32, "m16n8k8.matrixC"> {
    tir.yield %d : !tir.ptr<f32, "m16n8k8.matrixC">
  } else {
    tir.yield %p : !tir.ptr<f32, "m16n8k8.matrixC">
  }
}

// -----

// CHECK: test.op in @unknown: uses fragments other than by their pointer; pass a tir.data
tir.func @unknown() {
  %C = tir.alloc_buffer "C" : !tir.buffer<16x8xf32, "m16n8k8.matrixC">
  "test.op"(%C) : (!tir.buffer<16x8xf32, "m16n8k8.matrixC">) -> ()
}
