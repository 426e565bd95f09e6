// RUN: xdsl-opt %s -p tir-convert-to-gpu --split-input-file | filecheck %s

// Counting barriers are an array in shared memory; a wait is a loop.

tir.func @barriers(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<128xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c32 = tir.const 32 : i32
  %c512 = tir.const 512 : i32
  %p = tir.data %A : !tir.ptr<f32>
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %s = tir.allocate [128] : !tir.ptr<f32, "shared">
    tir.call "create_barriers"(%c2) : (i32) -> ()
    tir.call "ptx_init_barrier_thread_count"(%c1, %c32) : (i32, i32) -> ()
    tir.call "ptx_arrive_barrier"(%c1) : (i32) -> ()
    tir.call "ptx_arrive_barrier_expect_tx"(%c1, %c512) : (i32, i32) -> ()
    tir.call "ptx_cp_async_barrier"(%c1) : (i32) -> ()
    tir.call "ptx_cp_async_bulk"(%s, %c0, %p, %c0, %c512, %c1) : (!tir.ptr<f32, "shared">, i32, !tir.ptr<f32>, i32, i32, i32) -> ()
    tir.call "ptx_wait_barrier"(%c1) : (i32) -> ()
  }
}

// CHECK-LABEL: func.func private @barriers
// CHECK:         memref.get_global @barriers_kernel_shared_1 : memref<2xi64, 3 : i64>
// CHECK:         nvvm.mbarrier.init %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32
// CHECK:         nvvm.mbarrier.arrive %{{.*}} : !llvm.ptr<3> -> i64
// CHECK:         nvvm.mbarrier.arrive.expect_tx %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32 -> i64
// CHECK:         nvvm.cp.async.mbarrier.arrive %{{.*}} : !llvm.ptr<3>
// CHECK:         %[[TO:.*]] = tvm_llvm.addrspacecast %{{.*}} : !llvm.ptr<3> to !llvm.ptr<7>
// CHECK:         nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT:    nvvm.cp.async.bulk.shared.cluster.global %[[TO]], %{{.*}}, %{{.*}}, %{{.*}} : !llvm.ptr<7>, !llvm.ptr<1>
// CHECK:         scf.while () : () -> () {
// CHECK:           %[[DONE:.*]] = nvvm.mbarrier.try_wait %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32 -> i1
// CHECK:           %[[AGAIN:.*]] = arith.xori %[[DONE]], %{{.*}} : i1
// CHECK:           scf.condition(%[[AGAIN]])

// -----

// A fragment is an array of registers in each thread's own memory.

tir.func @fragments(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<256xf16>
  %B = tir.match_buffer %b : !tir.buffer<256xf16>
  %C = tir.match_buffer %c : !tir.buffer<256xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %zero = tir.const 0.0 : f32
  %row = tir.string "row_major"
  %col = tir.string "col_major"
  %p = tir.data %A : !tir.ptr<f16>
  %q = tir.data %B : !tir.ptr<f16>
  %r = tir.data %C : !tir.ptr<f32>
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %x = tir.allocate [256] annotations {fragment_layout = "row_major", fragment_shape = "16, 16, 16"} : !tir.ptr<f16, "wmma.matrix_a">
    %y = tir.allocate [256] annotations {fragment_layout = "col_major", fragment_shape = "16, 16, 16"} : !tir.ptr<f16, "wmma.matrix_b">
    %z = tir.allocate [512] annotations {fragment_shape = "16, 16, 16"} : !tir.ptr<f32, "wmma.accumulator">
    tir.call "tvm_fill_fragment"(%z, %c16, %c16, %c16, %c0, %zero) : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, f32) -> ()
    tir.call "tvm_load_matrix_sync"(%x, %c16, %c16, %c16, %c0, %p, %c16, %row) : (!tir.ptr<f16, "wmma.matrix_a">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> ()
    tir.call "tvm_load_matrix_sync"(%y, %c16, %c16, %c16, %c0, %q, %c16, %col) : (!tir.ptr<f16, "wmma.matrix_b">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> ()
    tir.call "tvm_mma_sync"(%z, %c0, %x, %c0, %y, %c0, %z, %c0) : (!tir.ptr<f32, "wmma.accumulator">, i32, !tir.ptr<f16, "wmma.matrix_a">, i32, !tir.ptr<f16, "wmma.matrix_b">, i32, !tir.ptr<f32, "wmma.accumulator">, i32) -> ()
    tir.call "tvm_store_matrix_sync"(%z, %c16, %c16, %c16, %c0, %r, %c16, %row) : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, !tir.ptr<f32>, i32, !tir.handle) -> ()
  }
}

// CHECK-LABEL: func.func private @fragments
// CHECK-DAG:     memref.alloca() {alignment = 16 : i64} : memref<32xi8>
// CHECK-DAG:     memref.alloca() {alignment = 16 : i64} : memref<64xi8>
// CHECK:         nvvm.wmma.load %{{.*}}, %{{.*}} {eltype = #nvvm.mma_type<f16>, frag = #nvvm.mma_frag<a>, k = 16 : i32, layout = #nvvm.mma_layout<row>, m = 16 : i32, n = 16 : i32} : (!llvm.ptr<1>)
// CHECK:         nvvm.wmma.load %{{.*}}, %{{.*}} {eltype = #nvvm.mma_type<f16>, frag = #nvvm.mma_frag<b>, k = 16 : i32, layout = #nvvm.mma_layout<col>, m = 16 : i32, n = 16 : i32} : (!llvm.ptr<1>)
// CHECK:         nvvm.wmma.mma {{.*}} {eltypeA = #nvvm.mma_type<f16>, eltypeB = #nvvm.mma_type<f32>, k = 16 : i32, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, m = 16 : i32, n = 16 : i32} :
// CHECK:         nvvm.wmma.store {{.*}} {eltype = #nvvm.mma_type<f32>, k = 16 : i32, layout = #nvvm.mma_layout<row>, m = 16 : i32, n = 16 : i32} : !llvm.ptr<1>, f32, f32, f32, f32, f32, f32, f32, f32

// -----

// Loads under a guard, updates that threads make one after the other.

tir.func @memory(%a: !tir.handle, %g: i1) {
  %A = tir.match_buffer %a : !tir.buffer<256xf32>
  %c0 = tir.const 0 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %r = tir.allocate [1] : !tir.ptr<f32, "local">
    %R = tir.decl_buffer %r : !tir.buffer<1xf32, "local">
    %at = tir.address_of %A[%t] : !tir.ptr<f32>
    tir.call "ptx_ldg32"(%r, %g, %at, %c0) : (!tir.ptr<f32, "local">, i1, !tir.ptr<f32>, i32) -> ()
    %v = tir.load %R[%c0] : f32
    %old = tir.call "atomic_add"(%at, %v) : (!tir.ptr<f32>, f32) -> f32
  }
}

// CHECK-LABEL: func.func private @memory
// CHECK:         %[[V:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK:           %[[X:.*]] = tvm_llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK-NEXT:      scf.yield %[[X]] : f32
// CHECK:         llvm.store %[[V]]
// CHECK:         tvm_llvm.atomicrmw fadd %{{.*}}, %{{.*}} syncscope("device") monotonic {alignment = 4 : i64} : !llvm.ptr<1>, f32
