// RUN: xdsl-opt %s -p tvm-verify-llvm-legal --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'arith.addi' has no LLVM form: tvm-convert-arith-to-llvm should have lowered it
llvm.func @f(%x: i32) {
  %0 = arith.addi %x, %x : i32
  llvm.return
}

// -----

// CHECK: 'func.func' has no LLVM form: tvm-convert-func-to-llvm should have lowered it
func.func @f() {
  func.return
}

// -----

// CHECK: 'math.exp' has no LLVM form: tvm-expand-math should have lowered it
llvm.func @f(%x: f32) {
  %0 = math.exp %x : f32
  llvm.return
}

// -----

// CHECK: 'memref.alloc' has no LLVM form: tvm-convert-memref-to-llvm should have lowered it
llvm.func @f() {
  %0 = memref.alloc() : memref<4xf32>
  llvm.return
}

// -----

// CHECK: 'scf.if' has no LLVM form: tvm-convert-scf-to-cf should have lowered it
llvm.func @f(%c: i1) {
  scf.if %c {
  }
  llvm.return
}

// -----

// CHECK: 'cf.br' has no LLVM form: tvm-convert-cf-to-llvm should have lowered it
llvm.func @f() {
  cf.br ^bb1
^bb1:
  llvm.return
}

// -----

// CHECK: 'builtin.unrealized_conversion_cast' has no LLVM form: run reconcile-unrealized-casts, or the conversion that it waits for
llvm.func @f(%x: i64) {
  %0 = builtin.unrealized_conversion_cast %x : i64 to index
  llvm.return
}

// -----

// CHECK: 'test.op' has no LLVM form: no pass lowers the dialect 'test'; lower it to llvm yourself
"test.op"() : () -> ()

// -----

// CHECK: 'llvm.exp' of f32 is a library call on cpu: run tvm-expand-math before the conversion to llvm
llvm.func @f(%x: f32) {
  %0 = llvm.intr.exp(%x) : (f32) -> f32
  llvm.return
}

// -----

// CHECK: 'llvm.tanh' of f32 is a library call on cpu: run tvm-expand-math before the conversion to llvm
llvm.func @f(%x: vector<4xf32>) {
  %0 = tvm_llvm.call_intrinsic "llvm.tanh"(%x) : (vector<4xf32>) -> vector<4xf32>
  llvm.return
}

// -----

// CHECK: 'llvm.fma' of f16 is a library call on cpu: use f32
llvm.func @f(%x: f16) {
  %0 = llvm.intr.fma(%x, %x, %x) : (f16, f16, f16) -> f16
  llvm.return
}

// -----

// CHECK: 'llvm.func' has type bf16, which cpu does not have: compute in f32 (tvm-convert-arith-to-llvm) and run tvm-convert-bf16-to-bits
llvm.func @f(%x: bf16) {
  %0 = llvm.fadd %x, %x : bf16
  llvm.return
}

// -----

// CHECK: 'llvm.fptrunc' has type bf16, which cpu does not have
llvm.func @f(%x: f32) {
  %0 = llvm.fptrunc %x : f32 to bf16
  llvm.return
}

// -----

// CHECK: 'llvm.fptrunc' from f64 to f16 is a library call: go through f32
llvm.func @f(%x: f64) {
  %0 = llvm.fptrunc %x : f64 to f16
  llvm.return
}

// -----

// CHECK: 'llvm.sdiv' of i128 is a library call: use 64 bits or fewer
llvm.func @f(%x: i128) {
  %0 = llvm.sdiv %x, %x : i128
  llvm.return
}

// -----

// CHECK: 'tvm_llvm.fptosi' of i128 is a library call: use 64 bits or fewer
llvm.func @f(%x: f32) {
  %0 = tvm_llvm.fptosi %x : f32 to i128
  llvm.return
}

// -----

// CHECK: 'tvm_llvm.atomicrmw' of f16 is a library call on cpu: use f32
llvm.func @f(%p: !llvm.ptr, %x: f16) {
  %0 = tvm_llvm.atomicrmw fmax %p, %x monotonic : !llvm.ptr, f16
  llvm.return
}

// -----

