// RUN: xdsl-opt %s -p tvm-convert-vector-to-llvm --split-input-file | filecheck %s

// The function of stores that bypass the cache; the first one in the text is that of
// @bypass_halves.

// CHECK:       llvm.func internal @store_past_caches_4xf32(%[[V:.*]]: vector<4xf32>, %[[P:.*]]: !llvm.ptr) attributes {always_inline} {
// CHECK:         %[[N:.*]] = llvm.ptrtoint %[[P]] : !llvm.ptr to i64
// CHECK:         %[[R:.*]] = llvm.and %[[N]], %{{.*}} : i64
// CHECK:         %[[Z:.*]] = llvm.icmp "eq" %[[R]], %{{.*}} : i64
// CHECK:         llvm.cond_br %[[Z]]
// CHECK:         llvm.store %[[V]], %[[P]] {alignment = 16 : i64, nontemporal} : vector<4xf32>, !llvm.ptr
// CHECK:         llvm.store %[[V]], %[[P]] {alignment = 4 : i64, nontemporal} : vector<4xf32>, !llvm.ptr

func.func @memory(%m: memref<?x8xf32>, %i: index, %j: index) {
  %v = vector.load %m[%i, %j] : memref<?x8xf32>, vector<4xf32>
  vector.store %v, %m[%j, %i] : memref<?x8xf32>, vector<4xf32>
  func.return
}

// CHECK-LABEL: func.func @memory(
// CHECK:         %[[ROW:.*]] = llvm.mul %{{.*}}, %{{.*}} overflow<nsw> : i64
// CHECK:         %[[INDEX:.*]] = llvm.add %[[ROW]], %{{.*}} overflow<nsw> : i64
// CHECK:         %[[ADDRESS:.*]] = llvm.getelementptr inbounds %{{.*}}[%[[INDEX]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK:         %[[V:.*]] = llvm.load %[[ADDRESS]] {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK:         llvm.store %[[V]], %{{.*}} {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr

func.func @lanes(%x: f32, %y: vector<4xf32>) -> f32 {
  %b = vector.broadcast %x : f32 to vector<4xf32>
  %f = vector.fma %b, %y, %y : vector<4xf32>
  %i = "vector.insert"(%x, %f) <{static_position = array<i64: 2>}> : (f32, vector<4xf32>) -> vector<4xf32>
  %s = vector.shuffle %i, %y [0, 5] : vector<4xf32>, vector<4xf32>
  %e = "vector.extract"(%s) <{static_position = array<i64: 1>}> : (vector<2xf32>) -> f32
  func.return %e : f32
}

// CHECK-LABEL: func.func @lanes(
// CHECK-SAME:    %[[X:.*]]: f32, %[[Y:.*]]: vector<4xf32>)
// CHECK:         %[[U:.*]] = llvm.mlir.undef : vector<4xf32>
// CHECK:         %[[FIRST:.*]] = llvm.insertelement %[[X]], %[[U]][%{{.*}} : i64] : vector<4xf32>
// CHECK:         %[[B:.*]] = llvm.shufflevector %[[FIRST]], %[[U]] [0, 0, 0, 0] : vector<4xf32>
// CHECK:         %[[F:.*]] = llvm.intr.fma(%[[B]], %[[Y]], %[[Y]])
// CHECK:         %[[I:.*]] = llvm.insertelement %[[X]], %[[F]][%{{.*}} : i64] : vector<4xf32>
// CHECK:         %[[S:.*]] = llvm.shufflevector %[[I]], %[[Y]] [0, 5] : vector<4xf32>
// CHECK:         tvm_llvm.extractelement %[[S]][%{{.*}} : i64] : vector<2xf32>

// Stores that bypass the cache do so at once where a line begins.

func.func @bypass(%m: memref<16xf32>, %v: vector<4xf32>, %i: index) {
  vector.store %v, %m[%i] {nontemporal = true} : memref<16xf32>, vector<4xf32>
  vector.store %v, %m[%i] {nontemporal = false} : memref<16xf32>, vector<4xf32>
  vector.store %v, %m[%i] {nontemporal = true} : memref<16xf32>, vector<4xf32>
  func.return
}

