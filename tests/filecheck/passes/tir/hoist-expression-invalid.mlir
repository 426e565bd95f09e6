// RUN: xdsl-opt %s -p "tir-hoist-expression{hoisted_conditionals=16}" --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p "tir-hoist-expression{hoisted_let_bindings=8}" --verify-diagnostics | filecheck %s --check-prefix LETS

// CHECK: tir-hoist-expression: hoisted_conditionals is 16; it is a sum of bits from 0 to 15
// LETS: tir-hoist-expression: hoisted_let_bindings is 8; it is a sum of bits from 0 to 7
tir.func @f(%n: i32) {
  tir.evaluate %n : i32
}
