// RUN: xdsl-opt %s -p relax-compute-prim-value | filecheck %s

// CASE: ComputePrimValue.1, ComputePrimValue.2
// Expressions and floats are computed by functions, one for all that are the same up to
// the names of symbols; symbols and integers stay. The functions are pure, and so are
// the calls of them.

// CHECK-LABEL: relax.func @main
// CHECK-NOT:  relax.force_pure
// CHECK-NEXT: %{{.*}} = relax.prim_value 4 : i64
// CHECK-NEXT: %{{.*}} = relax.prim_value n : i64
// CHECK-NEXT: %[[N:.*]] = relax.prim_value n : i64
// CHECK-NEXT: %[[A:.*]] = relax.call @compute_symbolic_expr(%[[N]]) : (!relax.prim<i64, n>) -> !relax.prim<i64, n * 2 + 1>
// CHECK-NEXT: %[[M:.*]] = relax.prim_value m : i64
// CHECK-NEXT: %[[B:.*]] = relax.call @compute_symbolic_expr(%[[M]]) : (!relax.prim<i64, m>) -> !relax.prim<i64, m * 2 + 1>
// CHECK:      %[[C:.*]] = relax.call @compute_symbolic_expr1(%{{.*}}, %{{.*}}) : {{.*}} -> !relax.prim<i32, min({{.*}})>
// CHECK-NEXT: %[[D:.*]] = relax.call @compute_symbolic_expr2() : () -> !relax.prim<f32>
// CHECK-NEXT: relax.tuple(%[[A]], %[[B]], %[[C]], %[[D]])
!r = !relax.tuple<!relax.prim<i64, n * 2 + 1>, !relax.prim<i64, m * 2 + 1>, !relax.prim<i32, min(n floordiv m, m floormod n)>, !relax.prim<f32>>
relax.func @main<n, m>(%x: tensor<?x?xf32, #relax.dims<[n, m]>>) -> !r {
  %four = relax.prim_value 4 : i64
  %n = relax.prim_value n : i64
  %a = relax.prim_value n * 2 + 1 : i64
  %b = relax.prim_value m * 2 + 1 : i64
  %c = relax.prim_value min(n floordiv m, m floormod n) : i32
  %d = relax.prim_value 2.5 : f32
  %r = relax.tuple(%a, %b, %c, %d) : !relax.prim<i64, n * 2 + 1>, !relax.prim<i64, m * 2 + 1>, !relax.prim<i32, min(n floordiv m, m floormod n)>, !relax.prim<f32>
  relax.return %r : !r
}
// Pure calls are in dataflow blocks, too.
// CHECK-LABEL: relax.func @dataflow
// CHECK-NEXT: relax.dataflow
// CHECK-NEXT: %[[N:.*]] = relax.prim_value n : i64
// CHECK-NEXT: %[[A:.*]] = relax.call @compute_symbolic_expr3(%[[N]]) : (!relax.prim<i64, n>) -> !relax.prim<i64, n * 2>
// CHECK-NEXT: relax.output %[[A]]
relax.func @dataflow<n>(%x: !relax.shape<[n]>) -> !relax.prim<i64> {
  %r = relax.dataflow -> (!relax.prim<i64, n * 2>) {
    %a = relax.prim_value n * 2 : i64
    relax.output %a : !relax.prim<i64, n * 2>
  }
  relax.return %r : !relax.prim<i64, n * 2>
}
// A module inside would not see the function.
builtin.module {
  // CHECK-LABEL: relax.func @inner
  relax.func @inner<n>(%s: !relax.shape<[n]>) -> !relax.prim<i64> attributes {global_symbol = "inner"} {
    // CHECK-NEXT: relax.prim_value n * 2
    %m = relax.prim_value n * 2 : i64
    relax.return %m : !relax.prim<i64, n * 2>
  }
}
// CHECK: tir.func @compute_symbolic_expr(%[[S:.*]]: i64) -> i64 attributes {tir.is_host_func} {
// CHECK: tir.mul %[[S]]
// CHECK: tir.add
// CHECK: tir.ret %{{.*}} : i64
// CHECK: tir.func @compute_symbolic_expr1(%{{.*}}: i64, %{{.*}}: i64) -> i32 attributes {tir.is_host_func} {
// CHECK: tir.cast
// CHECK: tir.func @compute_symbolic_expr2() -> f32 attributes {tir.is_host_func} {
// CHECK-NEXT: %{{.*}} = tir.const 2.5{{.*}} : f32
// CHECK-NEXT: tir.ret
