// RUN: xdsl-opt %s -p 'relax-default-pipeline{target="vulkan"}' --verify-diagnostics | filecheck %s --check-prefix VULKAN
// RUN: xdsl-opt %s -p 'relax-default-pipeline{target="tpu"}' --verify-diagnostics | filecheck %s --check-prefix TPU
// RUN: xdsl-opt %s -p 'relax-default-pipeline{pipeline=fast}' --verify-diagnostics | filecheck %s

// VULKAN: relax-default-pipeline: the target 'vulkan' is neither a CPU nor cuda; call kernels for other devices by themselves
// TPU: relax-default-pipeline: unknown target kind 'tpu'
// CHECK: relax-default-pipeline: there is no pipeline 'fast'; use one of target, cuda, default_build, zero
builtin.module {
}
