// RUN: xdsl-opt %s -p 'tir-narrow-data-type{target_bits=24}' --verify-diagnostics | filecheck %s

tir.func @f(%n: i64) {
  tir.evaluate %n : i64
}
// CHECK: tir-narrow-data-type: target_bits is 24, which is no width of integers to narrow to; use 8, 16, 32 or 64
