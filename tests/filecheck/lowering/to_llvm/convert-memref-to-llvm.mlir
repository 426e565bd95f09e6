// RUN: xdsl-opt %s --allow-unregistered-dialect -p tvm-convert-memref-to-llvm | filecheck %s

// CHECK: llvm.func @free(!llvm.ptr)
// CHECK: llvm.func @aligned_alloc(i64, i64) -> (!llvm.ptr {llvm.noalias})

func.func @access(%m : memref<?x8xf32, 1>, %b : memref<4xi1>, %i : index, %j : index) {
  %x = memref.load %m[%i, %j] : memref<?x8xf32, 1>
  memref.store %x, %m[%j, %i] : memref<?x8xf32, 1>
  %c = memref.load %b[%i] : memref<4xi1>
  memref.store %c, %b[%j] : memref<4xi1>
  func.return
}

// CHECK: func.func @access([[V0:%[A-Za-z0-9_]+]]: memref<?x8xf32, 1 : i64>, [[V1:%[A-Za-z0-9_]+]]: memref<4xi1>, [[V2:%[A-Za-z0-9_]+]]: index, [[V3:%[A-Za-z0-9_]+]]: index) {
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V1]] : memref<4xi1> to !llvm.ptr
// CHECK-NEXT: [[V5:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V0]] : memref<?x8xf32, 1 : i64> to !llvm.ptr<1>
// CHECK-NEXT: [[V6:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V3]] : index to i64
// CHECK-NEXT: [[V7:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V2]] : index to i64
// CHECK-NEXT: [[V8:%[A-Za-z0-9_]+]] = llvm.mlir.constant(8) : i64
// CHECK-NEXT: [[V9:%[A-Za-z0-9_]+]] = llvm.mul [[V7]], [[V8]] overflow<nsw> : i64
// CHECK-NEXT: [[V10:%[A-Za-z0-9_]+]] = llvm.add [[V9]], [[V6]] overflow<nsw> : i64
// CHECK-NEXT: [[V11:%[A-Za-z0-9_]+]] = llvm.getelementptr inbounds [[V5]][[[V10]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK-NEXT: [[V12:%[A-Za-z0-9_]+]] = llvm.load [[V11]] {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK-NEXT: [[V13:%[A-Za-z0-9_]+]] = llvm.mlir.constant(8) : i64
// CHECK-NEXT: [[V14:%[A-Za-z0-9_]+]] = llvm.mul [[V6]], [[V13]] overflow<nsw> : i64
// CHECK-NEXT: [[V15:%[A-Za-z0-9_]+]] = llvm.add [[V14]], [[V7]] overflow<nsw> : i64
// CHECK-NEXT: [[V16:%[A-Za-z0-9_]+]] = llvm.getelementptr inbounds [[V5]][[[V15]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
// CHECK-NEXT: llvm.store [[V12]], [[V16]] {alignment = 4 : i64} : f32, !llvm.ptr<1>
// CHECK-NEXT: [[V17:%[A-Za-z0-9_]+]] = llvm.getelementptr inbounds [[V4]][[[V7]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK-NEXT: [[V18:%[A-Za-z0-9_]+]] = llvm.load [[V17]] {alignment = 1 : i64} : !llvm.ptr -> i8
// CHECK-NEXT: [[V19:%[A-Za-z0-9_]+]] = llvm.trunc [[V18]] : i8 to i1
// CHECK-NEXT: [[V20:%[A-Za-z0-9_]+]] = llvm.getelementptr inbounds [[V4]][[[V6]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK-NEXT: [[V21:%[A-Za-z0-9_]+]] = llvm.zext [[V19]] : i1 to i8
// CHECK-NEXT: llvm.store [[V21]], [[V20]] {alignment = 1 : i64} : i8, !llvm.ptr
// CHECK-NEXT: func.return

func.func @heap(%n : index) {
  %a = memref.alloc(%n) : memref<?x4xf64>
  %b = memref.alloc() : memref<5xi8>
  memref.dealloc %a : memref<?x4xf64>
  memref.dealloc %b : memref<5xi8>
  func.return
}

