// RUN: xdsl-opt %s -p 'tvm-verify-llvm-legal{triple-kind="nvptx" arch="sm_75"}' --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 'nvvm.redux.sync' needs sm_80 or later, not sm_75
llvm.func @f(%m: i32) {
  %0 = nvvm.redux.sync add %m, %m : i32 -> i32
  llvm.return
}

// -----

// CHECK: 'nvvm.cp.async.shared.global' (llvm.nvvm.cp.async.cg.shared.global.16) needs sm_80 or later, not sm_75
llvm.func @f(%d: !llvm.ptr<3>, %s: !llvm.ptr<1>) {
  nvvm.cp.async.shared.global %d, %s, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.return
}

// -----

// CHECK: 'llvm.exp' of f32 is a library call on nvptx sm_75: run tvm-expand-math before the conversion to llvm
llvm.func @f(%x: f32) {
  %0 = llvm.intr.exp(%x) : (f32) -> f32
  llvm.return
}

// -----

// CHECK: 'llvm.exp2' of f64 is a library call on nvptx sm_75
llvm.func @f(%x: f64) {
  %0 = llvm.intr.exp2(%x) : (f64) -> f64
  llvm.return
}

// -----

// CHECK: 'llvm.sin' of f32 is a library call on nvptx sm_75
llvm.func @f(%x: f32) {
  %0 = llvm.intr.sin(%x) : (f32) -> f32
  llvm.return
}

// -----

// CHECK: 'llvm.tanh' of f32 is a library call on nvptx sm_75
llvm.func @f(%x: f32) {
  %0 = tvm_llvm.call_intrinsic "llvm.tanh"(%x) {fastmathFlags = #llvm.fastmath<afn>} : (f32) -> f32
  llvm.return
}

// -----

// CHECK: 'tvm_llvm.fence' has the scope 'agent': nvptx sm_75 has block, cluster and device, and none for the whole system
llvm.func @f() {
  tvm_llvm.fence syncscope("agent") seq_cst
  llvm.return
}

// -----

// CHECK: 'tvm_llvm.fence' has the scope 'cluster', which needs sm_90
llvm.func @f() {
  tvm_llvm.fence syncscope("cluster") seq_cst
  llvm.return
}

// -----

// CHECK: 'llvm.alloca' must have a constant size and are in the entry block on nvptx sm_75
llvm.func @f(%n: i32) {
  %0 = llvm.alloca %n x f32 {alignment = 16 : i64} : (i32) -> !llvm.ptr
  llvm.return
}

// -----

// CHECK: '@a-b' is not a PTX name: use letters, digits, '_', '$' and '.'
llvm.func @"a-b"() {
  llvm.return
}

// -----

// CHECK: global '@x' in shared memory cannot have a value
llvm.mlir.global internal @x(7 : i32) {addr_space = 3 : i32} : i32

// -----

// CHECK: inline assembly 'mov.u32 $0, $1;' names an operand that it does not have
llvm.func @f() {
  %0 = llvm.inline_asm "mov.u32 $0, $1;", "=r" : () -> i32
  llvm.return
}

// -----

// CHECK: inline assembly has the unknown constraint 'x'
llvm.func @f(%x: i32) {
  llvm.inline_asm has_side_effects "nop;", "x" %x : (i32) -> ()
  llvm.return
}

// -----

// CHECK: intrinsic 'llvm.nvvm.nonsense' is not known to work on nvptx sm_75: replace it
llvm.func @f() {
  tvm_llvm.call_intrinsic "llvm.nvvm.nonsense"() : () -> ()
  llvm.return
}

// -----

// CHECK: 'llvm.x86.sse2.pause' is not an instruction of every nvptx sm_75: replace it
llvm.func @f() {
  tvm_llvm.call_intrinsic "llvm.x86.sse2.pause"() : () -> ()
  llvm.return
}

// -----

// CHECK: 'nvvm.maxntid' of '@f' must be one to three positive numbers
llvm.func @f() attributes {nvvm.kernel, nvvm.maxntid = array<i32: 0>} {
  llvm.return
}

// -----

// CHECK: 'nvvm.mma.sync' (llvm.nvvm.mma.m16n8k16.row.col.bf16) needs sm_80 or later, not sm_75
llvm.func @f(%i: i32, %f: f32) {
  %0 = nvvm.mma.sync A[%i, %i, %i, %i] B[%i, %i] C[%f, %f, %f, %f] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}
