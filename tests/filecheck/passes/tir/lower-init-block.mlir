// RUN: xdsl-opt %s -p tir-lower-init-block --split-input-file | filecheck %s

// CASE: LowerInitBlock.1
tir.func @reduction(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "reduction"} {
  %A = tir.match_buffer %a : !tir.buffer<4x4x8xf32>
  %B = tir.match_buffer %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    tir.for %j = %c0 to %c4 {
      tir.for %k = %c4 to %c4 + %c4 {
        tir.block "update" (%vi : S in [%c0 to %c4] = %i, %vj : R in [%c0 to %c4] = %j, %vk : R in [%c4 to %c4 + %c4] = %k) {
          tir.reads %A[%vi, %vj, %vk]
          tir.writes %B[%vi]
          tir.init {
            %zero = tir.const 0.0 : f32
            tir.store %zero, %B[%vi] : f32
          }
          %sum = tir.load %B[%vi] : f32
          %x = tir.load %A[%vi, %vj, %vk] : f32
          %y = tir.add %sum, %x : f32
          tir.store %y, %B[%vi] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @reduction
// CHECK:       %[[A:.*]] = tir.match_buffer
// CHECK-NEXT:  %[[B:.*]] = tir.match_buffer
// CHECK:       %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:  %[[C4:.*]] = tir.const 4 : i32
// CHECK:       tir.block "update" (%[[VI:.*]] : S in {{.*}}, %[[VJ:.*]] : R in {{.*}}, %[[VK:.*]] : R in [%[[C4]] to %[[C4]] + %[[C4]]]
// CHECK-NEXT:    tir.reads %[[A]][%[[VI]], %[[VJ]], %[[VK]]]
// CHECK-NEXT:    tir.writes %[[B]][%[[VI]]]
// CHECK-NEXT:    %[[J0:.*]] = tir.cmp eq %[[VJ]], %[[C0]] : i32
// CHECK-NEXT:    %[[K0:.*]] = tir.cmp eq %[[VK]], %[[C4]] : i32
// CHECK-NEXT:    %[[FIRST:.*]] = tir.and %[[J0]], %[[K0]] : i1
// CHECK-NEXT:    tir.if %[[FIRST]] {
// CHECK-NEXT:      %[[ZERO:.*]] = tir.const 0.0{{.*}} : f32
// CHECK-NEXT:      tir.store %[[ZERO]], %[[B]][%[[VI]]] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %{{.*}} = tir.load %[[B]][%[[VI]]] : f32
// CHECK-NOT:     tir.init

// -----

// CASE: LowerInitBlock.2
tir.func @match_region(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "match_region"} {
  %A = tir.match_buffer %a : !tir.buffer<4x4x8xf32>
  %B = tir.match_buffer %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c4 {
    tir.for %j = %c0 to %c4 {
      tir.for %k = %c0 to %c8 {
        tir.block "update" (%vi : S in [%c0 to %c4] = %i, %vj : R in [%c0 to %c4] = %j, %vk : R in [%c0 to %c8] = %k) {
          tir.reads %A[%vi, %vj, %vk]
          tir.writes %B[%vi]
          %BB = tir.match_region %B[%vi] : !tir.buffer<f32>
          %AA = tir.match_region %A[%vi, %c0 to 4, %c0 to 8] : !tir.buffer<4x8xf32>
          tir.init {
            %zero = tir.const 0.0 : f32
            tir.store %zero, %BB[] : f32
          }
          %sum = tir.load %BB[] : f32
          %x = tir.load %AA[%vj, %vk] : f32
          %y = tir.add %sum, %x : f32
          tir.store %y, %BB[] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @match_region
// CHECK:       tir.block "update" (%[[VI:.*]] : S in {{.*}}, %[[VJ:.*]] : R in {{.*}}, %[[VK:.*]] : R in
// CHECK:         %[[BB:.*]] = tir.match_region %{{.*}}[%[[VI]]] : !tir.buffer<f32>
// CHECK-NEXT:    %[[AA:.*]] = tir.match_region %{{.*}} : !tir.buffer<4x8xf32>
// CHECK:         tir.if %{{.*}} {
// CHECK-NEXT:      %[[ZERO:.*]] = tir.const
// CHECK-NEXT:      tir.store %[[ZERO]], %[[BB]][] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %{{.*}} = tir.load %[[BB]][] : f32
// CHECK-NEXT:    %{{.*}} = tir.load %[[AA]][%[[VJ]], %[[VK]]] : f32

// -----

// CASE: LowerInitBlock.3
// Variables of the kinds scan and opaque do not count either.
tir.func @no_reduction(%b: !tir.handle) attributes {global_symbol = "no_reduction"} {
  %B = tir.match_buffer %b : !tir.buffer<4x4x4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    tir.for %j = %c0 to %c4 {
      tir.for %k = %c0 to %c4 {
        tir.block "set" (%vi : S in [%c0 to %c4] = %i, %vj : scan in [%c0 to %c4] = %j, %vk : opaque in [%c0 to %c4] = %k) {
          tir.writes %B[%vi, %vj, %vk]
          tir.init {
            %one = tir.const 1.0 : f32
            tir.store %one, %B[%vi, %vj, %vk] : f32
          }
          %x = tir.load %B[%vi, %vj, %vk] : f32
          %y = tir.add %x, %x : f32
          tir.store %y, %B[%vi, %vj, %vk] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @no_reduction
// CHECK:       tir.writes
// CHECK-NEXT:  %[[ONE:.*]] = tir.const 1.0
// CHECK-NEXT:  tir.store %[[ONE]]
// CHECK-NEXT:  tir.load
// CHECK-NOT:   tir.if

// -----

// CASE: LowerInitBlock.4
tir.func @nested(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "nested"} {
  %A = tir.match_buffer %a : !tir.buffer<4x4x4xi32>
  %B = tir.match_buffer %b : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %zero = tir.const 0 : i32
  tir.for %i = %c0 to %c4 {
    tir.for %j = %c0 to %c4 {
      tir.block "outer" (%vi : S in [%c0 to %c4] = %i, %vj : R in [%c0 to %c4] = %j) {
        tir.reads %A[%vi, %vj, %c0 to 4]
        tir.writes %B[%vi]
        %T = tir.alloc_buffer "T" : !tir.buffer<1xi32>
        tir.init {
          tir.store %zero, %B[%vi] : i32
        }
        tir.for %k = %c0 to %c4 {
          tir.block "inner" (%vk : R in [%c0 to %c4] = %k) {
            tir.writes %T[%c0]
            tir.init {
              tir.store %zero, %T[%c0] : i32
            }
            %t = tir.load %T[%c0] : i32
            %x = tir.load %A[%vi, %vj, %vk] : i32
            %y = tir.add %t, %x : i32
            tir.store %y, %T[%c0] : i32
          }
        }
        %t = tir.load %T[%c0] : i32
        %b0 = tir.load %B[%vi] : i32
        %b1 = tir.add %b0, %t : i32
        tir.store %b1, %B[%vi] : i32
      }
    }
  }
}

// CHECK-LABEL: tir.func @nested
// CHECK:       tir.block "outer" (%{{.*}} : S in {{.*}}, %[[VJ:.*]] : R in
// CHECK:         %[[T:.*]] = tir.alloc_buffer "T"
// CHECK-NEXT:    %[[J0:.*]] = tir.cmp eq %[[VJ]]
// CHECK-NEXT:    tir.if %[[J0]] {
// CHECK:         tir.block "inner" (%[[VK:.*]] : R in
// CHECK-NEXT:      tir.writes
// CHECK-NEXT:      %[[K0:.*]] = tir.cmp eq %[[VK]]
// CHECK-NEXT:      tir.if %[[K0]] {
// CHECK-NEXT:        tir.store %{{.*}}, %[[T]]
// CHECK-NOT:   tir.init

// -----

// CASE: LowerInitBlock.5
// A block without init stays as it is; blocks in it are lowered.
tir.func @without_init(%b: !tir.handle) attributes {global_symbol = "without_init"} {
  %B = tir.match_buffer %b : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.block "root" {
    tir.for %i = %c0 to %c4 {
      tir.block "plain" (%vi : S in [%c0 to %c4] = %i) {
        tir.writes %B[%vi]
        tir.store %vi, %B[%vi] : i32
      }
    }
    tir.for %k = %c0 to %c4 {
      tir.block "inner" (%vk : R in [%c0 to %c4] = %k) {
        tir.writes %B[%c0]
        tir.init {
          tir.store %c4, %B[%c0] : i32
        }
        %x = tir.load %B[%c0] : i32
        %y = tir.add %x, %vk : i32
        tir.store %y, %B[%c0] : i32
      }
    }
  }
}

// CHECK-LABEL: tir.func @without_init
// CHECK:       tir.block "root" {
// CHECK-NEXT:    tir.for
// CHECK-NEXT:      tir.block "plain" (%[[VI:.*]] : S in
// CHECK-NEXT:        tir.writes %{{.*}}[%[[VI]]]
// CHECK-NEXT:        tir.store %[[VI]]
// CHECK-NEXT:      }
// CHECK:         tir.block "inner"
// CHECK-NEXT:      tir.writes
// CHECK-NEXT:      tir.cmp eq
// CHECK-NEXT:      tir.if

// -----

// CASE: LowerInitBlock.6
tir.func @sequence(%b: !tir.handle) attributes {global_symbol = "sequence"} {
  %B = tir.match_buffer %b : !tir.buffer<2xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  tir.for %k = %c0 to %c4 {
    tir.block "two" (%vk : R in [%c0 to %c4] = %k) {
      tir.init {
        tir.store %c0, %B[%c0] : i32
        tir.store %c4, %B[%c1] : i32
      }
      %x = tir.load %B[%c1] : i32
      %y = tir.add %x, %vk : i32
      tir.store %y, %B[%c1] : i32
    }
  }
}

// CHECK-LABEL: tir.func @sequence
// CHECK:       tir.if
// CHECK-NEXT:    tir.store %{{.*}}, %[[B:.*]][%[[C0:.*]]] : i32
// CHECK-NEXT:    tir.store %[[C4:.*]], %[[B]][%[[C1:.*]]] : i32
// CHECK-NEXT:  }

// -----

// A block in the init statement of another has its own init lowered as well. What an init
// without condition allocates does not live on in the body.
tir.func @init_in_init(%b: !tir.handle) attributes {global_symbol = "init_in_init"} {
  %B = tir.match_buffer %b : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    tir.block "outer" (%vi : S in [%c0 to %c4] = %i) {
      tir.init {
        %p = tir.allocate [1] : !tir.ptr<i32>
        %T = tir.decl_buffer %p : !tir.buffer<1xi32>
        tir.for %k = %c0 to %c4 {
          tir.block "inner" (%vk : R in [%c0 to %c4] = %k) {
            tir.init {
              tir.store %c0, %T[%c0] : i32
            }
            %t = tir.load %T[%c0] : i32
            %u = tir.add %t, %vk : i32
            tir.store %u, %T[%c0] : i32
          }
        }
        %t = tir.load %T[%c0] : i32
        tir.store %t, %B[%vi] : i32
      }
      %x = tir.load %B[%vi] : i32
      %y = tir.add %x, %vi : i32
      tir.store %y, %B[%vi] : i32
    }
  }
}

// CHECK-LABEL: tir.func @init_in_init
// CHECK:       tir.block "outer"
// CHECK-NEXT:    tir.scope {
// CHECK-NEXT:      tir.allocate
// CHECK:           tir.block "inner" (%[[VK:.*]] : R in
// CHECK-NEXT:        %[[K0:.*]] = tir.cmp eq %[[VK]]
// CHECK-NEXT:        tir.if %[[K0]] {
// CHECK:         }
// CHECK-NEXT:    %{{.*}} = tir.load
// CHECK-NOT:   tir.init

// -----

// Several functions, blocks under ops of other dialects, and functions without blocks.
tir.func @no_blocks(%n: i32) {
  tir.evaluate %n : i32
}
tir.func @declared(!tir.handle)
func.func @foreign(%c0: i32, %c4: i32, %lo: index, %hi: index, %step: index) {
  scf.for %i = %lo to %hi step %step {
    tir.block "B" (%vk : R in [%c0 to %c0 + %c4] = %c0) {
      tir.init {
        "test.op"() : () -> ()
      }
    }
  }
  func.return
}

// CHECK-LABEL: tir.func @no_blocks
// CHECK-NEXT:    tir.evaluate
// CHECK:       tir.func @declared
// CHECK-LABEL: func.func @foreign
// CHECK:         tir.block "B" (%[[VK:.*]] : R in
// CHECK-NEXT:      %[[K0:.*]] = tir.cmp eq %[[VK]]
// CHECK-NEXT:      tir.if %[[K0]] {
// CHECK-NEXT:        "test.op"
