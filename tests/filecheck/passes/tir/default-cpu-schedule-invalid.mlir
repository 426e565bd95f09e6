// RUN: xdsl-opt %s -p 'tir-default-cpu-schedule{features="avx512vnni sse9"}' --verify-diagnostics | filecheck %s --check-prefix=UNKNOWN
// RUN: xdsl-opt %s -p 'tir-default-cpu-schedule{vector_bytes=48}' --verify-diagnostics --split-input-file | filecheck %s

// CHECK: tir-default-cpu-schedule: vector_bytes must be a power of two up to 1024, got 48
tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
}
// UNKNOWN: tir-default-cpu-schedule: the feature 'sse9' is not known; use avx512vl, avx512vnni, avxvnni
