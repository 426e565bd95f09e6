// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: cannot convert i32 to i32
llvm.func @f(%i: i32) {
  %0 = tvm_llvm.fptosi %i : i32 to i32
  llvm.return
}

// -----

// CHECK: cannot convert vector<4xf32> to i32
llvm.func @f(%v: vector<4xf32>) {
  %0 = tvm_llvm.fptoui %v : vector<4xf32> to i32
  llvm.return
}

// -----

// CHECK: cannot convert vector<4xi32> to vector<2xf32>
llvm.func @f(%v: vector<4xi32>) {
  %0 = tvm_llvm.uitofp %v : vector<4xi32> to vector<2xf32>
  llvm.return
}

// -----

// CHECK: address space is unchanged: !llvm.ptr<3>
llvm.func @f(%p: !llvm.ptr<3>) {
  %0 = tvm_llvm.addrspacecast %p : !llvm.ptr<3> to !llvm.ptr<3>
  llvm.return
}

// -----

// CHECK: index is not an LLVM type
%0 = tvm_llvm.mlir.poison : index

// -----

// CHECK: expected a 1-D vector, got vector<2x2xf32>
llvm.func @f(%i: i32) {
  %v = "test.op"() : () -> vector<2x2xf32>
  %0 = tvm_llvm.extractelement %v[%i : i32] : vector<2x2xf32>
  llvm.return
}

// -----

// CHECK: attribute f32 expected from variable 'T', but got i32
llvm.func @f(%v: vector<2xf32>, %i: i32) {
  %0 = "tvm_llvm.extractelement"(%v, %i) : (vector<2xf32>, i32) -> i32
  llvm.return
}

// -----

// CHECK: cannot compare values of type f32
llvm.func @f(%x: f32) {
  %0 = tvm_llvm.icmp "eq" %x, %x : f32
  llvm.return
}

// -----

// CHECK: cannot compare values of type i32
llvm.func @f(%x: i32) {
  %0 = tvm_llvm.fcmp "oeq" %x, %x : i32
  llvm.return
}

// -----

// CHECK: unknown predicate 'less'
llvm.func @f(%x: i32) {
  %0 = tvm_llvm.icmp "less" %x, %x : i32
  llvm.return
}

// -----

// CHECK: comparing vector<4xi32> gives vector<4xi1>, not i1
llvm.func @f(%x: vector<4xi32>) {
  %0 = "tvm_llvm.icmp"(%x, %x) <{predicate = 0 : i64}> : (vector<4xi32>, vector<4xi32>) -> i1
  llvm.return
}

// -----

// CHECK: no predicate number 16
llvm.func @f(%x: i32) {
  %0 = "tvm_llvm.icmp"(%x, %x) <{predicate = 16 : i64}> : (i32, i32) -> i1
  llvm.return
}

// -----

// CHECK: a condition of type vector<2xi1> cannot choose vector<4xf32>
llvm.func @f(%c: vector<2xi1>, %x: vector<4xf32>) {
  %0 = tvm_llvm.select %c, %x, %x : vector<2xi1>, vector<4xf32>
  llvm.return
}

// -----