// CHECK: func.func @heap([[V0:%[A-Za-z0-9_]+]]: index) {
// CHECK-NEXT: [[V1:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V0]] : index to i64
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = llvm.mlir.constant(32) : i64
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = llvm.mul [[V2]], [[V1]] overflow<nsw> : i64
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = llvm.mlir.constant(63) : i64
// CHECK-NEXT: [[V5:%[A-Za-z0-9_]+]] = llvm.add [[V3]], [[V4]] overflow<nsw> : i64
// CHECK-NEXT: [[V6:%[A-Za-z0-9_]+]] = llvm.mlir.constant(-64) : i64
// CHECK-NEXT: [[V7:%[A-Za-z0-9_]+]] = llvm.and [[V5]], [[V6]] : i64
// CHECK-NEXT: [[V8:%[A-Za-z0-9_]+]] = llvm.mlir.constant(64) : i64
// CHECK-NEXT: [[V9:%[A-Za-z0-9_]+]] = llvm.call @aligned_alloc([[V8]], [[V7]]) : (i64, i64) -> !llvm.ptr
// CHECK-NEXT: [[V10:%[A-Za-z0-9_]+]] = llvm.mlir.constant(64) : i64
// CHECK-NEXT: [[V11:%[A-Za-z0-9_]+]] = llvm.mlir.constant(64) : i64
// CHECK-NEXT: [[V12:%[A-Za-z0-9_]+]] = llvm.call @aligned_alloc([[V11]], [[V10]]) : (i64, i64) -> !llvm.ptr
// CHECK-NEXT: llvm.call @free([[V9]]) : (!llvm.ptr) -> ()
// CHECK-NEXT: llvm.call @free([[V12]]) : (!llvm.ptr) -> ()
// CHECK-NEXT: func.return

func.func @stack(%i : index) {
  cf.br ^bb1
^bb1:
  %s = memref.alloca() {alignment = 64 : i64} : memref<4xf32>
  %x = memref.load %s[%i] : memref<4xf32>
  cf.br ^bb1
}

// CHECK: func.func @stack([[V0:%[A-Za-z0-9_]+]]: index) {
// CHECK-NEXT: [[V1:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V0]] : index to i64
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = llvm.mlir.constant(4) : i64
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = llvm.alloca [[V2]] x f32 {alignment = 64 : i64} : (i64) -> !llvm.ptr
// CHECK-NEXT: cf.br ^bb1
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = llvm.getelementptr inbounds [[V3]][[[V1]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT: [[V5:%[A-Za-z0-9_]+]] = llvm.load [[V4]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK-NEXT: cf.br ^bb1

"memref.global"() <{sym_name = "tile", sym_visibility = "private", type = memref<8x8xf32, 3>, initial_value}> : () -> ()

// CHECK: llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x f32>

"memref.global"() <{sym_name = "table", sym_visibility = "public", constant, type = memref<2x2xi32>, initial_value = dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>}> : () -> ()

// CHECK: llvm.mlir.global external constant @table(dense<[1, 2, 3, 4]> : vector<4xi32>) {addr_space = 0 : i32, alignment = 16 : i64} : !llvm.array<4 x i32>

func.func @globals(%i : index) -> f32 {
  %t = memref.get_global @tile : memref<8x8xf32, 3>
  %x = memref.load %t[%i, %i] : memref<8x8xf32, 3>
  func.return %x : f32
}

// CHECK: func.func @globals([[V0:%[A-Za-z0-9_]+]]: index) -> f32 {
// CHECK-NEXT: [[V1:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V0]] : index to i64
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = llvm.mlir.addressof @tile : !llvm.ptr<3>
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = llvm.mlir.constant(8) : i64
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = llvm.mul [[V1]], [[V3]] overflow<nsw> : i64
// CHECK-NEXT: [[V5:%[A-Za-z0-9_]+]] = llvm.add [[V4]], [[V1]] overflow<nsw> : i64
// CHECK-NEXT: [[V6:%[A-Za-z0-9_]+]] = llvm.getelementptr inbounds [[V2]][[[V5]]] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
// CHECK-NEXT: [[V7:%[A-Za-z0-9_]+]] = llvm.load [[V6]] {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// CHECK-NEXT: func.return [[V7]] : f32

func.func @views(%m : memref<8x8xf32>, %i : index) -> f32 {
  %s = memref.subview %m[%i, 2] [2, 3] [1, 2] : memref<8x8xf32> to memref<2x3xf32, strided<[8, 2], offset: ?>>
  %x = memref.load %s[%i, %i] : memref<2x3xf32, strided<[8, 2], offset: ?>>
  %c1 = arith.constant 1 : index
  %d = memref.dim %m, %c1 : memref<8x8xf32>
  "memref.copy"(%m, %m) : (memref<8x8xf32>, memref<8x8xf32>) -> ()
  "test.op"(%d, %s) : (index, memref<2x3xf32, strided<[8, 2], offset: ?>>) -> ()
  func.return %x : f32
}

// CHECK: func.func @views([[V0:%[A-Za-z0-9_]+]]: memref<8x8xf32>, [[V1:%[A-Za-z0-9_]+]]: index) -> f32 {
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V0]] : memref<8x8xf32> to !llvm.ptr
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V1]] : index to i64
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = llvm.mlir.constant(8) : i64
// CHECK-NEXT: [[V5:%[A-Za-z0-9_]+]] = llvm.mul [[V3]], [[V4]] overflow<nsw> : i64
// CHECK-NEXT: [[V6:%[A-Za-z0-9_]+]] = llvm.mlir.constant(2) : i64
// CHECK-NEXT: [[V7:%[A-Za-z0-9_]+]] = llvm.add [[V5]], [[V6]] overflow<nsw> : i64
// CHECK-NEXT: [[V8:%[A-Za-z0-9_]+]] = llvm.getelementptr inbounds [[V2]][[[V7]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT: [[V9:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V8]] : !llvm.ptr to memref<2x3xf32, strided<[8, 2], offset: ?>>
// CHECK-NEXT: [[V10:%[A-Za-z0-9_]+]] = llvm.mlir.constant(8) : i64
// CHECK-NEXT: [[V11:%[A-Za-z0-9_]+]] = llvm.mul [[V3]], [[V10]] overflow<nsw> : i64
// CHECK-NEXT: [[V12:%[A-Za-z0-9_]+]] = llvm.mlir.constant(2) : i64
// CHECK-NEXT: [[V13:%[A-Za-z0-9_]+]] = llvm.mul [[V3]], [[V12]] overflow<nsw> : i64
// CHECK-NEXT: [[V14:%[A-Za-z0-9_]+]] = llvm.add [[V11]], [[V13]] overflow<nsw> : i64
// CHECK-NEXT: [[V15:%[A-Za-z0-9_]+]] = llvm.getelementptr inbounds [[V8]][[[V14]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT: [[V16:%[A-Za-z0-9_]+]] = llvm.load [[V15]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK-NEXT: [[V17:%[A-Za-z0-9_]+]] = arith.constant 1 : index
// CHECK-NEXT: [[V18:%[A-Za-z0-9_]+]] = llvm.mlir.constant(8) : i64
// CHECK-NEXT: [[V19:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V18]] : i64 to index
// CHECK-NEXT: [[V20:%[A-Za-z0-9_]+]] = llvm.mlir.constant(256) : i64
// CHECK-NEXT: [[V21:%[A-Za-z0-9_]+]] = llvm.mlir.constant(false) : i1
// CHECK-NEXT: tvm_llvm.call_intrinsic "llvm.memmove"([[V2]], [[V2]], [[V20]], [[V21]]) : (!llvm.ptr, !llvm.ptr, i64, i1) -> ()
// CHECK-NEXT: "test.op"([[V19]], [[V9]]) : (index, memref<2x3xf32, strided<[8, 2], offset: ?>>) -> ()
// CHECK-NEXT: func.return [[V16]] : f32

