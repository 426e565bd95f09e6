// RUN: xdsl-opt %s -p tvm-lower-assert --split-input-file | filecheck %s

// A failed assertion stores the address of its message and returns; a caller looks. What
// other modules see has a form that stores the message in a global.

// CHECK: llvm.mlir.global private constant @[[TEXT:.*]]("positive\00")
// CHECK-LABEL: func.func @inner(
// CHECK-SAME: %[[C:.*]]: i1, %[[N:.*]]: i32) -> i32
// CHECK: %[[SLOT:.*]] = llvm.alloca %{{.*}} x i64
// CHECK-NEXT: llvm.store %{{.*}}, %[[SLOT]] : i64, !llvm.ptr
// CHECK-NEXT: %[[R:.*]] = func.call @inner.reporting(%[[C]], %[[N]], %[[SLOT]])
// CHECK-NEXT: %[[M:.*]] = llvm.load %[[SLOT]] : !llvm.ptr -> i64
// CHECK-NEXT: %[[Z:.*]] = arith.constant 0 : i64
// CHECK-NEXT: %[[FAILED:.*]] = arith.cmpi ne, %[[M]], %[[Z]] : i64
// CHECK-NEXT: %[[P:.*]] = llvm.mlir.addressof @tvm_failed_assert : !llvm.ptr
// CHECK-NEXT: %[[OLD:.*]] = llvm.load %[[P]] : !llvm.ptr -> i64
// CHECK-NEXT: %[[NEW:.*]] = arith.select %[[FAILED]], %[[M]], %[[OLD]] : i64
// CHECK-NEXT: llvm.store %[[NEW]], %[[P]] : i64, !llvm.ptr
// CHECK-NEXT: func.return %[[R]] : i32
// CHECK-LABEL: func.func @inner.reporting(
// CHECK-SAME: %[[C:.*]]: i1, %[[N:.*]]: i32, %[[SLOT:.*]]: !llvm.ptr)
func.func @inner(%c: i1, %n: i32) -> i32 {
  // CHECK-NEXT: cf.cond_br %[[C]], ^[[REST:.*]], ^[[FAILED:.*]]
  cf.assert %c, "positive"
  // CHECK-NEXT: ^[[REST]]:
  // CHECK-NEXT: func.return %[[N]] : i32
  func.return %n : i32
  // CHECK-NEXT: ^[[FAILED]]:
  // CHECK-NEXT: %[[M:.*]] = llvm.mlir.addressof @[[TEXT]] : !llvm.ptr
  // CHECK-NEXT: %[[I:.*]] = llvm.ptrtoint %[[M]] : !llvm.ptr to i64
  // CHECK-NEXT: llvm.store %[[I]], %[[SLOT]] : i64, !llvm.ptr
  // CHECK-NEXT: cf.br ^[[EXIT:.*]]
  // CHECK-NEXT: ^[[EXIT]]:
  // CHECK-NEXT: %[[Z:.*]] = arith.constant 0 : i32
  // CHECK-NEXT: func.return %[[Z]] : i32
}
// CHECK-LABEL: func.func private @outer(
// CHECK-SAME: %[[C:.*]]: i1, %[[N:.*]]: i32, %[[SLOT:.*]]: !llvm.ptr)
func.func private @outer(%c: i1, %n: i32) {
  // CHECK-NEXT: func.call @inner.reporting(%[[C]], %[[N]], %[[SLOT]])
  %r = func.call @inner(%c, %n) : (i1, i32) -> i32
  // CHECK-NEXT: %[[V:.*]] = llvm.load %[[SLOT]] : !llvm.ptr -> i64
  // CHECK-NEXT: %[[Z:.*]] = arith.constant 0 : i64
  // CHECK-NEXT: %[[OK:.*]] = arith.cmpi eq, %[[V]], %[[Z]] : i64
  // CHECK-NEXT: cf.cond_br %[[OK]], ^[[REST:.*]], ^[[EXIT:.*]]
  // CHECK-NEXT: ^[[REST]]:
  // CHECK-NEXT: "test.op"() : () -> ()
  "test.op"() : () -> ()
  // CHECK-NEXT: func.return
  func.return
  // CHECK-NEXT: ^[[EXIT]]:
  // CHECK-NEXT: func.return
}
// CHECK-LABEL: func.func @unrelated
func.func @unrelated() {
  // CHECK-NEXT: func.return
  func.return
}
// CHECK: llvm.mlir.global weak @tvm_failed_assert(0 : i64)

