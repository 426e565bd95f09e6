// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// Operators of elements, creation, indexing, statistics and sorting; all errors of the
// rules are rows of tests/unit/test_relax_operators_*.py.

// CHECK: relax.exp: result must be tensor<4xf32>, but tensor<8xf32> is declared
func.func @f(%x: tensor<4xf32>) {
  %r = relax.exp %x : (tensor<4xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: relax.exp: operand 'data' must hold floats, not i32
func.func @f(%x: tensor<4xi32>) {
  %r = relax.exp %x : (tensor<4xi32>) -> tensor<4xi32>
  func.return
}

// -----

// CHECK: relax.less: result must be tensor<4xi1>, but tensor<4xf32> is declared
func.func @f(%x: tensor<4xf32>) {
  %r = relax.less %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.where: operand 'condition' must hold i1, not tensor<4xf32>
func.func @f(%x: tensor<4xf32>) {
  %r = relax.where %x, %x, %x : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.clip: operand 'max' must be a !relax.prim, not tensor<4xf32>
func.func @f(%x: tensor<4xf32>, %p: !relax.prim<f32>) {
  %r = relax.clip %x, %p, %x : (tensor<4xf32>, !relax.prim<f32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.zeros: operand 'shape' must be a !relax.shape, not tensor<2xi64>
func.func @f(%x: tensor<2xi64>) {
  %r = relax.zeros %x dtype f32 : (tensor<2xi64>) -> tensor<?x?xf32>
  func.return
}

// -----

// CHECK: relax.arange: result must be tensor<4xi64>, but tensor<5xi64> is declared
func.func @f(%a: !relax.prim<i64, 0>, %b: !relax.prim<i64, 4>, %c: !relax.prim<i64, 1>) {
  %r = relax.arange %a, %b, %c dtype i64 : (!relax.prim<i64, 0>, !relax.prim<i64, 4>, !relax.prim<i64, 1>) -> tensor<5xi64>
  func.return
}

// -----

// CHECK: relax.astype: dtype must be an integer or float, not !relax.any
func.func @f(%x: tensor<4xf32>) {
  %r = relax.astype %x dtype !relax.any : (tensor<4xf32>) -> tensor<4x!relax.any>
  func.return
}

// -----

// CHECK: f32 should be of base attribute relax.vdevice
func.func @f(%x: tensor<4xf32>) {
  %r = relax.to_vdevice %x to f32 : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.take: without an axis the data must have rank 1, not tensor<4x8xf32>
func.func @f(%x: tensor<4x8xf32>, %i: tensor<2xi64>) {
  %r = relax.take %x, %i : (tensor<4x8xf32>, tensor<2xi64>) -> tensor<2x8xf32>
  func.return
}

// -----

// CHECK: relax.strided_slice: the tuples must have one length, not 1 axes, 1 begin, 0 end
func.func @f(%x: tensor<4x8xf32>, %a: !relax.tuple<!relax.prim<i64, 0>>, %b: !relax.tuple<>) {
  %r = relax.strided_slice %x, %a, %a, %b : (tensor<4x8xf32>, !relax.tuple<!relax.prim<i64, 0>>, !relax.tuple<!relax.prim<i64, 0>>, !relax.tuple<>) -> tensor<?x8xf32>
  func.return
}

// -----

// CHECK: relax.einsum: label 'j' cannot be both 8 and 4
func.func @f(%t: !relax.tuple<tensor<4x8xf32>, tensor<4x8xf32>>) {
  %r = relax.einsum %t subscripts "ij,jk->ik" : (!relax.tuple<tensor<4x8xf32>, tensor<4x8xf32>>) -> tensor<4x8xf32>
  func.return
}

// -----

// CHECK: relax.std: axis 2 is out of range for rank 2
func.func @f(%x: tensor<4x8xf32>) {
  %r = relax.std %x axis [2] : (tensor<4x8xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.argmax: result must be tensor<4xi64>, but tensor<4xi32> is declared
func.func @f(%x: tensor<4x8xf32>) {
  %r = relax.argmax %x axis 1 : (tensor<4x8xf32>) -> tensor<4xi32>
  func.return
}

// -----

// CHECK: relax.topk: ret_type must be both, values or indices, not 'all'
func.func @f(%x: tensor<4x8xf32>) {
  %r = relax.topk %x k 2 axis -1 ret "all" dtype i32 : (tensor<4x8xf32>) -> tensor<4x2xf32>
  func.return
}

// -----

// CHECK: Expected 'axis'
func.func @f(%x: tensor<4x8xf32>) {
  %r = relax.sort %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

// CHECK: relax.unique: operand 'sorted' must be a constant, not !relax.prim<i64>
func.func @f(%x: tensor<4xf32>, %p: !relax.prim<i64>) {
  %r = relax.unique %x, %p, %p, %p, %p : (tensor<4xf32>, !relax.prim<i64>, !relax.prim<i64>, !relax.prim<i64>, !relax.prim<i64>) -> tensor<?xf32>
  func.return
}
