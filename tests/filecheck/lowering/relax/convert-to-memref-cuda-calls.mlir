// RUN: xdsl-opt %s -p 'relax-convert-to-memref{device="cuda"}' | filecheck %s

// Functions of Python get addresses of the GPU; text and cells are in memory of the host.

!s = tensor<4xf32>

// CHECK: func.func private @tvm_call_packed(!llvm.ptr, !llvm.ptr) -> i64
// CHECK-LABEL: func.func @packed(
// CHECK-SAME: %[[X:.*]]: memref<4xf32, 1 : i64>
// CHECK: %[[P:.*]] = builtin.unrealized_conversion_cast %{{.*}} : memref<4xf32, 1 : i64> to !llvm.ptr
// CHECK-NEXT: %[[A:.*]] = llvm.ptrtoint %[[P]] : !llvm.ptr to i64
// CHECK: %[[CELLS:.*]] = memref.alloca() : memref<8xi64>
// CHECK: memref.store %[[A]], %[[CELLS]]
// CHECK: %[[T:.*]] = memref.get_global @{{.*}} : memref<{{[0-9]+}}xi8>
// CHECK: func.call @tvm_call_packed(
relax.func @packed(%x: !s) -> !s attributes {global_symbol = "packed"} {
  %0 = relax.call_dps_packed "my.f"(%x, %x, %x) : (!s, !s, !s) -> !s
  relax.return %0 : !s
}
