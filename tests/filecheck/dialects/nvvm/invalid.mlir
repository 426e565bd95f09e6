// RUN: xdsl-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: a shuffle moves i32 or f32, not i64
llvm.func @f(%m: i32, %v: i64) {
  %0 = nvvm.shfl.sync bfly %m, %v, %m, %m : i64 -> i64
  llvm.return
}

// -----

// CHECK: kind must be one of bfly, up, down, idx, got "left"
llvm.func @f(%m: i32) {
  %0 = nvvm.shfl.sync left %m, %m, %m, %m : i32 -> i32
  llvm.return
}

// -----

// CHECK: expected the result !llvm.struct<(i32, i1)>, got i32
llvm.func @f(%m: i32) {
  %0 = nvvm.shfl.sync up %m, %m, %m, %m {return_value_and_is_valid} : i32 -> i32
  llvm.return
}

// -----

// CHECK: expected the result i32, got i1
llvm.func @f(%m: i32, %p: i1) {
  %0 = nvvm.vote.sync ballot %m, %p -> i1
  llvm.return
}

// -----

// CHECK: kind must be one of add, max, min, umax, umin, and, or, xor, got "mul"
llvm.func @f(%m: i32) {
  %0 = nvvm.redux.sync mul %m, %m : i32 -> i32
  llvm.return
}

// -----

// CHECK: a copy has 4, 8 or 16 bytes, not 12
llvm.func @f(%d: !llvm.ptr<3>, %s: !llvm.ptr<1>) {
  nvvm.cp.async.shared.global %d, %s, 12, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.return
}

// -----

// CHECK: a 'cg' copy has 16 bytes, not 4
llvm.func @f(%d: !llvm.ptr<3>, %s: !llvm.ptr<1>) {
  nvvm.cp.async.shared.global %d, %s, 4, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.return
}

// -----

// CHECK: expected !llvm.ptr<3>, got !llvm.ptr
llvm.func @f(%d: !llvm.ptr, %s: !llvm.ptr<1>) {
  nvvm.cp.async.shared.global %d, %s, 4, cache = ca : !llvm.ptr, !llvm.ptr<1>
  llvm.return
}

// -----

// CHECK: cannot wait for -1 groups
llvm.func @f() {
  nvvm.cp.async.wait.group -1
  llvm.return
}

// -----

// CHECK: there is no product m16n8k4 of f16; use one of m8n8k4, m16n8k8, m16n8k16
llvm.func @f(%h: vector<2xf16>, %f: f32) {
  %0 = nvvm.mma.sync A[%h] B[%h] C[%f, %f, %f, %f] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 4>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}

// -----

// CHECK: A of m16n8k8 has 2 registers of vector<2xf16>, not vector<2xf16>
llvm.func @f(%h: vector<2xf16>, %f: f32) {
  %0 = nvvm.mma.sync A[%h] B[%h] C[%f, %f, %f, %f] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}

// -----

// CHECK: m16n8k8 has A by row and B by column, not row and row
llvm.func @f(%h: vector<2xf16>, %f: f32) {
  %0 = nvvm.mma.sync A[%h, %h] B[%h] C[%f, %f, %f, %f] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<row>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}

// -----

