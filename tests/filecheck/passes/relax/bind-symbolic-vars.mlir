// RUN: xdsl-opt %s -p 'relax-bind-symbolic-vars{bindings="n = 8","k = m * 2"}' --split-input-file | filecheck %s

// CASE: BindSymbolicVars.1, BindSymbolicVars.2, BindSymbolicVars.3, BindSymbolicVars.4
// In tensors, shapes and scalars, simplified; in every function with one of the symbols.

// CHECK-LABEL: relax.func @main
// CHECK-SAME: <m>(%x: tensor<8x?xf32, #relax.dims<[8, m]>>, %s: !relax.shape<[8, m * 2]>, %y: tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT: %{{.*}} = relax.prim_value 9 : i64
// CHECK-NEXT: %[[A:.*]] = relax.add %y, %y : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT: %[[B:.*]] = relax.call @callee(%x) : (tensor<8x?xf32, #relax.dims<[8, m]>>) -> tensor<8xf32>
// CHECK-NEXT: relax.return %[[A]] : tensor<16xf32>
!y = tensor<?xf32, #relax.dims<[n * 2]>>
relax.func @main<n, m, k>(%x: tensor<?x?xf32, #relax.dims<[n, m]>>, %s: !relax.shape<[n, k]>, %y: !y) -> !y {
  %p = relax.prim_value n + 1 : i64
  %a = relax.add %y, %y : (!y, !y) -> !y
  %b = relax.call @callee(%x) : (tensor<?x?xf32, #relax.dims<[n, m]>>) -> tensor<?xf32, #relax.dims<[n]>>
  relax.return %a : !y
}
// CHECK: relax.func @callee<a>(%x: tensor<8x?xf32, #relax.dims<[8, a]>>) -> tensor<8xf32>
relax.func @callee<n, a>(%x: tensor<?x?xf32, #relax.dims<[n, a]>>) -> tensor<?xf32, #relax.dims<[n]>> {
  %s = relax.shape [n]
  %z = relax.zeros %s dtype f32 : (!relax.shape<[n]>) -> tensor<?xf32, #relax.dims<[n]>>
  relax.return %z : tensor<?xf32, #relax.dims<[n]>>
}
// CHECK: relax.func @other<j>
relax.func @other<j>(%x: tensor<?xf32, #relax.dims<[j]>>) -> tensor<?xf32, #relax.dims<[j]>> {
  relax.return %x : tensor<?xf32, #relax.dims<[j]>>
}
