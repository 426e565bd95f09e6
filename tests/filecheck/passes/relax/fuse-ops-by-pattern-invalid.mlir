// RUN: xdsl-opt %s -p 'relax-fuse-ops-by-pattern{patterns="generic.matmull"}' --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p 'relax-fuse-ops-by-pattern' --verify-diagnostics | filecheck %s --check-prefix NOTHING
// RUN: xdsl-opt %s -p 'relax-fuse-ops-by-pattern{patterns="generic." entry_functions="other"}' --verify-diagnostics | filecheck %s --check-prefix ENTRY

relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}

// CHECK: relax-fuse-ops-by-pattern: no pattern is called 'generic.matmull' or begins so (did you mean 'generic.matmul'?); register it with register_patterns
// NOTHING: relax-fuse-ops-by-pattern: there is no pattern; name some in patterns
// ENTRY: relax-fuse-ops-by-pattern: the module has no Relax function @other; name one of its functions in entry_functions
