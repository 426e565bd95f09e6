// RUN: xdsl-opt %s -p tir-inject-rolling-buffer --split-input-file | filecheck %s

// Two pooling stages: the rows that two tiles have in common are computed once.
// CASE: InjectRollingBuffer.1
tir.func @pooling(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<1x12x14x16xi8>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %c6 = tir.const 6 : i32
  %c8 = tir.const 8 : i32
  %c12 = tir.const 12 : i32
  %c16 = tir.const 16 : i32
  %low = tir.const -128 : i8
  %O = tir.buffer_realize "O" bounds [%c0 to %c0 + 1, %c0 to %c0 + 8, %c0 to %c0 + 8, %c0 to %c0 + 16] : !tir.buffer<1x8x8x16xi8>
  tir.for "o" %o = %c0 to %c2 {
    %row = tir.mul %o, %c4 : i32
    %T = tir.buffer_realize "T2" bounds [%c0 to %c0 + 1, %row to %row + 6, %c0 to %c0 + 12, %c0 to %c0 + 16] annotations {"rolling_buffer_scope" = true} : !tir.buffer<1x10x12x16xi8>
    tir.for "ax1" %r = %c0 to %c6 {
      tir.for "ax2" %c = %c0 to %c12 {
        tir.for "ax3" %ch = %c0 to %c16 {
          %t = tir.add %r, %row : i32
          tir.store %low, %T[%c0, %t, %c, %ch] : i8
          tir.for "dh" %dh = %c0 to %c3 {
            tir.for "dw" %dw = %c0 to %c3 {
              %old = tir.load %T[%c0, %t, %c, %ch] : i8
              %h = tir.add %t, %dh : i32
              %w = tir.add %c, %dw : i32
              %x = tir.load %A[%c0, %h, %w, %ch] : i8
              %new = tir.max %old, %x : i8
              tir.store %new, %T[%c0, %t, %c, %ch] : i8
            }
          }
        }
      }
    }
    tir.for "i" %r = %c0 to %c4 {
      tir.for "j" %c = %c0 to %c8 {
        tir.for "k" %ch = %c0 to %c16 {
          %t = tir.add %r, %row : i32
          tir.store %low, %O[%c0, %t, %c, %ch] : i8
          tir.for "dh" %dh = %c0 to %c3 {
            tir.for "dw" %dw = %c0 to %c5 {
              %old = tir.load %O[%c0, %t, %c, %ch] : i8
              %h = tir.add %t, %dh : i32
              %w = tir.add %c, %dw : i32
              %x = tir.load %T[%c0, %h, %w, %ch] : i8
              %new = tir.max %old, %x : i8
              tir.store %new, %O[%c0, %t, %c, %ch] : i8
            }
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @pooling
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<1x12x14x16xi8>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[C3:.*]] = tir.const 3 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[C5:.*]] = tir.const 5 : i32
// CHECK-NEXT:     %[[C6:.*]] = tir.const 6 : i32
// CHECK-NEXT:     %[[C8:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[C12:.*]] = tir.const 12 : i32
// CHECK-NEXT:     %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:     %[[LOW:.*]] = tir.const -128 : i8
// CHECK-NEXT:     %[[O:.*]] = tir.buffer_realize "O" bounds [%[[C0]], %[[C0]] to 8, %[[C0]] to 8, %[[C0]] to 16] : !tir.buffer<1x8x8x16xi8>
// CHECK-NEXT:     %[[V0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[T:.*]] = tir.buffer_realize "T2" bounds [%[[V0]], %[[V0]] to 6, %[[V0]] to 12, %[[V0]] to 16] : !tir.buffer<1x10x12x16xi8>
// CHECK-NEXT:     tir.for "o" %[[O_:.*]] = %[[C0]] to %[[C2]] {
// CHECK-NEXT:       %[[ROW:.*]] = tir.mul %[[O_]], %[[C4]] : i32
// CHECK-NEXT:       tir.for "ax1" %[[R:.*]] = %[[C0]] to %[[C6]] {
// CHECK-NEXT:         tir.for "ax2" %[[C:.*]] = %[[C0]] to %[[C12]] {
// CHECK-NEXT:           tir.for "ax3" %[[CH:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:             %[[T_:.*]] = tir.add %[[R]], %[[ROW]] : i32
// CHECK-NEXT:             %[[V1:.*]] = tir.const 1 : i32
// CHECK-NEXT:             %[[V2:.*]] = tir.cmp lt %[[O_]], %[[V1]] : i32
// CHECK-NEXT:             %[[V3:.*]] = tir.const 2 : i32
// CHECK-NEXT:             %[[V4:.*]] = tir.cmp ge %[[R]], %[[V3]] : i32
// CHECK-NEXT:             %[[V5:.*]] = tir.or %[[V2]], %[[V4]] : i1
// CHECK-NEXT:             %[[V6:.*]] = tir.call "likely"(%[[V5]]) : (i1) -> i1
// CHECK-NEXT:             tir.if %[[V6]] {
// CHECK-NEXT:               %[[V7:.*]] = tir.const 6 : i32
// CHECK-NEXT:               %[[V8:.*]] = tir.floormod %[[T_]], %[[V7]] : i32
// CHECK-NEXT:               tir.store %[[LOW]], %[[T]][%[[C0]], %[[V8]], %[[C]], %[[CH]]] : i8
// CHECK-NEXT:             }
// CHECK-NEXT:             tir.for "dh" %[[DH:.*]] = %[[C0]] to %[[C3]] {
// CHECK-NEXT:               tir.for "dw" %[[DW:.*]] = %[[C0]] to %[[C3]] {
// CHECK-NEXT:                 %[[V9:.*]] = tir.const 1 : i32
// CHECK-NEXT:                 %[[V10:.*]] = tir.cmp lt %[[O_]], %[[V9]] : i32
// CHECK-NEXT:                 %[[V11:.*]] = tir.const 2 : i32
// CHECK-NEXT:                 %[[V12:.*]] = tir.cmp ge %[[R]], %[[V11]] : i32
// CHECK-NEXT:                 %[[V13:.*]] = tir.or %[[V10]], %[[V12]] : i1
// CHECK-NEXT:                 %[[V14:.*]] = tir.call "likely"(%[[V13]]) : (i1) -> i1
// CHECK-NEXT:                 tir.if %[[V14]] {
// CHECK-NEXT:                   %[[V15:.*]] = tir.const 6 : i32
// CHECK-NEXT:                   %[[V16:.*]] = tir.floormod %[[T_]], %[[V15]] : i32
// CHECK-NEXT:                   %[[OLD:.*]] = tir.load %[[T]][%[[C0]], %[[V16]], %[[C]], %[[CH]]] : i8
// CHECK-NEXT:                   %[[H:.*]] = tir.add %[[T_]], %[[DH]] : i32
// CHECK-NEXT:                   %[[W:.*]] = tir.add %[[C]], %[[DW]] : i32
// CHECK-NEXT:                   %[[X:.*]] = tir.load %[[A]][%[[C0]], %[[H]], %[[W]], %[[CH]]] : i8
// CHECK-NEXT:                   %[[NEW:.*]] = tir.max %[[OLD]], %[[X]] : i8
// CHECK-NEXT:                   %[[V17:.*]] = tir.const 6 : i32
// CHECK-NEXT:                   %[[V18:.*]] = tir.floormod %[[T_]], %[[V17]] : i32
// CHECK-NEXT:                   tir.store %[[NEW]], %[[T]][%[[C0]], %[[V18]], %[[C]], %[[CH]]] : i8
// CHECK-NEXT:                 }
// CHECK-NEXT:               }
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:       tir.for "i" %[[R_1:.*]] = %[[C0]] to %[[C4]] {
// CHECK-NEXT:         tir.for "j" %[[C_1:.*]] = %[[C0]] to %[[C8]] {
// CHECK-NEXT:           tir.for "k" %[[CH_1:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:             %[[T_1:.*]] = tir.add %[[R_1]], %[[ROW]] : i32
// CHECK-NEXT:             tir.store %[[LOW]], %[[O]][%[[C0]], %[[T_1]], %[[C_1]], %[[CH_1]]] : i8
// CHECK-NEXT:             tir.for "dh" %[[DH_1:.*]] = %[[C0]] to %[[C3]] {
// CHECK-NEXT:               tir.for "dw" %[[DW_1:.*]] = %[[C0]] to %[[C5]] {
// CHECK-NEXT:                 %[[OLD_1:.*]] = tir.load %[[O]][%[[C0]], %[[T_1]], %[[C_1]], %[[CH_1]]] : i8
// CHECK-NEXT:                 %[[H_1:.*]] = tir.add %[[T_1]], %[[DH_1]] : i32
// CHECK-NEXT:                 %[[W_1:.*]] = tir.add %[[C_1]], %[[DW_1]] : i32
// CHECK-NEXT:                 %[[V19:.*]] = tir.const 6 : i32
// CHECK-NEXT:                 %[[V20:.*]] = tir.floormod %[[H_1]], %[[V19]] : i32
// CHECK-NEXT:                 %[[X_1:.*]] = tir.load %[[T]][%[[C0]], %[[V20]], %[[W_1]], %[[CH_1]]] : i8
// CHECK-NEXT:                 %[[NEW_1:.*]] = tir.max %[[OLD_1]], %[[X_1]] : i8
// CHECK-NEXT:                 tir.store %[[NEW_1]], %[[O]][%[[C0]], %[[T_1]], %[[C_1]], %[[CH_1]]] : i8
// CHECK-NEXT:               }
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }

// -----

// CASE: InjectRollingBuffer.2
tir.func @not_marked(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  tir.for "o" %o = %c0 to %c3 {
    %T = tir.buffer_realize "T" bounds [%o to %o + 2] annotations {"rolling_buffer_scope" = false} : !tir.buffer<4xi32>
    %x = tir.load %A[%o] : i32
    tir.store %x, %T[%o] : i32
  }
}
// CHECK-LABEL: tir.func @not_marked
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<4xi32>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C3:.*]] = tir.const 3 : i32
// CHECK-NEXT:     tir.for "o" %[[O:.*]] = %[[C0]] to %[[C3]] {
// CHECK-NEXT:       %[[T:.*]] = tir.buffer_realize "T" bounds [%[[O]] to %[[O]] + 2] annotations {rolling_buffer_scope = false} : !tir.buffer<4xi32>
// CHECK-NEXT:       %[[X:.*]] = tir.load %[[A]][%[[O]]] : i32
// CHECK-NEXT:       tir.store %[[X]], %[[T]][%[[O]]] : i32
// CHECK-NEXT:     }

// -----

// Halves of a loop's variable; other annotations go with the buffer, and a scope ends it.
// CASE: InjectRollingBuffer.3
tir.func @divided(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  tir.for "h" %h = %c0 to %c3 {
    %twice = tir.mul %h, %c2 : i32
    %low = tir.floordiv %twice, %c2 : i32
    %T = tir.buffer_realize "T" bounds [%low to %low + 2] annotations {"rolling_buffer_scope" = true, "buffer_dim_align" = [[0 : i32, 4 : i32, 1 : i32]]} : !tir.buffer<4xi32>
    tir.for "r" %r = %c0 to %c2 {
      %k = tir.add %low, %r : i32
      %x = tir.load %A[%k] : i32
      tir.store %x, %T[%k] : i32
    }
    %y = tir.load %T[%low] : i32
    tir.evaluate %y : i32
  }
  tir.for "h" %h = %c2 to %c2 + %c3 {
    %low = tir.floordiv %h, %c2 : i32
    %T = tir.buffer_realize "T" bounds [%low to %low + 2] annotations {"rolling_buffer_scope" = true} : !tir.buffer<4xi32>
    tir.for "r" %r = %low to %low + %c2 {
      %x = tir.load %A[%r] : i32
      tir.store %x, %T[%r] : i32
    }
    %y = tir.load %T[%low] : i32
    tir.evaluate %y : i32
  }
}
// CHECK-LABEL: tir.func @divided
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<4xi32>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[C3:.*]] = tir.const 3 : i32
// CHECK-NEXT:     tir.scope {
// CHECK-NEXT:       %[[V0:.*]] = tir.const 0 : i32
// CHECK-NEXT:       %[[T:.*]] = tir.buffer_realize "T" bounds [%[[V0]] to 2] annotations {buffer_dim_align = [[0 : i32, 4 : i32, 1 : i32]]} : !tir.buffer<4xi32>
// CHECK-NEXT:       tir.for "h" %[[H:.*]] = %[[C0]] to %[[C3]] {
// CHECK-NEXT:         %[[TWICE:.*]] = tir.mul %[[H]], %[[C2]] : i32
// CHECK-NEXT:         %[[LOW:.*]] = tir.floordiv %[[TWICE]], %[[C2]] : i32
// CHECK-NEXT:         tir.for "r" %[[R:.*]] = %[[C0]] to %[[C2]] {
// CHECK-NEXT:           %[[V1:.*]] = tir.const 1 : i32
// CHECK-NEXT:           %[[V2:.*]] = tir.cmp lt %[[H]], %[[V1]] : i32
// CHECK-NEXT:           %[[V3:.*]] = tir.cmp ge %[[R]], %[[V1]] : i32
// CHECK-NEXT:           %[[V4:.*]] = tir.or %[[V2]], %[[V3]] : i1
// CHECK-NEXT:           %[[V5:.*]] = tir.call "likely"(%[[V4]]) : (i1) -> i1
// CHECK-NEXT:           tir.if %[[V5]] {
// CHECK-NEXT:             %[[K:.*]] = tir.add %[[LOW]], %[[R]] : i32
// CHECK-NEXT:             %[[X:.*]] = tir.load %[[A]][%[[K]]] : i32
// CHECK-NEXT:             %[[V6:.*]] = tir.const 2 : i32
// CHECK-NEXT:             %[[V7:.*]] = tir.floormod %[[K]], %[[V6]] : i32
// CHECK-NEXT:             tir.store %[[X]], %[[T]][%[[V7]]] : i32
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:         %[[V8:.*]] = tir.const 2 : i32
// CHECK-NEXT:         %[[V9:.*]] = tir.floormod %[[LOW]], %[[V8]] : i32
// CHECK-NEXT:         %[[Y:.*]] = tir.load %[[T]][%[[V9]]] : i32
// CHECK-NEXT:         tir.evaluate %[[Y]] : i32
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     %[[V10:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[T_1:.*]] = tir.buffer_realize "T" bounds [%[[V10]] to 2] : !tir.buffer<4xi32>
// CHECK-NEXT:     tir.for "h" %[[H_1:.*]] = %[[C2]] to %[[C2]] + %[[C3]] {
// CHECK-NEXT:       %[[LOW_1:.*]] = tir.floordiv %[[H_1]], %[[C2]] : i32
// CHECK-NEXT:       tir.for "r" %[[R_1:.*]] = %[[LOW_1]] to %[[LOW_1]] + %[[C2]] {
// CHECK-NEXT:         %[[V11:.*]] = tir.const 3 : i32
// CHECK-NEXT:         %[[V12:.*]] = tir.cmp lt %[[H_1]], %[[V11]] : i32
// CHECK-NEXT:         %[[V13:.*]] = tir.const 2 : i32
// CHECK-NEXT:         %[[V14:.*]] = tir.floordiv %[[H_1]], %[[V13]] : i32
// CHECK-NEXT:         %[[V15:.*]] = tir.sub %[[R_1]], %[[V14]] : i32
// CHECK-NEXT:         %[[V16:.*]] = tir.const 1 : i32
// CHECK-NEXT:         %[[V17:.*]] = tir.cmp ge %[[V15]], %[[V16]] : i32
// CHECK-NEXT:         %[[V18:.*]] = tir.or %[[V12]], %[[V17]] : i1
// CHECK-NEXT:         %[[V19:.*]] = tir.call "likely"(%[[V18]]) : (i1) -> i1
// CHECK-NEXT:         tir.if %[[V19]] {
// CHECK-NEXT:           %[[X_1:.*]] = tir.load %[[A]][%[[R_1]]] : i32
// CHECK-NEXT:           %[[V20:.*]] = tir.const 2 : i32
// CHECK-NEXT:           %[[V21:.*]] = tir.floormod %[[R_1]], %[[V20]] : i32
// CHECK-NEXT:           tir.store %[[X_1]], %[[T_1]][%[[V21]]] : i32
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:       %[[V22:.*]] = tir.const 2 : i32
// CHECK-NEXT:       %[[V23:.*]] = tir.floormod %[[LOW_1]], %[[V22]] : i32
// CHECK-NEXT:       %[[Y_1:.*]] = tir.load %[[T_1]][%[[V23]]] : i32
// CHECK-NEXT:       tir.evaluate %[[Y_1]] : i32
// CHECK-NEXT:     }

// -----

// The outer loop moves the ring, a condition is asked for each of them.
// CASE: InjectRollingBuffer.4
tir.func @two_loops(%a: !tir.handle, %n: i64) {
  %A = tir.match_buffer %a : !tir.buffer<9x9xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  tir.for "p" %p = %c0 to %c3 {
    tir.for "o" %o = %c0 to %c3 {
      %rows = tir.mul %o, %c2 : i32
      %columns = tir.mul %p, %c3 : i32
      %T = tir.buffer_realize "T" bounds [%rows to %rows + 3, %columns to %columns + 4] annotations {"rolling_buffer_scope" = true} [%n] : !tir.buffer<9x?xi32>
      tir.for "r" %r = %c0 to %c3 {
        tir.for "c" %c = %c0 to %c4 {
          %i = tir.add %rows, %r : i32
          %j = tir.add %columns, %c : i32
          %x = tir.load %A[%i, %j] : i32
          tir.store %x, %T[%i, %j] : i32
        }
      }
      %y = tir.load %T[%rows, %columns] : i32
      tir.evaluate %y : i32
    }
  }
}
// CHECK-LABEL: tir.func @two_loops
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<9x9xi32>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[C3:.*]] = tir.const 3 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[T:.*]] = tir.buffer_realize "T" bounds [%[[V0]] to 9, %[[V0]] to 4] [%{{.*}}] : !tir.buffer<9x?xi32>
// CHECK-NEXT:     tir.for "p" %[[P:.*]] = %[[C0]] to %[[C3]] {
// CHECK-NEXT:       tir.for "o" %[[O:.*]] = %[[C0]] to %[[C3]] {
// CHECK-NEXT:         %[[ROWS:.*]] = tir.mul %[[O]], %[[C2]] : i32
// CHECK-NEXT:         %[[COLUMNS:.*]] = tir.mul %[[P]], %[[C3]] : i32
// CHECK-NEXT:         tir.for "r" %[[R:.*]] = %[[C0]] to %[[C3]] {
// CHECK-NEXT:           tir.for "c" %[[C:.*]] = %[[C0]] to %[[C4]] {
// CHECK-NEXT:             %[[V1:.*]] = tir.const 1 : i32
// CHECK-NEXT:             %[[V2:.*]] = tir.cmp lt %[[O]], %[[V1]] : i32
// CHECK-NEXT:             %[[V3:.*]] = tir.cmp ge %[[R]], %[[V1]] : i32
// CHECK-NEXT:             %[[V4:.*]] = tir.or %[[V2]], %[[V3]] : i1
// CHECK-NEXT:             %[[V5:.*]] = tir.call "likely"(%[[V4]]) : (i1) -> i1
// CHECK-NEXT:             %[[V6:.*]] = tir.const 1 : i32
// CHECK-NEXT:             %[[V7:.*]] = tir.cmp lt %[[P]], %[[V6]] : i32
// CHECK-NEXT:             %[[V8:.*]] = tir.cmp ge %[[C]], %[[V6]] : i32
// CHECK-NEXT:             %[[V9:.*]] = tir.or %[[V7]], %[[V8]] : i1
// CHECK-NEXT:             %[[V10:.*]] = tir.call "likely"(%[[V9]]) : (i1) -> i1
// CHECK-NEXT:             tir.if %[[V10]] {
// CHECK-NEXT:               tir.if %[[V5]] {
// CHECK-NEXT:                 %[[I:.*]] = tir.add %[[ROWS]], %[[R]] : i32
// CHECK-NEXT:                 %[[J:.*]] = tir.add %[[COLUMNS]], %[[C]] : i32
// CHECK-NEXT:                 %[[X:.*]] = tir.load %[[A]][%[[I]], %[[J]]] : i32
// CHECK-NEXT:                 %[[V11:.*]] = tir.const 4 : i32
// CHECK-NEXT:                 %[[V12:.*]] = tir.floormod %[[J]], %[[V11]] : i32
// CHECK-NEXT:                 tir.store %[[X]], %[[T]][%[[I]], %[[V12]]] : i32
// CHECK-NEXT:               }
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:         %[[V13:.*]] = tir.const 4 : i32
// CHECK-NEXT:         %[[V14:.*]] = tir.floormod %[[COLUMNS]], %[[V13]] : i32
// CHECK-NEXT:         %[[Y:.*]] = tir.load %[[T]][%[[ROWS]], %[[V14]]] : i32
// CHECK-NEXT:         tir.evaluate %[[Y]] : i32
// CHECK-NEXT:       }
// CHECK-NEXT:     }

