// RUN: xdsl-opt %s -p tir-test-print-access-regions --split-input-file | filecheck %s

// Loops in a block are relaxed; iteration variables stay. A nested block stands for what
// it declares, and what a block with an init writes is not read.
// CHECK-LABEL: tir.func @matmul
// CHECK: access_regions = "reads %A[%vi for 1, %vk for 1]; writes %B[%vi for 1]; opaque "
// CHECK: access_regions = "reads %A[(%vo * 4) for 4, 0 for 16]; writes %B[(%vo * 4) for 4]; opaque "
tir.func @matmul(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  tir.for %io = %c0 to %c4 {
    tir.block "outer" (%vo : S in [%c0 to %c4] = %io) {
      %base = tir.mul %vo, %c4 : i32
      tir.reads
      tir.writes
      tir.for %ii = %c0 to %c4 {
        tir.for %k = %c0 to %c16 {
          %i = tir.add %base, %ii : i32
          tir.block "inner" (%vi : S in [%c0 to %c16] = %i, %vk : R in [%c0 to %c16] = %k) {
            tir.reads %A[%vi, %vk]
            tir.writes %B[%vi]
            tir.init {
              tir.store %c0, %B[%vi] : i32
            }
            %x = tir.load %A[%vi, %vk] : i32
            %y = tir.load %B[%vi] : i32
            %z = tir.add %x, %y : i32
            tir.store %z, %B[%vi] : i32
          }
        }
      }
    }
  }
}

// -----

// Conditions narrow what variables run over, values loaded in the block among them.
// CHECK-LABEL: tir.func @conditions
// CHECK: access_regions = "reads ; writes %A[0 for 20], %B[20 for 44]; opaque "
// CHECK: access_regions = "reads %A[20 for 44]; writes %B[0 for 64]; opaque "
// CHECK: access_regions = "reads %A[8 for 1]; writes %B[0 for 8]; opaque "
// CHECK: access_regions = "reads %A[8 for 1]; writes %B[0 for 64]; opaque "
tir.func @conditions(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<64xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c20 = tir.const 20 : i32
  %c64 = tir.const 64 : i32
  tir.block "if" {
    tir.for %i = %c0 to %c64 {
      %p = tir.cmp lt %i, %c20 : i32
      tir.if %p {
        tir.store %i, %A[%i] : i32
      } else {
        tir.store %i, %B[%i] : i32
      }
    }
  }
  tir.block "lazy" {
    tir.for %i = %c0 to %c64 {
      %p = tir.cmp ge %i, %c20 : i32
      %x = tir.if_then_else %p -> i32 {
        %y = tir.load %A[%i] : i32
        tir.yield %y : i32
      } else {
        tir.yield %c0 : i32
      }
      tir.store %x, %B[%i] : i32
    }
  }
  tir.block "loaded" {
    %x = tir.load %A[%c8] : i32
    %p = tir.cmp ge %x, %c0 : i32
    %q = tir.cmp lt %x, %c8 : i32
    %r = tir.and %p, %q : i1
    tir.if %r {
      tir.store %c0, %B[%x] : i32
    }
  }
  tir.block "anywhere" {
    %x = tir.load %A[%c8] : i32
    tir.store %c0, %B[%x] : i32
  }
}

// -----

// Pointers: an access pointer says what it is for, other uses are opaque, and views and
// other declarations stand for what is after them. Lanes of vectors count.
// CHECK-LABEL: tir.func @pointers
// CHECK: access_regions = "reads ; writes %A[0 for 64]; opaque "
// CHECK: access_regions = "reads ; writes %A[1 for 1]; opaque %A[0 for 64]"
// CHECK: access_regions = "reads ; writes %A[0 for 64]; opaque "
// CHECK: access_regions = "reads %B[%i for 1, 3 for 1]; writes %B[%i for 1, 4 for 1]; opaque "
// CHECK: access_regions = "reads %A[%i for 7]; writes ; opaque "
tir.func @pointers(%a: !tir.handle, %b: !tir.handle, %i: i32) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16x64xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c64 = tir.const 64 : i32
  %p = tir.data %A : !tir.ptr<i32>
  tir.block "access_ptr" {
    %q = tir.access_ptr w %p[%c0 to %c64] : !tir.ptr<i32>
    tir.evaluate %q : !tir.ptr<i32>
  }
  tir.block "opaque" {
    tir.store %c0, %A[%c1] : i32
    tir.evaluate %p : !tir.ptr<i32>
  }
  tir.block "declared" {
    %D = tir.decl_buffer %p : !tir.buffer<8x8xi32>
    tir.store %c0, %D[%c1, %c1] : i32
  }
  tir.block "view" {
    %V = tir.match_region "V" %B[%i, %c2 to %c2 + 8] : !tir.buffer<8xi32>
    %x = tir.load %V[%c1] : i32
    tir.store %x, %V[%c2] : i32
  }
  tir.block "vector" {
    %v = tir.ramp %i, %c2 : vector<4xi32>
    %x = tir.load %A[%v] : vector<4xi32>
    tir.evaluate %x : vector<4xi32>
  }
}

// -----

// A nested block that declares nothing is entered, and the side of a box that divides by
// what may be zero is all of the dimension.
// CHECK-LABEL: tir.func @others
// CHECK: access_regions = "reads ; writes %A[%vk for 1]; opaque "
// CHECK: access_regions = "reads ; writes %A[0 for 4]; opaque "
// CHECK: access_regions = "reads ; writes %A[0 for 64]; opaque "
tir.func @others(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c64 = tir.const 64 : i32
  tir.block "entered" {
    tir.for %k = %c0 to %c4 {
      tir.block (%vk : S in [%c0 to %c4] = %k) {
        tir.store %c0, %A[%vk] : i32
      }
    }
  }
  tir.block "division" {
    %p = tir.cmp gt %n, %c0 : i32
    tir.if %p {
      %d = tir.floordiv %c64, %n : i32
      %m = tir.sub %d, %d : i32
      %k = tir.floordiv %c4, %n : i32
      tir.store %m, %A[%k] : i32
    }
  }
}

// -----

// Loops that do not run access nothing.
// CHECK-LABEL: tir.func @never
tir.func @never(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xi32>
  %c0 = tir.const 0 : i32
  %m1 = tir.const -1 : i32
  // CHECK: access_regions = "reads ; writes %A[0 for 0]; opaque "
  tir.block "never" {
    tir.for %i = %c0 to %m1 {
      tir.store %c0, %A[%i] : i32
    }
  }
}
