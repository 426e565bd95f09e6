// RUN: xdsl-opt %s -p relax-report-memory-plan --verify-diagnostics | filecheck %s

// CHECK: relax-report-memory-plan: relax.func @main: tir_var_upper_bound of 'n' is 0 : i64; write an integer larger than 0
relax.func @main<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32> attributes {tir_var_upper_bound = {n = 0 : i64}} {
  relax.return %x : tensor<?xf32, #relax.dims<[n]>>
}
