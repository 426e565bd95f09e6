// RUN: xdsl-opt %s -p relax-report-memory-plan --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p relax-static-plan-block-memory,relax-report-memory-plan --split-input-file | filecheck %s --check-prefix TOKENS
// RUN: xdsl-opt %s -p 'relax-static-plan-block-memory{strategy="arena" alignment=4},relax-report-memory-plan' --split-input-file | filecheck %s --check-prefix ARENA

// One tensor dies before two smaller ones are made: tokens take it over for one of them,
// an arena holds both in its place.
// CHECK: @main: 160 bytes planned, 160 bytes in 4 tensors, 96 bytes at once, ratio 1.67
// TOKENS: @main: 128 bytes planned, 160 bytes in 4 tensors, 96 bytes at once, ratio 1.33
// ARENA: @main: 96 bytes planned, 160 bytes in 4 tensors, 96 bytes at once, ratio 1.00
relax.func impure @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<16xf32>
  %d = relax.builtin.alloc_tensor on 0 scope "global" : tensor<8xf32>
  relax.call_packed "f"(%a, %d) : (tensor<16xf32>, tensor<8xf32>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<8xf32>
  %c = relax.builtin.alloc_tensor on 0 scope "global" : tensor<8xf32>
  relax.call_packed "f"(%b, %c, %d) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> ()
  relax.return %x : tensor<4xf32>
}

// -----

// Bounds of symbols count; what has none is an expression.
// CHECK: @bounded: 80 bytes planned, 80 bytes in 1 tensors, 80 bytes at once, ratio 1.00
// CHECK-NEXT: @free: n * 8 bytes planned, n * 8 bytes in 2 tensors, ? bytes at once, ratio ?
// CHECK-NOT: @nothing:
!n = tensor<?xf32, #relax.dims<[n]>>
relax.func @nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}
relax.func @bounded<n>(%x: !n) -> !n attributes {tir_var_upper_bound = {n = 20 : i64}} {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : !n
  relax.return %a : !n
}
relax.func @free<n>(%x: !n) -> !n {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : !n
  %s = relax.memory.alloc_storage n * 4 on 0 scope "global" dtype f32 : !relax.object
  %b = relax.memory.alloc_tensor %s at 0 : !relax.object -> !n
  relax.return %b : !n
}
