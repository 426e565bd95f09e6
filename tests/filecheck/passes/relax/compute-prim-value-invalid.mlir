// RUN: xdsl-opt %s -p relax-compute-prim-value --verify-diagnostics | filecheck %s

// CHECK: relax-compute-prim-value: relax.prim_value stands in a dataflow block, which holds no impure call; run relax-to-non-dataflow first
relax.func @main<n>(%x: !relax.shape<[n]>) -> !relax.prim<i64> {
  %r = relax.dataflow -> (!relax.prim<i64, n * 2>) {
    %a = relax.prim_value n * 2 : i64
    relax.output %a : !relax.prim<i64, n * 2>
  }
  relax.return %r : !relax.prim<i64, n * 2>
}
