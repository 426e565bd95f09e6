// RUN: xdsl-opt %s -p relax-static-plan-block-memory --split-input-file --allow-unregistered-dialect | filecheck %s
// RUN: xdsl-opt %s -p relax-static-plan-block-memory,relax-to-non-dataflow,relax-lower-alloc-tensor,relax-kill-after-last-use --split-input-file --allow-unregistered-dialect | filecheck %s --check-prefix KILL

// A chain: the third tensor is where the first was, and the fourth where the second was,
// which grows; what is returned is not planned.
// CASE: StaticPlanBlockMemory.1

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 32 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x4xf32>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 40 on 0 scope "global" dtype f32
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<8xf32>
// CHECK: %e = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<8xf32>
// CHECK: %g = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<10xf32>
// CHECK: %h = relax.builtin.alloc_tensor on 0 scope "global" : tensor<10xf32>
// CHECK: relax.return

// KILL-LABEL: relax.func impure @main
// KILL-NEXT: %s = relax.shape [8]
// KILL-NEXT: %[[S:.*]] = relax.memory.alloc_storage 32
// KILL-NEXT: %a = relax.memory.alloc_tensor %[[S]]
// KILL-NEXT: relax.call impure @u(%x, %a)
// KILL-NEXT: %r = relax.reshape %a
// KILL-NEXT: relax.memory.kill_tensor %a
// KILL-NEXT: %[[S1:.*]] = relax.memory.alloc_storage 40
// KILL-NEXT: %b = relax.memory.alloc_tensor %[[S1]]
// KILL-NEXT: relax.call impure @u(%r, %b)
// KILL-NEXT: relax.memory.kill_tensor %r
// KILL-NEXT: %e = relax.memory.alloc_tensor %[[S]]
// KILL-NEXT: relax.memory.kill_storage %[[S]]
// KILL-NEXT: relax.call impure @b(%b, %k, %e)
// KILL-NEXT: relax.memory.kill_tensor %b
// KILL-NEXT: %g = relax.memory.alloc_tensor %[[S1]]
// KILL-NEXT: relax.memory.kill_storage %[[S1]]
// KILL-NEXT: relax.call impure @u(%e, %g)
// KILL-NEXT: relax.memory.kill_tensor %e
// KILL-NEXT: %[[S2:.*]] = relax.memory.alloc_storage 40 on 0 scope "global" dtype ui8
// KILL-NEXT: %h = relax.memory.alloc_tensor %[[S2]]
// KILL-NEXT: relax.memory.kill_storage %[[S2]]
// KILL-NEXT: relax.call impure @u(%g, %h)
// KILL-NEXT: relax.memory.kill_tensor %g
// KILL-NEXT: relax.return %h
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
tir.func @b(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
}
relax.func impure @main(%x: tensor<2x4xf32>, %k: tensor<8xf32>) -> tensor<10xf32> {
  %s = relax.shape [8]
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x4xf32>
  relax.call impure @u(%x, %a) : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()
  %r = relax.reshape %a, %s : (tensor<2x4xf32>, !relax.shape<[8]>) -> tensor<8xf32>
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<8xf32>
  relax.call impure @u(%r, %b) : (tensor<8xf32>, tensor<8xf32>) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<8xf32>
  relax.call impure @b(%b, %k, %e) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> ()
  %g = relax.builtin.alloc_tensor on 0 scope "global" : tensor<10xf32>
  relax.call impure @u(%e, %g) : (tensor<8xf32>, tensor<10xf32>) -> ()
  %h = relax.builtin.alloc_tensor on 0 scope "global" : tensor<10xf32>
  relax.call impure @u(%g, %h) : (tensor<10xf32>, tensor<10xf32>) -> ()
  relax.return %h : tensor<10xf32>
}

// -----

// Dtypes do not share; a bool takes a byte.
// CASE: StaticPlanBlockMemory.2, StaticPlanBlockMemory.3

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype i32
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<2x3xi32>
// CHECK: %[[S2:.*]] = relax.memory.alloc_storage 6 on 0 scope "global" dtype i1
// CHECK: %e = relax.memory.alloc_tensor %[[S2]] at 0 : !relax.object -> tensor<2x3xi1>
// CHECK: %g = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %h = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
relax.func impure @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xi32>
  relax.call impure @u(%a, %b) : (tensor<2x3xf32>, tensor<2x3xi32>) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xi1>
  relax.call impure @u(%b, %e) : (tensor<2x3xi32>, tensor<2x3xi1>) -> ()
  %g = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%e, %g) : (tensor<2x3xi1>, tensor<2x3xf32>) -> ()
  %h = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%g, %h) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  relax.return %h : tensor<2x3xf32>
}

// -----

// One dtype, one after the other.
// CASE: StaticPlanBlockMemory.4

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %b = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
tir.func @w(%a: !tir.handle) {
}
relax.func impure @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  relax.call impure @w(%a) : (tensor<2x3xf32>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  relax.call impure @w(%b) : (tensor<2x3xf32>) -> ()
  relax.return %x : tensor<2x3xf32>
}

// -----

// A condition, what branches give, and what a branch takes from outside.
// CASE: StaticPlanBlockMemory.5

