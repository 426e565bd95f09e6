// RUN: xdsl-opt %s -p tir-compact-buffer-allocation --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'tir-compact-buffer-allocation{is_strict=false}' --split-input-file | filecheck %s --check-prefix LOOSE

// CASE: CompactBufferAllocation.1
tir.func @rows(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "rows"} {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %C = tir.match_buffer %c : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    tir.block {
      tir.reads %A[%i, %c0 to %c0 + 16]
      tir.writes %C[%i, %c0 to %c0 + 16]
      %B = tir.alloc_buffer "B" : !tir.buffer<16x16xf32>
      tir.for %j = %c0 to %c16 {
        tir.block {
          tir.reads %A[%i, %j]
          tir.writes %B[%i, %j]
          %x = tir.load %A[%i, %j] : f32
          tir.store %x, %B[%i, %j] : f32
        }
      }
      tir.for %j = %c0 to %c16 {
        tir.block {
          tir.reads %B[%i, %j]
          tir.writes %C[%i, %j]
          %x = tir.load %B[%i, %j] : f32
          tir.store %x, %C[%i, %j] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @rows
// CHECK:       tir.for %[[I:.*]] =
// CHECK:         tir.reads %A[%[[I]], %{{.*}} to 16]
// CHECK-NEXT:    tir.writes %C[%[[I]], %{{.*}} to 16]
// CHECK-NEXT:    %[[ZERO:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<1x16xf32>
// CHECK-NEXT:    tir.for %[[J:.*]] =
// CHECK-NEXT:      tir.block {
// CHECK-NEXT:        tir.reads %A[%[[I]], %[[J]]]
// CHECK-NEXT:        tir.writes %[[B]][%[[ZERO]], %[[J]]]
// CHECK-NEXT:        %[[X:.*]] = tir.load %A[%[[I]], %[[J]]] : f32
// CHECK-NEXT:        tir.store %[[X]], %[[B]][%[[ZERO]], %[[J]]] : f32
// CHECK:         tir.for %[[K:.*]] =
// CHECK:             tir.reads %[[B]][%[[ZERO]], %[[K]]]
// CHECK:             tir.load %[[B]][%[[ZERO]], %[[K]]] : f32

// -----

// CASE: CompactBufferAllocation.2
tir.func @pointer(%c: !tir.handle) attributes {global_symbol = "pointer"} {
  %C = tir.match_buffer %c : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    tir.block {
      tir.reads
      tir.writes %C[%i, %c0 to %c0 + 16]
      %B = tir.alloc_buffer "B" : !tir.buffer<16x16xf32>
      tir.block {
        %fill = tir.string "fill"
        %p = tir.data %B : !tir.ptr<f32>
        tir.call "call_extern"(%fill, %p) : (!tir.handle, !tir.ptr<f32>) -> ()
      }
      tir.for %j = %c0 to %c16 {
        %x = tir.load %B[%i, %j] : f32
        tir.store %x, %C[%i, %j] : f32
      }
    }
  }
}

// CHECK-LABEL: tir.func @pointer
// CHECK:       %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<16x16xf32>
// CHECK:       tir.load %[[B]][%i, %j] : f32

// -----

// CASE: CompactBufferAllocation.3
tir.func @parameters(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "parameters"} {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16x16xf32>
  %c2 = tir.const 2 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c2 to %c2 + %c8 {
    tir.block {
      %x = tir.load %A[%i, %c2] : f32
      tir.store %x, %B[%i, %i] : f32
    }
  }
}

// CHECK-LABEL: tir.func @parameters
// CHECK:       tir.match_buffer %a : !tir.buffer<16x16xf32>
// CHECK-NEXT:  tir.match_buffer %b : !tir.buffer<16x16xf32>
// CHECK:       tir.load %A[%i, %c2] : f32
// CHECK-NEXT:  tir.store %x, %B[%i, %i] : f32

// -----

// CASE: CompactBufferAllocation.4
tir.func @shared(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "shared"} {
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %C = tir.match_buffer %c : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  tir.for %i0 = %c0 to %c2 thread_binding "blockIdx.x" {
    tir.for %i1 = %c0 to %c2 thread_binding "vthread.x" {
      tir.for %i2 = %c0 to %c4 thread_binding "threadIdx.x" {
        tir.block {
          %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "shared">
          %0 = tir.mul %i0, %c8 : i32
          %1 = tir.mul %i1, %c4 : i32
          %2 = tir.add %0, %1 : i32
          %3 = tir.add %2, %i2 : i32
          %x = tir.load %A[%3] : f32
          tir.store %x, %B[%3] : f32
          %y = tir.load %B[%3] : f32
          tir.store %y, %C[%3] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @shared
// CHECK:       tir.for %[[V:.*]] = {{.*}} thread_binding "vthread.x"
// CHECK:       tir.for %[[T:.*]] = {{.*}} thread_binding "threadIdx.x"
// CHECK:       %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<8xf32, "shared">
// CHECK:       %[[M:.*]] = tir.mul %[[V]], %{{.*}} : i32
// CHECK:       %[[S:.*]] = tir.add %[[M]], %[[T]] : i32
// CHECK-NEXT:  tir.store %{{.*}}, %[[B]][%[[S]]] : f32

// -----

// CASE: CompactBufferAllocation.5
tir.func @warp(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "warp"} {
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %C = tir.match_buffer %c : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  tir.for %i0 = %c0 to %c2 thread_binding "blockIdx.x" {
    tir.for %i1 = %c0 to %c2 thread_binding "vthread.x" {
      tir.for %i2 = %c0 to %c4 thread_binding "threadIdx.x" {
        tir.block {
          %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "warp">
          %0 = tir.mul %i0, %c8 : i32
          %1 = tir.mul %i1, %c4 : i32
          %2 = tir.add %0, %1 : i32
          %3 = tir.add %2, %i2 : i32
          %x = tir.load %A[%3] : f32
          tir.store %x, %B[%3] : f32
          %y = tir.load %B[%3] : f32
          tir.store %y, %C[%3] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @warp
// CHECK:       tir.for %[[T:.*]] = {{.*}} thread_binding "threadIdx.x"
// CHECK:       %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<4xf32, "warp">
// CHECK:       tir.store %{{.*}}, %[[B]][%[[T]]] : f32

// -----

// CASE: CompactBufferAllocation.6
tir.func @symbolic(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "symbolic"} {
  %n = tir.shape_var "n" : i32
  %c8 = tir.const 8 : i32
  %n8 = tir.mul %n, %c8 : i32
  %A = tir.match_buffer %a [%n] : !tir.buffer<?x8xf32>
  %C = tir.match_buffer %c [%n] : !tir.buffer<?x8xf32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    tir.block {
      %B = tir.alloc_buffer "B" [%n8] : !tir.buffer<?xf32>
      %0 = tir.mul %i, %c8 : i32
      tir.for %j = %c0 to %c8 {
        %1 = tir.add %0, %j : i32
        %x = tir.load %A[%i, %j] : f32
        tir.store %x, %B[%1] : f32
      }
      tir.for %j = %c0 to %c8 {
        %1 = tir.add %0, %j : i32
        %x = tir.load %B[%1] : f32
        tir.store %x, %C[%i, %j] : f32
      }
    }
  }
}

// CHECK-LABEL: tir.func @symbolic
// CHECK:       tir.for %i =
// CHECK-NEXT:    tir.block {
// CHECK-NEXT:      %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<8xf32>
// CHECK-NEXT:      tir.for %[[J:.*]] =
// CHECK-NEXT:        tir.load %A[%i, %[[J]]] : f32
// CHECK-NEXT:        tir.store %{{.*}}, %[[B]][%[[J]]] : f32

// -----

// CASE: CompactBufferAllocation.7
tir.func @hull(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "hull"} {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %C = tir.match_buffer %c : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c6 = tir.const 6 : i32
  tir.block {
    %B = tir.alloc_buffer "B" : !tir.buffer<16xf32>
    %D = tir.alloc_buffer "D" : !tir.buffer<10xf32>
    tir.for %i = %c0 to %c4 {
      %x = tir.load %A[%i] : f32
      tir.store %x, %B[%i] : f32
    }
    tir.for %i = %c3 to %c3 + %c2 {
      %x = tir.load %A[%i] : f32
      tir.store %x, %B[%i] : f32
    }
    tir.for %i = %c6 to %c6 + %c2 {
      %x = tir.load %A[%i] : f32
      tir.store %x, %B[%i] : f32
      %y = tir.load %B[%i] : f32
      tir.store %y, %C[%i] : f32
    }
    tir.for %k = %c4 to %c4 + %c4 {
      %x = tir.load %A[%k] : f32
      tir.store %x, %D[%k] : f32
    }
    tir.for %k = %c2 to %c2 + %c2 {
      %z = tir.load %A[%k] : f32
      tir.store %z, %D[%k] : f32
      %x = tir.load %D[%k] : f32
      tir.store %x, %C[%k] : f32
    }
  }
}

// CHECK-LABEL: tir.func @hull
// CHECK:       %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<8xf32>
// CHECK-NEXT:  %[[TWO:.*]] = tir.const 2 : i32
// CHECK-NEXT:  %[[D:.*]] = tir.alloc_buffer "D" : !tir.buffer<6xf32>
// CHECK:       tir.store %{{.*}}, %[[B]][%i] : f32
// CHECK:       tir.for %[[K:.*]] = %c4 to %c4 + %c4
// CHECK-NEXT:    tir.load %A[%[[K]]]
// CHECK-NEXT:    %[[S:.*]] = tir.sub %[[K]], %[[TWO]] : i32
// CHECK-NEXT:    tir.store %{{.*}}, %[[D]][%[[S]]] : f32

// -----

// CASE: CompactBufferAllocation.8
tir.func @views(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "views"} {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %C = tir.match_buffer %c : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    tir.block {
      %B = tir.alloc_buffer "B" : !tir.buffer<16x16xf32>
      tir.block {
        tir.reads %A[%i, %c0 to %c0 + 16]
        tir.writes %B[%i, %c0 to %c0 + 16]
        %V = tir.match_region "V" %B[%i, %c0 to %c0 + 16] : !tir.buffer<1x16xf32>
        tir.for %j = %c0 to %c4 {
          %j4 = tir.mul %j, %c4 : i32
          tir.block {
            tir.reads %A[%i, %j4 to %j4 + 4]
            tir.writes %V[%c0, %j4 to %j4 + 4]
            %W = tir.match_region "W" %V[%c0, %j4 to %j4 + 4] : !tir.buffer<1x4xf32>
            tir.for %k = %c0 to %c4 {
              %0 = tir.add %j4, %k : i32
              %x = tir.load %A[%i, %0] : f32
              tir.store %x, %W[%c0, %k] : f32
            }
          }
        }
      }
      tir.block {
        tir.reads %B[%i, %c0 to %c0 + 16]
        tir.writes %C[%i, %c0 to %c0 + 16]
        %V = tir.match_region "U" %B[%i, %c0 to %c0 + 16] : !tir.buffer<1x16xf32>
        tir.for %j = %c0 to %c16 {
          %x = tir.load %V[%c0, %j] : f32
          tir.store %x, %C[%i, %j] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @views
// CHECK:       tir.block {
// CHECK-NEXT:  %[[ZERO:.*]] = tir.const 0 : i32
// CHECK-NEXT:  %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<1x16xf32>
// CHECK:       tir.writes %[[B]][%[[ZERO]], %c0 to 16]
// CHECK-NEXT:  %[[V:.*]] = tir.match_region "V" %[[B]][%[[ZERO]], %c0 to 16] : !tir.buffer<1x16xf32>
// CHECK:       tir.writes %[[V]][%c0, %[[J4:.*]] to %[[J4]] + 4]
// CHECK-NEXT:  %[[W:.*]] = tir.match_region "W" %[[V]][%c0, %[[J4]] to %[[J4]] + 4] : !tir.buffer<1x4xf32>
// CHECK:       tir.store %{{.*}}, %[[W]][%c0, %k] : f32
// CHECK:       tir.match_region "U" %[[B]][%[[ZERO]], %c0 to 16] : !tir.buffer<1x16xf32>

// -----

// CASE: CompactBufferAllocation.9
tir.func @aligned(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "aligned"} {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %C = tir.match_buffer %c : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    tir.block {
      %B = tir.alloc_buffer "B" : !tir.buffer<16x16xf32>
      tir.for %j = %c0 to %c16 {
        tir.block annotations {buffer_dim_align = [[0 : i32, 0 : i32, 16 : i32, 15 : i32]]} {
          tir.reads %A[%i, %j]
          tir.writes %B[%i, %j]
          %x = tir.load %A[%i, %j] : f32
          tir.store %x, %B[%i, %j] : f32
        }
      }
      tir.for %j = %c0 to %c16 {
        %x = tir.load %B[%i, %j] : f32
        tir.store %x, %C[%i, %j] : f32
      }
    }
  }
}

// CHECK-LABEL: tir.func @aligned
// CHECK:       tir.alloc_buffer "B" strides [31, 1] : !tir.buffer<1x16xf32>
// CHECK:       tir.block annotations {buffer_dim_align = {{\[\[}}0 : i32, 0 : i32, 16 : i32, 15 : i32]]}

// -----

// CASE: CompactBufferAllocation.10
tir.func @padded(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "padded"} {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %C = tir.match_buffer %c : !tir.buffer<20x20xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c16 = tir.const 16 : i32
  %c18 = tir.const 18 : i32
  %c20 = tir.const 20 : i32
  %zero = tir.const 0.0 : f32
  tir.block {
    %B = tir.alloc_buffer "B" : !tir.buffer<20x20xf32>
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %A[%i, %j] : f32
        tir.store %x, %B[%i, %j] : f32
      }
    }
    tir.for %i = %c0 to %c20 {
      tir.for %j = %c0 to %c20 {
        %0 = tir.cmp le %c2, %i : i32
        %1 = tir.cmp lt %i, %c18 : i32
        %2 = tir.cmp le %c2, %j : i32
        %3 = tir.cmp lt %j, %c18 : i32
        %4 = tir.and %0, %1 : i1
        %5 = tir.and %2, %3 : i1
        %6 = tir.and %4, %5 : i1
        %7 = tir.sub %i, %c2 : i32
        %8 = tir.sub %j, %c2 : i32
        %x = tir.if_then_else %6 -> f32 {
          %y = tir.load %B[%7, %8] : f32
          tir.yield %y : f32
        } else {
          tir.yield %zero : f32
        }
        tir.store %x, %C[%i, %j] : f32
      }
    }
  }
}

// CHECK-LABEL: tir.func @padded
// CHECK:       tir.alloc_buffer "B" : !tir.buffer<16x16xf32>

// -----

// CASE: CompactBufferAllocation.11
tir.func @halo(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "halo"} {
  %A = tir.match_buffer %a : !tir.buffer<14x14xi8>
  %C = tir.match_buffer %c : !tir.buffer<14x14x3x3xi8>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c3 = tir.const 3 : i32
  %c14 = tir.const 14 : i32
  %zero = tir.const 0 : i8
  tir.block {
    %B = tir.alloc_buffer "B" : !tir.buffer<14x14xi8>
    tir.for %i = %c0 to %c14 {
      tir.for %j = %c0 to %c14 {
        %x = tir.load %A[%i, %j] : i8
        tir.store %x, %B[%i, %j] : i8
      }
    }
    tir.for %h = %c0 to %c14 {
      tir.for %w = %c0 to %c14 {
        tir.for %kh = %c0 to %c3 {
          tir.for %kw = %c0 to %c3 {
            %0 = tir.add %h, %kh : i32
            %1 = tir.add %w, %kw : i32
            %2 = tir.cmp le %c1, %0 : i32
            %3 = tir.cmp le %0, %c14 : i32
            %4 = tir.cmp le %c1, %1 : i32
            %5 = tir.cmp le %1, %c14 : i32
            %l2 = tir.call "likely"(%2) : (i1) -> i1
            %l3 = tir.call "likely"(%3) : (i1) -> i1
            %l4 = tir.call "likely"(%4) : (i1) -> i1
            %l5 = tir.call "likely"(%5) : (i1) -> i1
            %6 = tir.and %l2, %l3 : i1
            %7 = tir.and %6, %l4 : i1
            %8 = tir.and %7, %l5 : i1
            %9 = tir.sub %0, %c1 : i32
            %10 = tir.sub %1, %c1 : i32
            %x = tir.if_then_else %8 -> i8 {
              %y = tir.load %B[%9, %10] : i8
              tir.yield %y : i8
            } else {
              tir.yield %zero : i8
            }
            tir.store %x, %C[%h, %w, %kh, %kw] : i8
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @halo
// CHECK:       tir.alloc_buffer "B" : !tir.buffer<14x14xi8>

// -----

// CASE: CompactBufferAllocation.12
tir.func @branches(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "branches"} {
  %A = tir.match_buffer %a : !tir.buffer<16x16xi8>
  %C = tir.match_buffer %c : !tir.buffer<16x16xi8>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  tir.block {
    %B1 = tir.alloc_buffer "B1" : !tir.buffer<16x16xi8>
    %B2 = tir.alloc_buffer "B2" : !tir.buffer<16x16xi8>
    %B3 = tir.alloc_buffer "B3" : !tir.buffer<16x16xi8>
    %B4 = tir.alloc_buffer "B4" : !tir.buffer<16x16xi8>
    tir.for %i = %c0 to %c16 {
      tir.for %j = %c0 to %c16 {
        %x = tir.load %A[%i, %j] : i8
        %0 = tir.cmp lt %i, %c8 : i32
        %1 = tir.cmp lt %j, %c8 : i32
        %both = tir.and %0, %1 : i1
        %one = tir.or %0, %1 : i1
        tir.if %both {
          tir.store %x, %B1[%i, %j] : i8
          %y = tir.load %B1[%i, %j] : i8
          tir.store %y, %C[%i, %j] : i8
        } else {
          tir.store %x, %B2[%i, %j] : i8
          %y = tir.load %B2[%i, %j] : i8
          tir.store %y, %C[%i, %j] : i8
        }
        tir.if %one {
          tir.store %x, %B3[%i, %j] : i8
        } else {
          tir.store %x, %B4[%i, %j] : i8
          %y = tir.load %B4[%i, %j] : i8
          tir.store %y, %C[%i, %j] : i8
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @branches
// CHECK:       %[[B1:.*]] = tir.alloc_buffer "B1" : !tir.buffer<8x8xi8>
// CHECK-NEXT:  %[[B2:.*]] = tir.alloc_buffer "B2" : !tir.buffer<16x16xi8>
// CHECK-NEXT:  %[[B3:.*]] = tir.alloc_buffer "B3" : !tir.buffer<16x16xi8>
// CHECK-NEXT:  %[[N:.*]] = tir.const 8 : i32
// CHECK-NEXT:  %[[B4:.*]] = tir.alloc_buffer "B4" : !tir.buffer<8x8xi8>
// CHECK:       %[[I:.*]] = tir.sub %i, %[[N]] : i32
// CHECK-NEXT:  %[[J:.*]] = tir.sub %j, %[[N]] : i32
// CHECK-NEXT:  tir.store %{{.*}}, %[[B4]][%[[I]], %[[J]]] : i8

// -----

// CASE: CompactBufferAllocation.13
tir.func @declared(%a: !tir.handle) attributes {global_symbol = "declared"} {
  %A = tir.match_buffer %a : !tir.buffer<512xf32>
  %c0 = tir.const 0 : i32
  %c512 = tir.const 512 : i32
  %fill = tir.string "fill"
  tir.block {
    %B = tir.alloc_buffer "B" : !tir.buffer<1024xf32>
    %C = tir.alloc_buffer "C" : !tir.buffer<1024xf32>
    %p = tir.data %B : !tir.ptr<f32>
    %q = tir.data %C : !tir.ptr<f32>
    tir.for %i = %c0 to %c512 {
      tir.block {
        tir.reads %B[%i]
        tir.writes %C[%i to %i + 9]
        tir.call "call_extern"(%fill, %p, %q, %i) : (!tir.handle, !tir.ptr<f32>, !tir.ptr<f32>, i32) -> ()
      }
    }
    tir.block {
      tir.reads
      tir.writes
      tir.call "call_extern"(%fill, %p) : (!tir.handle, !tir.ptr<f32>) -> ()
    }
    tir.for %i = %c0 to %c512 {
      %x = tir.load %C[%i] : f32
      tir.store %x, %A[%i] : f32
    }
  }
}

// CHECK-LABEL: tir.func @declared
// CHECK:       tir.alloc_buffer "B" : !tir.buffer<1024xf32>
// CHECK-NEXT:  %[[C:.*]] = tir.alloc_buffer "C" : !tir.buffer<520xf32>
// CHECK:       tir.writes %[[C]][%i to %i + 9]

// -----

// CASE: CompactBufferAllocation.14
tir.func @indirect(%a: !tir.handle, %p: !tir.handle, %c: !tir.handle) attributes {global_symbol = "indirect"} {
  %A = tir.match_buffer %a : !tir.buffer<64xf32>
  %P = tir.match_buffer %p : !tir.buffer<9xi32>
  %C = tir.match_buffer %c : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 {
    %next = tir.add %i, %c1 : i32
    %first = tir.load %P[%i] : i32
    %end = tir.load %P[%next] : i32
    %count = tir.sub %end, %first : i32
    tir.for %k = %c0 to %count {
      tir.block {
        %L = tir.alloc_buffer "L" : !tir.buffer<64xf32, "local">
        tir.block {
          %s = tir.load %P[%i] : i32
          %0 = tir.add %s, %k : i32
          %x = tir.load %A[%0] : f32
          tir.store %x, %L[%0] : f32
        }
        tir.block {
          %s = tir.load %P[%i] : i32
          %0 = tir.add %s, %k : i32
          %x = tir.load %L[%0] : f32
          %y = tir.load %C[%i] : f32
          %z = tir.add %x, %y : f32
          tir.store %z, %C[%i] : f32
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @indirect
// CHECK:       tir.for %k =
// CHECK:         %[[S:.*]] = tir.load %P[%i] : i32
// CHECK:         %[[L:.*]] = tir.alloc_buffer "L" : !tir.buffer<1xf32, "local">
// CHECK:         %[[X:.*]] = tir.add %[[S]], %k : i32
// CHECK:         %[[M:.*]] = tir.min %{{.*}}, %[[X]] : i32
// CHECK-NEXT:    tir.store %{{.*}}, %[[L]][%[[M]]] : f32

// -----

// CASE: CompactBufferAllocation.15
tir.func @by_contents(%a: !tir.handle, %c: !tir.handle, %m: !tir.handle) attributes {global_symbol = "by_contents"} {
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %C = tir.match_buffer %c : !tir.buffer<16xf32>
  %M = tir.match_buffer %m : !tir.buffer<1xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %ns = tir.allocate [1] : !tir.ptr<i32, "local">
  %N = tir.decl_buffer "N" %ns : !tir.buffer<1xi32, "local">
  %v = tir.load %M[%c0] : i32
  %v4 = tir.floormod %v, %c4 : i32
  tir.store %v4, %N[%c0] : i32
  %count = tir.load %N[%c0] : i32
  %bs = tir.allocate [16] : !tir.ptr<f32, "local">
  %B = tir.decl_buffer "B" %bs : !tir.buffer<16xf32, "local">
  tir.for %i = %c0 to %count {
    %0 = tir.add %i, %count : i32
    %x = tir.load %A[%0] : f32
    tir.store %x, %B[%0] : f32
    %y = tir.load %B[%0] : f32
    tir.store %y, %C[%0] : f32
  }
}

// CHECK-LABEL: tir.func @by_contents
// CHECK:       tir.allocate [1] : !tir.ptr<i32, "local">
// CHECK:       tir.allocate [16] : !tir.ptr<f32, "local">
// CHECK-NEXT:  %[[B:.*]] = tir.decl_buffer "B" %{{.*}} : !tir.buffer<16xf32, "local">
// CHECK:       %[[X:.*]] = tir.add %i, %count : i32
// CHECK:       tir.store %{{.*}}, %[[B]][%[[X]]] : f32

// -----

// CASE: CompactBufferAllocation.16
tir.func @predicate(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "predicate"} {
  %A = tir.match_buffer %a : !tir.buffer<10xf32>
  %C = tir.match_buffer %c : !tir.buffer<10xf32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c10 = tir.const 10 : i32
  tir.block {
    %B = tir.alloc_buffer "B" : !tir.buffer<10xf32>
    %D = tir.alloc_buffer "D" : !tir.buffer<20xf32>
    tir.for %j = %c0 to %c3 {
      tir.for %k = %c0 to %c4 {
        %0 = tir.mul %j, %c4 : i32
        %1 = tir.add %0, %k : i32
        %2 = tir.cmp lt %1, %c10 : i32
        tir.block where %2 {
          %x = tir.load %A[%1] : f32
          tir.store %x, %B[%1] : f32
          tir.store %x, %D[%1] : f32
        }
      }
    }
    tir.for %j = %c0 to %c10 {
      %x = tir.load %B[%j] : f32
      tir.store %x, %C[%j] : f32
    }
  }
}

// CHECK-LABEL: tir.func @predicate
// CHECK:       tir.alloc_buffer "B" : !tir.buffer<10xf32>
// CHECK:       tir.alloc_buffer "D" : !tir.buffer<10xf32>

// -----

// CASE: CompactBufferAllocation.17
tir.func @through_lets(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "through_lets"} {
  %A = tir.match_buffer %a : !tir.buffer<64xf32>
  %C = tir.match_buffer %c : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c64 = tir.const 64 : i32
  tir.block {
    %B = tir.alloc_buffer "B" : !tir.buffer<8x8xf32>
    %D = tir.alloc_buffer "D" : !tir.buffer<16x16xf32>
    tir.for %r = %c0 to %c64 {
      %0 = tir.floordiv %r, %c8 : i32
      %1 = tir.floormod %r, %c8 : i32
      %ri = tir.let "ri" %0 : i32
      %rj = tir.let "rj" %1 : i32
      %x = tir.load %A[%r] : f32
      tir.store %x, %B[%ri, %rj] : f32
      tir.store %x, %D[%ri, %rj] : f32
      %y = tir.load %B[%ri, %rj] : f32
      tir.store %y, %C[%r] : f32
    }
  }
}

// CHECK-LABEL: tir.func @through_lets
// CHECK:       tir.alloc_buffer "B" : !tir.buffer<8x8xf32>
// CHECK:       %[[D:.*]] = tir.alloc_buffer "D" : !tir.buffer<8x8xf32>
// CHECK:       tir.store %{{.*}}, %[[D]][%{{.*}}, %{{.*}}] : f32

// -----

// CASE: CompactBufferAllocation.18
tir.func @lets(%a: !tir.handle, %b: !tir.handle, %h: f16, %f: f32, %d: f64, %u: ui8) attributes {global_symbol = "lets"} {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %C = tir.match_buffer %b : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  tir.block {
    %B = tir.alloc_buffer "B" : !tir.buffer<16xf32>
    %x0 = tir.let "h" %h : f16
    %x1 = tir.let "f" %f : f32
    %x2 = tir.let "d" %d : f64
    %x3 = tir.let "u" %u : ui8
    %ramp = tir.ramp %c0, %c1 : vector<4xi32>
    %x4 = tir.let "v" %ramp : vector<4xi32>
    %x5 = tir.let "a" %a : !tir.handle
    %p = tir.data %A : !tir.ptr<f32>
    %x6 = tir.let "p" %p : !tir.ptr<f32>
    tir.for %i = %c0 to %c8 {
      %x = tir.load %A[%i] : f32
      %y = tir.add %x, %x1 : f32
      tir.store %y, %B[%i] : f32
      %z = tir.load %B[%i] : f32
      tir.store %z, %C[%i] : f32
    }
  }
}

// CHECK-LABEL: tir.func @lets
// CHECK:       tir.alloc_buffer "B" : !tir.buffer<8xf32>
// CHECK:       tir.let "v" %

// -----

// CASE: CompactBufferAllocation.19
tir.func @pooling(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "pooling"} {
  %A = tir.match_buffer %a : !tir.buffer<16x16x4xf32>
  %C = tir.match_buffer %c : !tir.buffer<8x8x4xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c9 = tir.const 9 : i32
  %low = tir.const -1.0e+30 : f32
  tir.for %ho = %c0 to %c2 {
    tir.for %wo = %c0 to %c2 {
      tir.block {
        %B = tir.alloc_buffer "B" : !tir.buffer<16x16x4xf32>
        %h8 = tir.mul %ho, %c8 : i32
        %w8 = tir.mul %wo, %c8 : i32
        tir.for %i = %c0 to %c9 {
          tir.for %j = %c0 to %c9 {
            tir.for %k = %c0 to %c4 {
              %0 = tir.add %h8, %i : i32
              %1 = tir.add %w8, %j : i32
              %y = tir.sub %0, %c1 : i32
              %x = tir.sub %1, %c1 : i32
              %2 = tir.cmp le %c1, %0 : i32
              %3 = tir.cmp le %c1, %1 : i32
              %4 = tir.and %2, %3 : i1
              tir.block where %4 {
                %v = tir.load %A[%y, %x, %k] : f32
                tir.store %v, %B[%y, %x, %k] : f32
              }
            }
          }
        }
        tir.for %h = %c0 to %c4 {
          tir.for %w = %c0 to %c4 {
            tir.for %k = %c0 to %c4 {
              %ho4 = tir.mul %ho, %c4 : i32
              %wo4 = tir.mul %wo, %c4 : i32
              %0 = tir.add %ho4, %h : i32
              %1 = tir.add %wo4, %w : i32
              tir.store %low, %C[%0, %1, %k] : f32
              tir.for %kh = %c0 to %c3 {
                tir.for %kw = %c0 to %c3 {
                  %2 = tir.mul %h, %c2 : i32
                  %3 = tir.add %h8, %2 : i32
                  %4 = tir.add %3, %kh : i32
                  %5 = tir.mul %w, %c2 : i32
                  %6 = tir.add %w8, %5 : i32
                  %7 = tir.add %6, %kw : i32
                  %y = tir.sub %4, %c1 : i32
                  %x = tir.sub %7, %c1 : i32
                  %8 = tir.cmp le %c1, %4 : i32
                  %9 = tir.cmp le %c1, %7 : i32
                  %10 = tir.and %8, %9 : i1
                  %v = tir.if_then_else %10 -> f32 {
                    %u = tir.load %B[%y, %x, %k] : f32
                    tir.yield %u : f32
                  } else {
                    tir.yield %low : f32
                  }
                  %old = tir.load %C[%0, %1, %k] : f32
                  %new = tir.max %old, %v : f32
                  tir.store %new, %C[%0, %1, %k] : f32
                }
              }
            }
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @pooling
// CHECK:       tir.alloc_buffer "B" : !tir.buffer<9x9x4xf32>
// CHECK:       %[[H8:.*]] = tir.mul %ho, %c8 : i32

// -----

// CASE: CompactBufferAllocation.20
tir.func @cooperative(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {global_symbol = "cooperative"} {
  %A = tir.match_buffer %a : !tir.buffer<64x64xf32>
  %B = tir.match_buffer %b : !tir.buffer<64x64xf32>
  %C = tir.match_buffer %c : !tir.buffer<64x64xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  %c128 = tir.const 128 : i32
  tir.for %by = %c0 to %c2 thread_binding "blockIdx.y" {
    tir.for %bx = %c0 to %c2 thread_binding "blockIdx.x" {
      tir.for %tx = %c0 to %c64 thread_binding "threadIdx.x" {
        tir.for %ko = %c0 to %c16 {
          tir.block {
            %SA = tir.alloc_buffer "SA" : !tir.buffer<64x64xf32, "shared">
            %SB = tir.alloc_buffer "SB" : !tir.buffer<64x64xf32, "shared">
            %row = tir.mul %by, %c32 : i32
            %col = tir.mul %bx, %c32 : i32
            %k4 = tir.mul %ko, %c4 : i32
            tir.for %f = %c0 to %c3 {
              %0 = tir.mul %f, %c64 : i32
              %1 = tir.add %0, %tx : i32
              %2 = tir.cmp lt %1, %c128 : i32
              %3 = tir.cmp lt %f, %c2 : i32
              %4 = tir.cmp lt %tx, %c64 : i32
              %5 = tir.and %2, %3 : i1
              %6 = tir.and %5, %4 : i1
              tir.block where %6 {
                %7 = tir.floordiv %1, %c4 : i32
                %8 = tir.floormod %1, %c4 : i32
                %9 = tir.add %row, %7 : i32
                %10 = tir.add %k4, %8 : i32
                %x = tir.load %A[%9, %10] : f32
                tir.store %x, %SA[%9, %10] : f32
              }
              tir.block where %6 {
                %7 = tir.floordiv %1, %c32 : i32
                %8 = tir.floormod %1, %c32 : i32
                %9 = tir.add %k4, %7 : i32
                %10 = tir.add %col, %8 : i32
                %x = tir.load %B[%9, %10] : f32
                tir.store %x, %SB[%9, %10] : f32
              }
            }
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @cooperative
// CHECK:       tir.alloc_buffer "SA" : !tir.buffer<32x4xf32, "shared">
// CHECK:       tir.alloc_buffer "SB" : !tir.buffer<4x32xf32, "shared">

// -----

// CASE: CompactBufferAllocation.21
tir.func @diagonal(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "diagonal"} {
  %A = tir.match_buffer %a : !tir.buffer<256xf32>
  %C = tir.match_buffer %c : !tir.buffer<256xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c60 = tir.const 60 : i32
  %c64 = tir.const 64 : i32
  tir.for %i = %c0 to %c4 {
    tir.block {
      %B = tir.alloc_buffer "B" : !tir.buffer<256x256xf32>
      %i64 = tir.mul %i, %c64 : i32
      tir.for %j = %c0 to %c8 {
        tir.for %k = %c0 to %c8 {
          %0 = tir.mul %j, %c8 : i32
          %1 = tir.add %0, %k : i32
          %2 = tir.cmp lt %1, %c60 : i32
          tir.block where %2 {
            %3 = tir.add %i64, %0 : i32
            %4 = tir.add %3, %k : i32
            %x = tir.load %A[%4] : f32
            tir.store %x, %B[%4, %4] : f32
            %y = tir.load %B[%4, %4] : f32
            tir.store %y, %C[%4] : f32
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @diagonal
// CHECK:       tir.alloc_buffer "B" : !tir.buffer<60x60xf32>

// -----

// CASE: CompactBufferAllocation.22
tir.func @packed(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "packed"} {
  %A = tir.match_buffer %a : !tir.buffer<510xf32>
  %C = tir.match_buffer %c : !tir.buffer<510xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c16 = tir.const 16 : i32
  %c255 = tir.const 255 : i32
  tir.for %i0 = %c0 to %c2 {
    tir.block {
      %B = tir.alloc_buffer "B" : !tir.buffer<2x1x16x1x16xf32, "local">
      tir.for %ax0 = %c0 to %c16 {
        tir.for %ax1 = %c0 to %c16 {
          %0 = tir.mul %ax0, %c16 : i32
          %1 = tir.add %0, %ax1 : i32
          %2 = tir.cmp lt %1, %c255 : i32
          tir.block where %2 {
            %3 = tir.mul %i0, %c255 : i32
            %4 = tir.add %3, %1 : i32
            %5 = tir.floordiv %4, %c255 : i32
            %6 = tir.floormod %4, %c255 : i32
            %7 = tir.floordiv %6, %c16 : i32
            %8 = tir.floormod %6, %c16 : i32
            %x = tir.load %A[%4] : f32
            tir.store %x, %B[%5, %c0, %7, %c0, %8] : f32
            %y = tir.load %B[%5, %c0, %7, %c0, %8] : f32
            tir.store %y, %C[%4] : f32
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @packed
// CHECK:       tir.alloc_buffer "B" : !tir.buffer<1x1x16x1x16xf32, "local">

// -----

// CASE: CompactBufferAllocation.23
tir.func @tiles(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "tiles"} {
  %A = tir.match_buffer %a : !tir.buffer<50x4xf32>
  %C = tir.match_buffer %c : !tir.buffer<50x4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c24 = tir.const 24 : i32
  %c26 = tir.const 26 : i32
  %p = tir.allocate [50, 4] : !tir.ptr<f32, "local">
  %B = tir.decl_buffer "B" %p : !tir.buffer<50x4xf32, "local">
  tir.for %i = %c0 to %c26 {
    tir.for %j = %c0 to %c4 {
      %x = tir.load %A[%i, %j] : f32
      tir.store %x, %B[%i, %j] : f32
      %y = tir.load %B[%i, %j] : f32
      tir.store %y, %C[%i, %j] : f32
    }
  }
  %q = tir.allocate [50, 4] : !tir.ptr<f32, "local">
  %D = tir.decl_buffer "D" %q : !tir.buffer<50x4xf32, "local">
  tir.for %i = %c0 to %c24 {
    tir.for %j = %c0 to %c4 {
      %0 = tir.add %i, %c26 : i32
      %x = tir.load %A[%0, %j] : f32
      tir.store %x, %D[%0, %j] : f32
      %y = tir.load %D[%0, %j] : f32
      tir.store %y, %C[%0, %j] : f32
    }
  }
}

// CHECK-LABEL: tir.func @tiles
// CHECK:       %[[P:.*]] = tir.allocate [26, 4] : !tir.ptr<f32, "local">
// CHECK-NEXT:  tir.decl_buffer "B" %[[P]] : !tir.buffer<26x4xf32, "local">
// CHECK:       %[[Q:.*]] = tir.allocate [24, 4] : !tir.ptr<f32, "local">
// CHECK-NEXT:  %[[D:.*]] = tir.decl_buffer "D" %[[Q]] : !tir.buffer<24x4xf32, "local">
// CHECK:       tir.store %{{.*}}, %[[D]][%i{{.*}}, %j{{.*}}] : f32

// -----

// CASE: CompactBufferAllocation.24
tir.func @beyond(%n: i32) {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c32 = tir.const 32 : i32
  %one = tir.const 1.0 : f32
  tir.for %io = %c0 to %c4 {
    tir.for %jo = %c0 to %c4 {
      tir.block {
        %A = tir.alloc_buffer "A" : !tir.buffer<127x127xf32>
        %B = tir.alloc_buffer "B" : !tir.buffer<127x127xf32>
        %C = tir.alloc_buffer "C" : !tir.buffer<127x127xf32>
        tir.for %ii = %c0 to %c32 {
          tir.for %jj = %c0 to %c32 {
            tir.for %ko = %c0 to %c4 {
              tir.for %ki = %c0 to %c32 {
                %0 = tir.mul %io, %c32 : i32
                %1 = tir.mul %jo, %c32 : i32
                %2 = tir.mul %ko, %c32 : i32
                %i = tir.add %0, %ii : i32
                %j = tir.add %1, %jj : i32
                %k = tir.add %2, %ki : i32
                tir.store %one, %A[%i, %k] : f32
                tir.store %one, %B[%k, %j] : f32
                tir.store %one, %C[%i, %j] : f32
              }
            }
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @beyond
// CHECK:       tir.alloc_buffer "A" : !tir.buffer<32x127xf32>
// CHECK:       tir.alloc_buffer "B" : !tir.buffer<127x32xf32>
// CHECK:       tir.alloc_buffer "C" : !tir.buffer<32x32xf32>
// LOOSE-LABEL: tir.func @beyond
// LOOSE:       tir.alloc_buffer "A" : !tir.buffer<32x128xf32>
// LOOSE:       tir.alloc_buffer "B" : !tir.buffer<128x32xf32>
// LOOSE:       tir.alloc_buffer "C" : !tir.buffer<32x32xf32>

// -----

// CASE: CompactBufferAllocation.25
tir.func @two_views(%c: !tir.handle) attributes {global_symbol = "two_views"} {
  %C = tir.match_buffer %c : !tir.buffer<8xi8>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %half = tir.const 0.5 : f16
  %p = tir.allocate [1024] : !tir.ptr<i8>
  %B = tir.decl_buffer "B" %p : !tir.buffer<1024xi8>
  %D = tir.decl_buffer "D" %p : !tir.buffer<512xf16>
  tir.for %i = %c0 to %c8 {
    tir.store %half, %D[%i] : f16
    %x = tir.load %B[%i] : i8
    tir.store %x, %C[%i] : i8
  }
}

// CHECK-LABEL: tir.func @two_views
// CHECK:       tir.allocate [1024] : !tir.ptr<i8>
// CHECK-NEXT:  tir.decl_buffer "B" %{{.*}} : !tir.buffer<1024xi8>
// CHECK-NEXT:  tir.decl_buffer "D" %{{.*}} : !tir.buffer<512xf16>

// -----

// CASE: CompactBufferAllocation.26
tir.func @other_type(%c: !tir.handle) attributes {global_symbol = "other_type"} {
  %C = tir.match_buffer %c : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %p = tir.allocate [64] : !tir.ptr<i8>
  %B = tir.decl_buffer "B" %p : !tir.buffer<16xi32>
  tir.for %i = %c0 to %c8 {
    tir.store %i, %B[%i] : i32
    %x = tir.load %B[%i] : i32
    tir.store %x, %C[%i] : i32
  }
}

// CHECK-LABEL: tir.func @other_type
// CHECK:       tir.allocate [64] : !tir.ptr<i8>
// CHECK-NEXT:  tir.decl_buffer "B" %{{.*}} : !tir.buffer<16xi32>

// -----

// CASE: CompactBufferAllocation.27
tir.func @not_zero(%c: !tir.handle) attributes {global_symbol = "not_zero"} {
  %C = tir.match_buffer %c : !tir.buffer<10xi32>
  %c0 = tir.const 0 : i32
  %c10 = tir.const 10 : i32
  %p = tir.allocate [10] : !tir.ptr<i32>
  %A = tir.decl_buffer "A" %p : !tir.buffer<10xi32>
  tir.for %i = %c0 to %c10 {
    %nonzero = tir.cmp ne %i, %c0 : i32
    tir.if %nonzero {
      tir.store %i, %A[%i] : i32
      %x = tir.load %A[%i] : i32
      tir.store %x, %C[%i] : i32
    }
  }
}

// CHECK-LABEL: tir.func @not_zero
// CHECK:       %[[P:.*]] = tir.allocate [9] : !tir.ptr<i32>
// CHECK:       %[[A:.*]] = tir.decl_buffer "A" %[[P]] : !tir.buffer<9xi32>
// CHECK:       %[[I:.*]] = tir.sub %i, %{{.*}} : i32
// CHECK-NEXT:  tir.store %i, %[[A]][%[[I]]] : i32

// -----

// CASE: CompactBufferAllocation.28
tir.func @symbolic_rows(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "symbolic_rows"} {
  %n = tir.shape_var "n" : i64
  %A = tir.match_buffer %a [%n] : !tir.buffer<8x?x32xf32>
  %C = tir.match_buffer %c [%n] : !tir.buffer<8x?x32xf32>
  %c0 = tir.const 0 : i64
  %c8 = tir.const 8 : i64
  %c32 = tir.const 32 : i64
  %n32 = tir.mul %n, %c32 : i64
  tir.for %i = %c0 to %c8 {
    tir.for %k = %c0 to %n {
      tir.block {
        %B = tir.alloc_buffer "B" [%n32] : !tir.buffer<8x?xf32>
        tir.for %ax = %c0 to %c32 {
          tir.block {
            %0 = tir.mul %k, %c32 : i64
            %1 = tir.add %0, %ax : i64
            %x = tir.load %A[%i, %k, %ax] : f32
            tir.store %x, %B[%i, %1] : f32
            %y = tir.load %B[%i, %1] : f32
            tir.store %y, %C[%i, %k, %ax] : f32
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @symbolic_rows
// CHECK:       %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<1x32xf32>
// CHECK:       tir.store %{{.*}}, %[[B]][%{{.*}}, %ax] : f32

// -----

// CASE: CompactBufferAllocation.29
tir.func @grid_stride(%a: !tir.handle) attributes {global_symbol = "grid_stride"} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer %a [%n, %n] : !tir.buffer<?x?xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %nn = tir.mul %n, %n : i32
  %c15 = tir.const 15 : i32
  %up = tir.add %nn, %c15 : i32
  %steps = tir.floordiv %up, %c16 : i32
  %one = tir.const 1.0 : f32
  tir.block {
    %B = tir.alloc_buffer "B" [%n, %n] : !tir.buffer<?x?xf32>
    tir.for %k = %c0 to %steps {
      tir.for %i = %c0 to %c2 {
        tir.for %j = %c0 to %c8 {
          %0 = tir.mul %k, %c16 : i32
          %1 = tir.mul %i, %c8 : i32
          %2 = tir.add %0, %1 : i32
          %3 = tir.add %2, %j : i32
          %4 = tir.cmp lt %3, %nn : i32
          tir.block where %4 {
            %5 = tir.floordiv %3, %n : i32
            %6 = tir.floormod %3, %n : i32
            tir.store %one, %B[%5, %6] : f32
            %x = tir.load %B[%5, %6] : f32
            tir.store %x, %A[%5, %6] : f32
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @grid_stride
// CHECK:       tir.block {
// CHECK-NEXT:    tir.alloc_buffer "B" [%n, %n] : !tir.buffer<?x?xf32>

// -----

// CASE: CompactBufferAllocation.30
tir.func @triangle(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "triangle"} {
  %A = tir.match_buffer %a : !tir.buffer<16x16xf32>
  %C = tir.match_buffer %c : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    tir.block {
      %B = tir.alloc_buffer "B" : !tir.buffer<16x20xf32>
      %end = tir.add %i, %c1 : i32
      tir.for %j = %c0 to %end {
        %x = tir.load %A[%i, %j] : f32
        tir.store %x, %B[%i, %j] : f32
        %y = tir.load %B[%i, %j] : f32
        tir.store %y, %C[%i, %j] : f32
      }
    }
  }
}

// CHECK-LABEL: tir.func @triangle
// CHECK:       tir.alloc_buffer "B" : !tir.buffer<1x16xf32>

// -----

// Nests that were fused under one loop over rows keep one row of what is between them.
tir.func @softmax(%a: !tir.handle, %o: !tir.handle) attributes {global_symbol = "softmax"} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer %a [%n] : !tir.buffer<?x12xf32>
  %O = tir.match_buffer %o [%n] : !tir.buffer<?x12xf32>
  %c0 = tir.const 0 : i32
  %c12 = tir.const 12 : i32
  %zero = tir.const 0.0 : f32
  %low = tir.const -1.0e+30 : f32
  tir.for %i = %c0 to %n parallel {
    tir.block {
      %M = tir.alloc_buffer "M" [%n] : !tir.buffer<?xf32>
      %E = tir.alloc_buffer "E" [%n] : !tir.buffer<?x12xf32>
      %S = tir.alloc_buffer "S" [%n] : !tir.buffer<?xf32>
      tir.store %low, %M[%i] : f32
      tir.for %j = %c0 to %c12 {
        %x = tir.load %A[%i, %j] : f32
        %m = tir.load %M[%i] : f32
        %y = tir.max %x, %m : f32
        tir.store %y, %M[%i] : f32
      }
      tir.for %j = %c0 to %c12 vectorized {
        %x = tir.load %A[%i, %j] : f32
        %m = tir.load %M[%i] : f32
        %y = tir.sub %x, %m : f32
        %z = tir.call "exp"(%y) : (f32) -> f32
        tir.store %z, %E[%i, %j] : f32
      }
      tir.store %zero, %S[%i] : f32
      tir.for %j = %c0 to %c12 {
        %x = tir.load %E[%i, %j] : f32
        %m = tir.load %S[%i] : f32
        %y = tir.add %x, %m : f32
        tir.store %y, %S[%i] : f32
      }
      tir.for %j = %c0 to %c12 {
        %x = tir.load %E[%i, %j] : f32
        %m = tir.load %S[%i] : f32
        %y = tir.div %x, %m : f32
        tir.store %y, %O[%i, %j] : f32
      }
    }
  }
}

// CHECK-LABEL: tir.func @softmax
// CHECK:       tir.for %i = %c0 to %n parallel
// CHECK:       %[[M:.*]] = tir.alloc_buffer "M" : !tir.buffer<1xf32>
// CHECK:       %[[E:.*]] = tir.alloc_buffer "E" : !tir.buffer<1x12xf32>
// CHECK:       %[[S:.*]] = tir.alloc_buffer "S" : !tir.buffer<1xf32>
// CHECK-NOT:   tir.load %[[E]][%i

// -----

// Where rows are handled in tiles with a rest, a tile of them is kept.
tir.func @row_tiles(%a: !tir.handle, %o: !tir.handle) attributes {global_symbol = "row_tiles"} {
  %A = tir.match_buffer %a : !tir.buffer<10x6xf32>
  %O = tir.match_buffer %o : !tir.buffer<10x6xf32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c6 = tir.const 6 : i32
  %c10 = tir.const 10 : i32
  tir.for %io = %c0 to %c3 parallel {
    tir.block {
      %E = tir.alloc_buffer "E" : !tir.buffer<10x6xf32>
      %base = tir.mul %io, %c4 : i32
      tir.for %ii = %c0 to %c4 {
        %i = tir.add %base, %ii : i32
        %in = tir.cmp lt %i, %c10 : i32
        tir.for %j = %c0 to %c6 {
          tir.block where %in {
            tir.reads %A[%i, %j]
            tir.writes %E[%i, %j]
            %x = tir.load %A[%i, %j] : f32
            tir.store %x, %E[%i, %j] : f32
          }
        }
      }
      tir.for %ii = %c0 to %c4 {
        %i = tir.add %base, %ii : i32
        %in = tir.cmp lt %i, %c10 : i32
        tir.for %j = %c0 to %c6 {
          tir.block where %in {
            %x = tir.load %E[%i, %j] : f32
            tir.store %x, %O[%i, %j] : f32
          }
        }
      }
    }
  }
}

// CHECK-LABEL: tir.func @row_tiles
// CHECK:       %[[E:.*]] = tir.alloc_buffer "E" : !tir.buffer<4x6xf32>
// CHECK:       tir.writes %[[E]][%ii, %j]
// CHECK:       tir.store %{{.*}}, %[[E]][%ii, %j] : f32

// -----

// The loop may have no iteration: what is accessed after it counts by itself.
tir.func @no_iteration(%a: !tir.handle, %n: i32) attributes {global_symbol = "no_iteration"} {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c8 = tir.const 8 : i32
  %size = tir.max %n, %c2 : i32
  %m = tir.sub %n, %c8 : i32
  %B = tir.alloc_buffer "B" [%size] : !tir.buffer<?xi32>
  tir.for %i = %c0 to %m {
    tir.store %i, %B[%i] : i32
  }
  tir.store %n, %B[%c0] : i32
  %x = tir.load %B[%c0] : i32
  tir.store %x, %A[%c0] : i32
}

// CHECK-LABEL: tir.func @no_iteration
// CHECK:       %[[M:.*]] = tir.max %{{.*}}, %{{.*}} : i32
// CHECK:       %[[E:.*]] = tir.add %[[M]], %{{.*}} : i32
// CHECK-NEXT:  tir.alloc_buffer "B" [%[[E]]] : !tir.buffer<?xi32>

// -----

// A constant extent stays one, and an extent is never negative.
tir.func @extents(%a: !tir.handle, %k: i32) attributes {global_symbol = "extents"} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %m = tir.sub %k, %c4 : i32
  %B = tir.alloc_buffer "B" : !tir.buffer<16xi32>
  %p = tir.cmp le %k, %c16 : i32
  tir.if %p {
    tir.for %i = %c0 to %k {
      tir.store %i, %B[%i] : i32
    }
  }
  %n4 = tir.mul %n, %c4 : i32
  %D = tir.alloc_buffer "D" [%n4] : !tir.buffer<?xi32>
  %q = tir.cmp le %m, %n4 : i32
  tir.if %q {
    tir.for %i = %c0 to %m {
      tir.store %i, %D[%i] : i32
    }
  }
}

// CHECK-LABEL: tir.func @extents
// CHECK:       tir.alloc_buffer "B" : !tir.buffer<16xi32>
// CHECK:       %[[E:.*]] = tir.max
// CHECK:       tir.alloc_buffer "D" [%[[E]]] : !tir.buffer<?xi32>

// -----

// What knows the layout keeps it: no element moves, so only rows after the last go.
tir.func @layout(%a: !tir.handle) attributes {global_symbol = "layout"} {
  %A = tir.match_buffer %a : !tir.buffer<2x4xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  tir.block {
    // The view states strides; the other one leaves them open.
    %B = tir.alloc_buffer "B" : !tir.buffer<16x16xf32>
    %D = tir.alloc_buffer "D" : !tir.buffer<16x16xf32>
    %s = tir.shape_var "s" : i32
    %o = tir.shape_var "o" : i32
    tir.block {
      %V = tir.match_region "V" %B[%c0 to 2, %c0 to 4] strides [16, 1] : !tir.buffer<2x4xf32>
      %W = tir.match_region "W" %D[%c1 to %c1 + 2, %c4 to %c4 + 4] strides [%s, 1] offset %o : !tir.buffer<2x4xf32>
      tir.for %i = %c0 to %c2 {
        tir.for %j = %c0 to %c4 {
          tir.store %one, %V[%i, %j] : f32
          tir.store %one, %W[%i, %j] : f32
          %x = tir.load %V[%i, %j] : f32
          %y = tir.load %W[%i, %j] : f32
          %z = tir.add %x, %y : f32
          tir.store %z, %A[%i, %j] : f32
        }
      }
    }
    // The memory is looked at as another shape, and the address is taken.
    %E = tir.alloc_buffer "E" : !tir.buffer<16x16xf32>
    %p = tir.data %E : !tir.ptr<f32>
    %F = tir.decl_buffer "F" %p : !tir.buffer<256xf32>
    tir.store %one, %E[%c1, %c1] : f32
    %G = tir.alloc_buffer "G" : !tir.buffer<16x16xf32>
    %q = tir.address_of %G[%c1, %c1] : !tir.ptr<f32>
    %l = tir.let "l" %q : !tir.ptr<f32>
    tir.store %one, %G[%c1, %c1] : f32
  }
}

// CHECK-LABEL: tir.func @layout
// CHECK:       tir.alloc_buffer "B" : !tir.buffer<2x16xf32>
// CHECK:       %[[D:.*]] = tir.alloc_buffer "D" : !tir.buffer<2x4xf32>
// CHECK:       tir.match_region "W" %[[D]][%[[Z:.*]] to 2, %[[Z]] to 4] strides [%s, 1] offset %o
// CHECK:       tir.alloc_buffer "E" : !tir.buffer<16x16xf32>
// CHECK:       tir.alloc_buffer "G" : !tir.buffer<16x16xf32>

// -----

// Strides that are not those of rows side by side stay, unless some are asked for.
tir.func @strides(%a: !tir.handle) attributes {global_symbol = "strides"} {
  %A = tir.match_buffer %a : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 {
    tir.block {
      %B = tir.alloc_buffer "B" strides [17, 1] : !tir.buffer<16x16xf32>
      %D = tir.alloc_buffer "D" strides [16, 1] : !tir.buffer<16x16xf32>
      tir.for %j = %c0 to %c8 {
        %x = tir.load %A[%i, %j] : f32
        tir.store %x, %B[%i, %j] : f32
        tir.store %x, %D[%i, %j] : f32
        %y = tir.load %B[%i, %j] : f32
        %z = tir.load %D[%i, %j] : f32
        %w = tir.add %y, %z : f32
        tir.store %w, %A[%i, %j] : f32
      }
    }
  }
}

// CHECK-LABEL: tir.func @strides
// CHECK:       tir.alloc_buffer "B" strides [17, 1] : !tir.buffer<1x8xf32>
// CHECK:       tir.alloc_buffer "D" : !tir.buffer<1x8xf32>

// -----

// A program with barriers of its own does not reuse memory from iteration to iteration.
tir.func @barriers(%a: !tir.handle) attributes {global_symbol = "barriers"} {
  %A = tir.match_buffer %a : !tir.buffer<4x8xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c7 = tir.const 7 : i32
  %c8 = tir.const 8 : i32
  %shared = tir.string "shared"
  tir.launch_thread %t = "threadIdx.x" to %c8 {
    tir.for %i = %c0 to %c4 {
      tir.block {
        %S = tir.alloc_buffer "S" : !tir.buffer<6x16xi32, "shared">
        tir.store %t, %S[%i, %t] : i32
        tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
        %u = tir.sub %c7, %t : i32
        %x = tir.load %S[%i, %u] : i32
        tir.store %x, %A[%i, %t] : i32
      }
    }
  }
}

// CHECK-LABEL: tir.func @barriers
// CHECK:       tir.alloc_buffer "S" : !tir.buffer<4x8xi32, "shared">

// -----

// A loop that runs over numbers of the thread is relaxed along with it.
tir.func @thread_bounds(%a: !tir.handle) attributes {global_symbol = "thread_bounds"} {
  %A = tir.match_buffer %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c8 = tir.const 8 : i32
  tir.launch_thread %t = "threadIdx.x" to %c8 {
    %first = tir.mul %t, %c2 : i32
    tir.for %i = %first to %first + %c2 {
      tir.block {
        %S = tir.alloc_buffer "S" : !tir.buffer<64xi32, "shared">
        tir.store %t, %S[%i] : i32
        %x = tir.load %S[%i] : i32
        tir.store %x, %A[%i] : i32
      }
    }
  }
}

// CHECK-LABEL: tir.func @thread_bounds
// CHECK:       tir.alloc_buffer "S" : !tir.buffer<16xi32, "shared">

// -----

// A warp of 32 threads has several values of the second axis here, but one after.
tir.func @warps(%a: !tir.handle) attributes {global_symbol = "warps"} {
  %A = tir.match_buffer %a : !tir.buffer<4x32xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c32 = tir.const 32 : i32
  tir.launch_thread %y = "threadIdx.y" to %c4 {
    tir.launch_thread %x = "threadIdx.x" to %c8 {
      tir.block {
        %W = tir.alloc_buffer "W" : !tir.buffer<4x32xi32, "warp">
        tir.store %x, %W[%y, %x] : i32
        %v = tir.load %W[%y, %x] : i32
        tir.store %v, %A[%y, %x] : i32
      }
    }
  }
  tir.launch_thread %y = "threadIdx.y" to %c4 {
    tir.launch_thread %x = "threadIdx.x" to %c32 {
      tir.block {
        %W = tir.alloc_buffer "V" : !tir.buffer<4x32xi32, "warp">
        tir.store %x, %W[%y, %x] : i32
        %v = tir.load %W[%y, %x] : i32
        tir.store %v, %A[%y, %x] : i32
      }
    }
  }
}

// CHECK-LABEL: tir.func @warps
// CHECK:       tir.alloc_buffer "W" : !tir.buffer<4x8xi32, "warp">
// CHECK:       tir.alloc_buffer "V" : !tir.buffer<1x32xi32, "warp">

// -----

// Regions that are right as they are stand for the accesses of their block.
tir.func @explicit(%a: !tir.handle, %i: !tir.handle) attributes {global_symbol = "explicit"} {
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %I = tir.match_buffer %i : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c7 = tir.const 7 : i32
  %c8 = tir.const 8 : i32
  tir.block {
    %B = tir.alloc_buffer "B" : !tir.buffer<64xi32>
    tir.for %j = %c0 to %c8 {
      tir.block annotations {explicit_write_region = [0 : i32]} {
        tir.reads %I[%j]
        tir.writes %B[%c0 to 8]
        %x = tir.load %I[%j] : i32
        %k = tir.call "bitwise_and"(%x, %c7) : (i32, i32) -> i32
        tir.block {
          tir.store %j, %B[%k] : i32
        }
        tir.store %j, %B[%j] : i32
      }
    }
    tir.for %j = %c0 to %c8 {
      tir.block annotations {explicit_read_region = [1 : i32]} {
        tir.reads %I[%j], %B[%c0 to 8]
        tir.writes %A[%j]
        %x = tir.load %I[%j] : i32
        %k = tir.call "bitwise_and"(%x, %c7) : (i32, i32) -> i32
        %y = tir.load %B[%k] : i32
        tir.store %y, %A[%j] : i32
      }
    }
  }
}

// CHECK-LABEL: tir.func @explicit
// CHECK:       tir.alloc_buffer "B" : !tir.buffer<8xi32>
// CHECK:       tir.writes %B[%{{.*}} to 8]

// -----

// Vectors are accesses of all their lanes, and stay vectors.
tir.func @vectors(%a: !tir.handle) attributes {global_symbol = "vectors"} {
  %A = tir.match_buffer %a : !tir.buffer<32xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 {
    tir.block {
      %B = tir.alloc_buffer "B" : !tir.buffer<8x32xf32>
      %0 = tir.mul %i, %c4 : i32
      %1 = tir.ramp %0, %c1 : vector<4xi32>
      %x = tir.load %A[%1] : vector<4xf32>
      tir.store %x, %B[%i, %1] : vector<4xf32>
      %y = tir.load %B[%i, %1] : vector<4xf32>
      tir.store %y, %A[%1] : vector<4xf32>
    }
  }
}

// CHECK-LABEL: tir.func @vectors
// CHECK:       %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<1x4xf32>
// CHECK:       tir.load %A
// CHECK:       %[[R:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK:       tir.store %{{.*}}, %[[B]][%{{.*}}, %[[R]]] : vector<4xf32>

// -----

// A result of a reduction over threads is an access, and a load of an index is one.
tir.func @places(%a: !tir.handle) attributes {global_symbol = "places"} {
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c5 = tir.const 5 : i32
  %c8 = tir.const 8 : i32
  %add = tir.reducer (%x : i32, %y : i32) identity [0 : i32] {
    %z = tir.add %x, %y : i32
    tir.yield %z : i32
  }
  tir.launch_thread %t = "threadIdx.x" to %c8 {
    tir.block {
      %R = tir.alloc_buffer "R" : !tir.buffer<16xi32, "local">
      %N = tir.alloc_buffer "N" : !tir.buffer<16xi32, "local">
      tir.attr "reduce_scope" (%add) = 0 : i32 {
        tir.thread_allreduce [%t] into [%R[%c5]] over [%t]
      }
      tir.store %t, %N[%c5] : i32
      %i = tir.load %N[%c5] : i32
      %x = tir.load %R[%c5] : i32
      tir.store %x, %A[%i] : i32
    }
  }
}

// CHECK-LABEL: tir.func @places
// CHECK:       %[[R:.*]] = tir.alloc_buffer "R" : !tir.buffer<1xi32, "local">
// CHECK:       tir.alloc_buffer "N" : !tir.buffer<1xi32, "local">
// CHECK:       tir.thread_allreduce [%t] into [%[[R]][%{{.*}}]] over [%t]

// -----

// CASE: CompactBufferAllocation.31
tir.func @left_alone(%a: !tir.handle) attributes {global_symbol = "left_alone"} {
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.block {
    // Never accessed; never while it runs.
    %B = tir.alloc_buffer "B" : !tir.buffer<64xi32>
    %D = tir.alloc_buffer "D" : !tir.buffer<64xi32>
    tir.for %i = %c0 to %c0 {
      tir.store %i, %D[%i] : i32
    }
    // Two views of one memory.
    %E = tir.alloc_buffer "E" : !tir.buffer<64xi32>
    %p = tir.data %E : !tir.ptr<i32>
    %F = tir.decl_buffer "F" %p : !tir.buffer<8x8xi32>
    tir.for %i = %c0 to %c8 {
      tir.store %i, %E[%i] : i32
      %x = tir.load %F[%c0, %i] : i32
      tir.store %x, %A[%i] : i32
    }
    // Indices of a type that wraps around.
    %G = tir.alloc_buffer "G" : !tir.buffer<256xi32>
    tir.for %i = %c0 to %c8 {
      %u = tir.cast %i : i32 to ui8
      tir.store %i, %G[%u] : i32
    }
  }
}

// CHECK-LABEL: tir.func @left_alone
// CHECK:       tir.alloc_buffer "B" : !tir.buffer<64xi32>
// CHECK-NEXT:  tir.alloc_buffer "D" : !tir.buffer<64xi32>
// CHECK:       tir.alloc_buffer "E" : !tir.buffer<64xi32>
// CHECK:       tir.alloc_buffer "G" : !tir.buffer<256xi32>