// CHECK: only products of integers saturate
llvm.func @f(%h: vector<2xf16>, %f: f32) {
  %0 = nvvm.mma.sync A[%h, %h] B[%h] C[%f, %f, %f, %f] {intOverflowBehavior = #nvvm.mma_int_overflow<satfinite>, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}

// -----

// CHECK: registers of i32 do not tell a format; give multiplicandAPtxType and multiplicandBPtxType
llvm.func @f(%i: i32) {
  %0 = nvvm.mma.sync A[%i] B[%i] C[%i, %i] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 8, n = 8, k = 16>} : (i32, i32, i32) -> !llvm.struct<(i32, i32)>
  llvm.return
}

// -----

// CHECK: 1, 2 or 4 matrices are loaded, not 3
llvm.func @f(%p: !llvm.ptr<3>) {
  %0 = nvvm.ldmatrix %p {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 3 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32)>
  llvm.return
}

// -----

// CHECK: WMMA has no m16n16k8 of f16; use one of m16n16k16, m32n8k16, m8n32k16
llvm.func @f(%p: !llvm.ptr<3>, %i: i32) {
  %0 = nvvm.wmma.load %p, %i {eltype = #nvvm.mma_type<f16>, frag = #nvvm.mma_frag<a>, k = 8 : i32, layout = #nvvm.mma_layout<row>, m = 16 : i32, n = 16 : i32} : (!llvm.ptr<3>) -> i32
  llvm.return
}

// -----

// CHECK: fragments a of s4 are loaded by row only
llvm.func @f(%p: !llvm.ptr<3>, %i: i32) {
  %0 = nvvm.wmma.load %p, %i {eltype = #nvvm.mma_type<s4>, frag = #nvvm.mma_frag<a>, k = 32 : i32, layout = #nvvm.mma_layout<col>, m = 8 : i32, n = 8 : i32} : (!llvm.ptr<3>) -> i32
  llvm.return
}

// -----

// CHECK: b1Op goes with bits, and with nothing else
llvm.func @f(%i: i32) {
  %0 = nvvm.wmma.mma %i, %i, %i, %i {eltypeA = #nvvm.mma_type<b1>, eltypeB = #nvvm.mma_type<s32>, k = 128 : i32, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, m = 8 : i32, n = 8 : i32} : (i32, i32, i32, i32) -> !llvm.struct<(i32, i32)>
  llvm.return
}

// -----

// CHECK: expected !llvm.ptr<7>, got !llvm.ptr<3>
llvm.func @f(%p: !llvm.ptr<3>, %g: !llvm.ptr<1>, %i: i32) {
  nvvm.cp.async.bulk.shared.cluster.global %p, %g, %p, %i : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.return
}

// -----

// CHECK: expected a state i64 or a parity i32, got i1
llvm.func @f(%p: !llvm.ptr<3>, %i: i1) {
  %0 = nvvm.mbarrier.test.wait %p, %i : !llvm.ptr<3>, i1 -> i1
  llvm.return
}

// -----

// CHECK: a product has 64 rows, a multiple of 8 columns up to 256 and 16 terms, not m64n12k16
llvm.func @f(%s: !llvm.struct<(f32, f32, f32, f32)>, %d: i64) {
  %0 = nvvm.wgmma.mma_async %s, %d, %d {shape = #nvvm.shape<m = 64, n = 12, k = 16>, typeA = #nvvm.wgmma_type<f16>, typeB = #nvvm.wgmma_type<f16>, typeD = #nvvm.wgmma_type<f32>, scaleD = #nvvm.wgmma_scale_out<one>, scaleA = #nvvm.wgmma_scale_in<one>, scaleB = #nvvm.wgmma_scale_in<one>, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>} : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}

// -----

// CHECK: A and B are of f16 or of bf16 and D is of f32, not bf16, f16, f32
llvm.func @f(%s: !llvm.struct<(f32, f32, f32, f32)>, %d: i64) {
  %0 = nvvm.wgmma.mma_async %s, %d, %d {shape = #nvvm.shape<m = 64, n = 8, k = 16>, typeA = #nvvm.wgmma_type<bf16>, typeB = #nvvm.wgmma_type<f16>, typeD = #nvvm.wgmma_type<f32>, scaleD = #nvvm.wgmma_scale_out<one>, scaleA = #nvvm.wgmma_scale_in<one>, scaleB = #nvvm.wgmma_scale_in<one>, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>} : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}

// -----

// CHECK: A is by row
llvm.func @f(%s: !llvm.struct<(f32, f32, f32, f32)>, %d: i64) {
  %0 = nvvm.wgmma.mma_async %s, %d, %d {shape = #nvvm.shape<m = 64, n = 8, k = 16>, typeA = #nvvm.wgmma_type<f16>, typeB = #nvvm.wgmma_type<f16>, typeD = #nvvm.wgmma_type<f32>, scaleD = #nvvm.wgmma_scale_out<one>, scaleA = #nvvm.wgmma_scale_in<one>, scaleB = #nvvm.wgmma_scale_in<one>, layoutA = #nvvm.mma_layout<col>, layoutB = #nvvm.mma_layout<col>} : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}

// -----

// CHECK: A and B are not negated
llvm.func @f(%s: !llvm.struct<(f32, f32, f32, f32)>, %d: i64) {
  %0 = nvvm.wgmma.mma_async %s, %d, %d {shape = #nvvm.shape<m = 64, n = 8, k = 16>, typeA = #nvvm.wgmma_type<f16>, typeB = #nvvm.wgmma_type<f16>, typeD = #nvvm.wgmma_type<f32>, scaleD = #nvvm.wgmma_scale_out<one>, scaleA = #nvvm.wgmma_scale_in<neg>, scaleB = #nvvm.wgmma_scale_in<one>, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>} : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  llvm.return
}

// -----

// CHECK: expected a struct of 4 f32 for C and D
llvm.func @f(%s: !llvm.struct<(f32, f32, f32, f32, f32, f32)>, %d: i64) {
  %0 = nvvm.wgmma.mma_async %s, %d, %d {shape = #nvvm.shape<m = 64, n = 8, k = 16>, typeA = #nvvm.wgmma_type<f16>, typeB = #nvvm.wgmma_type<f16>, typeD = #nvvm.wgmma_type<f32>, scaleD = #nvvm.wgmma_scale_out<one>, scaleA = #nvvm.wgmma_scale_in<one>, scaleB = #nvvm.wgmma_scale_in<one>, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>} : !llvm.struct<(f32, f32, f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32, f32, f32)>
  llvm.return
}

// -----

// CHECK: cannot wait for -1 groups
llvm.func @f() {
  nvvm.wgmma.wait.group.sync.aligned -1
  llvm.return
}

// -----

// CHECK: a tensor has 1 to 5 dimensions, not 0
llvm.func @f(%c: !llvm.ptr<7>, %m: !llvm.ptr, %p: !llvm.ptr<3>) {
  nvvm.cp.async.bulk.tensor.shared.cluster.global %c, %m, %p, box[] : !llvm.ptr<7>, !llvm.ptr
  llvm.return
}
