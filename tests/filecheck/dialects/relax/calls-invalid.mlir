// RUN: xdsl-opt %s --verify-diagnostics --split-input-file | filecheck %s

// CHECK: relax.call_tir_inplace: 2 inplace_indices are given for 1 outputs
func.func @f(%x: tensor<4xf32>) {
  %0 = relax.call_tir_inplace @p(%x) inplace [0, -1] : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.call_tir_inplace: there is no argument 1 to write, 1 are given
func.func @f(%x: tensor<4xf32>) {
  %0 = relax.call_tir_inplace @p(%x) inplace [1] : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.call_tir_inplace: there is no argument -2 to write, 1 are given
func.func @f(%x: tensor<4xf32>) {
  %0 = relax.call_tir_inplace @p(%x) inplace [-2] : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.call_tir_inplace: at least one output must be an argument
func.func @f(%x: tensor<4xf32>) {
  %0 = relax.call_tir_inplace @p(%x) inplace [-1] : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.call_tir_inplace: an argument can only be one output
func.func @f(%x: tensor<4xf32>) {
  %0 = relax.call_tir_inplace @p(%x) inplace [0, 0] : (tensor<4xf32>) -> !relax.tuple<tensor<4xf32>, tensor<4xf32>>
  func.return
}

// -----

// CHECK: relax.call_tir_inplace: argument 0 must have the output's shape and dtype, tensor<8xf32>, not tensor<4xf32>
func.func @f(%x: tensor<4xf32>) {
  %0 = relax.call_tir_inplace @p(%x) inplace [0] : (tensor<4xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: relax.call_tir_inplace: argument 0 must have the output's shape and dtype, tensor<4xf16>, not tensor<4xf32>
func.func @f(%x: tensor<4xf32>) {
  %0 = relax.call_tir_inplace @p(%x) inplace [0] : (tensor<4xf32>) -> tensor<4xf16>
  func.return
}

// -----

// CHECK: relax.call_tir_inplace: argument 0 must have the output's shape and dtype, tensor<4xf32>, not tensor<?xf32>
func.func @f(%x: tensor<?xf32>) {
  %0 = relax.call_tir_inplace @p(%x) inplace [0] : (tensor<?xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.call_tir_inplace: @p is not defined in the module
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relax.call_tir_inplace @p(%x) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %0 : tensor<4xf32>
}

// -----

// CHECK: relax.call_tir_inplace: @p has 2 parameters, the call gives 1 arguments, 0 results and 0 tir_vars
tir.func @p(%a: !tir.handle, %b: !tir.handle) {
}
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relax.call_tir_inplace @p(%x) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %0 : tensor<4xf32>
}

// -----

// CHECK: relax.call_tir_with_grad: the result must be tensors of known shape and dtype, not tensor<?xf32>
func.func @f(%x: tensor<4xf32>) {
  %0 = relax.call_tir_with_grad @p(%x) grad "g" {} : (tensor<4xf32>) -> tensor<?xf32>
  func.return
}

// -----

// CHECK: relax.call_packed in @f is impure; mark the function impure or give it the attribute relax.force_pure
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.call_packed "p"(%x) : (tensor<4xf32>) -> ()
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax.print in @f is impure and is in a dataflow block
relax.func impure @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.dataflow -> () {
    relax.print ""() : () -> ()
    relax.output
  }
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax.call_builtin_with_ctx in @f is impure
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.call_builtin_with_ctx "p"(%x) : (tensor<4xf32>) -> ()
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax.invoke_closure in @f is impure
relax.func @f(%x: !relax.object) -> !relax.object {
  %0 = relax.invoke_closure %x() : !relax.object, () -> !relax.object
  relax.return %0 : !relax.object
}

// -----

// CHECK: relax.call_pure_packed: a pure call of "p" without a result does nothing
relax.call_pure_packed "p"() : () -> ()

// -----

// CHECK: relax.call_dps_packed: the result must be tensors of known shape and dtype, not !relax.object
%0 = relax.call_dps_packed "p"() : () -> !relax.object

// -----

// CHECK: relax.call_inplace_packed: argument 0 must be tensor<4xf32>, as the output is, not tensor<?xf32>
func.func @f(%x: tensor<?xf32>) {
  %0 = relax.call_inplace_packed "p"(%x) inplace [0] : (tensor<?xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.call_inplace_packed: there is no argument 0 to write, 0 are given
%0 = relax.call_inplace_packed "p"() inplace [0] : () -> tensor<4xf32>

// -----

// CHECK: relax.assert_op: the condition must be a bool scalar or a bool tensor of rank 0, not tensor<4xi1>
func.func @f(%x: tensor<4xi1>) {
  relax.assert_op %x, ""() : tensor<4xi1>, () -> ()
  func.return
}

// -----

// CHECK: relax.assert_op: the condition must be a bool scalar or a bool tensor of rank 0, not !relax.prim<i32>
func.func @f(%x: !relax.prim<i32>) {
  relax.assert_op %x, ""() : !relax.prim<i32>, () -> ()
  func.return
}
