// RUN: xdsl-opt %s -p 'relax-default-pipeline{target="cuda"}' --verify-diagnostics | filecheck %s --check-prefix CUDA
// RUN: xdsl-opt %s -p 'relax-default-pipeline{target="tpu"}' --verify-diagnostics | filecheck %s --check-prefix TPU
// RUN: xdsl-opt %s -p 'relax-default-pipeline{pipeline=fast}' --verify-diagnostics | filecheck %s

// CUDA: relax-default-pipeline: the target 'cuda' is no CPU; call kernels for other devices by themselves
// TPU: relax-default-pipeline: unknown target kind 'tpu'
// CHECK: relax-default-pipeline: there is no pipeline 'fast'; use one of target, default_build, zero
builtin.module {
}
