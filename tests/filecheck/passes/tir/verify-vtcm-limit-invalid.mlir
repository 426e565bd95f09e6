// RUN: xdsl-opt %s -p 'tir-verify-vtcm-limit{limit="hexagon -vtcm-capacity=128"}' --split-input-file --verify-diagnostics | filecheck %s

tir.func @scale() attributes {global_symbol = "scale"} {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 {
    %p = tir.allocate [1024] : !tir.ptr<i8, "global.vtcm">
  }
}
// CHECK: tir.func @scale: The global.vtcm memory allocation limit has been exceeded (allocated: 1024, limit: 128); cache less at a time, or raise the capacity of the target

// -----

// The target of a function goes before the option; two buffers live at a time.
tir.func @two() attributes {target = #tir.target<"hexagon", "vtcm-capacity" = 200>} {
  %p = tir.allocate [128] : !tir.ptr<i8, "global.vtcm">
  %q = tir.allocate [128] : !tir.ptr<i8, "global.vtcm">
}
// CHECK: tir.func @two: The global.vtcm memory allocation limit has been exceeded (allocated: 256, limit: 200)
