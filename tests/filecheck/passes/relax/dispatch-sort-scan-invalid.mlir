// RUN: xdsl-opt %s -p 'relax-dispatch-sort-scan{target="cuda"}' --split-input-file --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p 'relax-dispatch-sort-scan{target="cuda" tile=24}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix TILE
// RUN: xdsl-opt %s -p 'relax-dispatch-sort-scan{target="cuda" threads=0}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix THREADS
// RUN: xdsl-opt %s -p 'relax-dispatch-sort-scan{target="cuda" tile=4096}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix LONG
// RUN: xdsl-opt %s -p 'relax-dispatch-sort-scan{target="cudo"}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix TARGET

// TILE: relax-dispatch-sort-scan: tile must be a power of two, got 24
// THREADS: relax-dispatch-sort-scan: threads must be a power of two, got 0
// LONG: relax-dispatch-sort-scan: tile must be from 2 to 2048, got 4096
// TARGET: relax-dispatch-sort-scan: {{.*}}cudo

relax.func @unknown(%a: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: relax.cumsum: there is no kernel for operands of unknown shape or dtype, of rank 0 or of bools; add relax.match_cast or relax.astype before it
  %r = relax.cumsum %a axis 0 : (tensor<?xf32>) -> tensor<?xf32>
  relax.return %r : tensor<?xf32>
}

// -----

relax.func @bools(%a: tensor<4xi1>) -> tensor<4xi1> {
  // CHECK: relax.sort: there is no kernel for operands of unknown shape or dtype, of rank 0 or of bools; add relax.match_cast or relax.astype before it
  %r = relax.sort %a axis 0 : (tensor<4xi1>) -> tensor<4xi1>
  relax.return %r : tensor<4xi1>
}
