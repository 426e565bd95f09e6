// RUN: xdsl-opt %s -p tir-vectorize-loop --verify-diagnostics --split-input-file | filecheck %s

// CASE: VectorizeLoop.14
// CHECK: tir.for in @symbolic is vectorized, but its extent %n is no number of lanes for no target; make it a constant, or vscale times a constant of 2 or more for a target with SVE
tir.func @symbolic(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n vectorized {
    tir.evaluate %i : i32
  }
}

// -----

// CHECK: tir.for in @no_sve is vectorized, but its extent (vscale() * 4) is no number of lanes for the target "llvm"; make it a constant, or
tir.func @no_sve() attributes {target = #tir.target<"llvm">} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %vs = tir.call "vscale"() : () -> i32
  %lanes = tir.mul %vs, %c4 : i32
  tir.for %i = %c0 to %lanes vectorized {
    tir.evaluate %i : i32
  }
}

// -----

// CHECK: tir.for in @whole is vectorized, but its extent vscale() is no number of lanes for the target "llvm"; make it a constant, or
tir.func @whole() attributes {target = #tir.target<"llvm", "mtriple" = "aarch64-linux-gnu", "mattr" = ["+sve"]>} {
  %c0 = tir.const 0 : i32
  %vs = tir.call "vscale"() : () -> i32
  tir.for %i = %c0 to %vs vectorized {
    tir.evaluate %i : i32
  }
}

// -----

// CASE: VectorizeLoop.15
// CHECK: tir.ramp in @slice_in_scalable_loop: a ramp of type vector<4xi32> cannot start at or step by the lanes of a scalable vector; make the loop around it serial
tir.func @slice_in_scalable_loop(%a: !tir.handle) attributes {target = #tir.target<"llvm", "mtriple" = "aarch64-linux-gnu", "mattr" = ["+sve"]>} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  %ones = tir.broadcast %one : vector<4xf32>
  %vs = tir.call "vscale"() : () -> i32
  %lanes = tir.mul %vs, %c4 : i32
  tir.for %i = %c0 to %lanes vectorized {
    %base = tir.mul %i, %c4 : i32
    %slice = tir.ramp %base, %c1 : vector<4xi32>
    tir.store %ones, %A[%slice] : vector<4xf32>
  }
}

// -----

// CHECK: tir.store in @scalable_elements accesses elements of the scalable type vector<[4]xf32> from a vectorized loop; make the loop serial
tir.func @scalable_elements(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xvector<[4]xf32>>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  %ones = tir.broadcast %one : vector<[4]xf32>
  tir.for %i = %c0 to %c4 vectorized {
    tir.store %ones, %A[%i] : vector<[4]xf32>
  }
}

// -----

// CHECK: tir.ramp in @scalable_slice: a ramp of type vector<[4]xi32> is scalable already and cannot be widened; make the loop around it serial
tir.func @scalable_slice(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  %ones = tir.broadcast %one : vector<[4]xf32>
  tir.for %i = %c0 to %c4 vectorized {
    %slice = tir.ramp %i, %c1 : vector<[4]xi32>
    tir.store %ones, %A[%slice] : vector<[4]xf32>
  }
}

// -----

// CHECK: tir.ramp in @scalable_slice_in_scalable_loop: a ramp of type vector<[4]xi32> cannot start at or step by the lanes of a scalable vector; make the loop around it serial
tir.func @scalable_slice_in_scalable_loop(%a: !tir.handle) attributes {target = #tir.target<"llvm", "mtriple" = "aarch64-linux-gnu", "mattr" = ["+sve"]>} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  %ones = tir.broadcast %one : vector<[4]xf32>
  %vs = tir.call "vscale"() : () -> i32
  %lanes = tir.mul %vs, %c4 : i32
  tir.for %i = %c0 to %lanes vectorized {
    %slice = tir.ramp %i, %c1 : vector<[4]xi32>
    tir.store %ones, %A[%slice] : vector<[4]xf32>
  }
}

// -----

// CASE: VectorizeLoop.16
// CHECK: tir.while in @while is in a vectorized loop, whose iterations cannot run for different times; make the vectorized loop serial
tir.func @while(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 vectorized {
    tir.while {
      %x = tir.load %A[%i] : i32
      %p = tir.cmp lt %x, %c4 : i32
      tir.yield %p : i1
    } do {
      tir.store %c4, %A[%i] : i32
    }
  }
}

// -----

// CHECK: tir.for in @long is vectorized and has 100000000 iterations, but a vector has at most 65535 lanes; split the loop, and vectorize the inner loop
tir.func @long() {
  %c0 = tir.const 0 : i32
  %n = tir.const 100000000 : i32
  tir.for %i = %c0 to %n vectorized {
    tir.evaluate %i : i32
  }
}