// CHECK-LABEL: relax.func impure @main
// CHECK: %condition = relax.builtin.alloc_tensor on 0 scope "global" : tensor<i1>
// CHECK: %outside = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
// CHECK: %given = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
// CHECK: relax.if
// CHECK: %inside = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
// CHECK: } else {
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
relax.func impure @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %condition = relax.builtin.alloc_tensor on 0 scope "global" : tensor<i1>
  relax.call impure @u(%x, %condition) : (tensor<2x3xf32>, tensor<i1>) -> ()
  %outside = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %outside) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %given = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %given) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %r = relax.if %condition : tensor<i1> -> tensor<2x3xf32> {
    %inside = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
    relax.call impure @u(%outside, %inside) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
    relax.yield %inside : tensor<2x3xf32>
  } else {
    relax.yield %given : tensor<2x3xf32>
  }
  relax.return %r : tensor<2x3xf32>
}

// -----

// Tuples in tuples; storages are free in the order in which lives end.
// CASE: StaticPlanBlockMemory.6

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %[[S2:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32
// CHECK: %e = relax.memory.alloc_tensor %[[S2]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %[[S3:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32
// CHECK: %g = relax.memory.alloc_tensor %[[S3]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %h = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %i = relax.memory.alloc_tensor %[[S3]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
relax.func impure @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %e) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %t = relax.tuple(%a, %b) : tensor<2x3xf32>, tensor<2x3xf32>
  %tt = relax.tuple(%t, %e) : !relax.tuple<tensor<2x3xf32>, tensor<2x3xf32>>, tensor<2x3xf32>
  %q = relax.tuple(%tt, %x) : !relax.tuple<!relax.tuple<tensor<2x3xf32>, tensor<2x3xf32>>, tensor<2x3xf32>>, tensor<2x3xf32>
  %q0 = relax.get_item %q[0] : !relax.tuple<!relax.tuple<!relax.tuple<tensor<2x3xf32>, tensor<2x3xf32>>, tensor<2x3xf32>>, tensor<2x3xf32>> -> !relax.tuple<!relax.tuple<tensor<2x3xf32>, tensor<2x3xf32>>, tensor<2x3xf32>>
  %q00 = relax.get_item %q0[0] : !relax.tuple<!relax.tuple<tensor<2x3xf32>, tensor<2x3xf32>>, tensor<2x3xf32>> -> !relax.tuple<tensor<2x3xf32>, tensor<2x3xf32>>
  %y1 = relax.get_item %q00[0] : !relax.tuple<tensor<2x3xf32>, tensor<2x3xf32>> -> tensor<2x3xf32>
  %y2 = relax.get_item %q00[1] : !relax.tuple<tensor<2x3xf32>, tensor<2x3xf32>> -> tensor<2x3xf32>
  %y3 = relax.get_item %q0[1] : !relax.tuple<!relax.tuple<tensor<2x3xf32>, tensor<2x3xf32>>, tensor<2x3xf32>> -> tensor<2x3xf32>
  %g = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%y1, %g) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %h = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%y2, %h) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %i = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%y3, %i) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  relax.return %x : tensor<2x3xf32>
}

// -----

// An operand of an operator.
// CASE: StaticPlanBlockMemory.7

// CHECK-LABEL: relax.func impure @main
// CHECK: %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
relax.func impure @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %y = relax.add %x, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  relax.return %y : tensor<2x3xf32>
}

// -----

// A function of the runtime or of another dialect uses its arguments, and may return a
// view of them.
// CASE: StaticPlanBlockMemory.8

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %d = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %e = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %g = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
// CHECK: relax.return
// CHECK-LABEL: relax.func impure @escapes
// CHECK: %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
// CHECK: relax.return
// CHECK-LABEL: relax.func impure @number
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %b = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
func.func private @ext()
relax.func impure @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %v = relax.call_packed "my.view"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call_packed "my.function"(%v, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %d = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @ext(%b, %d) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %w = relax.call impure @ext(%d) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call_packed "my.function"(%w, %e) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %g = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call_packed "my.function"(%e, %g) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  relax.return %g : tensor<2x3xf32>
}
relax.func impure @escapes(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %v = relax.call_packed "my.view"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  relax.return %v : tensor<2x3xf32>
}
relax.func impure @number(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  %n = relax.call_packed "my.count"(%a) : (tensor<2x3xf32>) -> !relax.prim<i64>
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call_packed "my.function"(%n, %b) : (!relax.prim<i64>, tensor<2x3xf32>) -> ()
  relax.return %x : tensor<2x3xf32>
}

// -----

