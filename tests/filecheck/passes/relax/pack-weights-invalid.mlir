// RUN: xdsl-opt %s -p 'relax-pack-weights{features="sse9"}' --verify-diagnostics | filecheck %s --check-prefix=UNKNOWN
// RUN: xdsl-opt %s -p 'relax-pack-weights{vector_bytes=24}' --verify-diagnostics | filecheck %s

relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  relax.return %x : tensor<4xf32>
}
// CHECK: relax-pack-weights: vector_bytes must be a power of two from 4 to 1024, got 24
// UNKNOWN: relax-pack-weights: the feature 'sse9' is not known; use avx512vl, avx512vnni, avxvnni
