// RUN: xdsl-opt %s -p 'relax-convert-to-memref{profile=true}' | filecheck %s

!s = tensor<4xf32>

// CHECK: "memref.global"() <{sym_name = "constant_0", type = memref<{{[0-9]+}}xi8>, initial_value =
// CHECK: func.func private @tvm_call_packed(!llvm.ptr, !llvm.ptr) -> i64
// CHECK: func.func private @tvm_clock() -> i64
// CHECK: func.func private @tvm_kernel_done(
// CHECK: sym_name = "tvm_kernel_names", type = memref<6xi8>
// CHECK-SAME: sym_visibility = "public"
// CHECK: sym_name = "tvm_kernel_times", type = memref<1x2xi64>
// CHECK-SAME: sym_visibility = "public"

// CHECK-LABEL: func.func private @scale(
tir.func @scale(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
}

// A call of a kernel is timed.
// CHECK-LABEL: func.func private @timed(
// CHECK: %[[START:.*]] = func.call @tvm_clock() : () -> i64
// CHECK-NEXT: func.call @scale(
// CHECK-NEXT: func.call @tvm_kernel_done(%{{.*}}, %[[START]]) : (index, i64) -> ()
relax.func @timed(%x: !s) -> !s attributes {relax.force_pure} {
  %0 = relax.builtin.alloc_tensor on 0 scope "global" : !s
  relax.call impure @scale(%x, %0) : (!s, !s) -> ()
  relax.return %0 : !s
}

// A call by name passes addresses, extents and bits of numbers in cells.
// CHECK-LABEL: func.func private @packed(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4xf32>, %[[K:[a-z0-9]+]]: i32, %[[R:[a-z0-9]+]]: memref<4xf32>
// CHECK: %[[P:.*]] = builtin.unrealized_conversion_cast %[[X]] : memref<4xf32> to !llvm.ptr
// CHECK-NEXT: %[[A:.*]] = llvm.ptrtoint %[[P]] : !llvm.ptr to i64
// CHECK-NEXT: %[[W:.*]] = arith.extsi %[[K]] : i32 to i64
// CHECK: %[[CELLS:.*]] = memref.alloca() : memref<5xi64>
// CHECK-NEXT: memref.store %[[A]], %[[CELLS]]
// CHECK: memref.store %[[W]], %[[CELLS]]
// CHECK: %[[T:.*]] = memref.get_global @constant_0
// CHECK: %[[S:.*]] = func.call @tvm_call_packed(%{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr) -> i64
// CHECK-NEXT: %[[OK:.*]] = arith.cmpi eq, %[[S]], %{{.*}} : i64
// CHECK-NEXT: cf.assert %[[OK]], "relax.call_pure_packed in @packed: the call of \22my.f\22 failed"
// CHECK-NEXT: func.return
relax.func @packed(%x: !s, %k: !relax.prim<i32>) -> !s {
  %0 = relax.call_pure_packed "my.f"(%x, %k) : (!s, !relax.prim<i32>) -> !s
  relax.return %0 : !s
}
