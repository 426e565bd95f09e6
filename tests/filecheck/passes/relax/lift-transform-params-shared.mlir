// RUN: xdsl-opt %s -p 'relax-lift-transform-params{shared_transform=true}' --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'relax-lift-transform-params{shared_transform="first"}' --split-input-file | filecheck %s --check-prefix ONE

// A common function computes what both compute, whatever their order and their names of
// symbols; what only one of them computes stays there.

!n = tensor<?xf32, #relax.dims<[n]>>
!m = tensor<?xf32, #relax.dims<[m]>>

// CHECK: relax.func @first<n>(%x: tensor<?xf32, #relax.dims<[n]>>, %w: tensor<?xf32, #relax.dims<[n]>>, %e: tensor<?xf32, #relax.dims<[n]>>, %s: tensor<?xf32, #relax.dims<[n]>>)
// CHECK-NEXT: relax.dataflow
// CHECK-NEXT: relax.negative %w
// CHECK-NOT: relax.exp
// CHECK: relax.func @second<m>(%{{.*}}: tensor<?xf32, #relax.dims<[m]>>, %{{.*}}: tensor<?xf32, #relax.dims<[m]>>, %[[E:.*]]: tensor<?xf32, #relax.dims<[m]>>, %[[S:.*]]: tensor<?xf32, #relax.dims<[m]>>)
// CHECK: relax.subtract %[[S]], %[[E]]
// CHECK: relax.func @transform_params<n>(%params: !relax.tuple<tensor<?xf32, #relax.dims<[n]>>>)
// CHECK: relax.exp
// CHECK: relax.sigmoid
// CHECK-NOT: relax.negative
// CHECK: relax.return
// ONE: relax.func @second<m>(%y: {{.*}}, %v: {{.*}})
// ONE: relax.func @transform_params
relax.func @first<n>(%x: !n, %w: !n) -> !n attributes {global_symbol = "first", num_input = 1 : i64} {
  %r = relax.dataflow -> (!n) {
    %a = relax.negative %w : (!n) -> !n
    %e = relax.exp %w : (!n) -> !n
    %s = relax.sigmoid %w : (!n) -> !n
    %p = relax.add %a, %e : (!n, !n) -> !n
    %q = relax.add %p, %s : (!n, !n) -> !n
    %o = relax.add %q, %x : (!n, !n) -> !n
    relax.output %o : !n
  }
  relax.return %r : !n
}
relax.func @second<m>(%y: !m, %v: !m) -> !m attributes {global_symbol = "second", num_input = 1 : i64} {
  %r = relax.dataflow -> (!m) {
    %s = relax.sigmoid %v : (!m) -> !m
    %e = relax.exp %v : (!m) -> !m
    %p = relax.subtract %s, %e : (!m, !m) -> !m
    %o = relax.add %p, %y : (!m, !m) -> !m
    relax.output %o : !m
  }
  relax.return %r : !m
}
