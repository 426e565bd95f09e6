// RUN: xdsl-opt %s -p 'tvm-lower-to-nvvm{arch=sm_90}' | filecheck %s
// RUN: xdsl-opt %s -p 'tvm-lower-to-nvvm{arch=sm_90},tvm-lower-to-nvvm{arch=sm_90}' | filecheck %s
// RUN: xdsl-opt %s -t 'ptx{arch="sm_90"}' | filecheck %s --check-prefix=PTX
// RUN: xdsl-opt %s -p tvm-lower-to-nvvm -t 'ptx{arch="sm_90"}' | filecheck %s --check-prefix=PTX

tir.func @fill(%a: !tir.handle) attributes {global_symbol = "fill"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<128xf32>
  %c0 = tir.const 0 : i32
  %c128 = tir.const 128 : i32
  %one = tir.const 1.0 : f32
  tir.for %i = %c0 to %c128 thread_binding "threadIdx.x" {
    tir.block "A" (%vi : S in [%c0 to %c128] = %i) {
      tir.writes %A[%vi]
      tir.store %one, %A[%vi] : f32
    }
  }
}

// CHECK:       func.func @fill(
// CHECK:         "gpu.launch_func"
// CHECK:       "gpu.module"() <{sym_name = "kernels"}> ({
// CHECK:         llvm.func @fill_kernel(%{{.*}}: !llvm.ptr<1> {llvm.noalias, llvm.align = 16 : i64}) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>} {
// CHECK:           nvvm.read.ptx.sreg.tid.x : i32
// CHECK:           llvm.store
// CHECK:           llvm.return

// PTX:         .target sm_90
// PTX:         .visible .entry fill_kernel(
// PTX:         .maxntid 128, 1, 1
// PTX:         st.global
