// RUN: xdsl-opt %s -p tir-annotate-device-regions --split-input-file | filecheck %s

// CASE: AnnotateDeviceRegions.1
tir.func @launch(%a: !tir.handle) attributes {target = #tir.target<"cuda", host = #tir.target<"llvm">>} {
  %A = tir.match_buffer %a : !tir.buffer<16xi32>
  %c16 = tir.const 16 : i32
  tir.launch_thread %t = "threadIdx.x" to %c16 {
    tir.store %t, %A[%t] : i32
  }
}
// CHECK-LABEL: tir.func @launch
// CHECK:         tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
// CHECK-NEXT:      tir.launch_thread %[[T:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK-NEXT:        tir.store %[[T]]

// -----

// CASE: AnnotateDeviceRegions.2
// CASE: AnnotateDeviceRegions.3
tir.func @attributes(%x: i32) attributes {target = #tir.target<"cuda", arch = "sm_80", host = #tir.target<"llvm">>} {
  tir.attr "device_scope" (0 : i32) = 0 : i32 {
    tir.evaluate %x : i32
  }
  tir.attr "pipeline_exec_scope" (0 : i32) = 0 : i32 {
    tir.evaluate %x : i32
  }
}
// CHECK-LABEL: tir.func @attributes
// CHECK-NEXT:    tir.attr "target" (#tir.target<"cuda", arch = "sm_80">) = 0 : i32 {
// CHECK-NEXT:      tir.attr "device_scope" (0 : i32) = 0 : i32 {
// CHECK-NEXT:        tir.evaluate
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.attr "target" (#tir.target<"cuda", arch = "sm_80">) = 0 : i32 {
// CHECK-NEXT:      tir.attr "pipeline_exec_scope"

// -----

// CASE: AnnotateDeviceRegions.4
tir.func @no_host(%n: i32) attributes {target = #tir.target<"cuda">} {
  tir.launch_thread %t = "threadIdx.x" to %n {
    tir.evaluate %t : i32
  }
}
// CHECK-LABEL: tir.func @no_host
// CHECK-NEXT:    tir.launch_thread

// -----

// CASE: AnnotateDeviceRegions.5
// A pass that runs twice changes nothing more; the target of a region may differ.
tir.func @marked(%n: i32) attributes {target = #tir.target<"cuda", host = #tir.target<"llvm">>} {
  tir.attr "target" (#tir.target<"vulkan">) = 0 : i32 {
    tir.for %i = %n to %n + %n {
      tir.launch_thread %t = "threadIdx.x" to %n {
        tir.evaluate %t : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @marked
// CHECK-NEXT:    tir.attr "target" (#tir.target<"vulkan">) = 0 : i32 {
// CHECK-NEXT:      tir.for
// CHECK-NEXT:        tir.launch_thread

// -----

// CASE: AnnotateDeviceRegions.6
// CASE: AnnotateDeviceRegions.7
// CASE: AnnotateDeviceRegions.8
tir.func @several(%a: !tir.handle, %n: i32, %p: i1) attributes {target = #tir.target<"cuda", host = #tir.target<"llvm">>} {
  %A = tir.match_buffer %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %q = tir.allocate [16] : !tir.ptr<i32, "shared">
  tir.launch_thread %b = "blockIdx.x" to %c4 {
    tir.launch_thread %t = "threadIdx.x" to %c4 {
      %i = tir.mul %b, %c4 : i32
      %j = tir.add %i, %t : i32
      tir.store %j, %A[%j] : i32
    }
  }
  tir.for %i = %c0 to %c4 {
    tir.if %p {
      tir.launch_thread %t = "threadIdx.x" to %c4 {
        tir.store %i, %A[%t] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @several
// CHECK:         tir.allocate
// CHECK-NEXT:    tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
// CHECK-NEXT:      tir.launch_thread %{{.*}} = "blockIdx.x"
// CHECK-NEXT:        tir.launch_thread %{{.*}} = "threadIdx.x"
// CHECK:         tir.for
// CHECK-NEXT:      tir.if
// CHECK-NEXT:        tir.attr "target"
// CHECK-NEXT:          tir.launch_thread %{{.*}} = "threadIdx.x"
// CHECK-NOT:     tir.attr

// -----

// Neither virtual threads nor co-processors are devices.
tir.func @virtual(%n: i32) attributes {target = #tir.target<"cuda", host = #tir.target<"llvm">>} {
  tir.launch_thread %v = "vthread.x" to %n virtual {
    tir.attr "coproc_uop_scope" (0 : i32) = "x" {
      tir.evaluate %v : i32
    }
  }
}
tir.func private @declared(!tir.handle)
// CHECK-LABEL: tir.func @virtual
// CHECK-NOT:     "target"
