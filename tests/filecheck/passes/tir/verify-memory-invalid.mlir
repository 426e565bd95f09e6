// RUN: xdsl-opt %s -p tir-verify-memory --split-input-file --verify-diagnostics | filecheck %s

// CASE: VerifyMemory.1
// CHECK: tir.load in @unbound: Memory verification failed with the following errors: buffer 'A' is directly accessed by host memory, outside of any thread; buffer 'B' is directly accessed by host memory, outside of any thread. Did you forget to bind?
tir.func @unbound(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<128xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<128xf32>
  %c0 = tir.const 0 : i32
  %c128 = tir.const 128 : i32
  tir.for %i = %c0 to %c128 {
    %x = tir.load %A[%i] : f32
    tir.store %x, %B[%i] : f32
  }
}

// -----

// CASE: VerifyMemory.3
// CHECK: tir.store in @second_unbound: Memory verification failed with the following errors: buffer 'C' is directly accessed by host memory, outside of any thread. Did you forget to bind?
tir.func @second_unbound(%b: !tir.handle, %c: !tir.handle) attributes {target = #tir.target<"metal">} {
  %B = tir.match_buffer "B" %b : !tir.buffer<64xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c64 = tir.const 64 : i32
  %one = tir.const 1.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c64 {
    tir.store %one, %B[%tx] : f32
  }
  tir.for %i = %c0 to %c64 {
    tir.store %one, %C[%i] : f32
  }
}

// -----

// A virtual thread is a part of a thread, and here there is none.
// CHECK: tir.store in @virtual: Memory verification failed with the following errors: buffer 'A'
tir.func @virtual(%a: !tir.handle) attributes {target = #tir.target<"vulkan">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2xf32>
  %c2 = tir.const 2 : i32
  %one = tir.const 1.0 : f32
  tir.launch_thread %v = "vthread.x" to %c2 virtual {
    tir.store %one, %A[%v] : f32
  }
}

// -----

// CHECK: tir.store in @virtual_loop: Memory verification failed with the following errors: buffer 'A'
tir.func @virtual_loop(%a: !tir.handle) attributes {target = #tir.target<"rocm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<2xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %one = tir.const 1.0 : f32
  tir.for %v = %c0 to %c2 thread_binding "vthread.x" {
    tir.store %one, %A[%v] : f32
  }
}

// -----

// CASE: VerifyMemory.7
// CHECK: tir.store in @packed: Memory verification failed with the following errors: buffer 'A'
tir.func @packed(%args: !tir.handle, %types: !tir.handle, %n: i32) attributes {target = #tir.target<"cuda">} {
  %c0 = tir.const 0 : i32
  %c12 = tir.const 12 : i32
  %c1 = tir.const 1 : i32
  %one = tir.const 1.0 : f32
  %array = tir.call "tvm_struct_get"(%args, %c0, %c12) : (!tir.handle, i32, i32) -> !tir.handle
  %bound = tir.let "array" %array : !tir.handle
  %data = tir.call "tvm_struct_get"(%bound, %c0, %c1) : (!tir.handle, i32, i32) -> !tir.ptr<f32>
  %A = tir.decl_buffer "A" %data [%n] : !tir.buffer<?xf32>
  tir.store %one, %A[%c0] : f32
}

// -----

// CASE: VerifyMemory.8
// CHECK: tir.func @no_target has no target; run tir-bind-target before
tir.func @no_target() attributes {global_symbol = "no_target"} {
}

// -----

// Every parameter counts, and what is derived from it.
// CHECK: tir.load in @derived: Memory verification failed with the following errors: buffer 'V' is directly accessed by host memory, outside of any thread; buffer 'W' is directly accessed
tir.func @derived(%n: i32, %p: !tir.ptr<f32>, %q: !tir.ptr<f32>, %c: i1) attributes {target = #tir.target<"cuda">} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %own = tir.allocate [4] : !tir.ptr<f32>
  %s = tir.select %c, %own, %q : i1, !tir.ptr<f32>
  %r = tir.access_ptr rw %s[%c0 to %c0 + %c4] : !tir.ptr<f32>
  %V = tir.decl_buffer "V" %r : !tir.buffer<4xf32>
  %t = tir.if_then_else %c -> !tir.ptr<f32> {
    tir.yield %p : !tir.ptr<f32>
  } else {
    tir.yield %own : !tir.ptr<f32>
  }
  %W = tir.decl_buffer "W" %t : !tir.buffer<4xf32>
  %x = tir.load %V[%c0] : f32
  tir.store %x, %W[%c0] : f32
}

// -----

// A view of a parameter in a block.
// CHECK: tir.store in @view: Memory verification failed with the following errors: buffer 'V'
tir.func @view(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  tir.block "opaque" {
    tir.writes %A[%c0 to %c0 + %c4]
    %V = tir.match_region "V" %A[%c0 to %c0 + %c4] : !tir.buffer<4xf32>
    tir.store %one, %V[%c0] : f32
  }
}