// -----

// Two assertions in one block share the way out.

// CHECK-LABEL: func.func private @two
func.func private @two(%c: i1, %d: i1) -> f32 {
  // CHECK-NEXT: cf.cond_br %c, ^[[A:.*]], ^{{.*}}
  cf.assert %c, "first"
  // CHECK-NEXT: ^[[A]]:
  // CHECK-NEXT: cf.cond_br %d, ^{{.*}}, ^{{.*}}
  cf.assert %d, "second"
  %x = arith.constant 1.0 : f32
  func.return %x : f32
  // CHECK-COUNT-1: arith.constant 0.000000e+00 : f32
}

// -----

// No assertion, no global; assertions of kernels and inside of other ops stay.

// CHECK: "gpu.module"
// CHECK: cf.assert %{{.*}}, "kernel"
"gpu.module"() <{sym_name = "kernels"}> ({
  func.func @kernel(%c: i1) {
    cf.assert %c, "kernel"
    func.return
  }
}) : () -> ()
// CHECK: cf.assert %{{.*}}, "nested"
func.func @nested(%c: i1) {
  scf.if %c {
    cf.assert %c, "nested"
  }
  func.return
}
// CHECK-NOT: tvm_failed_assert

// -----

// Code that threads run has a slot of its own; the launch gives the first failure.

llvm.func @xdsl_tvm_parallel_for(!llvm.ptr, !llvm.ptr, i64) -> i64

// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[I:.*]]: index, %[[C:.*]]: i1, %[[SLOT:.*]]: !llvm.ptr)
func.func private @body(%i: index, %c: i1) {
  cf.assert %c, "own"
  func.call @shared(%c) : (i1) -> ()
  func.return
}
// CHECK:       func.call @shared(%[[C]], %[[SLOT]]) : (i1, !llvm.ptr) -> ()
// CHECK-NEXT:  %[[V:.*]] = llvm.load %[[SLOT]] : !llvm.ptr -> i64
// CHECK:       cf.cond_br
// CHECK:       llvm.store %{{.*}}, %[[SLOT]] : i64, !llvm.ptr

// CHECK-LABEL: func.func private @shared(
// CHECK-SAME: %{{.*}}: i1, %[[SLOT:.*]]: !llvm.ptr) {
// CHECK:       llvm.store %{{.*}}, %[[SLOT]]
func.func private @shared(%c: i1) {
  cf.assert %c, "shared"
  func.return
}

// CHECK-LABEL: llvm.func internal @chunk(
llvm.func internal @chunk(%t: i32, %n: i32, %context: !llvm.ptr) -> i64 {
  %i = arith.constant 0 : index
  %c = llvm.load %context : !llvm.ptr -> i1
  func.call @body(%i, %c) : (index, i1) -> ()
  %zero = arith.constant 0 : i64
  llvm.return %zero : i64
}
// CHECK:       %[[SLOT:.*]] = llvm.alloca
// CHECK-NEXT:  llvm.store %{{.*}}, %[[SLOT]] : i64, !llvm.ptr
// CHECK-NEXT:  func.call @body(%{{.*}}, %{{.*}}, %[[SLOT]])
// CHECK-NEXT:  %[[FOUND:.*]] = llvm.load %[[SLOT]] : !llvm.ptr -> i64
// CHECK:       llvm.return %[[FOUND]] : i64

