// RUN: xdsl-opt %s -p tir-convert-to-gpu --split-input-file | filecheck %s

// The host launches; what the kernel uses becomes its arguments, pointers first.

tir.func @scale(%a: !tir.handle, %s: f32) attributes {global_symbol = "scale", tir.noalias = true, tir.min_blocks = 2 : i32} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xf32>
  %c127 = tir.const 127 : i32
  %c128 = tir.const 128 : i32
  %up = tir.add %n, %c127 : i32
  %blocks = tir.floordiv %up, %c128 : i32
  tir.launch_thread %b = "blockIdx.x" to %blocks {
    tir.launch_thread %t = "threadIdx.x" to %c128 {
      %start = tir.mul %b, %c128 : i32
      %i = tir.add %start, %t : i32
      %p = tir.cmp lt %i, %n : i32
      tir.if %p {
        %x = tir.load %A[%i] : f32
        %y = tir.mul %x, %s : f32
        tir.store %y, %A[%i] : f32
      }
    }
  }
}

// CHECK:       builtin.module attributes {gpu.container_module} {
// CHECK-LABEL: func.func @scale(
// CHECK-SAME:    %[[A:.*]]: memref<?xf32, 1 : i64> {llvm.noalias}, %[[S:.*]]: f32, %[[N:.*]]: i64)
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : index
// CHECK:         %[[N32:.*]] = arith.trunci %[[N]] : i64 to i32
// CHECK:         %[[UP:.*]] = arith.shrsi
// CHECK:         %[[BLOCKS:.*]] = arith.index_cast %[[UP]] : i32 to index
// CHECK:         "gpu.launch_func"(%[[BLOCKS]], %[[C1]], %[[C1]], %[[C128]], %[[C1]], %[[C1]], %[[A]], %[[N32]], %[[S]])
// CHECK-SAME:      kernel = @kernels::@scale_kernel
// CHECK-NEXT:    func.return
// CHECK:       "gpu.module"() <{sym_name = "kernels"}> ({
// CHECK:         "gpu.func"() <{function_type = (memref<?xf32, 1 : i64>, i32, f32) -> (), kernel}> ({
// CHECK-NEXT:    ^{{.*}}(%[[KA:.*]]: memref<?xf32, 1 : i64>, %[[KN:.*]]: i32, %[[KS:.*]]: f32):
// CHECK-DAG:       %[[B:.*]] = "gpu.block_id"() <{dimension = #gpu<dim x>}>
// CHECK-DAG:       %[[T:.*]] = "gpu.thread_id"() <{dimension = #gpu<dim x>}>
// CHECK:           arith.cmpi slt, %[[I:.*]], %[[KN]] : i32
// CHECK:           %[[X:.*]] = memref.load %[[KA]]
// CHECK:           arith.mulf %[[X]], %[[KS]] : f32
// CHECK:           "gpu.return"()
// CHECK:         sym_name = "scale_kernel", gpu.known_block_size = array<i32: 128, 1, 1>, nvvm.minctasm = 2 : i32
// CHECK-SAME:      arg_attrs = [{llvm.noalias, llvm.align = 16 : i64}, {}, {}]

// -----

// Shared and local memory, allocated outside of the launch or inside; barriers; two
// kernels in one function, with device memory between them.

tir.func @two(%a: !tir.handle) attributes {global_symbol = "two"} {
  %A = tir.match_buffer %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c64 = tir.const 64 : i32
  %block = tir.string "shared"
  %warp = tir.string "warp"
  %m = tir.allocate [64] : !tir.ptr<f32>
  %M = tir.decl_buffer %m : !tir.buffer<64xf32>
  %s = tir.allocate [64] : !tir.ptr<f32, "shared">
  %S = tir.decl_buffer %s : !tir.buffer<8x8xf32, "shared">
  tir.launch_thread %t = "threadIdx.x" to %c64 {
    %l = tir.allocate [4] : !tir.ptr<f32, "local">
    %L = tir.decl_buffer %l : !tir.buffer<4xf32, "local">
    %x = tir.load %A[%t] : f32
    tir.store %x, %L[%c0] : f32
    tir.store %x, %S[%c0, %c0] : f32
    tir.call "tvm_storage_sync"(%block) : (!tir.handle) -> ()
    %y = tir.load %S[%c0, %c0] : f32
    tir.call "tvm_storage_sync"(%warp) : (!tir.handle) -> ()
    tir.store %y, %M[%t] : f32
  }
  tir.launch_thread %t = "threadIdx.x" to %c64 {
    %x = tir.load %M[%t] : f32
    tir.store %x, %A[%t] : f32
  }
}

