// RUN: xdsl-opt %s -p relax-default-pipeline | filecheck %s
// RUN: xdsl-opt %s -p 'relax-default-pipeline{pipeline=zero}' | filecheck %s --check-prefix ZERO
// RUN: xdsl-opt %s -p 'relax-default-pipeline{pipeline=default_build}' | filecheck %s --check-prefix BUILD

!t = tensor<4x8xf32>

// Operators are functions that write to memory, whose life ends.
// CHECK-LABEL: relax.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NOT: relax.dataflow
// CHECK-NOT: relax.call_tir
// CHECK: relax.memory.alloc_storage
// CHECK: relax.memory.alloc_tensor
// CHECK: relax.call impure @
// CHECK-NOT: relax.builtin.alloc_tensor
// CHECK: relax.return

// ZERO-LABEL: relax.func @main(
// ZERO-NOT: relax.memory
// ZERO: relax.call_tir @

// BUILD-LABEL: relax.func @main(
// BUILD-NOT: relax.nn.relu
// BUILD: relax.memory.alloc_storage
// BUILD: relax.memory.kill_storage
relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
  %r = relax.dataflow -> (!t) {
    %0 = relax.add %x, %x : (!t, !t) -> !t
    %1 = relax.nn.relu %0 : (!t) -> !t
    %2 = relax.permute_dims %1 : (!t) -> tensor<8x4xf32>
    %3 = relax.exp %2 : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %4 = relax.permute_dims %3 : (tensor<8x4xf32>) -> !t
    relax.output %4 : !t
  }
  relax.return %r : !t
}
