// RUN: xdsl-opt %s --allow-unregistered-dialect -p tvm-keep-divisions-scalar | filecheck %s

// The division is in the outer loop and after the inner one.

llvm.func @nested(%n: i32, %d: i32, %c: i1) {
  llvm.br ^outer
^outer:
  llvm.cond_br %c, ^inner, ^end
^inner:
  llvm.cond_br %c, ^inner_body, ^after
^inner_body:
  llvm.br ^inner
^after:
  %q = llvm.sdiv %n, %d : i32
  llvm.br ^outer {tvm_llvm.loop = #tvm_llvm.loop<{unroll.count = 4 : i64, vectorize.enable = true}>}
^end:
  llvm.return
}

// CHECK-LABEL: llvm.func @nested(
// CHECK:         llvm.cond_br
// CHECK:         llvm.cond_br
// CHECK:         llvm.br ^{{[a-z_0-9]+$}}
// CHECK:         llvm.sdiv
// CHECK-NEXT:    llvm.br ^{{.*}} {tvm_llvm.loop = #tvm_llvm.loop<{unroll.count = 4 : i64, vectorize.enable = false}>}

// Every loop around a division, and every branch that closes one.

llvm.func @around(%n: i64, %d: i64, %c: i1) {
  llvm.br ^outer
^outer:
  llvm.cond_br %c, ^inner, ^end
^inner:
  llvm.cond_br %c, ^then, ^latch
^then:
  %q = llvm.urem %n, %d : i64
  llvm.cond_br %c, ^inner, ^latch
^latch:
  llvm.cond_br %c, ^inner, ^outer
^end:
  llvm.return
}

// CHECK-LABEL: llvm.func @around(
// CHECK:         llvm.urem
// CHECK-NEXT:    llvm.cond_br {{.*}} {tvm_llvm.loop = #tvm_llvm.loop<{vectorize.enable = false}>}
// CHECK:         llvm.cond_br {{.*}} {tvm_llvm.loop = #tvm_llvm.loop<{vectorize.enable = false}>}

// Constants that can be divided by at any time; other ones.

llvm.func @constants(%n: i8, %c: i1) {
  %k = llvm.mlir.constant(3 : i8) : i8
  %minus = llvm.mlir.constant(-1 : i8) : i8
  llvm.br ^harmless
^harmless:
  %q = llvm.sdiv %n, %k : i8
  llvm.cond_br %c, ^harmless, ^overflow
^overflow:
  %r = llvm.srem %n, %minus : i8
  llvm.cond_br %c, ^overflow, ^end
^end:
  llvm.return
}

// CHECK-LABEL: llvm.func @constants(
// CHECK:         llvm.sdiv
// CHECK-NEXT:    llvm.cond_br %{{.*}}, ^{{.*}}, ^{{[a-z_0-9]+$}}
// CHECK:         llvm.srem
// CHECK-NEXT:    llvm.cond_br {{.*}} {tvm_llvm.loop = #tvm_llvm.loop<{vectorize.enable = false}>}

// Calls that lead to a division, be it that the callee comes later; calls that do not.

llvm.func @calls(%n: i32, %c: i1) {
  llvm.br ^first
^first:
  llvm.call @between(%n) : (i32) -> ()
  llvm.cond_br %c, ^first, ^second
^second:
  llvm.call @elsewhere(%n) : (i32) -> ()
  llvm.cond_br %c, ^second, ^end
^end:
  llvm.return
}
llvm.func @between(%n: i32) {
  %q = llvm.call @divides(%n, %n) : (i32, i32) -> i32
  llvm.return
}
llvm.func @divides(%n: i32, %d: i32) -> i32 {
  %q = llvm.udiv %n, %d : i32
  llvm.return %q : i32
}
llvm.func @elsewhere(i32)

// CHECK-LABEL: llvm.func @calls(
// CHECK:         llvm.call @between
// CHECK-NEXT:    llvm.cond_br {{.*}} {tvm_llvm.loop = #tvm_llvm.loop<{vectorize.enable = false}>}
// CHECK:         llvm.call @elsewhere
// CHECK-NEXT:    llvm.cond_br %{{.*}}, ^{{.*}}, ^{{[a-z_0-9]+$}}

// Two entries to a cycle: each is closed by the branch back to what was reached first.

llvm.func @irreducible(%n: i32, %c: i1) {
  llvm.cond_br %c, ^a, ^b
^a:
  %q = llvm.sdiv %n, %n : i32
  llvm.cond_br %c, ^b, ^end
^b:
  llvm.cond_br %c, ^a, ^end
^end:
  llvm.return
}

// CHECK-LABEL: llvm.func @irreducible(
// CHECK:         llvm.sdiv
// CHECK-NEXT:    llvm.cond_br
// CHECK:         llvm.cond_br {{.*}} {tvm_llvm.loop = #tvm_llvm.loop<{vectorize.enable = false}>}
