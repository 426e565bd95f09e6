// RUN: xdsl-opt %s -p tvm-convert-scf-parallel-to-threads --verify-diagnostics --split-input-file | filecheck %s

func.func private @xdsl_tvm_parallel_for()
func.func @taken(%n: index, %a: memref<?xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %x, %a[%i] : memref<?xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK: cannot lower 'scf.for': the symbol 'xdsl_tvm_parallel_for' is taken by 'func.func' of another type; rename that operation

// -----

func.func @tensor(%n: index, %t: tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "scf.parallel"(%c0, %n, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    "test.op"(%t) : (tensor<4xf32>) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK: cannot lower 'scf.parallel': its body uses a value of type tensor<4xf32> from outside, which has no LLVM form; lower that first