// -----

// Tiles that do not overlap need no condition; what others use, too, stays outside of one.
tir.func @no_overlap(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  tir.for "o" %o = %c0 to %c3 {
    %low = tir.mul %c2, %o : i32
    %S = tir.buffer_realize "S" bounds [%low to %low + 2] annotations {"rolling_buffer_scope"} : !tir.buffer<6xi32>
    %T = tir.buffer_realize "T" bounds [%o to %o + 2] annotations {"rolling_buffer_scope"} : !tir.buffer<4xi32>
    tir.for "r" %r = %c0 to %c2 {
      %k = tir.add %low, %r : i32
      %l = tir.add %o, %r : i32
      %x = tir.load %A[%l] : i32
      %y = tir.add %x, %l : i32
      tir.store %x, %S[%k] : i32
      tir.store %y, %T[%l] : i32
    }
  }
}
// CHECK-LABEL: tir.func @no_overlap
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<8xi32>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[C3:.*]] = tir.const 3 : i32
// CHECK-NEXT:     %[[V0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[S:.*]] = tir.buffer_realize "S" bounds [%[[V0]] to 2] : !tir.buffer<6xi32>
// CHECK-NEXT:     %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[T:.*]] = tir.buffer_realize "T" bounds [%[[V1]] to 2] : !tir.buffer<4xi32>
// CHECK-NEXT:     tir.for "o" %[[O:.*]] = %[[C0]] to %[[C3]] {
// CHECK-NEXT:       %[[LOW:.*]] = tir.mul %[[C2]], %[[O]] : i32
// CHECK-NEXT:       tir.for "r" %[[R:.*]] = %[[C0]] to %[[C2]] {
// CHECK-NEXT:         %[[K:.*]] = tir.add %[[LOW]], %[[R]] : i32
// CHECK-NEXT:         %[[L:.*]] = tir.add %[[O]], %[[R]] : i32
// CHECK-NEXT:         %[[X:.*]] = tir.load %[[A]][%[[L]]] : i32
// CHECK-NEXT:         %[[V2:.*]] = tir.const 2 : i32
// CHECK-NEXT:         %[[V3:.*]] = tir.floormod %[[K]], %[[V2]] : i32
// CHECK-NEXT:         tir.store %[[X]], %[[S]][%[[V3]]] : i32
// CHECK-NEXT:         %[[V4:.*]] = tir.const 1 : i32
// CHECK-NEXT:         %[[V5:.*]] = tir.cmp lt %[[O]], %[[V4]] : i32
// CHECK-NEXT:         %[[V6:.*]] = tir.cmp ge %[[R]], %[[V4]] : i32
// CHECK-NEXT:         %[[V7:.*]] = tir.or %[[V5]], %[[V6]] : i1
// CHECK-NEXT:         %[[V8:.*]] = tir.call "likely"(%[[V7]]) : (i1) -> i1
// CHECK-NEXT:         tir.if %[[V8]] {
// CHECK-NEXT:           %[[Y:.*]] = tir.add %[[X]], %[[L]] : i32
// CHECK-NEXT:           %[[V9:.*]] = tir.const 2 : i32
// CHECK-NEXT:           %[[V10:.*]] = tir.floormod %[[L]], %[[V9]] : i32
// CHECK-NEXT:           tir.store %[[Y]], %[[T]][%[[V10]]] : i32
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