// CHECK: 'llvm.load' has the scalable type vector<[4]xf32>, which cpu does not have: use a fixed length
llvm.func @f(%p: !llvm.ptr) {
  %0 = llvm.load %p : !llvm.ptr -> vector<[4]xf32>
  llvm.return
}

// -----

// CHECK: 'llvm.mlir.undef': type index has no LLVM form: convert it to an llvm type first
llvm.func @f() {
  %0 = llvm.mlir.undef : index
  llvm.return
}

// -----

// CHECK: 'nvvm.barrier0' exists only on GPUs: outline it into a gpu.module
llvm.func @f() {
  nvvm.barrier0
  llvm.return
}

// -----

// CHECK: function '@f' is a GPU kernel: put it into a gpu.module and use the ptx target
llvm.func @f() attributes {nvvm.kernel} {
  llvm.return
}

// -----

// CHECK: intrinsic 'llvm.eh.typeid.for' is not known to work on cpu: replace it
llvm.func @f(%p: !llvm.ptr) {
  %0 = tvm_llvm.call_intrinsic "llvm.eh.typeid.for"(%p) : (!llvm.ptr) -> i32
  llvm.return
}

// -----

// CHECK: inline assembly 'bad $0' is not supported on cpu
llvm.func @f(%x: i32) {
  llvm.inline_asm has_side_effects "bad $0", "r" %x : (i32) -> ()
  llvm.return
}

// -----

// CHECK: 'llvm.func' has the calling convention 'anyregcc': use ccc or fastcc
llvm.func anyregcc @f() {
  llvm.return
}

// -----

// CHECK: 'llvm.call' has the calling convention 'cfguard_checkcc': use ccc or fastcc
llvm.func @g()
llvm.func @f() {
  llvm.call cfguard_checkcc @g() : () -> ()
  llvm.return
}

// -----

// CHECK: function '@f' removes processor features: only add some
llvm.func @f() attributes {target_features = #llvm.target_features<["+avx", "-sse2"]>} {
  llvm.return
}

// -----

// CHECK: function '@f' removes processor features: only add some
llvm.func @f() attributes {passthrough = [["target-features", "-sse2"]]} {
  llvm.return
}

// -----

// CHECK: function '@f' is both alwaysinline and noinline: remove one of them
llvm.func @f() attributes {always_inline, no_inline} {
  llvm.return
}

// -----

// CHECK: function '@f' is both minsize and optnone: remove one of them
llvm.func @f() attributes {no_inline, optimize_none, passthrough = ["minsize"]} {
  llvm.return
}

// -----

// CHECK: function '@f' is optnone: let it be noinline, too
llvm.func @f() attributes {optimize_none} {
  llvm.return
}

// -----

// CHECK: global '@g' cannot be 'appending': use 'internal'
llvm.mlir.global appending @g(dense<1> : tensor<1xi32>) : !llvm.array<1 x i32>

// -----

// CHECK: 'tvm_llvm.call_intrinsic' of i128 is a library call: use 64 bits or fewer
llvm.func @f(%x: f32) {
  %0 = tvm_llvm.call_intrinsic "llvm.fptosi.sat"(%x) : (f32) -> i128
  llvm.return
}

// -----

// CHECK: 'llvm.vector.reduce.fadd' of f16 is a library call on cpu: use f32
llvm.func @f(%s: f16, %x: vector<4xf16>) {
  %0 = tvm_llvm.call_intrinsic "llvm.vector.reduce.fadd"(%s, %x) : (f16, vector<4xf16>) -> f16
  llvm.return
}

// -----

// CHECK: 'llvm.x86.avx512.vpdpbusd.512' needs a processor with avx512vnni: name its features, or leave them out where the program is scheduled
llvm.func @f(%x: vector<16xi32>) {
  %0 = tvm_llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%x, %x, %x) : (vector<16xi32>, vector<16xi32>, vector<16xi32>) -> vector<16xi32>
  llvm.return
}

// -----

// CHECK: 'llvm.x86.avx512.vpdpbusd.256' needs a processor with avxvnni or avx512vl and avx512vnni
llvm.func @f(%x: vector<8xi32>) {
  %0 = tvm_llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"(%x, %x, %x) : (vector<8xi32>, vector<8xi32>, vector<8xi32>) -> vector<8xi32>
  llvm.return
}
