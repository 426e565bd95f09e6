// RUN: xdsl-opt %s -p 'tir-default-pipeline{target="llvm"}' --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'tir-default-pipeline{target="llvm" debug=true}' --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p tir-default-pipeline --split-input-file | filecheck %s

// Blocks end as flat loops, and the loop marked for it as vector code.

tir.func @scale(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "scale"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4x16xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c4 {
    tir.for %j = %c0 to %c16 vectorized {
      tir.block "B" (%vi : S in [%c0 to %c4] = %i, %vj : S in [%c0 to %c16] = %j) {
        tir.reads %A[%vi, %vj]
        tir.writes %B[%vi, %vj]
        %x = tir.load %A[%vi, %vj] : f32
        %two = tir.const 2.0 : f32
        %y = tir.mul %x, %two : f32
        tir.store %y, %B[%vi, %vj] : f32
      }
    }
  }
}

// CHECK-LABEL: tir.func @scale
// CHECK:         tir.decl_buffer "A" %{{.*}} : !tir.buffer<64xf32>
// CHECK:         tir.for %[[I:.*]] =
// CHECK-NOT:       tir.for
// CHECK-NOT:       tir.block
// CHECK:           tir.ramp
// CHECK:           tir.load {{.*}} : vector<16xf32>
// CHECK:           tir.mul {{.*}} : vector<16xf32>
// CHECK:           tir.store {{.*}} : vector<16xf32>

// -----

// An initial value is stored before the first step of a reduction.

tir.func @sum(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "sum"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<3x5xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<3xi32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %c5 = tir.const 5 : i32
  tir.for %i = %c0 to %c3 {
    tir.for %k = %c0 to %c5 {
      tir.block "B" (%vi : S in [%c0 to %c3] = %i, %vk : R in [%c0 to %c5] = %k) {
        tir.reads %A[%vi, %vk]
        tir.writes %B[%vi]
        tir.init {
          tir.store %c0, %B[%vi] : i32
        }
        %x = tir.load %A[%vi, %vk] : i32
        %s = tir.load %B[%vi] : i32
        %y = tir.add %x, %s : i32
        tir.store %y, %B[%vi] : i32
      }
    }
  }
}

// CHECK-LABEL: tir.func @sum
// CHECK-NOT:     tir.block
// CHECK-NOT:     tir.init
// CHECK:         tir.if

// -----

// What is no TIR stays.

func.func @other(%x: i32) -> i32 {
  func.return %x : i32
}

// CHECK:       func.func @other(%x: i32) -> i32 {
// CHECK-NEXT:    func.return %x : i32