// CHECK: 'tvm_llvm.load' cannot have the ordering 'release'
llvm.func @f(%p: !llvm.ptr) {
  %0 = tvm_llvm.load %p atomic release {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return
}

// -----

// CHECK: an atomic access needs an 'alignment'
llvm.func @f(%p: !llvm.ptr) {
  %0 = tvm_llvm.load %p atomic acquire : !llvm.ptr -> i32
  llvm.return
}

// -----

// CHECK: alignment must be a power of two, got 3
llvm.func @f(%p: !llvm.ptr) {
  %0 = tvm_llvm.load %p {alignment = 3 : i64} : !llvm.ptr -> i32
  llvm.return
}

// -----

// CHECK: 'alias_scopes' must hold #tvm_llvm.alias_scope attributes, got "a"
llvm.func @f(%p: !llvm.ptr) {
  %0 = tvm_llvm.load %p {alias_scopes = ["a"]} : !llvm.ptr -> i32
  llvm.return
}

// -----

// CHECK: a 'syncscope' needs an atomic ordering
llvm.func @f(%p: !llvm.ptr) {
  %0 = "tvm_llvm.load"(%p) <{ordering = 0 : i64, syncscope = "device"}> : (!llvm.ptr) -> i32
  llvm.return
}

// -----

// CHECK: 'tvm_llvm.store' cannot have the ordering 'acquire'
llvm.func @f(%p: !llvm.ptr, %i: i32) {
  tvm_llvm.store %i, %p atomic acquire {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
}

// -----

// CHECK: an atomic access needs a power-of-two width of 8 or more, got i24
llvm.func @f(%p: !llvm.ptr, %i: i24) {
  tvm_llvm.store %i, %p atomic release {alignment = 4 : i64} : i24, !llvm.ptr
  llvm.return
}

// -----

// CHECK: 'atomicrmw fadd' cannot take i32
llvm.func @f(%p: !llvm.ptr, %i: i32) {
  %0 = tvm_llvm.atomicrmw fadd %p, %i monotonic : !llvm.ptr, i32
  llvm.return
}

// -----

// CHECK: unknown atomic operation 'mul'
llvm.func @f(%p: !llvm.ptr, %i: i32) {
  %0 = tvm_llvm.atomicrmw mul %p, %i monotonic : !llvm.ptr, i32
  llvm.return
}

// -----

// CHECK: 'atomicrmw' must be at least 'monotonic'
llvm.func @f(%p: !llvm.ptr, %i: i32) {
  %0 = tvm_llvm.atomicrmw add %p, %i unordered : !llvm.ptr, i32
  llvm.return
}

// -----

// CHECK: the failure ordering of 'cmpxchg' cannot be 'release' or 'acq_rel'
llvm.func @f(%p: !llvm.ptr, %i: i32) {
  %0 = tvm_llvm.cmpxchg %p, %i, %i seq_cst release : !llvm.ptr, i32
  llvm.return
}

// -----

// CHECK: 'cmpxchg' takes integers and pointers, not f32
llvm.func @f(%p: !llvm.ptr, %i: f32) {
  %0 = tvm_llvm.cmpxchg %p, %i, %i seq_cst monotonic : !llvm.ptr, f32
  llvm.return
}

// -----

// CHECK: a fence must be 'acquire', 'release', 'acq_rel' or 'seq_cst'
llvm.func @f() {
  tvm_llvm.fence monotonic
  llvm.return
}

// -----

// CHECK: two cases have the same value
llvm.func @f(%i: i8) {
  tvm_llvm.switch %i : i8, ^bb1 [255: ^bb1, -1: ^bb1]
^bb1:
  llvm.return
}

// -----

// CHECK: case 256 does not fit i8
llvm.func @f(%i: i8) {
  tvm_llvm.switch %i : i8, ^bb1 [256: ^bb1]
^bb1:
  llvm.return
}

// -----

// CHECK: an intrinsic's name starts with 'llvm.', got 'smax'
llvm.func @f(%i: i8) {
  %0 = tvm_llvm.call_intrinsic "smax"(%i, %i) : (i8, i8) -> i8
  llvm.return
}

// -----

// CHECK: loop hint 'unroll.count' must be a positive integer, got 0 : i64
"test.op"() {a = #tvm_llvm.loop<{unroll.count = 0 : i64}>} : () -> ()

// -----

// CHECK: loop hint 'unroll.disable' takes no value, got 1 : i64
"test.op"() {a = #tvm_llvm.loop<{unroll.disable = 1 : i64}>} : () -> ()

// -----

// CHECK: unknown loop hint 'unroll.never'
"test.op"() {a = #tvm_llvm.loop<{unroll.never}>} : () -> ()

// -----

// CHECK: expected 2 indices, got 1
func.func @f(%m : memref<4x8xf16, 3>, %i : index) {
  %p = tvm_llvm.element_address %m[%i] : memref<4x8xf16, 3> -> !llvm.ptr<3>
  func.return
}

// -----

// CHECK: expected a pointer of address space 3, got !llvm.ptr
func.func @f(%m : memref<8xf16, 3>, %i : index) {
  %p = tvm_llvm.element_address %m[%i] : memref<8xf16, 3> -> !llvm.ptr
  func.return
}

// -----

// CHECK: a tensor of 2 dimensions has 1 strides and a box of 2, not 0 and 2
func.func @f(%m : memref<?xf16>, %i : i64) {
  %p = tvm_llvm.tensor_map %m, extents[%i, %i], strides[] {box = array<i64: 64, 8>, swizzle = 0 : i64, element = f16} : memref<?xf16> -> !llvm.ptr
  func.return
}

// -----

// CHECK: the swizzle is of 0 or 128 bytes, not 64
func.func @f(%m : memref<?xf16>, %i : i64) {
  %p = tvm_llvm.tensor_map %m, extents[%i], strides[] {box = array<i64: 64>, swizzle = 64 : i64, element = f16} : memref<?xf16> -> !llvm.ptr
  func.return
}

// -----

// CHECK: expected a struct of f32, got !llvm.struct<(i32)>
func.func @f(%s : !llvm.struct<(i32)>) {
  %p = tvm_llvm.register_fence %s : !llvm.struct<(i32)>
  func.return
}
