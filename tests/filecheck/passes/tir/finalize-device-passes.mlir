// RUN: xdsl-opt %s -p tir-finalize-device-passes --split-input-file | filecheck %s

// Functions of a device are simplified; those of the host stay as they are.

tir.func @host(%p: !tir.ptr<i32>, %x: i32) attributes {target = #tir.target<"llvm">} {
  %P = tir.decl_buffer "P" %p : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %y = tir.add %x, %c0 : i32
  tir.store %y, %P[%c0] : i32
}
tir.func @kernel(%p: !tir.ptr<i32>, %x: i32) attributes {target = #tir.target<"cuda">} {
  %P = tir.decl_buffer "P" %p : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %y = tir.add %x, %c0 : i32
  tir.store %y, %P[%c0] : i32
}

// CHECK-LABEL: tir.func @host
// CHECK:         %y = tir.add %x, %c0
// CHECK:         tir.store %y,
// CHECK-LABEL: tir.func @kernel
// CHECK:         tir.store %x,
