// RUN: xdsl-opt %s -p relax-remove-redundant-reshape --split-input-file | filecheck %s

!x = tensor<2x6xf32>
!f = tensor<12xf32>
!y = tensor<3x4xf32>

// CHECK-LABEL: relax.func @numbers
relax.func @numbers(%x: !x) -> !relax.tuple<!y, !x, !f> {
  // CHECK-NOT: relax.reshape
  // CHECK: %[[T:.*]] = relax.shape [3, 4]
  // CHECK-NEXT: %[[B:.*]] = relax.reshape %x, %[[T]]
  // CHECK: relax.tuple(%[[B]], %x, %[[K:.*]])
  %s = relax.shape [12]
  %a = relax.reshape %x, %s : (!x, !relax.shape<[12]>) -> !f
  %t = relax.shape [3, 4]
  %b = relax.reshape %a, %t : (!f, !relax.shape<[3, 4]>) -> !y
  %u = relax.shape [2, 6]
  %c = relax.reshape %x, %u : (!x, !relax.shape<[2, 6]>) -> !x
  %k = relax.reshape %x, %s : (!x, !relax.shape<[12]>) -> !f
  %r = relax.tuple(%b, %c, %k) : !y, !x, !f
  relax.return %r : !relax.tuple<!y, !x, !f>
}

// -----

// Symbols are compared; a result of unknown shape, and a kernel, stay.

!n = tensor<?x4xf32, #relax.dims<[n, 4]>>

// CHECK-LABEL: relax.func @symbols
relax.func @symbols<n>(%x: !n) -> !n {
  // CHECK-NOT: relax.reshape
  // CHECK: relax.return %x
  %s = relax.shape [n * 4]
  %a = relax.reshape %x, %s : (!n, !relax.shape<[n * 4]>) -> tensor<?xf32, #relax.dims<[n * 4]>>
  %t = relax.shape [n, 4]
  %b = relax.reshape %a, %t : (tensor<?xf32, #relax.dims<[n * 4]>>, !relax.shape<[n, 4]>) -> !n
  relax.return %b : !n
}

// CHECK-LABEL: relax.func @unknown
relax.func @unknown(%x: tensor<?x?xf32>, %s: !relax.shape<[?, ?]>) -> tensor<?x?xf32> {
  // CHECK-NEXT: relax.reshape
  %a = relax.reshape %x, %s : (tensor<?x?xf32>, !relax.shape<[?, ?]>) -> tensor<?x?xf32>
  relax.return %a : tensor<?x?xf32>
}

// CHECK-LABEL: relax.func @kernel
relax.func @kernel(%x: tensor<4xf32>) -> tensor<4xf32> attributes {Primitive = true} {
  // CHECK: relax.reshape
  %s = relax.shape [4]
  %a = relax.reshape %x, %s : (tensor<4xf32>, !relax.shape<[4]>) -> tensor<4xf32>
  relax.return %a : tensor<4xf32>
}
