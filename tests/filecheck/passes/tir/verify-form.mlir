// RUN: xdsl-opt %s -p 'tir-verify-form{form="vector"}' --split-input-file | filecheck %s

// What a form does not speak of passes, and nothing changes.

// CHECK-LABEL: tir.func @flat
tir.func @flat(%a: !tir.handle, %p: !tir.ptr<f32>) attributes {global_symbol = "flat"} {
  // A parameter keeps its dimensions, where nothing indexes it.
  // CHECK: tir.match_buffer %{{.*}} : !tir.buffer<4x4xf32>
  %A = tir.match_buffer %a : !tir.buffer<4x4xf32>
  %q = tir.data %A : !tir.ptr<f32>
  %B = tir.decl_buffer %q : !tir.buffer<16xf32>
  // With axis separators a buffer has as many dimensions more.
  // CHECK: tir.decl_buffer %{{.*}} {axis_separators = array<i64: 1>} : !tir.buffer<2x8xf32>
  %C = tir.decl_buffer %p {axis_separators = array<i64: 1>} : !tir.buffer<2x8xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  // CHECK: tir.launch_thread %{{.*}} = "threadIdx.x"
  tir.launch_thread %t = "threadIdx.x" to %c4 {
    // CHECK: tir.for %{{.*}} = %{{.*}} to %{{.*}} unrolled {
    tir.for %i = %c0 to %c4 unrolled {
      %x = tir.load %B[%i] : f32
      tir.store %x, %C[%c0, %t] : f32
    }
  }
}

// -----

// CHECK-LABEL: "test.op"
"test.op"() ({
  // CHECK: tir.evaluate
  tir.evaluate
  "test.termop"() : () -> ()
}) {form = "foreign"} : () -> ()
