// RUN: xdsl-opt %s --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file | xdsl-opt --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file --print-op-generic | xdsl-opt --split-input-file | filecheck %s

// Elements at given places.

// CHECK-LABEL: func.func @indexing
func.func @indexing(%x: tensor<9x8xf32>, %i: tensor<2xi64>, %p: !relax.prim<i64>, %z: !relax.tuple<!relax.prim<i64, 0>>, %e: !relax.tuple<!relax.prim<i64, 3>>, %o: !relax.object) {
  // CHECK-NEXT: relax.take %x, %i axis 0 : (tensor<9x8xf32>, tensor<2xi64>) -> tensor<2x8xf32>
  %r0 = relax.take %x, %i axis 0 : (tensor<9x8xf32>, tensor<2xi64>) -> tensor<2x8xf32>
  // CHECK-NEXT: relax.take %i, %i : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %r1 = relax.take %i, %i : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // CHECK-NEXT: relax.take %x, %p axis -1 : (tensor<9x8xf32>, !relax.prim<i64>) -> tensor<9xf32>
  %r2 = relax.take %x, %p axis -1 : (tensor<9x8xf32>, !relax.prim<i64>) -> tensor<9xf32>
  // CHECK-NEXT: relax.strided_slice %x, %z, %z, %e : (tensor<9x8xf32>, !relax.tuple<!relax.prim<i64, 0>>, !relax.tuple<!relax.prim<i64, 0>>, !relax.tuple<!relax.prim<i64, 3>>) -> tensor<3x8xf32>
  %r3 = relax.strided_slice %x, %z, %z, %e : (tensor<9x8xf32>, !relax.tuple<!relax.prim<i64, 0>>, !relax.tuple<!relax.prim<i64, 0>>, !relax.tuple<!relax.prim<i64, 3>>) -> tensor<3x8xf32>
  // CHECK-NEXT: relax.strided_slice %x, %z, %z, %e, %e assume_inbound : (tensor<9x8xf32>, !relax.tuple<!relax.prim<i64, 0>>, !relax.tuple<!relax.prim<i64, 0>>, !relax.tuple<!relax.prim<i64, 3>>, !relax.tuple<!relax.prim<i64, 3>>) -> tensor<1x8xf32>
  %r4 = relax.strided_slice %x, %z, %z, %e, %e assume_inbound : (tensor<9x8xf32>, !relax.tuple<!relax.prim<i64, 0>>, !relax.tuple<!relax.prim<i64, 0>>, !relax.tuple<!relax.prim<i64, 3>>, !relax.tuple<!relax.prim<i64, 3>>) -> tensor<1x8xf32>
  // CHECK-NEXT: relax.strided_slice %x, %o, %z, %e : (tensor<9x8xf32>, !relax.object, !relax.tuple<!relax.prim<i64, 0>>, !relax.tuple<!relax.prim<i64, 3>>) -> tensor<?x?xf32>
  %r5 = relax.strided_slice %x, %o, %z, %e : (tensor<9x8xf32>, !relax.object, !relax.tuple<!relax.prim<i64, 0>>, !relax.tuple<!relax.prim<i64, 3>>) -> tensor<?x?xf32>
  // CHECK-NEXT: relax.dynamic_strided_slice %x, %i, %i, %i : (tensor<9x8xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  %r6 = relax.dynamic_strided_slice %x, %i, %i, %i : (tensor<9x8xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  func.return
}

// -----

// Sums of products.

// CHECK-LABEL: func.func @einsum
func.func @einsum(%t: !relax.tuple<tensor<9x8xf32>, tensor<8x2xf32>>) {
  // CHECK-NEXT: relax.einsum %t subscripts "ij,jk->ik" : (!relax.tuple<tensor<9x8xf32>, tensor<8x2xf32>>) -> tensor<9x2xf32>
  %r0 = relax.einsum %t subscripts "ij,jk->ik" : (!relax.tuple<tensor<9x8xf32>, tensor<8x2xf32>>) -> tensor<9x2xf32>
  // CHECK-NEXT: relax.einsum %t subscripts "...j,jk" : (!relax.tuple<tensor<9x8xf32>, tensor<8x2xf32>>) -> tensor<9x2xf32>
  %r1 = relax.einsum %t subscripts "...j,jk" : (!relax.tuple<tensor<9x8xf32>, tensor<8x2xf32>>) -> tensor<9x2xf32>
  func.return
}