// Without bounds only provably equal sizes share.
// CASE: StaticPlanBlockMemory.9

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage m * n * 4 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<?x?xf32, #relax.dims<[m, n]>>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage m * n * 4 on 0 scope "global" dtype f32
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<?xf32, #relax.dims<[m * n]>>
// CHECK: %e = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<?x?xf32, #relax.dims<[n, m]>>
// CHECK: %[[S2:.*]] = relax.memory.alloc_storage m * n * 4 + m * 4 on 0 scope "global" dtype f32
// CHECK: %g = relax.memory.alloc_tensor %[[S2]] at 0 : !relax.object -> tensor<?x?xf32, #relax.dims<[m, n + 1]>>
// CHECK: %h = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?x?xf32, #relax.dims<[m, n]>>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
relax.func impure @main<m, n>(%x: tensor<?x?xf32, #relax.dims<[m, n]>>) -> tensor<?x?xf32, #relax.dims<[m, n]>> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?x?xf32, #relax.dims<[m, n]>>
  relax.call impure @u(%x, %a) : (tensor<?x?xf32, #relax.dims<[m, n]>>, tensor<?x?xf32, #relax.dims<[m, n]>>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[n * m]>>
  relax.call impure @u(%a, %b) : (tensor<?x?xf32, #relax.dims<[m, n]>>, tensor<?xf32, #relax.dims<[n * m]>>) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?x?xf32, #relax.dims<[n, m]>>
  relax.call impure @u(%b, %e) : (tensor<?xf32, #relax.dims<[n * m]>>, tensor<?x?xf32, #relax.dims<[n, m]>>) -> ()
  %g = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?x?xf32, #relax.dims<[m, n + 1]>>
  relax.call impure @u(%e, %g) : (tensor<?x?xf32, #relax.dims<[n, m]>>, tensor<?x?xf32, #relax.dims<[m, n + 1]>>) -> ()
  %h = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?x?xf32, #relax.dims<[m, n]>>
  relax.call impure @u(%g, %h) : (tensor<?x?xf32, #relax.dims<[m, n + 1]>>, tensor<?x?xf32, #relax.dims<[m, n]>>) -> ()
  relax.return %h : tensor<?x?xf32, #relax.dims<[m, n]>>
}

// -----

// A tensor that nothing uses.
// CASE: StaticPlanBlockMemory.10

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32
// CHECK: %unused = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %b = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
tir.func @w(%a: !tir.handle) {
}
relax.func impure @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  relax.call impure @w(%a) : (tensor<2x3xf32>) -> ()
  %unused = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  relax.call impure @w(%b) : (tensor<2x3xf32>) -> ()
  relax.return %x : tensor<2x3xf32>
}

// -----

// Views of parameters.
// CASE: StaticPlanBlockMemory.11

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<6xf32>
// CHECK: %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<6xf32>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
relax.func impure @main(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %s = relax.shape [6]
  %r = relax.reshape %x, %s : (tensor<2x3xf32>, !relax.shape<[6]>) -> tensor<6xf32>
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<6xf32>
  relax.call impure @u(%r, %a) : (tensor<6xf32>, tensor<6xf32>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<6xf32>
  relax.call impure @u(%a, %b) : (tensor<6xf32>, tensor<6xf32>) -> ()
  relax.return %b : tensor<6xf32>
}

// -----

// Functions do not share.
// CASE: StaticPlanBlockMemory.12

// CHECK-LABEL: relax.func impure @first
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 32 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x4xf32>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 32 on 0 scope "global" dtype f32
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<2x4xf32>
// CHECK: relax.return
// CHECK-LABEL: relax.func impure @second
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 48 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<3x4xf32>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 48 on 0 scope "global" dtype f32
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<3x4xf32>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
tir.func @w(%a: !tir.handle) {
}
relax.func impure @first(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x4xf32>
  relax.call impure @u(%x, %a) : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x4xf32>
  relax.call impure @u(%a, %b) : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()
  relax.call impure @w(%b) : (tensor<2x4xf32>) -> ()
  relax.return %x : tensor<2x4xf32>
}
relax.func impure @second(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<3x4xf32>
  relax.call impure @u(%x, %a) : (tensor<3x4xf32>, tensor<3x4xf32>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<3x4xf32>
  relax.call impure @u(%a, %b) : (tensor<3x4xf32>, tensor<3x4xf32>) -> ()
  relax.call impure @w(%b) : (tensor<3x4xf32>) -> ()
  relax.return %x : tensor<3x4xf32>
}

// -----

// Bounded sizes are constant; tensors keep their shapes. What is bounded but not defined
// by a parameter has no meaning.
// CASE: StaticPlanBlockMemory.13

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 32 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x?xf32, #relax.dims<[2, n]>>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 40 on 0 scope "global" dtype f32
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<?xf32, #relax.dims<[n * 2]>>
// CHECK: %e = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<?xf32, #relax.dims<[n * 2]>>
// CHECK: %g = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<?xf32, #relax.dims<[n * 2 + 2]>>
// CHECK: %h = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[n * 2 + 2]>>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
relax.func impure @main<n>(%x: tensor<2x?xf32, #relax.dims<[2, n]>>) -> tensor<?xf32, #relax.dims<[n * 2 + 2]>> attributes {tir_var_upper_bound = {n = 4 : i64, other = 3 : i64}} {
  %s = relax.shape [n * 2]
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x?xf32, #relax.dims<[2, n]>>
  relax.call impure @u(%x, %a) : (tensor<2x?xf32, #relax.dims<[2, n]>>, tensor<2x?xf32, #relax.dims<[2, n]>>) -> ()
  %r = relax.reshape %a, %s : (tensor<2x?xf32, #relax.dims<[2, n]>>, !relax.shape<[n * 2]>) -> tensor<?xf32, #relax.dims<[n * 2]>>
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[n * 2]>>
  relax.call impure @u(%r, %b) : (tensor<?xf32, #relax.dims<[n * 2]>>, tensor<?xf32, #relax.dims<[n * 2]>>) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[n * 2]>>
  relax.call impure @u(%b, %e) : (tensor<?xf32, #relax.dims<[n * 2]>>, tensor<?xf32, #relax.dims<[n * 2]>>) -> ()
  %g = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[n * 2 + 2]>>
  relax.call impure @u(%e, %g) : (tensor<?xf32, #relax.dims<[n * 2]>>, tensor<?xf32, #relax.dims<[n * 2 + 2]>>) -> ()
  %h = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[n * 2 + 2]>>
  relax.call impure @u(%g, %h) : (tensor<?xf32, #relax.dims<[n * 2 + 2]>>, tensor<?xf32, #relax.dims<[n * 2 + 2]>>) -> ()
  relax.return %h : tensor<?xf32, #relax.dims<[n * 2 + 2]>>
}

// -----

// Bounds of other functions of symbols.
// CASE: StaticPlanBlockMemory.14

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 8000 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<?x?x?xf32, #relax.dims<[n, m, max(-m + n, 1)]>>
// CHECK: %b = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<?x?x?xf32, #relax.dims<[(n + 3) floordiv 4, n floormod 7, min(n, 8) + 2]>>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
tir.func @w(%a: !tir.handle) {
}
relax.func impure @main<n, m>(%x: tensor<?x?xf32, #relax.dims<[n, m]>>) -> tensor<?x?xf32, #relax.dims<[n, m]>> attributes {tir_var_upper_bound = {n = 20 : i64, m = 5 : i64}} {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?x?x?xf32, #relax.dims<[n, m, max(n - m, 1)]>>
  relax.call impure @u(%x, %a) : (tensor<?x?xf32, #relax.dims<[n, m]>>, tensor<?x?x?xf32, #relax.dims<[n, m, max(n - m, 1)]>>) -> ()
  relax.call impure @w(%a) : (tensor<?x?x?xf32, #relax.dims<[n, m, max(n - m, 1)]>>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?x?x?xf32, #relax.dims<[(n + 3) floordiv 4, n floormod 7, min(n, 8) + 2]>>
  relax.call impure @u(%x, %b) : (tensor<?x?xf32, #relax.dims<[n, m]>>, tensor<?x?x?xf32, #relax.dims<[(n + 3) floordiv 4, n floormod 7, min(n, 8) + 2]>>) -> ()
  relax.call impure @w(%b) : (tensor<?x?x?xf32, #relax.dims<[(n + 3) floordiv 4, n floormod 7, min(n, 8) + 2]>>) -> ()
  relax.return %x : tensor<?x?xf32, #relax.dims<[n, m]>>
}

// -----

// Integers for TIR functions are no tensors.
// CASE: StaticPlanBlockMemory.15

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 80 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<?xf32, #relax.dims<[n]>>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 80 on 0 scope "global" dtype f32
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<?xf32, #relax.dims<[n]>>
// CHECK: %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[n]>>
// CHECK: relax.return
tir.func @d(%a: !tir.handle, %b: !tir.handle, %n: i64) {
}
relax.func impure @main<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32, #relax.dims<[n]>> attributes {tir_var_upper_bound = {n = 20 : i64}} {
  %k = relax.shape [n]
  %p = relax.prim_value n : i64
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[n]>>
  relax.vm.call_tir_dyn @d(%x, %a, %k) : tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[n]>>, !relax.shape<[n]>
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[n]>>
  relax.call impure @d(%a, %b, %p) : (tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[n]>>, !relax.prim<i64, n>) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[n]>>
  relax.vm.call_tir_dyn @d(%b, %e, %k) : tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[n]>>, !relax.shape<[n]>
  relax.return %e : tensor<?xf32, #relax.dims<[n]>>
}

// -----

// Tensors that are not planned get a storage of bounded size where the function asks.
// CASE: StaticPlanBlockMemory.16

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 80 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<?xf32, #relax.dims<[n]>>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 80 on 0 scope "global" dtype f32
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<?xf32, #relax.dims<[n]>>
// CHECK: %static = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
// CHECK: relax.return
// CHECK-LABEL: relax.func impure @not_asked
// CHECK: %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[n]>>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
relax.func impure @main<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32, #relax.dims<[n]>> attributes {tir_var_upper_bound = {n = 20 : i64}, relax.memory_plan_dynamic_func_output = true} {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[n]>>
  relax.call impure @u(%x, %a) : (tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[n]>>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[n]>>
  relax.call impure @u(%a, %b) : (tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[n]>>) -> ()
  %static = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
  %y = relax.nn.relu %static : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %b : tensor<?xf32, #relax.dims<[n]>>
}
relax.func impure @not_asked<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32, #relax.dims<[n]>> attributes {tir_var_upper_bound = {n = 20 : i64}, relax.memory_plan_dynamic_func_output = false} {
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[n]>>
  relax.call impure @u(%x, %b) : (tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[n]>>) -> ()
  relax.return %b : tensor<?xf32, #relax.dims<[n]>>
}

// -----

// Some symbols have bounds.
// CASE: StaticPlanBlockMemory.17

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage m * 80 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<?x?xf32, #relax.dims<[n, m]>>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage m * 80 on 0 scope "global" dtype f32
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<?x?xf32, #relax.dims<[n, m]>>
// CHECK: %e = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<?x?xf32, #relax.dims<[n, m]>>
// CHECK: %[[S2:.*]] = relax.memory.alloc_storage m * 80 on 0 scope "global" dtype f32
// CHECK: %g = relax.memory.alloc_tensor %[[S2]] at 0 : !relax.object -> tensor<?x?xf32, #relax.dims<[n, m]>>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
relax.func impure @main<n, m>(%x: tensor<?x?xf32, #relax.dims<[n, m]>>) -> tensor<?x?xf32, #relax.dims<[n, m]>> attributes {tir_var_upper_bound = {n = 20 : i64}, relax.memory_plan_dynamic_func_output} {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?x?xf32, #relax.dims<[n, m]>>
  relax.call impure @u(%x, %a) : (tensor<?x?xf32, #relax.dims<[n, m]>>, tensor<?x?xf32, #relax.dims<[n, m]>>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?x?xf32, #relax.dims<[n, m]>>
  relax.call impure @u(%a, %b) : (tensor<?x?xf32, #relax.dims<[n, m]>>, tensor<?x?xf32, #relax.dims<[n, m]>>) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?x?xf32, #relax.dims<[n, m]>>
  relax.call impure @u(%b, %e) : (tensor<?x?xf32, #relax.dims<[n, m]>>, tensor<?x?xf32, #relax.dims<[n, m]>>) -> ()
  %g = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?x?xf32, #relax.dims<[n, m]>>
  relax.call impure @u(%e, %g) : (tensor<?x?xf32, #relax.dims<[n, m]>>, tensor<?x?xf32, #relax.dims<[n, m]>>) -> ()
  relax.return %g : tensor<?x?xf32, #relax.dims<[n, m]>>
}

// -----

// Sums and products with a symbol that has no bound.
// CASE: StaticPlanBlockMemory.19

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage v * 256 + 4194304 on 0 scope "global" dtype ui8
// CHECK: %workspace = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<?xui8, #relax.dims<[b * v * 8 + 4194304]>>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage v * 128 on 0 scope "global" dtype f32
// CHECK: %lv = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<?x?xf32, #relax.dims<[b, v]>>
// CHECK: relax.return
tir.func @b(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
}
relax.func impure @main<b, v>(%x: tensor<?x?xf32, #relax.dims<[b, v]>>) -> tensor<?x?xf32, #relax.dims<[b, v]>> attributes {tir_var_upper_bound = {b = 32 : i64}, tir_non_negative_var = ["v"], relax.memory_plan_dynamic_func_output} {
  %workspace = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xui8, #relax.dims<[2 * (b * v * 4) + 4194304]>>
  %lv = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?x?xf32, #relax.dims<[b, v]>>
  relax.call impure @b(%x, %workspace, %lv) : (tensor<?x?xf32, #relax.dims<[b, v]>>, tensor<?xui8, #relax.dims<[2 * (b * v * 4) + 4194304]>>, tensor<?x?xf32, #relax.dims<[b, v]>>) -> ()
  relax.return %lv : tensor<?x?xf32, #relax.dims<[b, v]>>
}

// -----

// Views live as long as what they view.
// CASE: StaticPlanBlockMemory.20

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 1024 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<16x16xf32>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 512 on 0 scope "global" dtype f32
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<16x8xf32>
// CHECK: %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<16x8xf32>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
tir.func @b(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
}
relax.func impure @main(%x: tensor<16x16xf32>) -> tensor<16x8xf32> {
  %s = relax.shape [16, 8]
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<16x16xf32>
  relax.call impure @u(%x, %a) : (tensor<16x16xf32>, tensor<16x16xf32>) -> ()
  %v = relax.memory.view %a shape %s : !relax.shape<[16, 8]> dtype f32 : tensor<16x16xf32> -> tensor<16x8xf32>
  %z = relax.memory.ensure_zero_offset %v : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<16x8xf32>
  relax.call impure @u(%z, %b) : (tensor<16x8xf32>, tensor<16x8xf32>) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<16x8xf32>
  relax.call impure @b(%z, %b, %e) : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> ()
  relax.return %e : tensor<16x8xf32>
}

// -----

// In dataflow blocks; a block of bindings ends where one begins.
// CASE: StaticPlanBlockMemory.21

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32
// CHECK: %before = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %around = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32
// CHECK: %kept = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %returned = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
// CHECK: %given = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
// CHECK: %after = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
tir.func @w(%a: !tir.handle) {
}
relax.func impure @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %before = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %before) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  relax.call impure @w(%before) : (tensor<2x3xf32>) -> ()
  %around = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %around) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  
  %o, %p = relax.dataflow -> (tensor<2x3xf32>, tensor<2x3xf32>) {
    %kept = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
    %returned = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
    %given = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
    relax.output %returned, %given : tensor<2x3xf32>, tensor<2x3xf32>
  }
  relax.call impure @w(%around) : (tensor<2x3xf32>) -> ()
  relax.call impure @w(%p) : (tensor<2x3xf32>) -> ()
  %after = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %after) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  relax.call impure @w(%after) : (tensor<2x3xf32>) -> ()
  relax.return %o : tensor<2x3xf32>
}

// -----

// One tensor twice in a call; in place.
// CASE: StaticPlanBlockMemory.22, StaticPlanBlockMemory.29

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: %e = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2x3xf32>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
tir.func @b(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
}
tir.func @w(%a: !tir.handle) {
}
relax.func impure @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%x, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  relax.call impure @u(%a, %a) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %y = relax.alias %a : tensor<2x3xf32> -> tensor<2x3xf32>
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @b(%y, %y, %b) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2x3xf32>
  relax.call impure @u(%b, %e) : (tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  relax.call impure @w(%e) : (tensor<2x3xf32>) -> ()
  relax.return %x : tensor<2x3xf32>
}

// -----

// Sizes that differ by more than a factor of 16 do not share. A smaller storage grows.
// CASE: StaticPlanBlockMemory.23

// CHECK-LABEL: relax.func impure @larger
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 160 on 0 scope "global" dtype ui8
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<160xui8>
// CHECK: %b = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<10xui8>
// CHECK: relax.return
// CHECK-LABEL: relax.func impure @too_large
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 161 on 0 scope "global" dtype ui8
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<161xui8>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 10 on 0 scope "global" dtype ui8
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<10xui8>
// CHECK: relax.return
// CHECK-LABEL: relax.func impure @smaller
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 161 on 0 scope "global" dtype ui8
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<10xui8>
// CHECK: %b = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<161xui8>
// CHECK: relax.return
// CHECK-LABEL: relax.func impure @too_small
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 9 on 0 scope "global" dtype ui8
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<9xui8>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 160 on 0 scope "global" dtype ui8
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<160xui8>
// CHECK: relax.return
// CHECK-LABEL: relax.func impure @zero
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 1 on 0 scope "global" dtype ui8
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<0xui8>
// CHECK: %b = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<0x4xui8>
// CHECK: %e = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<1xui8>
// CHECK: relax.return
tir.func @w(%a: !tir.handle) {
}
relax.func impure @larger(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<160xui8>
  relax.call impure @w(%a) : (tensor<160xui8>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<10xui8>
  relax.call impure @w(%b) : (tensor<10xui8>) -> ()
  relax.return %x : tensor<2xf32>
}
relax.func impure @too_large(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<161xui8>
  relax.call impure @w(%a) : (tensor<161xui8>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<10xui8>
  relax.call impure @w(%b) : (tensor<10xui8>) -> ()
  relax.return %x : tensor<2xf32>
}
relax.func impure @smaller(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<10xui8>
  relax.call impure @w(%a) : (tensor<10xui8>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<161xui8>
  relax.call impure @w(%b) : (tensor<161xui8>) -> ()
  relax.return %x : tensor<2xf32>
}
relax.func impure @too_small(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<9xui8>
  relax.call impure @w(%a) : (tensor<9xui8>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<160xui8>
  relax.call impure @w(%b) : (tensor<160xui8>) -> ()
  relax.return %x : tensor<2xf32>
}
relax.func impure @zero(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<0xui8>
  relax.call impure @w(%a) : (tensor<0xui8>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<0x4xui8>
  relax.call impure @w(%b) : (tensor<0x4xui8>) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<1xui8>
  relax.call impure @w(%e) : (tensor<1xui8>) -> ()
  relax.return %x : tensor<2xf32>
}

// -----

// Of equal sizes the one released first is taken; of smaller ones the largest, and of
// these the one released last.
// CASE: StaticPlanBlockMemory.24

// CHECK-LABEL: relax.func impure @equal
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 8 on 0 scope "global" dtype ui8
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<8xui8>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 8 on 0 scope "global" dtype ui8
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<8xui8>
// CHECK: %e = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<8xui8>
// CHECK: relax.return
// CHECK-LABEL: relax.func impure @smaller
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 6 on 0 scope "global" dtype ui8
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<6xui8>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 8 on 0 scope "global" dtype ui8
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<8xui8>
// CHECK: %[[S2:.*]] = relax.memory.alloc_storage 9 on 0 scope "global" dtype ui8
// CHECK: %d = relax.memory.alloc_tensor %[[S2]] at 0 : !relax.object -> tensor<8xui8>
// CHECK: %e = relax.memory.alloc_tensor %[[S2]] at 0 : !relax.object -> tensor<9xui8>
// CHECK: relax.return
// CHECK-LABEL: relax.func impure @smallest_that_fits
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 12 on 0 scope "global" dtype ui8
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<12xui8>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 10 on 0 scope "global" dtype ui8
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<10xui8>
// CHECK: %e = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<9xui8>
// CHECK: relax.return
tir.func @w(%a: !tir.handle) {
}
relax.func impure @equal(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<8xui8>
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<8xui8>
  relax.call impure @w(%b) : (tensor<8xui8>) -> ()
  relax.call impure @w(%a) : (tensor<8xui8>) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<8xui8>
  relax.call impure @w(%e) : (tensor<8xui8>) -> ()
  relax.return %x : tensor<2xf32>
}
relax.func impure @smaller(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<6xui8>
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<8xui8>
  %d = relax.builtin.alloc_tensor on 0 scope "global" : tensor<8xui8>
  relax.call impure @w(%b) : (tensor<8xui8>) -> ()
  relax.call impure @w(%d) : (tensor<8xui8>) -> ()
  relax.call impure @w(%a) : (tensor<6xui8>) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<9xui8>
  relax.call impure @w(%e) : (tensor<9xui8>) -> ()
  relax.return %x : tensor<2xf32>
}
relax.func impure @smallest_that_fits(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<12xui8>
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<10xui8>
  relax.call impure @w(%a) : (tensor<12xui8>) -> ()
  relax.call impure @w(%b) : (tensor<10xui8>) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<9xui8>
  relax.call impure @w(%e) : (tensor<9xui8>) -> ()
  relax.return %x : tensor<2xf32>
}

// -----

// Scopes and devices do not share.
// CASE: StaticPlanBlockMemory.25

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 8 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 8 on 1 scope "global" dtype f32
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: %[[S2:.*]] = relax.memory.alloc_storage 8 on 0 scope "shared" dtype f32
// CHECK: %d = relax.memory.alloc_tensor %[[S2]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: %e = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: relax.return
tir.func @w(%a: !tir.handle) {
}
relax.func impure @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  relax.call impure @w(%a) : (tensor<2xf32>) -> ()
  %b = relax.builtin.alloc_tensor on 1 scope "global" : tensor<2xf32>
  relax.call impure @w(%b) : (tensor<2xf32>) -> ()
  %d = relax.builtin.alloc_tensor on 0 scope "shared" : tensor<2xf32>
  relax.call impure @w(%d) : (tensor<2xf32>) -> ()
  %e = relax.builtin.alloc_tensor on 1 scope "global" : tensor<2xf32>
  relax.call impure @w(%e) : (tensor<2xf32>) -> ()
  relax.return %x : tensor<2xf32>
}

// -----

// Tensors in a tuple that is passed are used, each of them.
// CASE: StaticPlanBlockMemory.26

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 8 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: %b = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: %d = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 8 on 0 scope "global" dtype f32
// CHECK: %e = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: %g = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: relax.return
tir.func @w(%a: !tir.handle) {
}
relax.func impure @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  relax.call impure @w(%a) : (tensor<2xf32>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  relax.call impure @w(%b) : (tensor<2xf32>) -> ()
  %d = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  %t = relax.tuple(%d, %x) : tensor<2xf32>, tensor<2xf32>
  %tt = relax.tuple(%t, %d) : !relax.tuple<tensor<2xf32>, tensor<2xf32>>, tensor<2xf32>
  relax.call impure @w(%tt) : (!relax.tuple<!relax.tuple<tensor<2xf32>, tensor<2xf32>>, tensor<2xf32>>) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  relax.call impure @w(%tt) : (!relax.tuple<!relax.tuple<tensor<2xf32>, tensor<2xf32>>, tensor<2xf32>>) -> ()
  %g = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  relax.call impure @w(%e) : (tensor<2xf32>) -> ()
  relax.call impure @w(%g) : (tensor<2xf32>) -> ()
  relax.return %x : tensor<2xf32>
}

// -----

// A function of Relax may return its argument.
// CASE: StaticPlanBlockMemory.27

// CHECK-LABEL: relax.func impure @main
// CHECK: %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 8 on 0 scope "global" dtype f32
// CHECK: %b = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: relax.return
// CHECK-LABEL: relax.func impure @layer
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
tir.func @w(%a: !tir.handle) {
}
relax.func impure @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  relax.call impure @u(%x, %a) : (tensor<2xf32>, tensor<2xf32>) -> ()
  %y = relax.call impure @layer(%a) : (tensor<2xf32>) -> tensor<2xf32>
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  relax.call impure @u(%y, %b) : (tensor<2xf32>, tensor<2xf32>) -> ()
  relax.call impure @w(%b) : (tensor<2xf32>) -> ()
  relax.return %x : tensor<2xf32>
}
relax.func impure @layer(%x: tensor<2xf32>) -> tensor<2xf32> {
  relax.return %x : tensor<2xf32>
}

// -----

// Branches take free storages; what is free in them stays so after them. A storage for
// tensors in several branches is before them.
// CASE: StaticPlanBlockMemory.28

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 8 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 8 on 0 scope "global" dtype f32
// CHECK: relax.if
// CHECK: %d = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: %e = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: } else {
// CHECK: %g = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: %h = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: %i = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: %j = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
tir.func @w(%a: !tir.handle) {
}
relax.func impure @main(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  relax.call impure @u(%x, %a) : (tensor<2xf32>, tensor<2xf32>) -> ()
  relax.call impure @w(%a) : (tensor<2xf32>) -> ()
  %r = relax.if %c : tensor<i1> -> tensor<2xf32> {
    %d = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
    relax.call impure @u(%x, %d) : (tensor<2xf32>, tensor<2xf32>) -> ()
    %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
    relax.call impure @u(%d, %e) : (tensor<2xf32>, tensor<2xf32>) -> ()
    relax.call impure @w(%e) : (tensor<2xf32>) -> ()
    relax.yield %x : tensor<2xf32>
  } else {
    %g = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
    relax.call impure @u(%x, %g) : (tensor<2xf32>, tensor<2xf32>) -> ()
    %h = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
    relax.call impure @u(%g, %h) : (tensor<2xf32>, tensor<2xf32>) -> ()
    relax.call impure @w(%h) : (tensor<2xf32>) -> ()
    relax.yield %x : tensor<2xf32>
  }
  %i = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  relax.call impure @u(%r, %i) : (tensor<2xf32>, tensor<2xf32>) -> ()
  %j = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  relax.call impure @u(%i, %j) : (tensor<2xf32>, tensor<2xf32>) -> ()
  relax.call impure @w(%j) : (tensor<2xf32>) -> ()
  relax.return %x : tensor<2xf32>
}

// -----

// Symbols of a branch are not known after it, and not the same in another.

// CHECK-LABEL: relax.func impure @main
// CHECK: relax.if
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage k * 4 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<?xf32, #relax.dims<[k]>>
// CHECK: %b = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<?xf32, #relax.dims<[k]>>
// CHECK: } else {
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage k * 4 on 0 scope "global" dtype f32
// CHECK: %a_1 = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<?xf32, #relax.dims<[k]>>
// CHECK: %[[S2:.*]] = relax.memory.alloc_storage k * 4 on 0 scope "global" dtype f32
// CHECK: %e = relax.memory.alloc_tensor %[[S2]] at 0 : !relax.object -> tensor<?xf32, #relax.dims<[k]>>
// CHECK: relax.return
tir.func @w(%a: !tir.handle) {
}
relax.func impure @main(%c: tensor<i1>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %r = relax.if %c : tensor<i1> -> tensor<?xf32> {
    %y = relax.match_cast %x defines [k] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[k]>>
    %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[k]>>
    relax.call impure @w(%a) : (tensor<?xf32, #relax.dims<[k]>>) -> ()
    %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[k]>>
    relax.call impure @w(%b) : (tensor<?xf32, #relax.dims<[k]>>) -> ()
    relax.yield %y : tensor<?xf32, #relax.dims<[k]>>
  } else {
    %y = relax.match_cast %x defines [k] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[k]>>
    %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[k]>>
    relax.call impure @w(%a) : (tensor<?xf32, #relax.dims<[k]>>) -> ()
    relax.yield %y : tensor<?xf32, #relax.dims<[k]>>
  }
  %y = relax.match_cast %x defines [k] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[k]>>
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[k]>>
  relax.call impure @w(%e) : (tensor<?xf32, #relax.dims<[k]>>) -> ()
  relax.return %x : tensor<?xf32>
}

// -----

// A cast is the same memory.

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S0:.*]] = relax.memory.alloc_storage 8 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: %[[S1:.*]] = relax.memory.alloc_storage 8 on 0 scope "global" dtype f32
// CHECK: %b = relax.memory.alloc_tensor %[[S1]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: %e = relax.memory.alloc_tensor %[[S0]] at 0 : !relax.object -> tensor<2xf32>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
tir.func @w(%a: !tir.handle) {
}
relax.func impure @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  relax.call impure @u(%x, %a) : (tensor<2xf32>, tensor<2xf32>) -> ()
  %y = relax.match_cast %a : tensor<2xf32> -> tensor<2xf32>
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  relax.call impure @u(%x, %b) : (tensor<2xf32>, tensor<2xf32>) -> ()
  relax.call impure @u(%y, %b) : (tensor<2xf32>, tensor<2xf32>) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  relax.call impure @u(%b, %e) : (tensor<2xf32>, tensor<2xf32>) -> ()
  relax.call impure @w(%e) : (tensor<2xf32>) -> ()
  relax.return %x : tensor<2xf32>
}

// -----

// Lives that have ends already are planned, and the end is where it was; what operations
// of other dialects see is not.

// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S:.*]] = relax.memory.alloc_storage 8
// CHECK-NEXT: %a = relax.memory.alloc_tensor %[[S]] at 0
// CHECK: relax.memory.kill_tensor %a
// CHECK-NEXT: %d = relax.memory.alloc_tensor %[[S]] at 0
// CHECK: %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
// CHECK: %inner = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
// CHECK: relax.return
tir.func @u(%a: !tir.handle, %b: !tir.handle) {
}
tir.func @w(%a: !tir.handle) {
}
relax.func impure @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  relax.call impure @u(%x, %a) : (tensor<2xf32>, tensor<2xf32>) -> ()
  relax.memory.kill_tensor %a : tensor<2xf32>
  %d = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  relax.call impure @u(%x, %d) : (tensor<2xf32>, tensor<2xf32>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
  relax.call impure @u(%x, %b) : (tensor<2xf32>, tensor<2xf32>) -> ()
  "test.op"(%b) ({
    %inner = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
    relax.call impure @w(%inner) : (tensor<2xf32>) -> ()
    "test.yield"() : () -> ()
  }) : (tensor<2xf32>) -> ()
  relax.return %x : tensor<2xf32>
}
