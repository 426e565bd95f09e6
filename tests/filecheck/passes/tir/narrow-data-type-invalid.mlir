// RUN: xdsl-opt %s -p 'tir-narrow-data-type{target_bits=64}' --verify-diagnostics | filecheck %s

tir.func @f(%n: i64) {
  tir.evaluate %n : i64
}
// CHECK: tir-narrow-data-type: target_bits is 64, which is no width of integers to narrow to; use 8, 16 or 32
