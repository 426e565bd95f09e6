// RUN: xdsl-opt %s -p 'tir-gpu-schedule{threads=48}' --verify-diagnostics | filecheck %s --check-prefix THREADS
// RUN: xdsl-opt %s -p 'tir-gpu-schedule{vector_bytes=12}' --verify-diagnostics | filecheck %s --check-prefix VECTOR
// RUN: xdsl-opt %s -p 'tir-gpu-schedule{tile=0}' --verify-diagnostics | filecheck %s --check-prefix TILE
// RUN: xdsl-opt %s -p 'tir-gpu-schedule{tile_terms=3}' --verify-diagnostics | filecheck %s --check-prefix TERMS
// RUN: xdsl-opt %s -p 'tir-gpu-schedule{target="tpu"}' --verify-diagnostics | filecheck %s --check-prefix TARGET
// RUN: xdsl-opt %s -p 'tir-gpu-schedule{target="vulkan -max_num_threads=0"}' --verify-diagnostics | filecheck %s --check-prefix NONE
// RUN: xdsl-opt %s -p 'tir-gpu-schedule{stages=0}' --verify-diagnostics | filecheck %s --check-prefix STAGES
// RUN: xdsl-opt %s -p 'tir-gpu-schedule{tensor_core_tile=96}' --verify-diagnostics | filecheck %s --check-prefix UNITS

// STAGES: tir-gpu-schedule: stages must be at least 1, got 0
// UNITS: tir-gpu-schedule: tensor_core_tile must be a power of two, got 96
// THREADS: tir-gpu-schedule: threads must be a power of two, got 48
// VECTOR: tir-gpu-schedule: vector_bytes must be a power of two, got 12
// TILE: tir-gpu-schedule: tile must be a power of two, got 0
// TERMS: tir-gpu-schedule: tile_terms must be a power of two, got 3
// TARGET: tir-gpu-schedule: unknown target kind 'tpu'
// NONE: tir.func @f: the target 'vulkan' states no max_num_threads
tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
}
