// RUN: xdsl-opt %s -p relax-eliminate-common-subexpr --split-input-file --allow-unregistered-dialect | filecheck %s
// RUN: xdsl-opt %s -p 'relax-eliminate-common-subexpr{call_only=true}' --split-input-file --allow-unregistered-dialect | filecheck %s --check-prefix=CALLS

// CASE: EliminateCommonSubexpr.1, EliminateCommonSubexpr.3
// Operators, calls of TIR functions and equal constants; what was found equal makes
// users equal, too.

// CHECK-LABEL: relax.func @chains
// CHECK-NEXT: %c = relax.constant dense<1.000000e+00>
// CHECK-NEXT: %[[A:.*]] = relax.add %x, %c
// CHECK-NEXT: %[[T:.*]] = relax.call_tir @f(%[[A]])
// CHECK-NEXT: %[[R:.*]] = relax.subtract %[[T]], %[[T]]
// CHECK-NEXT: relax.return %[[R]]
// CALLS-LABEL: relax.func @chains
// CALLS-NEXT: %c = relax.constant
// CALLS-NEXT: %d = relax.constant
// CALLS-NEXT: %[[A:.*]] = relax.add %x, %c
// CALLS-NEXT: %[[T:.*]] = relax.call_tir @f(%[[A]])
// CALLS-NEXT: %[[R:.*]] = relax.subtract %[[T]], %[[T]]
// CALLS-NEXT: relax.return %[[R]]
relax.func @chains(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = relax.constant dense<1.0> : tensor<4xf32>
  %d = relax.constant dense<1.0> : tensor<4xf32>
  %a = relax.add %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = relax.add %x, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = relax.call_tir @f(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %u = relax.call_tir @f(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %r = relax.subtract %t, %u : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}
tir.func @f(%a: !tir.handle, %b: !tir.handle) {
}

// -----

// Attributes, types and the order of operands tell operations apart.

// CHECK-LABEL: relax.func @differences
// CHECK-COUNT-2: relax.concat
// CHECK-COUNT-2: relax.subtract
// CHECK: relax.astype {{.*}} -> tensor<4x4xf16>
// CHECK: relax.astype {{.*}} -> tensor<4x4xf64>
// CHECK-NEXT: relax.return
relax.func @differences(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf16> {
  %t = relax.tuple(%x, %y) : tensor<4x4xf32>, tensor<4x4xf32>
  %a = relax.concat %t axis 0 : (!relax.tuple<tensor<4x4xf32>, tensor<4x4xf32>>) -> tensor<8x4xf32>
  %b = relax.concat %t axis 1 : (!relax.tuple<tensor<4x4xf32>, tensor<4x4xf32>>) -> tensor<4x8xf32>
  %c = relax.subtract %x, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = relax.subtract %y, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = relax.astype %c dtype f16 : (tensor<4x4xf32>) -> tensor<4x4xf16>
  %f = relax.astype %c dtype f64 : (tensor<4x4xf32>) -> tensor<4x4xf64>
  relax.return %e : tensor<4x4xf16>
}

// -----

// CASE: EliminateCommonSubexpr.2
// Tuples, fields and names. With `call_only` they stay, and the calls on them, too; a
// name is the same as what it names.

// CHECK-LABEL: relax.func @tuples
// CHECK-NEXT: %[[T:.*]] = relax.tuple(%x, %y)
// CHECK-NEXT: %[[A:.*]] = relax.get_item %[[T]][1]
// CHECK-NEXT: %[[N:.*]] = relax.alias %[[A]]
// CHECK-NEXT: %[[C:.*]] = relax.nn.relu %[[N]]
// CHECK-NEXT: %[[R:.*]] = relax.add %[[C]], %[[C]]
// CHECK-NEXT: relax.return %[[R]]
// CALLS-LABEL: relax.func @tuples
// CALLS-COUNT-2: relax.tuple
// CALLS-COUNT-2: relax.get_item
// CALLS-COUNT-2: relax.nn.relu
relax.func @tuples(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %s = relax.tuple(%x, %y) : tensor<4xf32>, tensor<4xf32>
  %t = relax.tuple(%x, %y) : tensor<4xf32>, tensor<4xf32>
  %a = relax.get_item %s[1] : !relax.tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
  %b = relax.get_item %t[1] : !relax.tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
  %n = relax.alias %a : tensor<4xf32> -> tensor<4xf32>
  %c = relax.nn.relu %n : (tensor<4xf32>) -> tensor<4xf32>
  %d = relax.nn.relu %b : (tensor<4xf32>) -> tensor<4xf32>
  %r = relax.add %c, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}

// -----

// CASE: EliminateCommonSubexpr.4
// What is above is visible in both branches, one branch is not visible in the other nor
// after the conditional.

// CHECK-LABEL: relax.func @branches
// CHECK-NEXT: %[[A:.*]] = relax.nn.relu %x
// CHECK-NEXT: %[[I:.*]] = relax.if %c
// CHECK-NEXT:   %[[B:.*]] = relax.negative %[[A]]
// CHECK-NEXT:   relax.yield %[[B]]
// CHECK-NEXT: } else {
// CHECK-NEXT:   %[[D:.*]] = relax.negative %[[A]]
// CHECK-NEXT:   relax.yield %[[D]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[E:.*]] = relax.negative %[[A]]
// CHECK-NEXT: relax.add %[[I]], %[[E]]
relax.func @branches(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %i = relax.if %c : tensor<i1> -> tensor<4xf32> {
    %a1 = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    %b = relax.negative %a1 : (tensor<4xf32>) -> tensor<4xf32>
    relax.yield %b : tensor<4xf32>
  } else {
    %a2 = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    %d = relax.negative %a2 : (tensor<4xf32>) -> tensor<4xf32>
    relax.yield %d : tensor<4xf32>
  }
  %e = relax.negative %a : (tensor<4xf32>) -> tensor<4xf32>
  %r = relax.add %i, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}

// -----

// CASE: EliminateCommonSubexpr.5, EliminateCommonSubexpr.6
// Allocations and calls with effects are two; so are computations on what may have been
// written in between, or whose result is written.

// CHECK-LABEL: relax.func impure @effects
// CHECK-COUNT-2: relax.builtin.alloc_tensor
// CHECK-COUNT-2: relax.call_packed "f"
// CHECK: relax.negative %x
// CHECK-NEXT: relax.call_tir_inplace @g(%x)
// CHECK-NEXT: relax.negative %x
// CHECK-COUNT-2: relax.nn.relu %y
// CHECK: "strange.op"
// CHECK: "strange.op"
relax.func impure @effects(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
  %c = relax.call_packed "f"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %d = relax.call_packed "f"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %e = relax.negative %x : (tensor<4xf32>) -> tensor<4xf32>
  %w = relax.call_tir_inplace @g(%x) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  %f = relax.negative %x : (tensor<4xf32>) -> tensor<4xf32>
  %h = relax.nn.relu %y : (tensor<4xf32>) -> tensor<4xf32>
  %i = relax.nn.relu %y : (tensor<4xf32>) -> tensor<4xf32>
  %j = relax.call_tir_inplace @g(%h) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  %k = "strange.op"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %l = "strange.op"(%b) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %i : tensor<4xf32>
}
tir.func @g(%a: !tir.handle) {
}

// -----

// CASE: EliminateCommonSubexpr.7
// Outputs of a dataflow block are visible after it, other values in it are not. What
// was equal inside counts as equal after the block.

// CHECK-LABEL: relax.func @dataflow
// CHECK-NEXT: %{{.*}}, %[[R:.*]] = relax.dataflow
// CHECK-NEXT:   %[[A:.*]] = relax.nn.relu %x
// CHECK-NEXT:   %[[B:.*]] = relax.negative %[[A]]
// CHECK-NEXT:   %[[H:.*]] = relax.tanh %x
// CHECK-NEXT:   relax.output %[[A]], %[[B]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[H2:.*]] = relax.tanh %x
// CHECK-NEXT: relax.add %[[R]], %[[H2]]
relax.func @dataflow(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = relax.dataflow -> (tensor<4xf32>, tensor<4xf32>) {
    %a = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    %b = relax.negative %a : (tensor<4xf32>) -> tensor<4xf32>
    %h = relax.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %a, %b : tensor<4xf32>, tensor<4xf32>
  }
  %c = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %d = relax.negative %c : (tensor<4xf32>) -> tensor<4xf32>
  %h2 = relax.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  %e = relax.add %d, %h2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %e : tensor<4xf32>
}

// -----

// Two checks of one value are one; the symbol of the second becomes that of the first.
// A check that compares more is another one.

// CHECK-LABEL: relax.func @casts
// CHECK-NEXT: %[[A:.*]] = relax.match_cast %x defines [n] : tensor<?x?xf32> -> tensor<?x?xf32, #relax.dims<[n, n * 2]>>
// CHECK-NEXT: %[[B:.*]] = relax.negative %[[A]]
// CHECK-NEXT: %{{.*}} = relax.match_cast %x : tensor<?x?xf32> -> tensor<?x?xf32, #relax.dims<[n, n]>>
// CHECK-NEXT: %{{.*}} = relax.shape [n * 3]
// CHECK-NEXT: relax.add %[[B]], %[[B]] : {{.*}} -> tensor<?x?xf32, #relax.dims<[n, n * 2]>>
// CALLS-LABEL: relax.func @casts
// CALLS-COUNT-3: relax.match_cast
!n = tensor<?x?xf32, #relax.dims<[n, n * 2]>>
!m = tensor<?x?xf32, #relax.dims<[m, m * 2]>>
relax.func @casts(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %a = relax.match_cast %x defines [n] : tensor<?x?xf32> -> !n
  %b = relax.negative %a : (!n) -> !n
  %c = relax.match_cast %x defines [m] : tensor<?x?xf32> -> !m
  %e = relax.match_cast %x : tensor<?x?xf32> -> tensor<?x?xf32, #relax.dims<[m, m]>>
  %s = relax.shape [m * 3]
  %d = relax.negative %c : (!m) -> !m
  %r = relax.add %d, %d : (!m, !m) -> !m
  relax.return %r : tensor<?x?xf32, #relax.dims<[m, m * 2]>>
}
