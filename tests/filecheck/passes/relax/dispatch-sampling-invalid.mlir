// RUN: xdsl-opt %s -p 'relax-dispatch-sampling{target="cuda"}' --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p 'relax-dispatch-sampling{threads=3}' --verify-diagnostics | filecheck %s --check-prefix THREADS

// THREADS: relax-dispatch-sampling: threads must be a power of two, got 3

relax.func @unknown(%p: tensor<2x?xf32>, %u: tensor<3x1xf32>, %i: tensor<3x1xi64>) -> tensor<3x1xi64> {
  // CHECK: relax.multinomial_from_uniform: there is no kernel for operands of unknown shape or dtype, of rank 0 or of bools; add relax.match_cast or relax.astype before it
  %r = relax.multinomial_from_uniform %p, %u, %i dtype i64 : (tensor<2x?xf32>, tensor<3x1xf32>, tensor<3x1xi64>) -> tensor<3x1xi64>
  relax.return %r : tensor<3x1xi64>
}
