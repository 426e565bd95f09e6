// RUN: xdsl-opt %s -p relax-convert-to-memref | filecheck %s

// What is not the function's own is copied; address and extents are stored last.

// CHECK-LABEL: func.func private @made(
// CHECK-SAME: %x: memref<?xf32>, %[[CELLS:.*]]: memref<2xi64> {llvm.noalias}, %[[N:.*]]: i64)
// CHECK: %[[EXTENT:.*]] = arith.index_cast %[[N]] : i64 to index
// CHECK: %[[OWN:.*]] = memref.alloc(%[[EXTENT]]) : memref<?xf32>
// CHECK: cf.assert {{.*}}, "out of memory
// CHECK: memref.store {{.*}}, %[[OWN]]
// CHECK: %[[POINTER:.*]] = builtin.unrealized_conversion_cast %[[OWN]]
// CHECK: %[[ADDRESS:.*]] = llvm.ptrtoint %[[POINTER]]
// CHECK: memref.store %[[ADDRESS]], %[[CELLS]]
// CHECK: memref.store {{.*}}, %[[CELLS]]
// CHECK-NEXT: func.return
relax.func @made(%x: tensor<?xf32>) -> tensor<?xf32> {
  relax.return %x : tensor<?xf32>
}

// A caller owns what it gets: it hands it over, or releases it.

// CHECK-LABEL: func.func @caller(
// CHECK: %[[CELLS:.*]] = memref.alloca() : memref<2xi64>
// CHECK: func.call @made(%x, %[[CELLS]], {{.*}})
// CHECK-NOT: memref.alloc(
// CHECK-NOT: memref.dealloc
// CHECK: %[[CELLS:.*]] = memref.alloca() : memref<2xi64>
// CHECK: func.call @made(%x, %[[CELLS]], {{.*}})
// CHECK: %[[ADDRESS:.*]] = llvm.inttoptr
// CHECK: %[[SECOND:.*]] = builtin.unrealized_conversion_cast %[[ADDRESS]]
// CHECK: memref.dealloc %[[SECOND]] : memref<?xf32>
relax.func @caller(%x: tensor<?xf32>) -> tensor<?xf32>
    attributes {global_symbol = "caller"} {
  %0 = relax.call @made(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %1 = relax.call @made(%x) : (tensor<?xf32>) -> tensor<?xf32>
  relax.return %0 : tensor<?xf32>
}
