// RUN: xdsl-opt %s --allow-unregistered-dialect -p tvm-convert-bf16-to-bits --split-input-file | filecheck %s

llvm.mlir.global internal constant @table(dense<[1.0, -2.0]> : tensor<2xbf16>) {addr_space = 0 : i32} : !llvm.array<2 x bf16>

// CHECK: llvm.mlir.global internal constant @table(dense<[16256, -16384]> : tensor<2xi16>)
// CHECK-SAME: !llvm.array<2 x i16>

llvm.func @moves(%p: !llvm.ptr, %x: bf16, %c: i1) -> bf16 {
  %one = llvm.mlir.constant(1.0 : bf16) : bf16
  %v = tvm_llvm.load %p : !llvm.ptr -> vector<16xbf16>
  %i = llvm.mlir.constant(3 : i32) : i32
  %w = llvm.insertelement %x, %v[%i : i32] : vector<16xbf16>
  tvm_llvm.store %w, %p : vector<16xbf16>, !llvm.ptr
  %s = llvm.select %c, %x, %one : i1, bf16
  llvm.br ^bb1(%s : bf16)
^bb1(%r : bf16):
  llvm.return %r : bf16
}

// CHECK-LABEL: llvm.func @moves(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: i16, %[[C:[a-z0-9_]+]]: i1) -> i16 {
// CHECK:         %[[ONE:[^ ]+]] = llvm.mlir.constant(16256 : i16) : i16
// CHECK:         %[[V:[^ ]+]] = tvm_llvm.load %{{.*}} : !llvm.ptr -> vector<16xi16>
// CHECK:         llvm.insertelement %[[X]], %[[V]][%{{.*}} : i32] : vector<16xi16>
// CHECK:         tvm_llvm.store %{{.*}} : vector<16xi16>, !llvm.ptr
// CHECK:         %[[S:[^ ]+]] = llvm.select %[[C]], %[[X]], %[[ONE]]
// CHECK-NEXT:    llvm.br ^[[B:[^(]+]](%[[S]] : i16)
// CHECK-NEXT:  ^[[B]](%[[R:[a-z0-9_]+]]: i16):
// CHECK-NEXT:    llvm.return %[[R]] : i16

llvm.func @extension(%x: vector<4xbf16>) -> vector<4xf32> {
  %y = llvm.fpext %x : vector<4xbf16> to vector<4xf32>
  llvm.return %y : vector<4xf32>
}

// CHECK-LABEL: llvm.func @extension(
// CHECK-NEXT:    %[[W:[^ ]+]] = llvm.zext %{{.*}} : vector<4xi16> to vector<4xi32>
// CHECK-NEXT:    %[[N:[^ ]+]] = llvm.mlir.constant(dense<16> : vector<4xi32>)
// CHECK-NEXT:    %[[S:[^ ]+]] = llvm.shl %[[W]], %[[N]]
// CHECK-NEXT:    %[[F:[^ ]+]] = llvm.bitcast %[[S]] : vector<4xi32> to vector<4xf32>
// CHECK-NEXT:    llvm.return %[[F]] : vector<4xf32>

llvm.func @truncation(%x: vector<4xf32>) -> vector<4xbf16> {
  %y = llvm.fptrunc %x : vector<4xf32> to vector<4xbf16>
  llvm.return %y : vector<4xbf16>
}

// CHECK-LABEL: llvm.func @truncation(
// CHECK-NOT:     bf16
// CHECK:         %[[T:[^ ]+]] = llvm.trunc %{{.*}} : vector<4xi32> to vector<4xi16>
// CHECK-NEXT:    llvm.return %[[T]] : vector<4xi16>

// Foreign operations and kernels keep their types.

"test.op"() {a = 1.0 : bf16} : () -> ()

"gpu.module"() <{sym_name = "kernels"}> ({
  llvm.func @kernel(%x: bf16) {
    llvm.return
  }
}) : () -> ()

// CHECK:       "test.op"() {a = 1.000000e+00 : bf16} : () -> ()
// CHECK-LABEL: "gpu.module"() <{sym_name = "kernels"}>
// CHECK:         llvm.func @kernel(%{{.*}}: bf16)
