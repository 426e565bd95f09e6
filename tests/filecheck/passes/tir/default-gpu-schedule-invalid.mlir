// RUN: xdsl-opt %s -p tir-default-gpu-schedule --split-input-file --verify-diagnostics | filecheck %s
// RUN: xdsl-opt %s -p 'tir-default-gpu-schedule{target="cdua"}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix TARGET

// CASE: DefaultGPUSchedule.10
// CHECK: tir.func @no_target: the target is missing; run tir-bind-target before, or set the option 'target'
// TARGET: tir-default-gpu-schedule: unknown target kind 'cdua' (did you mean 'cuda'?)
tir.func @no_target() {
}

// -----

// CHECK: tir.func @no_limit: the target 'ext_dev' states no max_num_threads; bind one that does, such as 'cuda -max_num_threads=1024'
tir.func @no_limit() attributes {target = #tir.target<"ext_dev", target_device_type = 2>} {
}

// -----

// CHECK: tir.block "A" in @twice: Duplicated block name A in the function is not supported; rename one of the blocks
tir.func @twice(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  tir.block "A" {
    tir.store %c0, %A[%c0] : i32
  }
  tir.block "A" {
    tir.store %c0, %A[%c0] : i32
  }
}

// -----

// CASE: DefaultGPUSchedule.11
// CHECK: tir.block "root" in @root: Cannot add loops on top of the root block; put the statements into a block of their own inside of it
tir.func @root(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  tir.block "root" {
    tir.store %c0, %A[%c0] : i32
  }
}

// -----

// CHECK: tir.block "A" in @odd has 1 iteration variables in 2 loops; let each loop bind one of them, or schedule the function by hand
tir.func @odd(%a: !tir.handle) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 {
    tir.for %j = %c0 to %c8 {
      tir.block "A" (%vi : S in [%c0 to %c8] = %i) {
        tir.store %c0, %A[%vi] : i32
      }
    }
  }
}
