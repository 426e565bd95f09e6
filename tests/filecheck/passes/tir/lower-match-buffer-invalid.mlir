// RUN: xdsl-opt %s -p tir-lower-match-buffer --split-input-file --verify-diagnostics | filecheck %s

// CASE: LowerMatchBuffer.8
tir.func @offset_of_a_load(%a: !tir.handle, %i: i32, %j: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  tir.block "B" {
    %V = tir.match_region %A[%i, %j] offset %c0 : !tir.buffer<f32>
    %x = tir.load %V[] : f32
  }
}
// CHECK: tir.match_region in @offset_of_a_load: cannot show that the offset is 0, it is ((%i * 8) + %j); declare it with a tir.shape_var that nothing else binds

// -----

// CASE: LowerMatchBuffer.8
tir.func @offset_of_a_store(%a: !tir.handle, %i: i32, %j: i32, %x: f32) {
  %A = tir.match_buffer %a : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  tir.block "B" {
    %V = tir.match_region %A[%i, %j] offset %c0 : !tir.buffer<f32>
    tir.store %x, %V[] : f32
  }
}
// CHECK: tir.match_region in @offset_of_a_store: cannot show that the offset is 0

// -----

// CASE: LowerMatchBuffer.9
tir.func @one_stride(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %s = tir.shape_var "s" : i32
  tir.block {
    %V = tir.match_region %A[%c0 to 4, %c0 to 4] strides [%s, %s] : !tir.buffer<4x4xf32>
    tir.evaluate %s : i32
  }
}
// CHECK: tir.match_region in @one_stride: cannot show that stride 1 is 8, it is 1

// -----

// CASE: LowerMatchBuffer.10
tir.func @given_strides(%a: !tir.handle, %s: i32, %t: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  tir.block {
    %V = tir.match_region %A[%c0 to 4, %c0 to 4] strides [%s, %t] : !tir.buffer<4x4xf32>
  }
}
// CHECK: tir.match_region in @given_strides: cannot show that stride 0 is %s, it is 8

// -----

// CASE: LowerMatchBuffer.11
tir.func @factor(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8x12xf32>
  %c0 = tir.const 0 : i32
  %off = tir.shape_var "off" : i32
  tir.block {
    %V = tir.match_region %A[%i, %c0 to 12] offset %off {offset_factor = 8 : i32} : !tir.buffer<12xf32>
  }
}
// CHECK: tir.match_region in @factor: cannot show that the offset modulo 8 is 0

// -----

// CASE: LowerMatchBuffer.12
tir.func @leading(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  tir.block {
    %V = tir.match_region %A[%c0 to %n, %c0 to 8] : !tir.buffer<8xf32>
  }
}
// CHECK: tir.match_region in @leading: cannot show that the extent of dimension 0 is 1, it is %n

// -----

// CASE: LowerMatchBuffer.12
tir.func @extent(%a: !tir.handle, %n: i32, %m: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  tir.block {
    %V = tir.match_region %A[%c0, %c0 to %n] [%m] : !tir.buffer<?xf32>
  }
}
// CHECK: tir.match_region in @extent: cannot show that extent 0 is %m, it is %n

// -----

// CASE: LowerMatchBuffer.12
tir.func @scope(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  tir.block {
    %V = tir.match_region %A[%c0 to 8] : !tir.buffer<8xf32, "shared">
  }
}
// CHECK: tir.match_region: !tir.buffer<8xf32, "shared"> must have element type and scope of its source !tir.buffer<8xf32>

// -----

// CASE: LowerMatchBuffer.12
tir.func @dtype(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  tir.block {
    %V = tir.match_region %A[%c0 to 8] : !tir.buffer<8xi32>
  }
}
// CHECK: tir.match_region: !tir.buffer<8xi32> must have element type and scope of its source

// -----

// CASE: LowerMatchBuffer.12
tir.func @rank(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  tir.block {
    %V = tir.match_region %A[%c0 to 8] : !tir.buffer<1x8xf32>
  }
}
// CHECK: tir.match_region: a view of rank 2 cannot match a region of rank 1

// -----

tir.func @two_scopes(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8x8xf32>
  %off = tir.shape_var "off" : i32
  %c0 = tir.const 0 : i32
  tir.block {
    %V = tir.match_region %A[%i, %c0 to 8] offset %off : !tir.buffer<8xf32>
  }
  tir.block {
    tir.evaluate %off : i32
  }
}
// CHECK: tir.evaluate in @two_scopes uses a tir.shape_var outside of the scope of the tir.match_region that binds it; use another one there

// -----

tir.func @foreign(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  tir.block {
    %V = tir.match_region %A[%i, %c0 to 8] : !tir.buffer<8xf32>
    "test.op"(%V) : (!tir.buffer<8xf32>) -> ()
  }
}
// CHECK: test.op in @foreign uses a tir.match_region in a way that its source does not allow; let it use the source buffer itself
