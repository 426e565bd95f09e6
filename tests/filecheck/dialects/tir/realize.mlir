// RUN: xdsl-opt %s | filecheck %s
// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

// CHECK-LABEL: tir.func @realize
tir.func @realize(%n: i32, %p: i1) {
  %c0 = tir.const 0 : i32
  // CHECK: %A = tir.buffer_realize "A" bounds [%c0 to 16, %n to %n + 4] : !tir.buffer<16x8xf32, "shared">
  %A = tir.buffer_realize "A" bounds [%c0 to 16, %n to %n + 4] : !tir.buffer<16x8xf32, "shared">
  // CHECK: %B = tir.buffer_realize bounds [%c0 to %n] if %p annotations {rolling_buffer_scope = true} [%n] {data_alignment = 128 : i32} : !tir.buffer<?xi8>
  %B = tir.buffer_realize bounds [%c0 to %n] if %p annotations {rolling_buffer_scope = true} [%n] {data_alignment = 128 : i32} : !tir.buffer<?xi8>
  // CHECK: %C = tir.buffer_realize bounds [] : !tir.buffer<f32>
  %C = tir.buffer_realize bounds [] : !tir.buffer<f32>
  // CHECK: %D = tir.buffer_realize bounds [%n] annotations {buffer_dim_align = {{\[\[}}0 : i32, 16 : i32, 8 : i32]]} strides [%n] offset %n {mine = 1 : i32} : !tir.buffer<4xf32>
  %D = tir.buffer_realize bounds [%n] annotations {buffer_dim_align = [[0 : i32, 16 : i32, 8 : i32]]} strides [%n] offset %n {mine = 1 : i32} : !tir.buffer<4xf32>
  // CHECK: %x = tir.load %A[%c0, %n] : f32
  %x = tir.load %A[%c0, %n] : f32
  // CHECK: tir.prefetch %A[%c0 to 16, %n]
  tir.prefetch %A[%c0 to 16, %n]
  // CHECK: tir.prefetch %B[%n to %n + %n] {mine = 1 : i32}
  tir.prefetch %B[%n to %n + %n] {mine = 1 : i32}
}