// CHECK-LABEL: func.func @two(
// CHECK-SAME:    %[[A:.*]]: memref<64xf32, 1 : i64>)
// CHECK:         %[[M:.*]] = "gpu.alloc"()
// CHECK:         %[[A0:.*]] = "memref.cast"(%[[A]])
// CHECK:         %[[M0:.*]] = "memref.cast"(%[[M]])
// CHECK:         "gpu.launch_func"({{.*}}, %[[A0]], %[[M0]]) <{kernel = @kernels::@two_kernel,
// CHECK:         "gpu.launch_func"({{.*}}) <{kernel = @kernels::@two_kernel_1,
// CHECK:         "gpu.dealloc"(%[[M]])
// CHECK:       "memref.global"() <{sym_name = "two_kernel_shared", type = memref<8x8xf32, 3 : i64>, initial_value
// CHECK:       "gpu.func"()
// CHECK-DAG:     %[[S:.*]] = memref.get_global @two_kernel_shared : memref<8x8xf32, 3 : i64>
// CHECK-DAG:     %[[L:.*]] = memref.alloca() : memref<4xf32>
// CHECK:         memref.store %{{.*}}, %[[L]]
// CHECK:         memref.store %{{.*}}, %[[S]]
// CHECK-NEXT:    "gpu.barrier"()
// CHECK:         memref.load %[[S]]
// CHECK-NEXT:    nvvm.bar.warp.sync %{{.*}} : i32
// CHECK:       sym_name = "two_kernel"
// CHECK:       sym_name = "two_kernel_1"

// -----

// Functions without a launch stay.

tir.func @plain() {
  %c0 = tir.const 0 : i32
}

// CHECK-LABEL: tir.func @plain()

// -----

// Memory with contents that a kernel reads is in the GPU module, wherever it is defined.

tir.func @table(%a: !tir.handle) attributes {global_symbol = "table"} {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c4 = tir.const 4 : i32
  %p = tir.allocate_const dense<[1, 2, 3, 4]> : tensor<4xi32> : !tir.ptr<i32>
  %P = tir.decl_buffer %p : !tir.buffer<4xi32>
  tir.launch_thread %t = "threadIdx.x" to %c4 {
    %x = tir.load %P[%t] : i32
    tir.store %x, %A[%t] : i32
  }
}

// CHECK-NOT:   @table_constant
// CHECK-LABEL: func.func @table(
// CHECK-NOT:     memref.get_global
// CHECK:         "gpu.launch_func"({{.*}}) <{{{.*}}kernel = @kernels::@table_kernel
// CHECK:       "gpu.module"() <{sym_name = "kernels"}> ({
// CHECK:         "memref.global"() <{{{.*}}dense<[1, 2, 3, 4]>
// CHECK:         "gpu.func"()
// CHECK:           memref.get_global @table_kernel_constant : memref<4xi32, 1 : i64>

// -----

// Shuffles move 32 bits: narrower values are in the low bits, wider ones are two words.

tir.func @shuffles(%a: !tir.handle, %b: !tir.handle, %h: !tir.handle) attributes {global_symbol = "shuffles"} {
  %A = tir.match_buffer %a : !tir.buffer<32xf32>
  %B = tir.match_buffer %b : !tir.buffer<32xi64>
  %H = tir.match_buffer %h : !tir.buffer<32xf16>
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %c32 = tir.const 32 : i32
  %r = tir.reducer (%x : f32, %y : f32) identity [0.0 : f32] {
    %z = tir.add %x, %y : f32
    tir.yield %z : f32
  }
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %p = tir.allocate [1] : !tir.ptr<f32, "shared">
    tir.attr "volatile_scope" (%p) = 1 : i32 {
      %zero = tir.const 0 : ui64
      %null = tir.call "reinterpret"(%zero) : (ui64) -> !tir.handle
      tir.attr "reduce_scope" (%r) = %null {
        %m = tir.call "tvm_warp_activemask"() : () -> ui32
        %x = tir.load %A[%t] : f32
        %x1 = tir.call "tvm_warp_shuffle_down"(%m, %x, %c1, %c32, %c32) : (ui32, f32, i32, i32, i32) -> f32
        tir.store %x1, %A[%t] : f32
        %y = tir.load %B[%t] : i64
        %y1 = tir.call "tvm_warp_shuffle"(%m, %y, %c1, %c32, %c32) : (ui32, i64, i32, i32, i32) -> i64
        tir.store %y1, %B[%t] : i64
        %z = tir.load %H[%t] : f16
        %z1 = tir.call "tvm_warp_shuffle_up"(%m, %z, %c1, %c8, %c32) : (ui32, f16, i32, i32, i32) -> f16
        tir.store %z1, %H[%t] : f16
      }
    }
  }
}

