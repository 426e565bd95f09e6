// RUN: xdsl-opt %s -p tir-lower-device-storage-access-info --split-input-file --verify-diagnostics | filecheck %s

// CASE: LowerDeviceStorageAccessInfo.7
// CHECK: tir.allocate in @unknown: Cannot find memory info of global.texture; describe it in tir.memory_info of the module, or with register_memory_info
tir.func @unknown() {
  %p = tir.allocate [16] : !tir.ptr<f32, "global.texture">
}

// -----

// CHECK: tir.access_ptr in @pointer: memory of the scope local.L1 is not addressable; give its memory info a head_address
builtin.module attributes {tir.memory_info = {local.L1 = {unit_bits = 32, max_num_bits = 1024, max_simd_bits = 64}}} {
  tir.func @pointer(%i: i32) {
    %p = tir.allocate [16] : !tir.ptr<f32, "local.L1">
    %q = tir.access_ptr r %p[%i to %i + %i] : !tir.ptr<f32, "local.L1">
  }
}

// -----

// CHECK: tir.store in @access: memory of the scope local.L1 is not addressable
builtin.module attributes {tir.memory_info = {local.L1 = {unit_bits = 32, max_num_bits = 1024, max_simd_bits = 64}}} {
  tir.func @access(%i: i32, %x: f32) {
    %p = tir.allocate [16] : !tir.ptr<f32, "local.L1">
    %B = tir.decl_buffer %p : !tir.buffer<16xf32, "local.L1">
    tir.store %x, %B[%i] : f32
  }
}

// -----

// CHECK: builtin.module: tir.memory_info of 'local.L1': unit_bits must be an integer, got None
builtin.module attributes {tir.memory_info = {local.L1 = {}}} {
  tir.func @malformed() {
    %p = tir.allocate [16] : !tir.ptr<f32, "local.L1">
  }
}
