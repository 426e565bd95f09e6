// RUN: xdsl-opt %s -p tir-verify-memory --split-input-file | filecheck %s

// CASE: VerifyMemory.2
tir.func @bound(%a: !tir.handle, %b: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<128xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<128xf32>
  %c2 = tir.const 2 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %bx = "blockIdx.x" to %c2 {
    tir.launch_thread %tx = "threadIdx.x" to %c64 {
      %s = tir.mul %bx, %c64 : i32
      %i = tir.add %s, %tx : i32
      %x = tir.load %A[%i] : f32
      tir.store %x, %B[%i] : f32
    }
  }
}
// CHECK: tir.func @bound
// CHECK:         tir.store

// -----

// A loop that is bound to threads is a launch, once blocks are lowered.
tir.func @bound_loop(%a: !tir.handle) attributes {target = #tir.target<"nvptx">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c64 = tir.const 64 : i32
  %one = tir.const 1.0 : f32
  tir.for %i = %c0 to %c64 thread_binding "threadIdx.x" {
    tir.block "A" (%vi : S in [%c0 to %c64] = %i) {
      tir.writes %A[%vi]
      tir.store %one, %A[%vi] : f32
    }
  }
}
// CHECK: tir.func @bound_loop

// -----

tir.func @pipeline_scope(%a: !tir.handle) attributes {target = #tir.target<"opencl">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %one = tir.const 1.0 : f32
  tir.attr "pipeline_exec_scope" (0 : i32) = 0 : i32 {
    tir.store %one, %A[%c0] : f32
  }
}
// CHECK: tir.func @pipeline_scope

// -----

// CASE: VerifyMemory.4
tir.func @own_memory(%a: !tir.handle, %n: i32) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c64 = tir.const 64 : i32
  %one = tir.const 1.0 : f32
  %p = tir.allocate [%n] : !tir.ptr<f32>
  %B = tir.decl_buffer "B" %p [%n] : !tir.buffer<?xf32>
  tir.for %i = %c0 to %c64 {
    tir.store %one, %B[%i] : f32
  }
  tir.launch_thread %tx = "threadIdx.x" to %c64 {
    %x = tir.load %B[%tx] : f32
    tir.store %x, %A[%tx] : f32
  }
}
// CHECK: tir.func @own_memory

// -----

// CASE: VerifyMemory.5
tir.func @for_cpu(%a: !tir.handle) attributes {target = #tir.target<"llvm">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %one = tir.const 1.0 : f32
  tir.store %one, %A[%c0] : f32
}
tir.func @for_webgpu(%a: !tir.handle) attributes {target = #tir.target<"webgpu">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %one = tir.const 1.0 : f32
  tir.store %one, %A[%c0] : f32
}
// CHECK: tir.func @for_cpu
// CHECK: tir.func @for_webgpu

// -----

// CASE: VerifyMemory.6
tir.func @kernel(%p: !tir.ptr<f32>) attributes {calling_conv = 2 : i32, target = #tir.target<"cuda">} {
  %A = tir.decl_buffer "A" %p : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %one = tir.const 1.0 : f32
  tir.store %one, %A[%c0] : f32
}
// CHECK: tir.func @kernel

// -----

// The parameter is what the callee takes; nothing of it is read here.
tir.func @library_call(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %f = tir.string "scale"
  %p = tir.data %A : !tir.ptr<f32>
  tir.call "call_extern"(%f, %p) : (!tir.handle, !tir.ptr<f32>) -> ()
}
// CHECK: tir.func @library_call

// -----

// Without parameters there is no memory of a parameter.
tir.func @no_parameters() attributes {target = #tir.target<"cuda">} {
  %c0 = tir.const 0 : i32
  %one = tir.const 1.0 : f32
  %f = tir.string "memory"
  %p = tir.call "call_extern"(%f) : (!tir.handle) -> !tir.ptr<f32>
  %A = tir.decl_buffer "A" %p : !tir.buffer<64xf32>
  tir.store %one, %A[%c0] : f32
}
tir.func @declared(!tir.handle) attributes {target = #tir.target<"cuda">}
tir.func @without_target(!tir.handle)
func.func @foreign() {
  func.return
}
// CHECK: tir.func @no_parameters
// CHECK: tir.func @declared