func.func @atomic(%m : memref<4xf32>, %x : f32, %i : index) -> f32 {
  %o = "memref.atomic_rmw"(%x, %m, %i) <{kind = 0 : i64}> : (f32, memref<4xf32>, index) -> f32
  func.return %o : f32
}

// CHECK: func.func @atomic([[V0:%[A-Za-z0-9_]+]]: memref<4xf32>, [[V1:%[A-Za-z0-9_]+]]: f32, [[V2:%[A-Za-z0-9_]+]]: index) -> f32 {
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V0]] : memref<4xf32> to !llvm.ptr
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V2]] : index to i64
// CHECK-NEXT: [[V5:%[A-Za-z0-9_]+]] = llvm.getelementptr inbounds [[V3]][[[V4]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT: [[V6:%[A-Za-z0-9_]+]] = tvm_llvm.atomicrmw fadd [[V5]], [[V1]] monotonic {alignment = 4 : i64} : !llvm.ptr, f32
// CHECK-NEXT: func.return [[V6]] : f32

// Stores that bypass the cache do so as LLVM's.

func.func @bypass(%m : memref<16xf32>, %x : f32, %i : index) {
  memref.store %x, %m[%i] {nontemporal = true} : memref<16xf32>
  memref.store %x, %m[%i] {nontemporal = false} : memref<16xf32>
  func.return
}

// CHECK-LABEL: func.func @bypass(
// CHECK:         llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64, nontemporal} : f32, !llvm.ptr
// CHECK:         llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr

func.func @element_address(%m : memref<4x8xf16, 3>, %i : index, %j : index) -> !llvm.ptr<3> {
  %p = tvm_llvm.element_address %m[%i, %j] : memref<4x8xf16, 3> -> !llvm.ptr<3>
  func.return %p : !llvm.ptr<3>
}

// CHECK-LABEL: func.func @element_address
// CHECK:         llvm.mul
// CHECK:         llvm.add
// CHECK:         %[[P:.*]] = llvm.getelementptr inbounds %{{.*}}[%{{.*}}] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f16
// CHECK-NEXT:    func.return %[[P]] : !llvm.ptr<3>
