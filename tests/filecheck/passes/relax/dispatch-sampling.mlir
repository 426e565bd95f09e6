// RUN: xdsl-opt %s -p 'relax-dispatch-sampling{target="cuda" threads=4 tile=8}' --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p relax-dispatch-sampling --split-input-file | filecheck %s --check-prefix NONE

// A block of threads scans the distribution of a sample, tile by tile.

// NONE-LABEL: relax.func @draws
// NONE: relax.multinomial_from_uniform
// CHECK-LABEL: relax.func @draws
// CHECK: relax.call_tir @gpu_multinomial_from_uniform(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<2x20xf32>, tensor<3x1xf32>, tensor<3x1xi64>) -> tensor<3x1xi64>
relax.func @draws(%p: tensor<2x20xf32>, %u: tensor<3x1xf32>) -> tensor<3x1xi64> {
  %i = relax.constant dense<[[0], [1], [1]]> : tensor<3x1xi64>
  %r = relax.multinomial_from_uniform %p, %u, %i dtype i64 : (tensor<2x20xf32>, tensor<3x1xf32>, tensor<3x1xi64>) -> tensor<3x1xi64>
  relax.return %r : tensor<3x1xi64>
}
// CHECK-LABEL: tir.func @gpu_multinomial_from_uniform(
// CHECK: tir.for "bx" {{.*}} thread_binding "blockIdx.x"
// CHECK: tir.block "sample"
// CHECK: tir.for "part"
// CHECK: tir.call "tvm_storage_sync"

// -----

// Other operators stay, and functions of no device.

// CHECK-LABEL: relax.func @others
// CHECK-NEXT: relax.sort
relax.func @others(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = relax.sort %a axis 0 : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}