// CHECK:       "gpu.func"()
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-DAG:     %[[LAST:.*]] = arith.constant 31 : i32
// CHECK-DAG:     %[[HALF:.*]] = arith.constant 32 : i64
// CHECK-DAG:     %[[EIGHT:.*]] = arith.constant 6144 : i32
// CHECK:         %[[M:.*]] = tvm_llvm.call_intrinsic "llvm.nvvm.activemask"()
// CHECK:         %[[X:.*]] = memref.load
// CHECK-NEXT:    nvvm.shfl.sync down %[[M]], %[[X]], %[[ONE]], %[[LAST]] : f32 -> f32
// CHECK:         %[[Y:.*]] = memref.load
// CHECK-NEXT:    %[[TOP:.*]] = arith.shrui %[[Y]], %[[HALF]] : i64
// CHECK-NEXT:    %[[LOW:.*]] = arith.trunci %[[Y]] : i64 to i32
// CHECK-NEXT:    %[[LOW2:.*]] = nvvm.shfl.sync idx %[[M]], %[[LOW]], %[[ONE]], %[[LAST]] : i32 -> i32
// CHECK-NEXT:    %[[LOW3:.*]] = arith.extui %[[LOW2]] : i32 to i64
// CHECK-NEXT:    %[[HIGH:.*]] = arith.trunci %[[TOP]] : i64 to i32
// CHECK-NEXT:    %[[HIGH2:.*]] = nvvm.shfl.sync idx %[[M]], %[[HIGH]], %[[ONE]], %[[LAST]] : i32 -> i32
// CHECK-NEXT:    %[[HIGH3:.*]] = arith.extui %[[HIGH2]] : i32 to i64
// CHECK-NEXT:    %[[HIGH4:.*]] = arith.shli %[[HIGH3]], %[[HALF]] : i64
// CHECK-NEXT:    %[[Y2:.*]] = arith.ori %[[HIGH4]], %[[LOW3]] : i64
// CHECK:         memref.store %[[Y2]]
// CHECK:         %[[BITS:.*]] = arith.bitcast %{{.*}} : f16 to i16
// CHECK-NEXT:    %[[WORD:.*]] = arith.extui %[[BITS]] : i16 to i32
// CHECK-NEXT:    %[[MOVED:.*]] = nvvm.shfl.sync up %[[M]], %[[WORD]], %[[ONE]], %[[EIGHT]] : i32 -> i32
// CHECK-NEXT:    %[[LESS:.*]] = arith.trunci %[[MOVED]] : i32 to i16
// CHECK-NEXT:    arith.bitcast %[[LESS]] : i16 to f16

// -----

// Copies that run ahead: guarded ones read nothing where the guard does not hold.

tir.func @copies(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<256xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %p = tir.data %A : !tir.ptr<f32>
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %s = tir.allocate [256] : !tir.ptr<f32, "shared">
    tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
      tir.call "ptx_cp_async"(%s, %t, %p, %t, %c16) : (!tir.ptr<f32, "shared">, i32, !tir.ptr<f32>, i32, i32) -> ()
      tir.call "ptx_cp_async"(%s, %t, %p, %t, %c8, %t) : (!tir.ptr<f32, "shared">, i32, !tir.ptr<f32>, i32, i32, i32) -> ()
    }
    tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {
      tir.attr "async_wait_inflight_count" (%c0) = 2 : i32 {
        tir.call "ptx_commit_group"() : () -> ()
        tir.call "ptx_wait_group"(%c0) : (i32) -> ()
      }
    }
  }
}

// CHECK-LABEL: func.func private @copies
// CHECK:         nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
// CHECK:         %[[BYTES:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:    nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 8, cache = ca, %[[BYTES]] : !llvm.ptr<3>, !llvm.ptr<1>, i32
// CHECK-NEXT:    nvvm.cp.async.commit.group
// CHECK-NEXT:    nvvm.cp.async.wait.group 2
// CHECK-NEXT:    nvvm.cp.async.commit.group
// CHECK-NEXT:    nvvm.cp.async.wait.group 0
