// RUN: xdsl-opt %s -p tvm-convert-gpu-launch-to-driver --split-input-file | filecheck %s

// A launch stores its arguments, and passes the handle of the kernel and the sizes on.

builtin.module attributes {gpu.container_module} {
  func.func @f(%a: memref<?xf32, 1>, %n: index, %p: i1) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    "gpu.launch_func"(%n, %c1, %c1, %c128, %c1, %c1, %a, %n, %p)
      <{kernel = @kernels::@k, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 3, 0>}>
      : (index, index, index, index, index, index, memref<?xf32, 1>, index, i1) -> ()
    func.return
  }
}

// CHECK:       builtin.module {
// CHECK-LABEL: func.func @f(
// CHECK-SAME:    %[[A:.*]]: memref<?xf32>, %[[N:.*]]: index, %[[P:.*]]: i1)
// CHECK-NEXT:    %[[COUNT:.*]] = llvm.mlir.constant(3) : i64
// CHECK-NEXT:    %[[VALUES:.*]] = llvm.alloca %[[COUNT]] x i64
// CHECK-NEXT:    %[[POINTERS:.*]] = llvm.alloca %[[COUNT]] x i64
// CHECK:         %[[FIRST:.*]] = llvm.getelementptr %[[VALUES]][0]
// CHECK:         %[[PLACE:.*]] = llvm.getelementptr %[[POINTERS]][0]
// CHECK-NEXT:    llvm.store %[[FIRST]], %[[PLACE]]
// CHECK:         %[[ADDRESS:.*]] = builtin.unrealized_conversion_cast %[[A]] : memref<?xf32> to !llvm.ptr
// CHECK-NEXT:    llvm.store %[[ADDRESS]], %[[FIRST]]
// CHECK:         arith.index_cast %[[N]] : index to i64
// CHECK:         arith.extui %[[P]] : i1 to i8
// CHECK:         llvm.mlir.addressof @tvm_gpu_kernel_k
// CHECK:         %[[STATUS:.*]] = func.call @tvm_gpu_launch(
// CHECK:         %[[DONE:.*]] = arith.cmpi eq, %[[STATUS]],
// CHECK-NEXT:    cf.assert %[[DONE]], "the GPU driver: kernel @k was not launched: {tvm_failed_number0}"
// CHECK:       tvm_gpu_manifest
// CHECK-SAME:    i8
// CHECK:       llvm.mlir.global weak @tvm_gpu_stream(0
// CHECK:       llvm.mlir.global weak @tvm_gpu_kernel_k(0
// CHECK:       func.func private @cuLaunchKernel(

// -----

// Memory of the GPU: made, copied and released; constants that the runtime uploads.

builtin.module {
  "memref.global"() <{sym_name = "w", type = memref<4xf32, 1>, initial_value = dense<1.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
  func.func @g(%n: index) {
    %m = "gpu.alloc"(%n) <{operandSegmentSizes = array<i32: 0, 1, 0>}> : (index) -> memref<?xf32, 1>
    %w = memref.get_global @w : memref<4xf32, 1>
    %v = memref.reinterpret_cast %m to offset: [0], sizes: [4], strides: [1] : memref<?xf32, 1> to memref<4xf32, 1>
    "gpu.memcpy"(%v, %w) {operandSegmentSizes = array<i32: 0, 1, 1>} : (memref<4xf32, 1>, memref<4xf32, 1>) -> ()
    "gpu.dealloc"(%m) {operandSegmentSizes = array<i32: 0, 1>} : (memref<?xf32, 1>) -> ()
    func.return
  }
}

// CHECK:       "memref.global"() <{sym_name = "w", type = memref<4xf32>
// CHECK-SAME:    sym_visibility = "public"
// CHECK-LABEL: func.func @g(
// CHECK:         %[[M:.*]] = memref.alloc(%{{.*}}) {tvm.on_device} : memref<?xf32>
// CHECK:         cf.assert %{{.*}}, "out of memory: @g needs {tvm_failed_number0} bytes on the GPU"
// CHECK:         llvm.mlir.addressof @tvm_gpu_constant_w
// CHECK:         llvm.inttoptr
// CHECK:         func.call @tvm_gpu_copy(
// CHECK:         cf.assert %{{.*}}, "the GPU driver: a copy in @g failed: {tvm_failed_number0}"
// CHECK:         memref.dealloc %[[M]] {tvm.on_device} : memref<?xf32>

// -----

// Memory of the host, for elements that it reads and writes.

builtin.module {
  func.func @h(%m: memref<2xi64, 1>) {
    %a = memref.alloca() : memref<2xi64>
    "memref.copy"(%m, %a) : (memref<2xi64, 1>, memref<2xi64>) -> ()
    "memref.copy"(%a, %m) : (memref<2xi64>, memref<2xi64, 1>) -> ()
    func.return
  }
}

// CHECK-LABEL: func.func @h(
// CHECK:         memref.alloca() : memref<2xi64>
// CHECK:         %[[SIZE:.*]] = arith.constant 16 : i64
// CHECK:         func.call @tvm_gpu_read(%{{.*}}, %{{.*}}, %[[SIZE]])
// CHECK:         cf.assert %{{.*}}, "the GPU driver: a read in @h failed: {tvm_failed_number0}"
// CHECK:         func.call @tvm_gpu_write(
// CHECK:         cf.assert %{{.*}}, "the GPU driver: a write in @h failed: {tvm_failed_number0}"
// CHECK:       func.func private @tvm_gpu_read(
// CHECK:         func.call @cuMemcpyDtoHAsync_v2(
// CHECK:         func.call @cuStreamSynchronize(

// -----

// Functions that have nothing of the GPU stay.

builtin.module {
  func.func @plain(%m: memref<4xf32>, %i: index) -> f32 {
    %x = memref.load %m[%i] : memref<4xf32>
    func.return %x : f32
  }
}

// CHECK-LABEL: func.func @plain(%m: memref<4xf32>, %i: index) -> f32 {
// CHECK-NEXT:    memref.load
// CHECK-NEXT:    func.return
