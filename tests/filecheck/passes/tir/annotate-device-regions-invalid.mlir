// RUN: xdsl-opt %s -p tir-annotate-device-regions --split-input-file --verify-diagnostics | filecheck %s

// CASE: AnnotateDeviceRegions.9
tir.func @f(%n: i32) {
  tir.launch_thread %t = "threadIdx.x" to %n {
    tir.evaluate %t : i32
  }
}
// CHECK: tir.func @f: has no attribute target, so it is not known what is device code; bind one