// CHECK-LABEL: func.func @bypass(
// CHECK:         llvm.call @store_past_caches_4xf32(
// CHECK:         llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr
// CHECK:         llvm.call @store_past_caches_4xf32(

// Vectors of f16 are stored as integers if they are such, and else as they are.

func.func @bypass_halves(%m: memref<16xf16>, %v: vector<8xi16>, %i: index) {
  %h = arith.bitcast %v : vector<8xi16> to vector<8xf16>
  vector.store %h, %m[%i] {nontemporal = true} : memref<16xf16>, vector<8xf16>
  %s = arith.addf %h, %h : vector<8xf16>
  vector.store %s, %m[%i] {nontemporal = true} : memref<16xf16>, vector<8xf16>
  func.return
}

// CHECK-LABEL: func.func @bypass_halves(
// CHECK-SAME:    %{{.*}}: memref<16xf16>, %[[V:.*]]: vector<8xi16>, %{{.*}}: index)
// CHECK:         llvm.call @store_past_caches_8xi16(%[[V]], %{{.*}})
// CHECK:         llvm.store %{{.*}}, %{{.*}} {alignment = 2 : i64, nontemporal} : vector<8xf16>, !llvm.ptr

// What a parameter promises, and what an index is a multiple of, align a vector.

llvm.func @aligned(%p: !llvm.ptr {llvm.align = 16 : i64}, %i: i32, %j: i32, %q: !llvm.ptr) {
  %m = builtin.unrealized_conversion_cast %p : !llvm.ptr to memref<?xf32>
  %n = builtin.unrealized_conversion_cast %q : !llvm.ptr to memref<?xf32>
  %c2 = arith.constant 2 : i32
  %c4 = arith.constant 4 : i32
  %c24 = arith.constant 24 : i32
  %x = arith.muli %i, %c24 : i32
  %y = arith.muli %j, %c4 : i32
  %z = arith.addi %x, %y : i32
  %w = arith.addi %z, %c2 : i32
  %k = arith.index_cast %z : i32 to index
  %l = arith.index_cast %w : i32 to index
  %v = vector.load %m[%k] : memref<?xf32>, vector<4xf32>
  vector.store %v, %m[%l] : memref<?xf32>, vector<4xf32>
  vector.store %v, %n[%k] : memref<?xf32>, vector<4xf32>
  %half = vector.load %m[%k] : memref<?xf32>, vector<2xf32>
  vector.store %half, %m[%k] : memref<?xf32>, vector<2xf32>
  llvm.return
}
// CHECK-LABEL: llvm.func @aligned
// CHECK:         llvm.load %{{.*}} {alignment = 16 : i64}
// CHECK:         llvm.store {{.*}} {alignment = 8 : i64}
// CHECK:         llvm.store {{.*}} {alignment = 4 : i64}
// CHECK:         llvm.load %{{.*}} {alignment = 8 : i64}
// CHECK:         llvm.store {{.*}} {alignment = 8 : i64}

// -----

// Vectors that are larger than the stack is aligned to: functions with a body align it.

func.func private @outside(memref<16xf32>)

func.func @wide(%m: memref<16xf32>, %i: index) {
  %v = vector.load %m[%i] : memref<16xf32>, vector<8xf32>
  vector.store %v, %m[%i] : memref<16xf32>, vector<8xf32>
  func.return
}

func.func @caller(%m: memref<16xf32>, %i: index) attributes {passthrough = ["cold"]} {
  func.call @wide(%m, %i) : (memref<16xf32>, index) -> ()
  func.return
}

// CHECK:       func.func private @outside(memref<16xf32>) -> (){{ *$}}
// CHECK:       func.func @wide({{.*}}) attributes {passthrough = ["stackrealign"]} {
// CHECK:       func.func @caller({{.*}}) attributes {passthrough = ["cold", "stackrealign"]} {
