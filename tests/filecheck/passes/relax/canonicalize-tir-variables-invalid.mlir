// RUN: xdsl-opt %s -p relax-canonicalize-tir-variables --split-input-file --verify-diagnostics | filecheck %s

// CASE: CanonicalizeBindings.10
// CHECK: relax-canonicalize-tir-variables: relax.match_cast from tensor<16x32xf32> to tensor<?x?xf32, #relax.dims<[m, m]>> never holds, 16 is not 32; correct the cast
relax.func @twice(%x: tensor<16x32xf32>) -> tensor<?x?xf32> {
  %y = relax.match_cast %x defines [m] : tensor<16x32xf32> -> tensor<?x?xf32, #relax.dims<[m, m]>>
  relax.return %y : tensor<?x?xf32, #relax.dims<[m, m]>>
}

// -----

// CHECK: relax-canonicalize-tir-variables: relax.match_cast from tensor<?xf32, #relax.dims<[n + 1]>> to tensor<?xf32, #relax.dims<[n]>> never holds, n is not n + 1; correct the cast
relax.func @symbolic<n>(%x: tensor<?xf32, #relax.dims<[n + 1]>>, %s: !relax.shape<[n]>) -> tensor<?xf32> {
  %y = relax.match_cast %x : tensor<?xf32, #relax.dims<[n + 1]>> -> tensor<?xf32, #relax.dims<[n]>>
  relax.return %y : tensor<?xf32, #relax.dims<[n]>>
}

// -----

// CHECK: relax-canonicalize-tir-variables: relax.add: {{.*}} cannot be both 4 and 8; what is known of its dimensions says that it always fails, correct the program
relax.func @user(%x: tensor<4xf32>, %z: tensor<8xf32>) -> tensor<?xf32> {
  %y = relax.match_cast %x defines [m] : tensor<4xf32> -> tensor<?xf32, #relax.dims<[m]>>
  %a = relax.add %y, %z : (tensor<?xf32, #relax.dims<[m]>>, tensor<8xf32>) -> tensor<?xf32>
  relax.return %a : tensor<?xf32>
}
