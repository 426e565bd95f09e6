// RUN: xdsl-opt %s -p "tir-loop-partition" --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p "tir-loop-partition{partition_const_loop=true}" --split-input-file | filecheck %s --check-prefix CONST
// RUN: xdsl-opt %s -p "tir-loop-partition{partition_const_loop=true unroll_loop_with_partition_hint_no_interval=true},tir-simplify" --split-input-file | filecheck %s --check-prefix UNROLL
// RUN: xdsl-opt %s -p "tir-loop-partition{partition_const_loop=true},tir-simplify,tir-remove-no-op" --split-input-file | filecheck %s --check-prefix SIMPLE

// CASE: LoopPartition.1
tir.func @symbolic(%A_handle: !tir.handle, %n: i32, %m: i32) attributes {global_symbol = "symbolic", param_names = ["A_handle", "n", "m"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<64xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %n {
      tir.for "k" %k = %c0 to %m {
        %0 = tir.mul %i, %m : i32
        %1 = tir.add %0, %j : i32
        %2 = tir.add %1, %k : i32
        %3 = tir.cmp lt %2, %n : i32
        %4 = tir.call "likely"(%3) : (i1) -> i1
        tir.if %4 {
          %5 = tir.mul %i, %m : i32
          %6 = tir.add %5, %j : i32
          %7 = tir.add %6, %k : i32
          tir.store %i, %A[%7] : i32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @symbolic
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[V1:.*]] = tir.add %{{.*}}, %[[V0]] : i32
// CHECK-NEXT:    %[[V2:.*]] = tir.sub %[[V1]], %{{.*}} : i32
// CHECK-NEXT:    %[[V3:.*]] = tir.mul %[[I]], %{{.*}} : i32
// CHECK-NEXT:    %[[V4:.*]] = tir.sub %[[V2]], %[[V3]] : i32
// CHECK-NEXT:    %[[V5:.*]] = tir.min %[[V4]], %{{.*}} : i32
// CHECK-NEXT:    %[[V6:.*]] = tir.max %[[V5]], %{{.*}} : i32
// CHECK-NEXT:    %[[V7:.*]] = tir.sub %{{.*}}, %[[V6]] : i32
// CHECK-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %[[V6]] {
// CHECK-NEXT:      tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[V8:.*]] = tir.const true
// CHECK-NEXT:        tir.if %[[V8]] {
// CHECK-NEXT:          %[[V9:.*]] = tir.mul %[[I]], %{{.*}} : i32
// CHECK-NEXT:          %[[V10:.*]] = tir.add %[[V9]], %[[J]] : i32
// CHECK-NEXT:          %[[V11:.*]] = tir.add %[[V10]], %[[K]] : i32
// CHECK-NEXT:          tir.store %[[I]], %{{.*}}[%[[V11]]] : i32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[V12:.*]] = tir.const 0 : i32
// CHECK-NEXT:    tir.for "j" %[[J_1:.*]] = %[[V12]] to %[[V7]] {
// CHECK-NEXT:      %[[J_2:.*]] = tir.add %[[J_1]], %[[V6]] : i32
// CHECK-NEXT:      tir.for "k" %[[K_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[V13:.*]] = tir.mul %[[I]], %{{.*}} : i32
// CHECK-NEXT:        %[[V14:.*]] = tir.add %[[V13]], %[[J_2]] : i32
// CHECK-NEXT:        %[[V15:.*]] = tir.add %[[V14]], %[[K_1]] : i32
// CHECK-NEXT:        %[[V16:.*]] = tir.cmp lt %[[V15]], %{{.*}} : i32
// CHECK-NEXT:        tir.if %[[V16]] {
// CHECK-NEXT:          %[[V17:.*]] = tir.mul %[[I]], %{{.*}} : i32
// CHECK-NEXT:          %[[V18:.*]] = tir.add %[[V17]], %[[J_2]] : i32
// CHECK-NEXT:          %[[V19:.*]] = tir.add %[[V18]], %[[K_1]] : i32
// CHECK-NEXT:          tir.store %[[I]], %{{.*}}[%[[V19]]] : i32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: LoopPartition.1
tir.func @two_conditions(%A_handle: !tir.handle, %n: i32, %m: i32) attributes {global_symbol = "two_conditions", param_names = ["A_handle", "n", "m"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<64xi32>
  tir.for "i" %i = %c0 to %n {
    tir.for "j" %j = %c0 to %c4 {
      %0 = tir.mul %i, %c4 : i32
      %1 = tir.add %0, %j : i32
      %2 = tir.cmp lt %1, %n : i32
      %3 = tir.call "likely"(%2) : (i1) -> i1
      tir.if %3 {
        %4 = tir.mul %i, %c4 : i32
        %5 = tir.add %4, %j : i32
        %6 = tir.cmp lt %5, %m : i32
        %7 = tir.call "likely"(%6) : (i1) -> i1
        tir.if %7 {
          %8 = tir.mul %i, %c4 : i32
          %9 = tir.add %8, %j : i32
          tir.store %i, %A[%9] : i32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @two_conditions
// CHECK:       %[[V0:.*]] = tir.min %{{.*}}, %{{.*}} : i32
// CHECK:       %[[V2:.*]] = tir.floordiv %[[V0]], %{{.*}} : i32
// CHECK-NEXT:  %[[V3:.*]] = tir.min %[[V2]], %{{.*}} : i32
// CHECK-NEXT:  %[[V4:.*]] = tir.max %[[V3]], %{{.*}} : i32
// CHECK-NEXT:  %[[V5:.*]] = tir.sub %{{.*}}, %[[V4]] : i32
// CHECK-NEXT:  tir.for "i" %[[I:.*]] = %{{.*}} to %[[V4]] {
// CHECK-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V6:.*]] = tir.const true
// CHECK-NEXT:      tir.if %[[V6]] {
// CHECK-NEXT:        %[[V7:.*]] = tir.const true
// CHECK-NEXT:        tir.if %[[V7]] {
// CHECK-NEXT:          %[[V8:.*]] = tir.mul %[[I]], %{{.*}} : i32
// CHECK-NEXT:          %[[V9:.*]] = tir.add %[[V8]], %[[J]] : i32
// CHECK-NEXT:          tir.store %[[I]], %{{.*}}[%[[V9]]] : i32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK:       tir.for "i" %[[I_1:.*]] = %{{.*}} to %[[V5]] {
// CHECK-NEXT:    %[[I_2:.*]] = tir.add %[[I_1]], %[[V4]] : i32
// CHECK-NEXT:    tir.for "j" %[[J_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V11:.*]] = tir.mul %[[I_2]], %{{.*}} : i32
// CHECK-NEXT:      %[[V12:.*]] = tir.add %[[V11]], %[[J_1]] : i32
// CHECK-NEXT:      %[[V13:.*]] = tir.cmp lt %[[V12]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V13]] {
// CHECK-NEXT:        %[[V14:.*]] = tir.mul %[[I_2]], %{{.*}} : i32
// CHECK-NEXT:        %[[V15:.*]] = tir.add %[[V14]], %[[J_1]] : i32
// CHECK-NEXT:        %[[V16:.*]] = tir.cmp lt %[[V15]], %{{.*}} : i32
// CHECK-NEXT:        tir.if %[[V16]] {
// CHECK-NEXT:          %[[V17:.*]] = tir.mul %[[I_2]], %{{.*}} : i32
// CHECK-NEXT:          %[[V18:.*]] = tir.add %[[V17]], %[[J_1]] : i32
// CHECK-NEXT:          tir.store %[[I_2]], %{{.*}}[%[[V18]]] : i32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: LoopPartition.2
tir.func @selects(%A_handle: !tir.handle, %n: i32) attributes {global_symbol = "selects", param_names = ["A_handle", "n"]} {
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<64xi32>
  %0 = tir.add %n, %c3 : i32
  %1 = tir.div %0, %c4 : i32
  tir.for "i" %i = %c0 to %1 {
    tir.for "j" %j = %c0 to %c4 {
      %2 = tir.mul %i, %c4 : i32
      %3 = tir.add %2, %j : i32
      %4 = tir.cmp lt %3, %n : i32
      %5 = tir.call "likely"(%4) : (i1) -> i1
      %6 = tir.select %5, %n, %c0 : i1, i32
      %7 = tir.mul %i, %c4 : i32
      %8 = tir.add %7, %j : i32
      tir.store %6, %A[%8] : i32
    }
  }
}
// SIMPLE-LABEL: tir.func @selects
// SIMPLE:       %[[V0:.*]] = tir.add %{{.*}}, %{{.*}} : i32
// SIMPLE-NEXT:  %[[V1:.*]] = tir.div %[[V0]], %{{.*}} : i32
// SIMPLE:       %[[V3:.*]] = tir.floordiv %{{.*}}, %{{.*}} : i32
// SIMPLE-NEXT:  %[[V4:.*]] = tir.min %[[V3]], %[[V1]] : i32
// SIMPLE-NEXT:  %[[V5:.*]] = tir.max %[[V4]], %{{.*}} : i32
// SIMPLE-NEXT:  %[[V6:.*]] = tir.sub %[[V1]], %[[V5]] : i32
// SIMPLE-NEXT:  tir.for "i" %[[I:.*]] = %{{.*}} to %[[V5]] {
// SIMPLE-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:      %[[V7:.*]] = tir.mul %[[I]], %{{.*}} : i32
// SIMPLE-NEXT:      %[[V8:.*]] = tir.add %[[V7]], %[[J]] : i32
// SIMPLE-NEXT:      tir.store %{{.*}}, %{{.*}}[%[[V8]]] : i32
// SIMPLE-NEXT:    }
// SIMPLE-NEXT:  }
// SIMPLE:       tir.for "i" %[[I_1:.*]] = %{{.*}} to %[[V6]] {
// SIMPLE-NEXT:    tir.for "j" %[[J_1:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:      %[[V10:.*]] = tir.mul %[[V5]], %{{.*}} : i32
// SIMPLE-NEXT:      %[[V11:.*]] = tir.mul %[[I_1]], %{{.*}} : i32
// SIMPLE-NEXT:      %[[V12:.*]] = tir.add %[[V10]], %[[V11]] : i32
// SIMPLE-NEXT:      %[[V13:.*]] = tir.add %[[V12]], %[[J_1]] : i32
// SIMPLE-NEXT:      %[[V14:.*]] = tir.cmp lt %[[V13]], %{{.*}} : i32
// SIMPLE-NEXT:      %[[V15:.*]] = tir.select %[[V14]], %{{.*}}, %{{.*}} : i1, i32
// SIMPLE-NEXT:      tir.store %[[V15]], %{{.*}}[%[[V13]]] : i32
// SIMPLE-NEXT:    }
// SIMPLE-NEXT:  }
// SIMPLE-NEXT:}

// -----

// CASE: LoopPartition.2
tir.func @one_point(%A_handle: !tir.handle) attributes {global_symbol = "one_point", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c10 = tir.const 10 : i32
  %c5 = tir.const 5 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<10xi32>
  tir.for "i" %i = %c0 to %c10 {
    %0 = tir.cmp eq %i, %c5 : i32
    %1 = tir.call "likely"(%0) : (i1) -> i1
    tir.if %1 {
      tir.store %i, %A[%i] : i32
    }
  }
}
// CHECK-LABEL: tir.func @one_point
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp eq %[[I]], %{{.*}} : i32
// CHECK-NEXT:    tir.if %[[V0]] {
// CHECK-NEXT:      tir.store %[[I]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}
// CONST-LABEL: tir.func @one_point
// CONST:       tir.for "i" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// CONST-NEXT:    %[[V0:.*]] = tir.cmp eq %[[I_1]], %{{.*}} : i32
// CONST-NEXT:    tir.if %[[V0]] {
// CONST-NEXT:      tir.store %[[I_1]], %{{.*}}[%[[I_1]]] : i32
// CONST-NEXT:    }
// CONST-NEXT:  }
// CONST:       tir.if %{{.*}} {
// CONST-NEXT:    tir.store %{{.*}}, %{{.*}}[%{{.*}}] : i32
// CONST-NEXT:  }
// CONST:       tir.for "i" %[[I_2:.*]] = %{{.*}} to %{{.*}} {
// CONST-NEXT:    %[[I_3:.*]] = tir.add %[[I_2]], %{{.*}} : i32
// CONST-NEXT:    %[[V5:.*]] = tir.cmp eq %[[I_3]], %{{.*}} : i32
// CONST-NEXT:    tir.if %[[V5]] {
// CONST-NEXT:      tir.store %[[I_3]], %{{.*}}[%[[I_3]]] : i32
// CONST-NEXT:    }
// CONST-NEXT:  }
// CONST-NEXT:}

// -----

// CASE: LoopPartition.2
tir.func @nothing_deduced(%A_handle: !tir.handle, %n: i32, %m: i32) attributes {global_symbol = "nothing_deduced", param_names = ["A_handle", "n", "m"]} {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<16x8xi32>
  tir.for "i" %i = %c0 to %n {
    tir.for "j" %j = %c0 to %n {
      %0 = tir.add %j, %c1 : i32
      %1 = tir.div %i, %0 : i32
      %2 = tir.cmp lt %1, %m : i32
      %3 = tir.call "likely"(%2) : (i1) -> i1
      tir.if %3 {
        tir.store %i, %A[%i, %j] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @nothing_deduced
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V0:.*]] = tir.add %[[J]], %{{.*}} : i32
// CHECK-NEXT:      %[[V1:.*]] = tir.div %[[I]], %[[V0]] : i32
// CHECK-NEXT:      %[[V2:.*]] = tir.cmp lt %[[V1]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V2]] {
// CHECK-NEXT:        tir.store %[[I]], %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: LoopPartition.3
tir.func @pooling(%A_handle: !tir.handle, %B_handle: !tir.handle) attributes {global_symbol = "pooling", param_names = ["A_handle", "B_handle"]} {
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c3 = tir.const 3 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c33 = tir.const 33 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<32xi32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<16xi32>
  tir.for "i" %i = %c0 to %c16 {
    tir.store %c0, %B[%i] : i32
    tir.for "k" %k = %c0 to %c3 {
      %0 = tir.mul %i, %c2 : i32
      %1 = tir.add %0, %k : i32
      %2 = tir.cmp le %c1, %1 : i32
      %3 = tir.call "likely"(%2) : (i1) -> i1
      tir.if %3 {
        %4 = tir.mul %i, %c2 : i32
        %5 = tir.add %4, %k : i32
        %6 = tir.cmp lt %5, %c33 : i32
        %7 = tir.call "likely"(%6) : (i1) -> i1
        tir.if %7 {
          %8 = tir.load %B[%i] : i32
          %9 = tir.mul %i, %c2 : i32
          %10 = tir.add %9, %k : i32
          %11 = tir.sub %10, %c1 : i32
          %12 = tir.load %A[%11] : i32
          %13 = tir.add %8, %12 : i32
          tir.store %13, %B[%i] : i32
        }
      }
    }
  }
}
// SIMPLE-LABEL: tir.func @pooling
// SIMPLE:       tir.store %{{.*}}, %{{.*}}[%{{.*}}] : i32
// SIMPLE:       tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:    %[[V3:.*]] = tir.load %{{.*}}[%{{.*}}] : i32
// SIMPLE-NEXT:    %[[V4:.*]] = tir.load %{{.*}}[%[[K]]] : i32
// SIMPLE-NEXT:    %[[V5:.*]] = tir.add %[[V3]], %[[V4]] : i32
// SIMPLE-NEXT:    tir.store %[[V5]], %{{.*}}[%{{.*}}] : i32
// SIMPLE-NEXT:  }
// SIMPLE:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:    %[[I_1:.*]] = tir.add %[[I]], %{{.*}} : i32
// SIMPLE-NEXT:    tir.store %{{.*}}, %{{.*}}[%[[I_1]]] : i32
// SIMPLE-NEXT:    tir.for "k" %[[K_1:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:      %[[V8:.*]] = tir.load %{{.*}}[%[[I_1]]] : i32
// SIMPLE-NEXT:      %[[V9:.*]] = tir.mul %[[I]], %{{.*}} : i32
// SIMPLE-NEXT:      %[[V10:.*]] = tir.add %[[V9]], %[[K_1]] : i32
// SIMPLE-NEXT:      %[[V11:.*]] = tir.add %[[V10]], %{{.*}} : i32
// SIMPLE-NEXT:      %[[V12:.*]] = tir.load %{{.*}}[%[[V11]]] : i32
// SIMPLE-NEXT:      %[[V13:.*]] = tir.add %[[V8]], %[[V12]] : i32
// SIMPLE-NEXT:      tir.store %[[V13]], %{{.*}}[%[[I_1]]] : i32
// SIMPLE-NEXT:    }
// SIMPLE-NEXT:  }
// SIMPLE-NEXT:}

// -----

// CASE: LoopPartition.3
tir.func @tail(%A_handle: !tir.handle) attributes {global_symbol = "tail", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c7 = tir.const 7 : i32
  %c160 = tir.const 160 : i32
  %c1000 = tir.const 1000 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<1000xi32>
  tir.for "i" %i = %c0 to %c7 {
    tir.for "j" %j = %c0 to %c160 {
      %0 = tir.mul %i, %c160 : i32
      %1 = tir.add %0, %j : i32
      %2 = tir.cmp lt %1, %c1000 : i32
      %3 = tir.call "likely"(%2) : (i1) -> i1
      tir.if %3 {
        %4 = tir.mul %i, %c160 : i32
        %5 = tir.add %4, %j : i32
        tir.store %i, %A[%5] : i32
      }
    }
  }
}
// SIMPLE-LABEL: tir.func @tail
// SIMPLE:       tir.for "i" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:      %[[V0:.*]] = tir.mul %[[I_1]], %{{.*}} : i32
// SIMPLE-NEXT:      %[[V1:.*]] = tir.add %[[V0]], %[[J]] : i32
// SIMPLE-NEXT:      tir.store %[[I_1]], %{{.*}}[%[[V1]]] : i32
// SIMPLE-NEXT:    }
// SIMPLE-NEXT:  }
// SIMPLE:       tir.for "j" %[[J_1:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:    %[[V3:.*]] = tir.const 960 : i32
// SIMPLE-NEXT:    %[[V4:.*]] = tir.add %[[J_1]], %[[V3]] : i32
// SIMPLE-NEXT:    tir.store %{{.*}}, %{{.*}}[%[[V4]]] : i32
// SIMPLE-NEXT:  }
// SIMPLE-NEXT:}

// -----

// CASE: LoopPartition.3
tir.func @with_else(%A_handle: !tir.handle) attributes {global_symbol = "with_else", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c6 = tir.const 6 : i32
  %c32 = tir.const 32 : i32
  %c112 = tir.const 112 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<6xi32>
  tir.for "i" %i = %c0 to %c6 {
    %0 = tir.mul %i, %c32 : i32
    %1 = tir.add %0, %c32 : i32
    %2 = tir.cmp gt %1, %c112 : i32
    %3 = tir.call "likely"(%2) : (i1) -> i1
    tir.if %3 {
      tir.store %c1, %A[%i] : i32
    } else {
      tir.store %c2, %A[%i] : i32
    }
  }
}
// SIMPLE-LABEL: tir.func @with_else
// SIMPLE:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:    tir.store %{{.*}}, %{{.*}}[%[[I]]] : i32
// SIMPLE-NEXT:  }
// SIMPLE:       tir.for "i" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:    %[[I_2:.*]] = tir.add %[[I_1]], %{{.*}} : i32
// SIMPLE-NEXT:    tir.store %{{.*}}, %{{.*}}[%[[I_2]]] : i32
// SIMPLE-NEXT:  }
// SIMPLE-NEXT:}

// -----

// CASE: LoopPartition.3
tir.func @many(%A_handle: !tir.handle) attributes {global_symbol = "many", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c9998 = tir.const 9998 : i32
  %c4 = tir.const 4 : i32
  %c39991 = tir.const 39991 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<39991xi32>
  tir.for "i" %i = %c0 to %c9998 {
    tir.for "j" %j = %c0 to %c4 {
      %0 = tir.mul %i, %c4 : i32
      %1 = tir.add %0, %j : i32
      %2 = tir.cmp lt %1, %c39991 : i32
      %3 = tir.call "likely"(%2) : (i1) -> i1
      tir.if %3 {
        %4 = tir.mul %i, %c4 : i32
        %5 = tir.add %4, %j : i32
        tir.store %j, %A[%5] : i32
      }
    }
  }
}
// SIMPLE-LABEL: tir.func @many
// SIMPLE:       tir.for "i" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:      %[[V0:.*]] = tir.mul %[[I_1]], %{{.*}} : i32
// SIMPLE-NEXT:      %[[V1:.*]] = tir.add %[[V0]], %[[J]] : i32
// SIMPLE-NEXT:      tir.store %[[J]], %{{.*}}[%[[V1]]] : i32
// SIMPLE-NEXT:    }
// SIMPLE-NEXT:  }
// SIMPLE:       tir.for "j" %[[J_2:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:    %[[V2:.*]] = tir.const 39988 : i32
// SIMPLE-NEXT:    %[[V3:.*]] = tir.add %[[J_2]], %[[V2]] : i32
// SIMPLE-NEXT:    tir.store %[[J_2]], %{{.*}}[%[[V3]]] : i32
// SIMPLE-NEXT:  }
// SIMPLE-NEXT:}

// -----

// CASE: LoopPartition.4
tir.func @concat(%A_handle: !tir.handle, %n: i32, %m: i32) attributes {global_symbol = "concat", param_names = ["A_handle", "n", "m"]} {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c128 = tir.const 128 : i32
  %c96 = tir.const 96 : i32
  %c64 = tir.const 64 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<128xi32>
  tir.for "u" %u = %c0 to %c1 annotations {preserve_unit_loop = true} {
    tir.for "i" %i = %c0 to %c128 annotations {pragma_loop_partition_hint = true, key = "value"} {
      %0 = tir.cmp le %c96, %i : i32
      tir.if %0 {
        tir.store %n, %A[%i] : i32
      }
      %1 = tir.cmp le %c64, %i : i32
      %2 = tir.cmp lt %i, %c96 : i32
      %3 = tir.and %1, %2 : i1
      tir.if %3 {
        tir.store %m, %A[%i] : i32
      }
      %4 = tir.cmp lt %i, %c64 : i32
      tir.if %4 {
        tir.store %i, %A[%i] : i32
      }
    }
  }
}
// SIMPLE-LABEL: tir.func @concat
// SIMPLE:       tir.for "u" %[[U:.*]] = %{{.*}} to %{{.*}} annotations {preserve_unit_loop = true} {
// SIMPLE-NEXT:    %[[V0:.*]] = tir.const 96 : i32
// SIMPLE-NEXT:    %[[V1:.*]] = tir.const 64 : i32
// SIMPLE-NEXT:    tir.for "i" %[[I:.*]] = %{{.*}} to %[[V1]] annotations {key = "value"} {
// SIMPLE-NEXT:      tir.store %[[I]], %{{.*}}[%[[I]]] : i32
// SIMPLE-NEXT:    }
// SIMPLE-NEXT:    %[[V2:.*]] = tir.const 32 : i32
// SIMPLE-NEXT:    %[[V3:.*]] = tir.const 0 : i32
// SIMPLE-NEXT:    tir.for "i" %[[I_1:.*]] = %[[V3]] to %[[V2]] annotations {key = "value"} {
// SIMPLE-NEXT:      %[[I_2:.*]] = tir.add %[[I_1]], %[[V1]] : i32
// SIMPLE-NEXT:      tir.store %{{.*}}, %{{.*}}[%[[I_2]]] : i32
// SIMPLE-NEXT:    }
// SIMPLE-NEXT:    %[[V4:.*]] = tir.const 32 : i32
// SIMPLE-NEXT:    %[[V5:.*]] = tir.const 0 : i32
// SIMPLE-NEXT:    tir.for "i" %[[I_3:.*]] = %[[V5]] to %[[V4]] annotations {key = "value"} {
// SIMPLE-NEXT:      %[[I_4:.*]] = tir.add %[[I_3]], %[[V0]] : i32
// SIMPLE-NEXT:      tir.store %{{.*}}, %{{.*}}[%[[I_4]]] : i32
// SIMPLE-NEXT:    }
// SIMPLE-NEXT:  }
// SIMPLE-NEXT:}

// -----

// CASE: LoopPartition.5
tir.func @unrolls(%A_handle: !tir.handle, %B_handle: !tir.handle) attributes {global_symbol = "unrolls", param_names = ["A_handle", "B_handle"]} {
  %c0 = tir.const 0 : i32
  %c112 = tir.const 112 : i32
  %c7 = tir.const 7 : i32
  %c4 = tir.const 4 : i32
  %c3 = tir.const 3 : i32
  %c2 = tir.const 2 : i32
  %c227 = tir.const 227 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<112x3xi32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<224x3xi32>
  tir.for "ax0" %ax0 = %c0 to %c112 annotations {pragma_loop_partition_hint = true} {
    tir.for "ax2" %ax2 = %c0 to %c7 {
      tir.for "ax3" %ax3 = %c0 to %c4 {
        %0 = tir.mul %ax0, %c2 : i32
        %1 = tir.add %0, %ax2 : i32
        %2 = tir.cmp le %c3, %1 : i32
        %3 = tir.mul %ax0, %c2 : i32
        %4 = tir.add %3, %ax2 : i32
        %5 = tir.cmp lt %4, %c227 : i32
        %6 = tir.and %2, %5 : i1
        %7 = tir.cmp lt %ax3, %c3 : i32
        %8 = tir.and %6, %7 : i1
        tir.if %8 {
          %9 = tir.mul %ax0, %c2 : i32
          %10 = tir.add %9, %ax2 : i32
          %11 = tir.sub %10, %c3 : i32
          %12 = tir.load %B[%11, %ax3] : i32
          tir.store %12, %A[%ax0, %ax3] : i32
        }
      }
    }
  }
}
// UNROLL-LABEL: tir.func @unrolls
// UNROLL:       tir.for "ax0" %[[AX0:.*]] = %{{.*}} to %{{.*}} unrolled {
// UNROLL-NEXT:    tir.for "ax2" %[[AX2:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:      tir.for "ax3" %[[AX3:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:        %[[V1:.*]] = tir.mul %[[AX0]], %{{.*}} : i32
// UNROLL-NEXT:        %[[V2:.*]] = tir.add %[[V1]], %[[AX2]] : i32
// UNROLL-NEXT:        %[[V3:.*]] = tir.cmp le %{{.*}}, %[[V2]] : i32
// UNROLL-NEXT:        %[[V4:.*]] = tir.cmp lt %[[AX3]], %{{.*}} : i32
// UNROLL-NEXT:        %[[V5:.*]] = tir.and %[[V3]], %[[V4]] : i1
// UNROLL-NEXT:        tir.if %[[V5]] {
// UNROLL-NEXT:          %[[V6:.*]] = tir.mul %[[AX0]], %{{.*}} : i32
// UNROLL-NEXT:          %[[V7:.*]] = tir.add %[[V6]], %[[AX2]] : i32
// UNROLL-NEXT:          %[[V8:.*]] = tir.sub %[[V7]], %{{.*}} : i32
// UNROLL-NEXT:          %[[V9:.*]] = tir.load %{{.*}}[%[[V8]], %[[AX3]]] : i32
// UNROLL-NEXT:          tir.store %[[V9]], %{{.*}}[%[[AX0]], %[[AX3]]] : i32
// UNROLL-NEXT:        }
// UNROLL-NEXT:      }
// UNROLL-NEXT:    }
// UNROLL-NEXT:  }
// UNROLL:       tir.for "ax0" %[[AX0_2:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:    %[[AX0_3:.*]] = tir.add %[[AX0_2]], %{{.*}} : i32
// UNROLL-NEXT:    tir.for "ax2" %[[AX2_1:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:      tir.for "ax3" %[[AX3_1:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:        %[[V12:.*]] = tir.cmp lt %[[AX3_1]], %{{.*}} : i32
// UNROLL-NEXT:        tir.if %[[V12]] {
// UNROLL-NEXT:          %[[V13:.*]] = tir.mul %[[AX0_2]], %{{.*}} : i32
// UNROLL-NEXT:          %[[V14:.*]] = tir.add %[[V13]], %[[AX2_1]] : i32
// UNROLL-NEXT:          %[[V15:.*]] = tir.const 1 : i32
// UNROLL-NEXT:          %[[V16:.*]] = tir.add %[[V14]], %[[V15]] : i32
// UNROLL-NEXT:          %[[V17:.*]] = tir.load %{{.*}}[%[[V16]], %[[AX3_1]]] : i32
// UNROLL-NEXT:          tir.store %[[V17]], %{{.*}}[%[[AX0_3]], %[[AX3_1]]] : i32
// UNROLL-NEXT:        }
// UNROLL-NEXT:      }
// UNROLL-NEXT:    }
// UNROLL-NEXT:  }
// UNROLL-NEXT:  tir.for "ax2" %[[AX2_2:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:    tir.for "ax3" %[[AX3_2:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:      %[[V18:.*]] = tir.cmp lt %[[AX3_2]], %{{.*}} : i32
// UNROLL-NEXT:      %[[V19:.*]] = tir.const 5 : i32
// UNROLL-NEXT:      %[[V20:.*]] = tir.cmp lt %[[AX2_2]], %[[V19]] : i32
// UNROLL-NEXT:      %[[V21:.*]] = tir.and %[[V20]], %[[V18]] : i1
// UNROLL-NEXT:      tir.if %[[V21]] {
// UNROLL-NEXT:        %[[V22:.*]] = tir.const 219 : i32
// UNROLL-NEXT:        %[[V23:.*]] = tir.add %[[AX2_2]], %[[V22]] : i32
// UNROLL-NEXT:        %[[V24:.*]] = tir.load %{{.*}}[%[[V23]], %[[AX3_2]]] : i32
// UNROLL-NEXT:        tir.store %[[V24]], %{{.*}}[%{{.*}}, %[[AX3_2]]] : i32
// UNROLL-NEXT:      }
// UNROLL-NEXT:    }
// UNROLL-NEXT:  }
// UNROLL-NEXT:}

// -----

// CASE: LoopPartition.5
tir.func @nested_pads(%A_handle: !tir.handle, %B_handle: !tir.handle) attributes {global_symbol = "nested_pads", param_names = ["A_handle", "B_handle"]} {
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c5 = tir.const 5 : i32
  %c3 = tir.const 3 : i32
  %c2 = tir.const 2 : i32
  %c17 = tir.const 17 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<8x8xi32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<15x15xi32>
  tir.for "i" %i = %c0 to %c8 annotations {pragma_loop_partition_hint = true} {
    tir.for "j" %j = %c0 to %c8 annotations {pragma_loop_partition_hint = true} {
      tir.for "k" %k = %c0 to %c5 {
        %0 = tir.mul %i, %c2 : i32
        %1 = tir.add %0, %k : i32
        %2 = tir.cmp le %c3, %1 : i32
        %3 = tir.mul %i, %c2 : i32
        %4 = tir.add %3, %k : i32
        %5 = tir.cmp lt %4, %c17 : i32
        %6 = tir.and %2, %5 : i1
        %7 = tir.mul %j, %c2 : i32
        %8 = tir.add %7, %k : i32
        %9 = tir.cmp le %c3, %8 : i32
        %10 = tir.and %6, %9 : i1
        %11 = tir.mul %j, %c2 : i32
        %12 = tir.add %11, %k : i32
        %13 = tir.cmp lt %12, %c17 : i32
        %14 = tir.and %10, %13 : i1
        tir.if %14 {
          %15 = tir.mul %i, %c2 : i32
          %16 = tir.add %15, %k : i32
          %17 = tir.sub %16, %c3 : i32
          %18 = tir.mul %j, %c2 : i32
          %19 = tir.add %18, %k : i32
          %20 = tir.sub %19, %c3 : i32
          %21 = tir.load %B[%17, %20] : i32
          tir.store %21, %A[%i, %j] : i32
        }
      }
    }
  }
}
// UNROLL-LABEL: tir.func @nested_pads
// UNROLL:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} unrolled {
// UNROLL-NEXT:    %[[V1:.*]] = tir.const 2 : i32
// UNROLL-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %[[V1]] unrolled {
// UNROLL-NEXT:      tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:        %[[V2:.*]] = tir.mul %[[I]], %{{.*}} : i32
// UNROLL-NEXT:        %[[V3:.*]] = tir.add %[[V2]], %[[K]] : i32
// UNROLL-NEXT:        %[[V4:.*]] = tir.cmp le %{{.*}}, %[[V3]] : i32
// UNROLL-NEXT:        %[[V5:.*]] = tir.mul %[[J]], %{{.*}} : i32
// UNROLL-NEXT:        %[[V6:.*]] = tir.add %[[V5]], %[[K]] : i32
// UNROLL-NEXT:        %[[V7:.*]] = tir.cmp le %{{.*}}, %[[V6]] : i32
// UNROLL-NEXT:        %[[V8:.*]] = tir.and %[[V4]], %[[V7]] : i1
// UNROLL-NEXT:        tir.if %[[V8]] {
// UNROLL-NEXT:          %[[V9:.*]] = tir.mul %[[I]], %{{.*}} : i32
// UNROLL-NEXT:          %[[V10:.*]] = tir.add %[[V9]], %[[K]] : i32
// UNROLL-NEXT:          %[[V11:.*]] = tir.sub %[[V10]], %{{.*}} : i32
// UNROLL-NEXT:          %[[V12:.*]] = tir.mul %[[J]], %{{.*}} : i32
// UNROLL-NEXT:          %[[V13:.*]] = tir.add %[[V12]], %[[K]] : i32
// UNROLL-NEXT:          %[[V14:.*]] = tir.sub %[[V13]], %{{.*}} : i32
// UNROLL-NEXT:          %[[V15:.*]] = tir.load %{{.*}}[%[[V11]], %[[V14]]] : i32
// UNROLL-NEXT:          tir.store %[[V15]], %{{.*}}[%[[I]], %[[J]]] : i32
// UNROLL-NEXT:        }
// UNROLL-NEXT:      }
// UNROLL-NEXT:    }
// UNROLL-NEXT:    %[[V16:.*]] = tir.const 5 : i32
// UNROLL-NEXT:    %[[J_1:.*]] = tir.const 7 : i32
// UNROLL-NEXT:    %[[V17:.*]] = tir.const 0 : i32
// UNROLL-NEXT:    tir.for "j" %[[J_2:.*]] = %[[V17]] to %[[V16]] {
// UNROLL-NEXT:      %[[J_3:.*]] = tir.add %[[J_2]], %[[V1]] : i32
// UNROLL-NEXT:      tir.for "k" %[[K_1:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:        %[[V18:.*]] = tir.mul %[[I]], %{{.*}} : i32
// UNROLL-NEXT:        %[[V19:.*]] = tir.add %[[V18]], %[[K_1]] : i32
// UNROLL-NEXT:        %[[V20:.*]] = tir.cmp le %{{.*}}, %[[V19]] : i32
// UNROLL-NEXT:        tir.if %[[V20]] {
// UNROLL-NEXT:          %[[V21:.*]] = tir.mul %[[I]], %{{.*}} : i32
// UNROLL-NEXT:          %[[V22:.*]] = tir.add %[[V21]], %[[K_1]] : i32
// UNROLL-NEXT:          %[[V23:.*]] = tir.sub %[[V22]], %{{.*}} : i32
// UNROLL-NEXT:          %[[V24:.*]] = tir.mul %[[J_2]], %{{.*}} : i32
// UNROLL-NEXT:          %[[V25:.*]] = tir.add %[[V24]], %[[K_1]] : i32
// UNROLL-NEXT:          %[[V26:.*]] = tir.const 1 : i32
// UNROLL-NEXT:          %[[V27:.*]] = tir.add %[[V25]], %[[V26]] : i32
// UNROLL-NEXT:          %[[V28:.*]] = tir.load %{{.*}}[%[[V23]], %[[V27]]] : i32
// UNROLL-NEXT:          tir.store %[[V28]], %{{.*}}[%[[I]], %[[J_3]]] : i32
// UNROLL-NEXT:        }
// UNROLL-NEXT:      }
// UNROLL-NEXT:    }
// UNROLL-NEXT:    tir.for "k" %[[K_2:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:      %[[V29:.*]] = tir.mul %[[I]], %{{.*}} : i32
// UNROLL-NEXT:      %[[V30:.*]] = tir.add %[[V29]], %[[K_2]] : i32
// UNROLL-NEXT:      %[[V31:.*]] = tir.cmp le %{{.*}}, %[[V30]] : i32
// UNROLL-NEXT:      %[[V32:.*]] = tir.cmp lt %[[K_2]], %{{.*}} : i32
// UNROLL-NEXT:      %[[V33:.*]] = tir.and %[[V31]], %[[V32]] : i1
// UNROLL-NEXT:      tir.if %[[V33]] {
// UNROLL-NEXT:        %[[V34:.*]] = tir.mul %[[I]], %{{.*}} : i32
// UNROLL-NEXT:        %[[V35:.*]] = tir.add %[[V34]], %[[K_2]] : i32
// UNROLL-NEXT:        %[[V36:.*]] = tir.sub %[[V35]], %{{.*}} : i32
// UNROLL-NEXT:        %[[V37:.*]] = tir.const 11 : i32
// UNROLL-NEXT:        %[[V38:.*]] = tir.add %[[K_2]], %[[V37]] : i32
// UNROLL-NEXT:        %[[V39:.*]] = tir.load %{{.*}}[%[[V36]], %[[V38]]] : i32
// UNROLL-NEXT:        tir.store %[[V39]], %{{.*}}[%[[I]], %[[J_1]]] : i32
// UNROLL-NEXT:      }
// UNROLL-NEXT:    }
// UNROLL-NEXT:  }
// UNROLL:       tir.for "i" %[[I_2:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:    %[[I_3:.*]] = tir.add %[[I_2]], %{{.*}} : i32
// UNROLL-NEXT:    %[[V42:.*]] = tir.const 2 : i32
// UNROLL-NEXT:    tir.for "j" %[[J_4:.*]] = %{{.*}} to %[[V42]] unrolled {
// UNROLL-NEXT:      tir.for "k" %[[K_3:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:        %[[V43:.*]] = tir.mul %[[J_4]], %{{.*}} : i32
// UNROLL-NEXT:        %[[V44:.*]] = tir.add %[[V43]], %[[K_3]] : i32
// UNROLL-NEXT:        %[[V45:.*]] = tir.cmp le %{{.*}}, %[[V44]] : i32
// UNROLL-NEXT:        tir.if %[[V45]] {
// UNROLL-NEXT:          %[[V46:.*]] = tir.mul %[[J_4]], %{{.*}} : i32
// UNROLL-NEXT:          %[[V47:.*]] = tir.add %[[V46]], %[[K_3]] : i32
// UNROLL-NEXT:          %[[V48:.*]] = tir.sub %[[V47]], %{{.*}} : i32
// UNROLL-NEXT:          %[[V49:.*]] = tir.mul %[[I_2]], %{{.*}} : i32
// UNROLL-NEXT:          %[[V50:.*]] = tir.add %[[V49]], %[[K_3]] : i32
// UNROLL-NEXT:          %[[V51:.*]] = tir.const 1 : i32
// UNROLL-NEXT:          %[[V52:.*]] = tir.add %[[V50]], %[[V51]] : i32
// UNROLL-NEXT:          %[[V53:.*]] = tir.load %{{.*}}[%[[V52]], %[[V48]]] : i32
// UNROLL-NEXT:          tir.store %[[V53]], %{{.*}}[%[[I_3]], %[[J_4]]] : i32
// UNROLL-NEXT:        }
// UNROLL-NEXT:      }
// UNROLL-NEXT:    }
// UNROLL-NEXT:    %[[V54:.*]] = tir.const 5 : i32
// UNROLL-NEXT:    %[[J_5:.*]] = tir.const 7 : i32
// UNROLL-NEXT:    %[[V55:.*]] = tir.const 0 : i32
// UNROLL-NEXT:    tir.for "j" %[[J_6:.*]] = %[[V55]] to %[[V54]] {
// UNROLL-NEXT:      %[[J_7:.*]] = tir.add %[[J_6]], %[[V42]] : i32
// UNROLL-NEXT:      tir.for "k" %[[K_4:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:        %[[V56:.*]] = tir.mul %[[I_2]], %{{.*}} : i32
// UNROLL-NEXT:        %[[V57:.*]] = tir.add %[[V56]], %[[K_4]] : i32
// UNROLL-NEXT:        %[[V58:.*]] = tir.const 1 : i32
// UNROLL-NEXT:        %[[V59:.*]] = tir.add %[[V57]], %[[V58]] : i32
// UNROLL-NEXT:        %[[V60:.*]] = tir.mul %[[J_6]], %{{.*}} : i32
// UNROLL-NEXT:        %[[V61:.*]] = tir.add %[[V60]], %[[K_4]] : i32
// UNROLL-NEXT:        %[[V62:.*]] = tir.add %[[V61]], %[[V58]] : i32
// UNROLL-NEXT:        %[[V63:.*]] = tir.load %{{.*}}[%[[V59]], %[[V62]]] : i32
// UNROLL-NEXT:        tir.store %[[V63]], %{{.*}}[%[[I_3]], %[[J_7]]] : i32
// UNROLL-NEXT:      }
// UNROLL-NEXT:    }
// UNROLL-NEXT:    tir.for "k" %[[K_5:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:      %[[V64:.*]] = tir.cmp lt %[[K_5]], %{{.*}} : i32
// UNROLL-NEXT:      tir.if %[[V64]] {
// UNROLL-NEXT:        %[[V65:.*]] = tir.mul %[[I_2]], %{{.*}} : i32
// UNROLL-NEXT:        %[[V66:.*]] = tir.add %[[V65]], %[[K_5]] : i32
// UNROLL-NEXT:        %[[V67:.*]] = tir.const 1 : i32
// UNROLL-NEXT:        %[[V68:.*]] = tir.add %[[V66]], %[[V67]] : i32
// UNROLL-NEXT:        %[[V69:.*]] = tir.const 11 : i32
// UNROLL-NEXT:        %[[V70:.*]] = tir.add %[[K_5]], %[[V69]] : i32
// UNROLL-NEXT:        %[[V71:.*]] = tir.load %{{.*}}[%[[V68]], %[[V70]]] : i32
// UNROLL-NEXT:        tir.store %[[V71]], %{{.*}}[%[[I_3]], %[[J_5]]] : i32
// UNROLL-NEXT:      }
// UNROLL-NEXT:    }
// UNROLL-NEXT:  }
// UNROLL:       tir.for "j" %[[J_8:.*]] = %{{.*}} to %{{.*}} unrolled {
// UNROLL-NEXT:    tir.for "k" %[[K_6:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:      %[[V73:.*]] = tir.mul %[[J_8]], %{{.*}} : i32
// UNROLL-NEXT:      %[[V74:.*]] = tir.add %[[V73]], %[[K_6]] : i32
// UNROLL-NEXT:      %[[V75:.*]] = tir.cmp le %{{.*}}, %[[V74]] : i32
// UNROLL-NEXT:      %[[V76:.*]] = tir.cmp lt %[[K_6]], %{{.*}} : i32
// UNROLL-NEXT:      %[[V77:.*]] = tir.and %[[V76]], %[[V75]] : i1
// UNROLL-NEXT:      tir.if %[[V77]] {
// UNROLL-NEXT:        %[[V78:.*]] = tir.mul %[[J_8]], %{{.*}} : i32
// UNROLL-NEXT:        %[[V79:.*]] = tir.add %[[V78]], %[[K_6]] : i32
// UNROLL-NEXT:        %[[V80:.*]] = tir.sub %[[V79]], %{{.*}} : i32
// UNROLL-NEXT:        %[[V81:.*]] = tir.const 11 : i32
// UNROLL-NEXT:        %[[V82:.*]] = tir.add %[[K_6]], %[[V81]] : i32
// UNROLL-NEXT:        %[[V83:.*]] = tir.load %{{.*}}[%[[V82]], %[[V80]]] : i32
// UNROLL-NEXT:        tir.store %[[V83]], %{{.*}}[%{{.*}}, %[[J_8]]] : i32
// UNROLL-NEXT:      }
// UNROLL-NEXT:    }
// UNROLL-NEXT:  }
// UNROLL:       tir.for "j" %[[J_10:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:    %[[J_11:.*]] = tir.add %[[J_10]], %{{.*}} : i32
// UNROLL-NEXT:    tir.for "k" %[[K_7:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:      %[[V86:.*]] = tir.cmp lt %[[K_7]], %{{.*}} : i32
// UNROLL-NEXT:      tir.if %[[V86]] {
// UNROLL-NEXT:        %[[V87:.*]] = tir.const 11 : i32
// UNROLL-NEXT:        %[[V88:.*]] = tir.add %[[K_7]], %[[V87]] : i32
// UNROLL-NEXT:        %[[V89:.*]] = tir.mul %[[J_10]], %{{.*}} : i32
// UNROLL-NEXT:        %[[V90:.*]] = tir.add %[[V89]], %[[K_7]] : i32
// UNROLL-NEXT:        %[[V91:.*]] = tir.const 1 : i32
// UNROLL-NEXT:        %[[V92:.*]] = tir.add %[[V90]], %[[V91]] : i32
// UNROLL-NEXT:        %[[V93:.*]] = tir.load %{{.*}}[%[[V88]], %[[V92]]] : i32
// UNROLL-NEXT:        tir.store %[[V93]], %{{.*}}[%{{.*}}, %[[J_11]]] : i32
// UNROLL-NEXT:      }
// UNROLL-NEXT:    }
// UNROLL-NEXT:  }
// UNROLL-NEXT:  tir.for "k" %[[K_8:.*]] = %{{.*}} to %{{.*}} {
// UNROLL-NEXT:    %[[V94:.*]] = tir.cmp lt %[[K_8]], %{{.*}} : i32
// UNROLL-NEXT:    tir.if %[[V94]] {
// UNROLL-NEXT:      %[[V95:.*]] = tir.const 11 : i32
// UNROLL-NEXT:      %[[V96:.*]] = tir.add %[[K_8]], %[[V95]] : i32
// UNROLL-NEXT:      %[[V97:.*]] = tir.load %{{.*}}[%[[V96]], %[[V96]]] : i32
// UNROLL-NEXT:      tir.store %[[V97]], %{{.*}}[%{{.*}}, %{{.*}}] : i32
// UNROLL-NEXT:    }
// UNROLL-NEXT:  }
// UNROLL-NEXT:}

// -----

// CASE: LoopPartition.6
tir.func @point_inside(%A_handle: !tir.handle, %n: i32) attributes {global_symbol = "point_inside", param_names = ["A_handle", "n"]} {
  %c0 = tir.const 0 : i32
  %c128 = tir.const 128 : i32
  %c63 = tir.const 63 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<128xi32>
  tir.for "i" %i = %c0 to %c128 annotations {pragma_loop_partition_hint = true} {
    %0 = tir.cmp gt %i, %c63 : i32
    tir.if %0 {
      tir.store %n, %A[%i] : i32
    } else {
      %1 = tir.cmp eq %i, %c63 : i32
      tir.if %1 {
        tir.store %c0, %A[%i] : i32
      } else {
        tir.store %i, %A[%i] : i32
      }
    }
  }
}
// SIMPLE-LABEL: tir.func @point_inside
// SIMPLE:       tir.for "i" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:    tir.store %[[I_1]], %{{.*}}[%[[I_1]]] : i32
// SIMPLE-NEXT:  }
// SIMPLE-NEXT:  tir.store %{{.*}}, %{{.*}}[%{{.*}}] : i32
// SIMPLE:       tir.for "i" %[[I_2:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:    %[[I_3:.*]] = tir.add %[[I_2]], %{{.*}} : i32
// SIMPLE-NEXT:    tir.store %{{.*}}, %{{.*}}[%[[I_3]]] : i32
// SIMPLE-NEXT:  }
// SIMPLE-NEXT:}

// -----

// CASE: LoopPartition.6
tir.func @points_at_ends(%A_handle: !tir.handle, %n: i32) attributes {global_symbol = "points_at_ends", param_names = ["A_handle", "n"]} {
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c15 = tir.const 15 : i32
  %c1 = tir.const 1 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<16xi32>
  tir.for "i" %i = %c0 to %c16 annotations {pragma_loop_partition_hint = true} {
    %0 = tir.cmp eq %i, %c0 : i32
    tir.if %0 {
      tir.store %n, %A[%i] : i32
    } else {
      %1 = tir.cmp eq %i, %c15 : i32
      tir.if %1 {
        %2 = tir.add %n, %c1 : i32
        tir.store %2, %A[%i] : i32
      } else {
        tir.store %i, %A[%i] : i32
      }
    }
  }
}
// SIMPLE-LABEL: tir.func @points_at_ends
// SIMPLE:       tir.store %{{.*}}, %{{.*}}[%{{.*}}] : i32
// SIMPLE:       tir.for "i" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:    %[[I_2:.*]] = tir.add %[[I_1]], %{{.*}} : i32
// SIMPLE-NEXT:    tir.store %[[I_2]], %{{.*}}[%[[I_2]]] : i32
// SIMPLE-NEXT:  }
// SIMPLE-NEXT:  %[[V3:.*]] = tir.add %{{.*}}, %{{.*}} : i32
// SIMPLE-NEXT:  tir.store %[[V3]], %{{.*}}[%{{.*}}] : i32
// SIMPLE-NEXT:}

// -----

// CASE: LoopPartition.6
tir.func @five_ways(%A_handle: !tir.handle, %n: i32) attributes {global_symbol = "five_ways", param_names = ["A_handle", "n"]} {
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c7 = tir.const 7 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c15 = tir.const 15 : i32
  %c3 = tir.const 3 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<16xi32>
  tir.for "i" %i = %c0 to %c16 annotations {pragma_loop_partition_hint = true} {
    %0 = tir.cmp eq %i, %c0 : i32
    tir.if %0 {
      tir.store %n, %A[%i] : i32
    } else {
      %1 = tir.cmp lt %i, %c7 : i32
      tir.if %1 {
        tir.store %c1, %A[%i] : i32
      } else {
        %2 = tir.cmp eq %i, %c7 : i32
        tir.if %2 {
          tir.store %c2, %A[%i] : i32
        } else {
          %3 = tir.cmp eq %i, %c15 : i32
          tir.if %3 {
            tir.store %c3, %A[%i] : i32
          } else {
            tir.store %i, %A[%i] : i32
          }
        }
      }
    }
  }
}
// SIMPLE-LABEL: tir.func @five_ways
// SIMPLE:       tir.store %{{.*}}, %{{.*}}[%{{.*}}] : i32
// SIMPLE:       tir.for "i" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:    %[[I_2:.*]] = tir.add %[[I_1]], %{{.*}} : i32
// SIMPLE-NEXT:    tir.store %{{.*}}, %{{.*}}[%[[I_2]]] : i32
// SIMPLE-NEXT:  }
// SIMPLE:       tir.store %{{.*}}, %{{.*}}[%{{.*}}] : i32
// SIMPLE:       tir.for "i" %[[I_3:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:    %[[I_4:.*]] = tir.add %[[I_3]], %{{.*}} : i32
// SIMPLE-NEXT:    tir.store %[[I_4]], %{{.*}}[%[[I_4]]] : i32
// SIMPLE-NEXT:  }
// SIMPLE:       tir.store %{{.*}}, %{{.*}}[%{{.*}}] : i32
// SIMPLE-NEXT:}

// -----

// CASE: LoopPartition.6
tir.func @nested_hints(%A_handle: !tir.handle, %n: i32) attributes {global_symbol = "nested_hints", param_names = ["A_handle", "n"]} {
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c1 = tir.const 1 : i32
  %c16 = tir.const 16 : i32
  %c3 = tir.const 3 : i32
  %c8 = tir.const 8 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<2x16xi32>
  tir.for "i" %i = %c0 to %c2 annotations {pragma_loop_partition_hint = true} {
    %0 = tir.cmp eq %i, %c1 : i32
    tir.if %0 {
      tir.for "j" %j = %c0 to %c16 annotations {pragma_loop_partition_hint = true} {
        %1 = tir.cmp eq %j, %c3 : i32
        tir.if %1 {
          tir.store %n, %A[%i, %j] : i32
        } else {
          tir.store %j, %A[%i, %j] : i32
        }
      }
    } else {
      tir.for "j" %j_1 = %c0 to %c16 annotations {pragma_loop_partition_hint = true} {
        %2 = tir.cmp lt %j_1, %c8 : i32
        tir.if %2 {
          tir.store %n, %A[%i, %j_1] : i32
        }
      }
    }
  }
}
// SIMPLE-LABEL: tir.func @nested_hints
// SIMPLE:       tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:    tir.store %{{.*}}, %{{.*}}[%{{.*}}, %[[J]]] : i32
// SIMPLE-NEXT:  }
// SIMPLE:       tir.for "j" %[[J_2:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:    tir.store %[[J_2]], %{{.*}}[%{{.*}}, %[[J_2]]] : i32
// SIMPLE-NEXT:  }
// SIMPLE:       tir.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : i32
// SIMPLE:       tir.for "j" %[[J_3:.*]] = %{{.*}} to %{{.*}} {
// SIMPLE-NEXT:    %[[J_4:.*]] = tir.add %[[J_3]], %{{.*}} : i32
// SIMPLE-NEXT:    tir.store %[[J_4]], %{{.*}}[%{{.*}}, %[[J_4]]] : i32
// SIMPLE-NEXT:  }
// SIMPLE-NEXT:}

// -----

// CASE: LoopPartition.6
tir.func @quotients(%A_handle: !tir.handle, %n: i32) attributes {global_symbol = "quotients", param_names = ["A_handle", "n"]} {
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c640 = tir.const 640 : i32
  %c1 = tir.const 1 : i32
  %c320 = tir.const 320 : i32
  %c3 = tir.const 3 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<2x640xi32>
  tir.for "i" %i = %c0 to %c2 annotations {pragma_loop_partition_hint = true} {
    tir.for "vv" %vv = %c0 to %c640 vectorized annotations {pragma_loop_partition_hint = true} {
      %0 = tir.cmp eq %i, %c1 : i32
      tir.if %0 {
        %1 = tir.mul %i, %c2 : i32
        %2 = tir.floordiv %vv, %c320 : i32
        %3 = tir.add %1, %2 : i32
        %4 = tir.cmp eq %3, %c3 : i32
        tir.if %4 {
          tir.store %n, %A[%i, %vv] : i32
        }
      }
    }
  }
}
// SIMPLE-LABEL: tir.func @quotients
// SIMPLE:       tir.for "vv" %[[VV:.*]] = %{{.*}} to %{{.*}} vectorized {
// SIMPLE-NEXT:    %[[VV_1:.*]] = tir.add %[[VV]], %{{.*}} : i32
// SIMPLE-NEXT:    tir.store %{{.*}}, %{{.*}}[%{{.*}}, %[[VV_1]]] : i32
// SIMPLE-NEXT:  }
// SIMPLE-NEXT:}

// -----

// CASE: LoopPartition.7
tir.func @ignored(%A_handle: !tir.handle, %n: i32) attributes {global_symbol = "ignored", param_names = ["A_handle", "n"]} {
  %c0 = tir.const 0 : i32
  %c12 = tir.const 12 : i32
  %c7 = tir.const 7 : i32
  %c2 = tir.const 2 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<12xi32>
  tir.for "i" %i = %c0 to %c12 annotations {pragma_loop_partition_hint = true} {
    %0 = tir.cmp lt %i, %c7 : i32
    %1 = tir.call "ignore_loop_partition"(%0) : (i1) -> i1
    tir.if %1 {
      tir.store %n, %A[%i] : i32
    }
    %2 = tir.cmp le %c2, %i : i32
    tir.if %2 {
      tir.store %i, %A[%i] : i32
    }
  }
}
// CHECK-LABEL: tir.func @ignored
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V1:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:    tir.if %[[V1]] {
// CHECK-NEXT:      tir.store %{{.*}}, %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[V2:.*]] = tir.const false
// CHECK-NEXT:    tir.if %[[V2]] {
// CHECK-NEXT:      tir.store %[[I]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK:       tir.for "i" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[I_2:.*]] = tir.add %[[I_1]], %{{.*}} : i32
// CHECK-NEXT:    %[[V5:.*]] = tir.cmp lt %[[I_2]], %{{.*}} : i32
// CHECK-NEXT:    tir.if %[[V5]] {
// CHECK-NEXT:      tir.store %{{.*}}, %{{.*}}[%[[I_2]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[V6:.*]] = tir.const true
// CHECK-NEXT:    tir.if %[[V6]] {
// CHECK-NEXT:      tir.store %[[I_2]], %{{.*}}[%[[I_2]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: LoopPartition.8
tir.func @literal(%A_handle: !tir.handle) attributes {global_symbol = "literal", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c12 = tir.const 12 : i32
  %c7 = tir.const 7 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<12xi32>
  tir.for "i" %i = %c0 to %c12 {
    %0 = tir.cmp lt %i, %c7 : i32
    %1 = tir.call "likely"(%0) : (i1) -> i1
    tir.if %1 {
      tir.store %i, %A[%i] : i32
    }
  }
}
// CHECK-LABEL: tir.func @literal
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:    tir.if %[[V0]] {
// CHECK-NEXT:      tir.store %[[I]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// Blocks of threads run one of two versions.
tir.func @blocks(%A_handle: !tir.handle, %n: i32) attributes {global_symbol = "blocks", param_names = ["A_handle", "n"]} {
  %c7 = tir.const 7 : i32
  %c4 = tir.const 4 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<64xi32>
  tir.launch_thread %bx = "blockIdx.x" to %c7 {
    tir.launch_thread %tx = "threadIdx.x" to %c4 {
      %0 = tir.mul %bx, %c4 : i32
      %1 = tir.add %0, %tx : i32
      %2 = tir.cmp lt %1, %n : i32
      %3 = tir.call "likely"(%2) : (i1) -> i1
      tir.if %3 {
        %4 = tir.mul %bx, %c4 : i32
        %5 = tir.add %4, %tx : i32
        tir.store %n, %A[%5] : i32
      }
    }
  }
}
// CONST-LABEL: tir.func @blocks
// CONST:       tir.launch_thread %[[BX:.*]] = "blockIdx.x" to %{{.*}} {
// CONST-NEXT:    tir.launch_thread %[[TX:.*]] = "threadIdx.x" to %{{.*}} {
// CONST-NEXT:      %[[V0:.*]] = tir.const 4 : i32
// CONST-NEXT:      %[[V1:.*]] = tir.floordiv %{{.*}}, %[[V0]] : i32
// CONST-NEXT:      %[[V2:.*]] = tir.const 1 : i32
// CONST-NEXT:      %[[V3:.*]] = tir.sub %[[V1]], %[[V2]] : i32
// CONST-NEXT:      %[[V4:.*]] = tir.cmp le %[[BX]], %[[V3]] : i32
// CONST-NEXT:      tir.if %[[V4]] {
// CONST-NEXT:        %[[V5:.*]] = tir.const true
// CONST-NEXT:        tir.if %[[V5]] {
// CONST-NEXT:          %[[V6:.*]] = tir.mul %[[BX]], %{{.*}} : i32
// CONST-NEXT:          %[[V7:.*]] = tir.add %[[V6]], %[[TX]] : i32
// CONST-NEXT:          tir.store %{{.*}}, %{{.*}}[%[[V7]]] : i32
// CONST-NEXT:        }
// CONST-NEXT:      } else {
// CONST-NEXT:        %[[V8:.*]] = tir.mul %[[BX]], %{{.*}} : i32
// CONST-NEXT:        %[[V9:.*]] = tir.add %[[V8]], %[[TX]] : i32
// CONST-NEXT:        %[[V10:.*]] = tir.cmp lt %[[V9]], %{{.*}} : i32
// CONST-NEXT:        tir.if %[[V10]] {
// CONST-NEXT:          %[[V11:.*]] = tir.mul %[[BX]], %{{.*}} : i32
// CONST-NEXT:          %[[V12:.*]] = tir.add %[[V11]], %[[TX]] : i32
// CONST-NEXT:          tir.store %{{.*}}, %{{.*}}[%[[V12]]] : i32
// CONST-NEXT:        }
// CONST-NEXT:      }
// CONST-NEXT:    }
// CONST-NEXT:  }
// CONST-NEXT:}
// CHECK-LABEL: tir.func @blocks
// CHECK:       tir.launch_thread %[[BX:.*]] = "blockIdx.x" to %{{.*}} {
// CHECK-NEXT:    tir.launch_thread %[[TX:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK-NEXT:      %[[V0:.*]] = tir.mul %[[BX]], %{{.*}} : i32
// CHECK-NEXT:      %[[V1:.*]] = tir.add %[[V0]], %[[TX]] : i32
// CHECK-NEXT:      %[[V2:.*]] = tir.cmp lt %[[V1]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V2]] {
// CHECK-NEXT:        %[[V3:.*]] = tir.mul %[[BX]], %{{.*}} : i32
// CHECK-NEXT:        %[[V4:.*]] = tir.add %[[V3]], %[[TX]] : i32
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[V4]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// The interval may be outside of the range, and the range may be empty.
tir.func @clamped(%A_handle: !tir.handle, %n: i32, %m: i32) attributes {global_symbol = "clamped", param_names = ["A_handle", "n", "m"]} {
  %c0 = tir.const 0 : i32
  %cm3 = tir.const -3 : i32
  %c9 = tir.const 9 : i32
  %c1 = tir.const 1 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<16xi32>
  tir.for "k" %k = %c0 to %n {
    %0 = tir.add %k, %cm3 : i32
    tir.for "i" %i = %m to %m + %0 {
      %1 = tir.add %i, %n : i32
      %2 = tir.cmp lt %1, %c9 : i32
      %3 = tir.call "likely"(%2) : (i1) -> i1
      tir.if %3 {
        %4 = tir.load %A[%i] : i32
        %5 = tir.add %4, %n : i32
        tir.store %5, %A[%i] : i32
      } else {
        %6 = tir.load %A[%i] : i32
        %7 = tir.sub %6, %c1 : i32
        tir.store %7, %A[%i] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @clamped
// CHECK:       tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.const 9 : i32
// CHECK-NEXT:    %[[V1:.*]] = tir.sub %[[V0]], %{{.*}} : i32
// CHECK-NEXT:    %[[V2:.*]] = tir.add %{{.*}}, %[[K]] : i32
// CHECK-NEXT:    %[[V3:.*]] = tir.const 3 : i32
// CHECK-NEXT:    %[[V4:.*]] = tir.sub %[[V2]], %[[V3]] : i32
// CHECK-NEXT:    %[[V5:.*]] = tir.min %[[V1]], %[[V4]] : i32
// CHECK-NEXT:    %[[V6:.*]] = tir.sub %[[V5]], %{{.*}} : i32
// CHECK-NEXT:    %[[V7:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[V8:.*]] = tir.max %[[V6]], %[[V7]] : i32
// CHECK-NEXT:    %[[V9:.*]] = tir.max %[[V5]], %{{.*}} : i32
// CHECK-NEXT:    %[[V10:.*]] = tir.sub %[[V2]], %[[V9]] : i32
// CHECK-NEXT:    %[[V11:.*]] = tir.sub %[[V10]], %[[V3]] : i32
// CHECK-NEXT:    %[[V12:.*]] = tir.const 0 : i32
// CHECK-NEXT:    tir.for "i" %[[I:.*]] = %[[V12]] to %[[V8]] {
// CHECK-NEXT:      %[[I_1:.*]] = tir.add %[[I]], %{{.*}} : i32
// CHECK-NEXT:      %[[V13:.*]] = tir.const true
// CHECK-NEXT:      tir.if %[[V13]] {
// CHECK-NEXT:        %[[V14:.*]] = tir.load %{{.*}}[%[[I_1]]] : i32
// CHECK-NEXT:        %[[V15:.*]] = tir.add %[[V14]], %{{.*}} : i32
// CHECK-NEXT:        tir.store %[[V15]], %{{.*}}[%[[I_1]]] : i32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[V16:.*]] = tir.load %{{.*}}[%[[I_1]]] : i32
// CHECK-NEXT:        %[[V17:.*]] = tir.sub %[[V16]], %{{.*}} : i32
// CHECK-NEXT:        tir.store %[[V17]], %{{.*}}[%[[I_1]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[V18:.*]] = tir.const 0 : i32
// CHECK-NEXT:    tir.for "i" %[[I_2:.*]] = %[[V18]] to %[[V11]] {
// CHECK-NEXT:      %[[I_3:.*]] = tir.add %[[I_2]], %[[V9]] : i32
// CHECK-NEXT:      %[[V19:.*]] = tir.add %[[I_3]], %{{.*}} : i32
// CHECK-NEXT:      %[[V20:.*]] = tir.cmp lt %[[V19]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V20]] {
// CHECK-NEXT:        %[[V21:.*]] = tir.load %{{.*}}[%[[I_3]]] : i32
// CHECK-NEXT:        %[[V22:.*]] = tir.add %[[V21]], %{{.*}} : i32
// CHECK-NEXT:        tir.store %[[V22]], %{{.*}}[%[[I_3]]] : i32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[V23:.*]] = tir.load %{{.*}}[%[[I_3]]] : i32
// CHECK-NEXT:        %[[V24:.*]] = tir.sub %[[V23]], %{{.*}} : i32
// CHECK-NEXT:        tir.store %[[V24]], %{{.*}}[%[[I_3]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// A bound that is read in the loop splits nothing.
tir.func @loaded(%A_handle: !tir.handle, %B_handle: !tir.handle, %n: i32) attributes {global_symbol = "loaded", param_names = ["A_handle", "B_handle", "n"]} {
  %c0 = tir.const 0 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<8xi32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<8xi32>
  tir.for "i" %i = %c0 to %n {
    %0 = tir.load %B[%c0] : i32
    %1 = tir.cmp lt %i, %0 : i32
    %2 = tir.call "likely"(%1) : (i1) -> i1
    tir.if %2 {
      tir.store %i, %B[%c0] : i32
    }
  }
}
// CHECK-LABEL: tir.func @loaded
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.load %{{.*}}[%{{.*}}] : i32
// CHECK-NEXT:    %[[V1:.*]] = tir.cmp lt %[[I]], %[[V0]] : i32
// CHECK-NEXT:    tir.if %[[V1]] {
// CHECK-NEXT:      tir.store %[[I]], %{{.*}}[%{{.*}}] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// Threads that meet in a loop all run the same parts of it.
tir.func @meet(%A_handle: !tir.handle, %B_handle: !tir.handle, %n: i32) attributes {global_symbol = "meet", param_names = ["A_handle", "B_handle", "n"]} {
  %c4 = tir.const 4 : i32
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4xi32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<4xi32>
  tir.launch_thread %tx = "threadIdx.x" to %c4 {
    %0 = tir.load %B[%tx] : i32
    %c = tir.let "c" %0 : i32
    tir.for "i" %i = %c0 to %c8 annotations {pragma_loop_partition_hint = true} {
      %1 = tir.cmp lt %i, %c : i32
      tir.if %1 {
        tir.store %i, %A[%tx] : i32
      }
      %2 = tir.string "shared"
      %3 = tir.call "tvm_storage_sync"(%2) : (!tir.handle) -> i32
    }
    tir.for "i" %i_1 = %c0 to %c8 annotations {pragma_loop_partition_hint = true} {
      %4 = tir.cmp lt %i_1, %n : i32
      tir.if %4 {
        tir.store %i_1, %A[%tx] : i32
      }
      %5 = tir.string "shared"
      %6 = tir.call "tvm_storage_sync"(%5) : (!tir.handle) -> i32
    }
  }
}
// CHECK-LABEL: tir.func @meet
// CHECK:       tir.launch_thread %[[TX:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.load %{{.*}}[%[[TX]]] : i32
// CHECK-NEXT:    %[[C:.*]] = tir.let "c" %[[V0]] : i32
// CHECK-NEXT:    tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V1:.*]] = tir.cmp lt %[[I]], %[[C]] : i32
// CHECK-NEXT:      tir.if %[[V1]] {
// CHECK-NEXT:        tir.store %[[I]], %{{.*}}[%[[TX]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[V2:.*]] = tir.string "shared"
// CHECK-NEXT:      %[[V3:.*]] = tir.call "tvm_storage_sync"(%[[V2]]) : (!tir.handle) -> i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[V4:.*]] = tir.min %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:    %[[V5:.*]] = tir.max %[[V4]], %{{.*}} : i32
// CHECK-NEXT:    %[[V6:.*]] = tir.sub %{{.*}}, %[[V5]] : i32
// CHECK-NEXT:    tir.for "i" %[[I_1:.*]] = %{{.*}} to %[[V5]] {
// CHECK-NEXT:      %[[V7:.*]] = tir.const true
// CHECK-NEXT:      tir.if %[[V7]] {
// CHECK-NEXT:        tir.store %[[I_1]], %{{.*}}[%[[TX]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[V8:.*]] = tir.string "shared"
// CHECK-NEXT:      %[[V9:.*]] = tir.call "tvm_storage_sync"(%[[V8]]) : (!tir.handle) -> i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[V10:.*]] = tir.const 0 : i32
// CHECK-NEXT:    tir.for "i" %[[I_2:.*]] = %[[V10]] to %[[V6]] {
// CHECK-NEXT:      %[[I_3:.*]] = tir.add %[[I_2]], %[[V5]] : i32
// CHECK-NEXT:      %[[V11:.*]] = tir.cmp lt %[[I_3]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V11]] {
// CHECK-NEXT:        tir.store %[[I_3]], %{{.*}}[%[[TX]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[V12:.*]] = tir.string "shared"
// CHECK-NEXT:      %[[V13:.*]] = tir.call "tvm_storage_sync"(%[[V12]]) : (!tir.handle) -> i32
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}
