// RUN: xdsl-opt %s -p 'tir-default-pipeline{target="cuda"}' | filecheck %s
// RUN: xdsl-opt %s -p 'tir-default-pipeline{target="cuda" debug=true}' | filecheck %s

// For a GPU, a kernel and the function of the host that launches it.

tir.func @copy(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "copy"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<64xf32>
  %c32 = tir.const 32 : i32
  %c2 = tir.const 2 : i32
  tir.launch_thread %i = "blockIdx.x" to %c2 {
    tir.launch_thread %j = "threadIdx.x" to %c32 {
      %k = tir.mul %i, %c32 : i32
      %l = tir.add %k, %j : i32
      %x = tir.load %A[%l] : f32
      tir.store %x, %B[%l] : f32
    }
  }
}

// CHECK-LABEL: tir.func @copy(%args: !tir.handle
// CHECK-SAME:    target = #tir.target<"llvm">
// CHECK:         tir.string "__tvm_set_device"
// CHECK:         tir.string "copy_kernel"
// CHECK:         tir.call "tvm_call_packed"
// CHECK:       tir.func {{.*}}@copy_kernel(
// CHECK-SAME:    calling_conv = 2 : i32
// CHECK-SAME:    tir.kernel_launch_params = ["blockIdx.x", "threadIdx.x"]
