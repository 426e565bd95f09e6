// RUN: xdsl-opt %s -p relax-convert-to-memref | filecheck %s

// An object is a number of 64 bits, also in cells of calls of the runtime; one that is
// returned is written, as a tensor of rank 0. A function is passed by its name alone.
// CHECK-LABEL: func.func @states(
// CHECK-SAME: %[[S:[a-z0-9]+]]: i64, %[[C:[a-z0-9]+]]: i1, %[[R:[a-z0-9]+]]: memref<i64> {llvm.noalias})
// CHECK: %[[NULL:[0-9a-z]+]] = arith.constant 0 : i64
// CHECK: %[[CELLS:[0-9a-z]+]] = memref.alloca() : memref<2xi64>
// CHECK: memref.store %[[S]], %[[CELLS]][%{{.*}}] : memref<2xi64>
// CHECK: %[[T:[0-9a-z]+]] = memref.get_global @constant_0
// CHECK: func.call @tvm_call_packed
// CHECK: %[[MADE:[0-9a-z]+]] = memref.load %[[CELLS]][%{{.*}}] : memref<2xi64>
// CHECK: %[[CHOSEN:[0-9a-z]+]] = scf.if %[[C]] -> (i64)
// CHECK-NEXT: scf.yield %[[MADE]] : i64
// CHECK: scf.yield %[[NULL]] : i64
// CHECK: memref.store %[[CHOSEN]],
tir.func @kernel(%a: !tir.handle) attributes {global_symbol = "kernel"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
}
relax.func @states(%s: !relax.object, %c: !relax.prim<i1>) -> !relax.object
    attributes {global_symbol = "states", relax.force_pure} {
  %k = relax.global_ref @kernel : !relax.object
  %made = relax.call_pure_packed "my.next"(%s, %k) :
    (!relax.object, !relax.object) -> !relax.object
  %r = relax.if %c : !relax.prim<i1> -> !relax.object {
    relax.yield %made : !relax.object
  } else {
    %null = relax.null_value : !relax.object
    relax.yield %null : !relax.object
  }
  relax.return %r : !relax.object
}
