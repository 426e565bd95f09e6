// RUN: xdsl-opt %s -p 'relax-update-param-struct-info{types="main 0 = tensor<?x8xf16, #relax.dims<[n, 8]>>","main 1 = tensor<8x2xf16>"}' --split-input-file | filecheck %s

// Types follow through blocks and branches, and to the result.

!x = tensor<4x8xf32>
!w = tensor<8x2xf32>
!y = tensor<4x2xf32>

// CHECK: relax.func @main<n>(%x: tensor<?x8xf16, #relax.dims<[n, 8]>>, %w: tensor<8x2xf16>, %c: tensor<i1>) -> !relax.tuple<tensor<?x2xf16, #relax.dims<[n, 2]>>, tensor<?x2xf16, #relax.dims<[n, 2]>>>
relax.func @main(%x: !x, %w: !w, %c: tensor<i1>) -> !relax.tuple<!y, !y> {
  // CHECK-NEXT: relax.dataflow -> (tensor<?x2xf16, #relax.dims<[n, 2]>>)
  // CHECK-NEXT: relax.matmul %x, %w : {{.*}} -> tensor<?x2xf16, #relax.dims<[n, 2]>>
  // CHECK: relax.if %c : tensor<i1> -> tensor<?x2xf16, #relax.dims<[n, 2]>>
  // CHECK: relax.tuple
  %r = relax.dataflow -> (!y) {
    %m = relax.matmul %x, %w : (!x, !w) -> !y
    relax.output %m : !y
  }
  %s = relax.if %c : tensor<i1> -> !y {
    %e = relax.exp %r : (!y) -> !y
    relax.yield %e : !y
  } else {
    relax.yield %r : !y
  }
  %t = relax.tuple(%r, %s) : !y, !y
  relax.return %t : !relax.tuple<!y, !y>
}
// CHECK: relax.func @other(%x: tensor<4x8xf32>)
relax.func @other(%x: !x) -> !x {
  relax.return %x : !x
}

// -----

// What the program declares stays.

!x = tensor<4x8xf32>
!w = tensor<8x2xf32>

// CHECK: relax.func @main<n>({{.*}}) -> tensor<?x?x!relax.any>
relax.func @main(%x: !x, %w: !w) -> tensor<?x?x!relax.any> {
  // CHECK-NEXT: relax.matmul %x, %w : {{.*}} -> tensor<?x?x!relax.any>
  %m = relax.matmul %x, %w : (!x, !w) -> tensor<?x?x!relax.any>
  relax.return %m : tensor<?x?x!relax.any>
}
