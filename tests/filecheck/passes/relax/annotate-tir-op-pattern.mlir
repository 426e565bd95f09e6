// RUN: xdsl-opt %s -p relax-annotate-tir-op-pattern | filecheck %s

// A row of an operand is added to each row of another one: element-wise.
// CHECK: tir.func @bias_add{{.*}}op_pattern = 0 : i32
tir.func @bias_add(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<2x4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<2x4xf32>
  %c0 = tir.const 0 : i64
  %c2 = tir.const 2 : i64
  %c4 = tir.const 4 : i64
  tir.block "root" {
    tir.for %i = %c0 to %c2 {
      tir.for %j = %c0 to %c4 {
        tir.block "C" (%vi : S in [%c0 to %c2] = %i, %vj : S in [%c0 to %c4] = %j) {
          tir.reads %A[%vi, %vj], %B[%vj]
          tir.writes %C[%vi, %vj]
          %x = tir.load %A[%vi, %vj] : f32
          %y = tir.load %B[%vj] : f32
          %z = tir.add %x, %y : f32
          tir.store %z, %C[%vi, %vj] : f32
        }
      }
    }
  }
}

// The maximum of each row is taken, then subtracted: a map to the result after a plain
// reduction, as in softmax.
// CHECK: tir.func @less_maximum{{.*}}op_pattern = 4 : i32
tir.func @less_maximum(%a: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<2x4xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<2x4xf32>
  %c0 = tir.const 0 : i64
  %c2 = tir.const 2 : i64
  %c4 = tir.const 4 : i64
  %least = tir.const -1.0e+30 : f32
  tir.block "root" {
    %M = tir.alloc_buffer "M" : !tir.buffer<2xf32>
    tir.for %i = %c0 to %c2 {
      tir.for %k = %c0 to %c4 {
        tir.block "M" (%vi : S in [%c0 to %c2] = %i, %vk : R in [%c0 to %c4] = %k) {
          tir.reads %A[%vi, %vk]
          tir.writes %M[%vi]
          tir.init {
            tir.store %least, %M[%vi] : f32
          }
          %x = tir.load %M[%vi] : f32
          %y = tir.load %A[%vi, %vk] : f32
          %z = tir.max %x, %y : f32
          tir.store %z, %M[%vi] : f32
        }
      }
    }
    tir.for %i = %c0 to %c2 {
      tir.for %j = %c0 to %c4 {
        tir.block "C" (%vi : S in [%c0 to %c2] = %i, %vj : S in [%c0 to %c4] = %j) {
          tir.reads %A[%vi, %vj], %M[%vi]
          tir.writes %C[%vi, %vj]
          %x = tir.load %A[%vi, %vj] : f32
          %y = tir.load %M[%vi] : f32
          %z = tir.sub %x, %y : f32
          tir.store %z, %C[%vi, %vj] : f32
        }
      }
    }
  }
}

// An index that is loaded is not known.
// CHECK: tir.func @take{{.*}}op_pattern = 8 : i32
tir.func @take(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<2xi64>
  %C = tir.match_buffer "C" %c : !tir.buffer<2xf32>
  %c0 = tir.const 0 : i64
  %c2 = tir.const 2 : i64
  %c3 = tir.const 3 : i64
  tir.for %i = %c0 to %c2 {
    tir.block "C" (%vi : S in [%c0 to %c2] = %i) {
      %k = tir.load %B[%vi] : i64
      %low = tir.max %k, %c0 : i64
      %index = tir.min %low, %c3 : i64
      tir.reads %A[%c0 to 4], %B[%vi]
      tir.writes %C[%vi]
      %x = tir.load %A[%index] : f32
      tir.store %x, %C[%vi] : f32
    }
  }
}

// Two stores to different places, stores outside of blocks, no store at all, blocks in
// blocks and effects besides stores: not known.
// CHECK: tir.func @two_places{{.*}}op_pattern = 8 : i32
tir.func @two_places(%a: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i64
  %c4 = tir.const 4 : i64
  tir.for %i = %c0 to %c4 {
    tir.block "C" (%vi : S in [%c0 to %c4] = %i) {
      %k = tir.add %vi, %c4 : i64
      tir.reads %A[%vi]
      tir.writes %C[%vi], %C[%k]
      %x = tir.load %A[%vi] : f32
      tir.store %x, %C[%vi] : f32
      tir.store %x, %C[%k] : f32
    }
  }
}
// CHECK: tir.func @without_blocks{{.*}}op_pattern = 8 : i32
tir.func @without_blocks(%a: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i64
  %c4 = tir.const 4 : i64
  tir.for %i = %c0 to %c4 {
    %x = tir.load %A[%i] : f32
    tir.store %x, %C[%i] : f32
  }
}
// CHECK: tir.func @nothing{{.*}}op_pattern = 8 : i32
tir.func @nothing(%a: !tir.handle) {
}
// CHECK: tir.func @nested{{.*}}op_pattern = 8 : i32
tir.func @nested(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i64
  %c4 = tir.const 4 : i64
  %zero = tir.const 0.0 : f32
  tir.for %i = %c0 to %c4 {
    tir.block "outer" (%vi : S in [%c0 to %c4] = %i) {
      tir.reads
      tir.writes %A[%vi]
      tir.block "inner" {
        tir.reads
        tir.writes %A[%vi]
        tir.store %zero, %A[%vi] : f32
      }
    }
  }
}

// A kind that is given stays, unless it is 0; a declaration and other ops get none.
// CHECK: tir.func @given{{.*}}op_pattern = 3 : i32
tir.func @given(%a: !tir.handle) attributes {op_pattern = 3 : i32} {
}
// CHECK: tir.func @given_zero{{.*}}op_pattern = 8 : i32
tir.func @given_zero(%a: !tir.handle) attributes {op_pattern = 0 : i32} {
}
// CHECK: func.func @foreign() {
func.func @foreign() {
  func.return
}
