// RUN: not xdsl-opt %s -p 'relax-block-convolutions{lanes=3}' 2>&1 | filecheck %s
// RUN: not xdsl-opt %s -p 'relax-block-convolutions{lanes=512}' 2>&1 | filecheck %s --check-prefix=MANY
// RUN: not xdsl-opt %s -p 'relax-block-convolutions{features="sse9"}' 2>&1 | filecheck %s --check-prefix=UNKNOWN

// UNKNOWN: relax-block-convolutions: the feature 'sse9' is not known; use avx512vl, avx512vnni, avxvnni
// CHECK: relax-block-convolutions: lanes must be a power of two up to 256, got 3
// MANY: relax-block-convolutions: lanes must be a power of two up to 256, got 512
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}
