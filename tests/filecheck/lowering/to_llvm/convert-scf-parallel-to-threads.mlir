// RUN: xdsl-opt %s -p tvm-convert-scf-parallel-to-threads --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'tvm-convert-scf-parallel-to-threads{min_work=1000000000}' --split-input-file | filecheck %s --check-prefix=SERIAL

// The loop becomes a function of a range; another one takes a thread's share.

func.func @copy(%a: memref<?x64xf32> {llvm.noalias}, %b: memref<?x64xf32> {llvm.noalias}, %n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %high = arith.index_cast %n : i32 to index
  "scf.parallel"(%c0, %high, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = arith.index_cast %i : index to i32
    %k = arith.index_cast %v : i32 to index
    scf.for %j = %c0 to %c64 step %c1 {
      %x = memref.load %a[%k, %j] : memref<?x64xf32>
      memref.store %x, %b[%k, %j] : memref<?x64xf32>
    }
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK:         llvm.func @xdsl_tvm_parallel_for(!llvm.ptr, !llvm.ptr, i64) -> i64

// The loop counts in i32, since its variable is one and the bound was.
// CHECK:         func.func private @copy_parallel(%[[LOW:.*]]: index, %[[HIGH:.*]]: index, %[[A:.*]]: memref<?x64xf32> {llvm.noalias}, %[[B:.*]]: memref<?x64xf32> {llvm.noalias}) attributes {no_inline} {
// CHECK-DAG:       %[[L:.*]] = arith.index_cast %[[LOW]] : index to i32
// CHECK-DAG:       %[[H:.*]] = arith.index_cast %[[HIGH]] : index to i32
// CHECK:           scf.for %[[I:.*]] = %[[L]] to %[[H]] step %{{.*}} : i32 {
// CHECK-NEXT:        %[[K:.*]] = arith.index_cast %[[I]] : i32 to index
// CHECK-NEXT:        scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT:          memref.load %[[A]][%[[K]], %[[J]]]
// LLVM would copy the inner loop.
// CHECK:           } {tvm_llvm.loop = #tvm_llvm.loop<{unroll.disable}>}

// CHECK:         llvm.func internal @copy_chunk(%[[T:.*]]: i32, %[[N:.*]]: i32, %[[C:.*]]: !llvm.ptr) -> i64 attributes {no_inline, optimize_none} {
// CHECK:           %[[T64:.*]] = arith.extui %[[T]] : i32 to i64
// CHECK-NEXT:      %[[N64:.*]] = arith.extui %[[N]] : i32 to i64
// CHECK-NEXT:      %[[SIZE:.*]] = arith.divui %[[TRIPS:.*]], %[[N64]] : i64
// CHECK-NEXT:      %[[USED:.*]] = arith.muli %[[SIZE]], %[[N64]] : i64
// CHECK-NEXT:      %[[REST:.*]] = arith.subi %[[TRIPS]], %[[USED]] : i64
// CHECK:           func.call @copy_parallel(
// CHECK-NEXT:      %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK-NEXT:      llvm.return %[[ZERO]] : i64

// 128 operations in an iteration: fewer than 2048 iterations are not worth a second thread.
// CHECK:         func.func @copy(
// CHECK-NEXT:      %[[ONE:.*]] = arith.constant 1 : i64
// CHECK-NEXT:      %[[CTX:.*]] = llvm.alloca %[[ONE]] x !llvm.struct<(i64, i64, !llvm.ptr, !llvm.ptr)>
// CHECK:           %[[LEAST:.*]] = arith.constant 2048 : i64
// CHECK-NEXT:      %[[FEW:.*]] = arith.cmpi slt, %[[COUNT:.*]], %[[LEAST]] : i64
// CHECK-NEXT:      %[[SINGLE:.*]] = arith.constant 1 : i64
// CHECK-NEXT:      %[[LIMIT:.*]] = arith.select %[[FEW]], %[[SINGLE]], %[[COUNT]] : i64
// CHECK:           %[[F:.*]] = llvm.mlir.addressof @copy_chunk : !llvm.ptr
// CHECK-NEXT:      llvm.call @xdsl_tvm_parallel_for(%[[F]], %[[CTX]], %[[LIMIT]])

// SERIAL-LABEL:  func.func @copy(
// SERIAL:          arith.constant 7812500 : i64

// -----

// Little work runs in order, and so do loops in others.

func.func @little(%a: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  "scf.parallel"(%c0, %c64, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %x = memref.load %a[%i] : memref<64xf32>
    memref.store %x, %a[%i] : memref<64xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK-LABEL: func.func @little(
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT:      memref.load %{{.*}}[%[[I]]]
// CHECK-NOT:     llvm.call
// CHECK:         func.return

func.func private @work(index, index, f32)

func.func @nested(%n: index, %m: index, %s: index, %f: f32, %p: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "scf.parallel"(%c0, %c0, %n, %m, %s, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%k: index):
      %q = "memref.cast"(%p) : (memref<4xf32>) -> memref<?xf32>
      memref.store %f, %q[%k] : memref<?xf32>
      func.call @work(%i, %k, %f) : (index, index, f32) -> ()
      scf.reduce
    }) : (index, index, index) -> ()
    scf.reduce
  }) {hint = 1 : i32} : (index, index, index, index, index, index) -> ()
  func.return
}

// The first dimension is cut. The argument of the function may be what @work writes to.
// CHECK:       func.func private @nested_parallel(%{{.*}}: index, %{{.*}}: index, %[[S:.*]]: index, %[[M:.*]]: index, %[[N:.*]]: index, %[[P:.*]]: memref<4xf32>, %[[F:.*]]: f32) attributes {no_inline} {
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %[[S]] {
// CHECK-NEXT:      scf.for %{{.*}} = %{{.*}} to %[[M]] step %{{.*}} {
// CHECK-NEXT:        scf.for %[[K:.*]] = %{{.*}} to %[[N]] step %{{.*}} {
// CHECK:               func.call @work(%[[I]], %[[K]], %[[F]])
// CHECK:         } {hint = 1 : i32, tvm_llvm.loop = #tvm_llvm.loop<{unroll.disable}>}
// CHECK:       llvm.func internal @nested_chunk(
// CHECK:       func.func @nested(
// CHECK:         arith.divui
// CHECK:         llvm.call @xdsl_tvm_parallel_for(

// -----

// Reductions are combined in order.

func.func @reduced(%n: index, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = "scf.parallel"(%c0, %n, %c1, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
  ^bb0(%i: index):
    scf.reduce (%x : f32) {
    ^bb0(%l: f32, %h: f32):
      %s = arith.addf %l, %h : f32
      scf.reduce.return %s : f32
    }
  }) : (index, index, index, f32) -> f32
  func.return %r : f32
}

// CHECK-LABEL: func.func @reduced(
// CHECK:         "scf.parallel"