// CHECK-LABEL: func.func private @launches(
// CHECK-SAME:  %[[CONTEXT:.*]]: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i1, %[[SLOT:.*]]: !llvm.ptr)
func.func private @launches(%context: !llvm.ptr, %limit: i64, %c: i1) {
  %chunk = llvm.mlir.addressof @chunk : !llvm.ptr
  %r = llvm.call @xdsl_tvm_parallel_for(%chunk, %context, %limit) : (!llvm.ptr, !llvm.ptr, i64) -> i64
  func.call @shared(%c) : (i1) -> ()
  func.return
}
// CHECK:       %[[R:.*]] = llvm.call @xdsl_tvm_parallel_for(%{{.*}}, %[[CONTEXT]], %{{.*}})
// CHECK-NEXT:  %[[Z:.*]] = arith.constant 0 : i64
// CHECK-NEXT:  %[[OK:.*]] = arith.cmpi eq, %[[R]], %[[Z]] : i64
// CHECK-NEXT:  cf.cond_br %[[OK]], ^[[REST:.*]], ^[[FAILED:.*]]
// CHECK:       ^[[REST]]:
// CHECK-NEXT:  func.call @shared(%{{.*}}, %[[SLOT]]) : (i1, !llvm.ptr) -> ()
// CHECK:       ^[[FAILED]]:
// CHECK-NEXT:  llvm.store %[[R]], %[[SLOT]]

// What is allocated has a place, which its release clears; the road out releases it.
// CHECK-LABEL: func.func private @allocates(
// CHECK:       %[[A:.*]] = llvm.alloca %{{.*}} x !llvm.ptr
// CHECK-NEXT:  %[[N:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK-NEXT:  llvm.store %[[N]], %[[A]]
// CHECK:       %[[M:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT:  %[[P:.*]] = builtin.unrealized_conversion_cast %[[M]] : memref<8xf32> to !llvm.ptr
// CHECK-NEXT:  llvm.store %[[P]], %[[A]]
// CHECK:       cf.cond_br %{{.*}}, ^[[GO:.*]], ^[[FAILED:.*]]
// CHECK:       %[[Q:.*]] = builtin.unrealized_conversion_cast %[[M]]
// CHECK-NEXT:  %[[HELD:.*]] = llvm.load %[[A]] : !llvm.ptr -> !llvm.ptr
// CHECK-NEXT:  %[[SAME:.*]] = tvm_llvm.icmp "eq" %[[HELD]], %[[Q]]
// CHECK-NEXT:  %[[NONE:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK-NEXT:  %[[KEPT:.*]] = tvm_llvm.select %[[SAME]], %[[NONE]], %[[HELD]]
// CHECK-NEXT:  llvm.store %[[KEPT]], %[[A]]
// CHECK-NEXT:  memref.dealloc %[[M]]
// CHECK:       %[[LEFT:.*]] = llvm.load %[[A]] : !llvm.ptr -> !llvm.ptr
// CHECK-NEXT:  %[[BYTES:.*]] = builtin.unrealized_conversion_cast %[[LEFT]] : !llvm.ptr to memref<?xi8>
// CHECK-NEXT:  memref.dealloc %[[BYTES]]
// CHECK-NEXT:  func.return
func.func private @allocates(%c: i1) {
  %m = memref.alloc() : memref<8xf32>
  cf.assert %c, "stop"
  memref.dealloc %m : memref<8xf32>
  func.return
}

// -----

// Numbers of messages belong to the slot, too; the context of a chunk comes with them.

llvm.mlir.global weak @tvm_failed_number0(0 : i64) : i64
llvm.func @xdsl_tvm_parallel_for(!llvm.ptr, !llvm.ptr, i64) -> i64

