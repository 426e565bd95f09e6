// RUN: xdsl-opt %s --allow-unregistered-dialect -p tvm-convert-cf-to-llvm | filecheck %s

// CHECK: llvm.func @abort()
// CHECK: llvm.func @write(i32, !llvm.ptr, i64) -> i64
// CHECK: llvm.mlir.global private constant @string_4("no\0A\00") {addr_space = 0 : i32} : !llvm.array<4 x i8>

func.func @branches(%c : i1, %i : index) -> index {
  cf.cond_br %c, ^bb1(%i : index), ^bb2
^bb1(%j : index):
  cf.br ^bb1(%j : index) {tvm_llvm.loop = #tvm_llvm.loop<{unroll.disable}>}
^bb2:
  func.return %i : index
}

// CHECK: func.func @branches([[V0:%[A-Za-z0-9_]+]]: i1, [[V1:%[A-Za-z0-9_]+]]: index) -> index {
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast [[V1]] : index to i64
// CHECK-NEXT: llvm.cond_br [[V0]], ^bb1([[V2]] : i64), ^bb2
// CHECK-NEXT: ^bb1([[V3:%[A-Za-z0-9_]+]]: i64):
// CHECK-NEXT: llvm.br ^bb1([[V3]] : i64) {tvm_llvm.loop = #tvm_llvm.loop<{unroll.disable}>}
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: func.return [[V1]] : index

func.func @switch(%v : i32, %x : f32) -> f32 {
  cf.switch %v : i32, [
    default: ^bb1(%x : f32),
    -1: ^bb2,
    7: ^bb1(%x : f32)
  ]
^bb1(%y : f32):
  func.return %y : f32
^bb2:
  func.return %x : f32
}

// CHECK: func.func @switch([[V0:%[A-Za-z0-9_]+]]: i32, [[V1:%[A-Za-z0-9_]+]]: f32) -> f32 {
// CHECK-NEXT: tvm_llvm.switch [[V0]] : i32, ^bb1([[V1]] : f32) [-1: ^bb2, 7: ^bb1([[V1]] : f32)]
// CHECK-NEXT: ^bb1([[V2:%[A-Za-z0-9_]+]]: f32):
// CHECK-NEXT: func.return [[V2]] : f32
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: func.return [[V1]] : f32

func.func @assertion(%c : i1) {
  cf.assert %c, "no"
  "test.op"() : () -> ()
  func.return
}

// CHECK: func.func @assertion([[V0:%[A-Za-z0-9_]+]]: i1) {
// CHECK-NEXT: llvm.cond_br [[V0]], ^bb1, ^bb2
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: "test.op"() : () -> ()
// CHECK-NEXT: func.return
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: [[V1:%[A-Za-z0-9_]+]] = llvm.mlir.constant(2 : i32) : i32
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = llvm.mlir.addressof @string_4 : !llvm.ptr
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = llvm.mlir.constant(3) : i64
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = llvm.call @write([[V1]], [[V2]], [[V3]]) : (i32, !llvm.ptr, i64) -> i64
// CHECK-NEXT: llvm.call @abort() : () -> ()
// CHECK-NEXT: llvm.unreachable

"gpu.module"() <{sym_name = "m"}> ({
  func.func @on_gpu(%c : i1) {
    cf.assert %c, "no"
    func.return
  }
}) : () -> ()

// CHECK: func.func @on_gpu([[V0:%[A-Za-z0-9_]+]]: i1) {
// CHECK: llvm.cond_br [[V0]], ^bb1, ^bb2
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: func.return
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: tvm_llvm.call_intrinsic "llvm.trap"() : () -> ()
// CHECK-NEXT: llvm.unreachable
