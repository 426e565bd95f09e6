// RUN: xdsl-opt %s -p tir-convert-ssa,tir-verify-well-formed --split-input-file | filecheck %s

// CASE: ConvertSSA.1, ConvertSSA.2, ConvertSSA.4
// Lets of one name are two values.
tir.func @lets(%a: !tir.handle) attributes {global_symbol = "lets"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<3xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %v = tir.let "v" %c32 : i32
  tir.store %v, %A[%c0] : i32
  tir.scope {
    %w = tir.let "v" %c16 : i32
    tir.store %w, %A[%c1] : i32
  }
  tir.store %v, %A[%c2] : i32
}
// CHECK-LABEL: tir.func @lets
// CHECK:         %[[V:.*]] = tir.let "v"
// CHECK-NEXT:    tir.store %[[V]]
// CHECK-NEXT:    tir.scope {
// CHECK-NEXT:      %[[W:.*]] = tir.let "v"
// CHECK-NEXT:      tir.store %[[W]]
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.store %[[V]]

// -----

// CASE: ConvertSSA.3, ConvertSSA.5, ConvertSSA.6, ConvertSSA.7, ConvertSSA.8
// The axes of a function are its own; two openings of one axis share it.
tir.func @one(%a: !tir.handle, %n: i32) attributes {global_symbol = "one"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %c4 = tir.const 4 : i32
  tir.launch_thread %t = "threadIdx.x" to %c4 env "tx" {
    tir.store %n, %A[%t] : i32
  }
  tir.launch_thread %t = "threadIdx.x" to %c4 env "tx" {
    tir.store %t, %A[%t] : i32
  }
}
tir.func @two(%a: !tir.handle, %n: i32) attributes {global_symbol = "two"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %c4 = tir.const 4 : i32
  tir.launch_thread %t = "threadIdx.x" to %c4 env "tx" {
    tir.store %n, %A[%t] : i32
  }
  tir.launch_thread %t = "threadIdx.x" to %c4 env "tx" {
    tir.store %t, %A[%t] : i32
  }
}
// CHECK-LABEL: tir.func @one
// CHECK:         tir.launch_thread %{{.*}} = "threadIdx.x" to %{{.*}} env "tx" {
// CHECK:         tir.launch_thread %{{.*}} = "threadIdx.x" to %{{.*}} env "tx" {
// CHECK-LABEL: tir.func @two
// CHECK:         tir.launch_thread %{{.*}} = "threadIdx.x" to %{{.*}} env "tx" {
// CHECK:         tir.launch_thread %{{.*}} = "threadIdx.x" to %{{.*}} env "tx" {

// -----

// One name for several axes is several variables.
tir.func @axes(%a: !tir.handle) attributes {global_symbol = "axes"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x4xi32>
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %four = tir.add %c2, %c2 : i32
  tir.launch_thread %t = "threadIdx.x" to %c4 env "t" {
    tir.launch_thread %u = "threadIdx.y" to %c2 env "t" {
      tir.store %t, %A[%t, %u] : i32
    }
  }
  tir.launch_thread %t = "threadIdx.x" to %four env "t" {
    tir.launch_thread %u = "threadIdx.y" to %c2 env "t" {
      tir.store %u, %A[%t, %u] : i32
    }
  }
  tir.launch_thread %t = "threadIdx.x" to %c2 env "t" {
    tir.launch_thread %u = "threadIdx.y" to %c4 env "t_1" {
      tir.store %u, %A[%t, %u] : i32
    }
  }
}
// CHECK-LABEL: tir.func @axes
// CHECK:         tir.launch_thread %{{.*}} = "threadIdx.x" to %{{.*}} env "t" {
// CHECK-NEXT:      tir.launch_thread %{{.*}} = "threadIdx.y" to %{{.*}} env "t_2" {
// CHECK:         tir.launch_thread %{{.*}} = "threadIdx.x" to %{{.*}} env "t" {
// CHECK-NEXT:      tir.launch_thread %{{.*}} = "threadIdx.y" to %{{.*}} env "t_2" {
// CHECK:         tir.launch_thread %{{.*}} = "threadIdx.x" to %{{.*}} env "t_3" {
// CHECK-NEXT:      tir.launch_thread %{{.*}} = "threadIdx.y" to %{{.*}} env "t_1" {

// -----

// CASE: ConvertSSA.9
tir.func @pragma(%a: !tir.handle) attributes {global_symbol = "pragma"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 annotations {pragma_x = 1 : i32} {
    tir.attr "pragma_y" (%i) = 1 : i32 {
      tir.store %i, %A[%i] : i32
    }
  }
}
// CHECK-LABEL: tir.func @pragma
// CHECK:         tir.for %[[I:.*]] = %{{.*}} to %{{.*}} annotations {pragma_x = 1 : i32} {
// CHECK-NEXT:      tir.attr "pragma_y" (%[[I]]) = 1 : i32 {
// CHECK-NEXT:        tir.store %[[I]]

// -----

// A shape variable that matches in two scopes bind is two variables.
tir.func @regions(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "regions"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<2xi32>
  %n = tir.shape_var "n" : i32
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %twice = tir.add %n, %n : i32
  tir.block "first" {
    tir.reads %A[%c0 to %c0 + 4]
    tir.writes %B[%c0]
    %V = tir.match_region "V" %A[%c0 to %c0 + 4] [%n] : !tir.buffer<?xi32>
    tir.store %twice, %B[%c0] : i32
  }
  tir.block "second" {
    tir.reads %A[%c0 to %c0 + 8]
    tir.writes %B[%c1]
    %V = tir.match_region "V" %A[%c0 to %c0 + 8] [%n] : !tir.buffer<?xi32>
    %x = tir.sub %twice, %n : i32
    %y = tir.mul %x, %twice : i32
    tir.store %y, %B[%c1] : i32
  }
}
// CHECK-LABEL: tir.func @regions
// CHECK:         %[[N:.*]] = tir.shape_var "n" : i32
// CHECK:         %[[TWICE:.*]] = tir.add %[[N]], %[[N]] : i32
// CHECK:         tir.block "first"
// CHECK:           tir.match_region "V" %{{.*}} [%[[N]]]
// CHECK:           tir.store %[[TWICE]]
// CHECK:         tir.block "second"
// CHECK-NEXT:      %[[M:.*]] = tir.shape_var "n" : i32
// CHECK-NEXT:      %[[AGAIN:.*]] = tir.add %[[M]], %[[M]] : i32
// CHECK:           tir.match_region "V" %{{.*}} [%[[M]]]
// CHECK-NEXT:      %[[X:.*]] = tir.sub %[[AGAIN]], %[[M]] : i32
// CHECK-NEXT:      tir.mul %[[X]], %[[AGAIN]] : i32
