// RUN: xdsl-opt %s -t 'asm{triple="x86_64-linux-gnu" cpu="x86-64-v3"}' | filecheck %s
// RUN: xdsl-opt %s -t 'asm{triple="aarch64-linux-gnu"}' | filecheck %s --check-prefix=ARM
// REQUIRES: llvmlite

// CHECK-LABEL: multiply_add:
// CHECK: imull %{{.*}}, %{{.*}}
// CHECK: retq
// ARM-LABEL: multiply_add:
// ARM: madd w0, {{w0, w1|w1, w0}}, w2
// ARM-NEXT: ret
llvm.func @multiply_add(%a: i32, %b: i32, %c: i32) -> i32 {
  %0 = llvm.mul %a, %b : i32
  %1 = llvm.add %0, %c : i32
  llvm.return %1 : i32
}