// CHECK-LABEL: func.func private @numbered(
// CHECK-SAME:  %[[C:.*]]: i1, %[[V:.*]]: i64, %[[SLOT:.*]]: !llvm.ptr)
// CHECK-NEXT:  %[[S:.*]] = llvm.getelementptr %[[SLOT]][1] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK-NEXT:  %[[B:.*]] = llvm.load %[[S]] : !llvm.ptr -> !llvm.ptr
// CHECK-NEXT:  %[[N:.*]] = llvm.getelementptr %[[B]][0] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK-NEXT:  llvm.store %[[V]], %[[N]] : i64, !llvm.ptr
// CHECK-NEXT:  cf.cond_br %[[C]]
func.func private @numbered(%c: i1, %v: i64) {
  %p = llvm.mlir.addressof @tvm_failed_number0 : !llvm.ptr
  llvm.store %v, %p : i64, !llvm.ptr
  cf.assert %c, "got {tvm_failed_number0}"
  func.return
}

// CHECK-LABEL: llvm.func internal @chunk(
// CHECK-SAME:  %[[PAIR:[0-9a-z]*]]: !llvm.ptr) -> i64
// CHECK-NEXT:  %[[CONTEXT:.*]] = llvm.load %[[PAIR]] : !llvm.ptr -> !llvm.ptr
// CHECK-NEXT:  %[[S:.*]] = llvm.getelementptr %[[PAIR]][1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK-NEXT:  %[[NUMBERS:.*]] = llvm.load %[[S]] : !llvm.ptr -> !llvm.ptr
// CHECK-NEXT:  llvm.load %[[CONTEXT]] : !llvm.ptr -> i1
// CHECK:       %[[SLOT:.*]] = llvm.alloca
// CHECK:       %[[SECOND:.*]] = llvm.getelementptr %[[SLOT]][1]
// CHECK-NEXT:  llvm.store %[[NUMBERS]], %[[SECOND]]
// CHECK-NEXT:  func.call @numbered(%{{.*}}, %{{.*}}, %[[SLOT]])
llvm.func internal @chunk(%t: i32, %n: i32, %context: !llvm.ptr) -> i64 {
  %c = llvm.load %context : !llvm.ptr -> i1
  %v = arith.constant 3 : i64
  func.call @numbered(%c, %v) : (i1, i64) -> ()
  %zero = arith.constant 0 : i64
  llvm.return %zero : i64
}

// CHECK-LABEL: func.func @launches(
// CHECK:       %[[ARRAY:.*]] = llvm.alloca
// CHECK:       %[[SLOT:.*]] = llvm.alloca
// CHECK:       %[[SECOND:.*]] = llvm.getelementptr %[[SLOT]][1]
// CHECK-NEXT:  llvm.store %[[ARRAY]], %[[SECOND]]
// CHECK-NEXT:  func.call @launches.reporting(
// CHECK:       llvm.mlir.addressof @tvm_failed_assert
// CHECK:       llvm.mlir.addressof @tvm_failed_number0
// CHECK-LABEL: func.func @launches.reporting(
// CHECK-SAME:  %[[OWN:.*]]: !llvm.ptr, %{{.*}}: i64, %[[SLOT:.*]]: !llvm.ptr)
// CHECK:       %[[PAIR:.*]] = llvm.alloca %{{.*}} x !llvm.ptr
// CHECK:       llvm.store %[[OWN]], %[[PAIR]]
// CHECK:       %[[NUMBERS:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK:       llvm.store %[[NUMBERS]], %{{.*}}
// CHECK:       llvm.call @xdsl_tvm_parallel_for(%{{.*}}, %[[PAIR]], %{{.*}})
func.func @launches(%context: !llvm.ptr, %limit: i64) {
  %chunk = llvm.mlir.addressof @chunk : !llvm.ptr
  %r = llvm.call @xdsl_tvm_parallel_for(%chunk, %context, %limit) : (!llvm.ptr, !llvm.ptr, i64) -> i64
  func.return
}
