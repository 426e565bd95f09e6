// RUN: xdsl-opt %s -p tir-pointer-value-type-rewrite --split-input-file --verify-diagnostics | filecheck %s

// A handle that is bound without a pointer type.
// CASE: PointerValueTypeRewrite.7
tir.func @untyped(%h: !tir.handle) {
  %p = tir.let "p" %h : !tir.handle
  tir.evaluate %p : !tir.handle
}
// CHECK: tir.let in @untyped binds a handle and is missing a type annotation; bind it as a !tir.ptr
