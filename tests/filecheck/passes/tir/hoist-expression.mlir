// RUN: xdsl-opt %s -p "tir-hoist-expression" --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p "tir-hoist-expression{hoisted_conditionals=15}" --split-input-file | filecheck %s --check-prefix ALL
// RUN: xdsl-opt %s -p "tir-hoist-expression{hoisted_conditionals=0}" --split-input-file | filecheck %s --check-prefix NEVER
// RUN: xdsl-opt %s -p "tir-hoist-expression{hoisted_conditionals=2}" --split-input-file | filecheck %s --check-prefix EXPR
// RUN: xdsl-opt %s -p "tir-hoist-expression{hoisted_conditionals=1}" --split-input-file | filecheck %s --check-prefix STMT
// RUN: xdsl-opt %s -p "tir-hoist-expression{hoisted_let_bindings=0}" --split-input-file | filecheck %s --check-prefix LET0
// RUN: xdsl-opt %s -p "tir-hoist-expression{hoisted_let_bindings=3}" --split-input-file | filecheck %s --check-prefix LETS
// RUN: xdsl-opt %s -p "tir-hoist-expression{hoisted_let_bindings=1}" --split-input-file | filecheck %s --check-prefix REQUIRED
// RUN: xdsl-opt %s -p "tir-hoist-expression{hoisted_conditionals=4}" --split-input-file | filecheck %s --check-prefix BOOL

// CASE: HoistExpression.1, HoistExpression.2
tir.func @invariant(%A_handle: !tir.handle, %n: i32) attributes {global_symbol = "invariant", param_names = ["A_handle", "n"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4xi32>
  tir.for "i" %i = %c0 to %c4 {
    %0 = tir.cmp ne %n, %c0 : i32
    tir.if %0 {
      tir.store %c0, %A[%i] : i32
    }
  }
}
// CHECK-LABEL: tir.func @invariant
// CHECK:       %[[V0:.*]] = tir.cmp ne %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:  tir.if %[[V0]] {
// CHECK-NEXT:    tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      tir.store %{{.*}}, %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}
// ALL-LABEL: tir.func @invariant
// ALL:       %[[V0:.*]] = tir.cmp ne %{{.*}}, %{{.*}} : i32
// ALL-NEXT:  tir.if %[[V0]] {
// ALL-NEXT:    tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// ALL-NEXT:      tir.store %{{.*}}, %{{.*}}[%[[I]]] : i32
// ALL-NEXT:    }
// ALL-NEXT:  }
// ALL-NEXT:}
// STMT-LABEL: tir.func @invariant
// STMT:       %[[V0:.*]] = tir.cmp ne %{{.*}}, %{{.*}} : i32
// STMT-NEXT:  tir.if %[[V0]] {
// STMT-NEXT:    tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// STMT-NEXT:      tir.store %{{.*}}, %{{.*}}[%[[I]]] : i32
// STMT-NEXT:    }
// STMT-NEXT:  }
// STMT-NEXT:}
// NEVER-LABEL: tir.func @invariant
// NEVER:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// NEVER-NEXT:    %[[V0:.*]] = tir.cmp ne %{{.*}}, %{{.*}} : i32
// NEVER-NEXT:    tir.if %[[V0]] {
// NEVER-NEXT:      tir.store %{{.*}}, %{{.*}}[%[[I]]] : i32
// NEVER-NEXT:    }
// NEVER-NEXT:  }
// NEVER-NEXT:}
// EXPR-LABEL: tir.func @invariant
// EXPR:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// EXPR-NEXT:    %[[V0:.*]] = tir.cmp ne %{{.*}}, %{{.*}} : i32
// EXPR-NEXT:    tir.if %[[V0]] {
// EXPR-NEXT:      tir.store %{{.*}}, %{{.*}}[%[[I]]] : i32
// EXPR-NEXT:    }
// EXPR-NEXT:  }
// EXPR-NEXT:}

// -----

// CASE: HoistExpression.3
tir.func @below_threads(%A_handle: !tir.handle) attributes {global_symbol = "below_threads", param_names = ["A_handle"]} {
  %c128 = tir.const 128 : i32
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<128x16xi32>
  tir.launch_thread %i = "threadIdx.x" to %c128 {
    tir.for "j" %j = %c0 to %c16 {
      %0 = tir.cmp lt %i, %c32 : i32
      tir.if %0 {
        tir.store %c0, %A[%i, %j] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @below_threads
// CHECK:       tir.launch_thread %[[I:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V0]] {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}
// ALL-LABEL: tir.func @below_threads
// ALL:       tir.launch_thread %[[I:.*]] = "threadIdx.x" to %{{.*}} {
// ALL-NEXT:    %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// ALL-NEXT:    tir.if %[[V0]] {
// ALL-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// ALL-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]] : i32
// ALL-NEXT:      }
// ALL-NEXT:    }
// ALL-NEXT:  }
// ALL-NEXT:}

// -----

// CASE: HoistExpression.4
tir.func @bound_loop(%A_handle: !tir.handle) attributes {global_symbol = "bound_loop", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c128 = tir.const 128 : i32
  %c32 = tir.const 32 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<128xi32>
  tir.for "i" %i = %c0 to %c128 thread_binding "threadIdx.x" {
    %0 = tir.cmp lt %i, %c32 : i32
    tir.if %0 {
      tir.store %c0, %A[%i] : i32
    }
  }
}
// ALL-LABEL: tir.func @bound_loop
// ALL:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} thread_binding "threadIdx.x" {
// ALL-NEXT:    %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// ALL-NEXT:    tir.if %[[V0]] {
// ALL-NEXT:      tir.store %{{.*}}, %{{.*}}[%[[I]]] : i32
// ALL-NEXT:    }
// ALL-NEXT:  }
// ALL-NEXT:}

// -----

// CASE: HoistExpression.5
tir.func @above_all(%A_handle: !tir.handle, %n: i32) attributes {global_symbol = "above_all", param_names = ["A_handle", "n"]} {
  %c8 = tir.const 8 : i32
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<8x8x4xi32>
  tir.launch_thread %i = "blockIdx.x" to %c8 {
    tir.for "j" %j = %c0 to %c8 thread_binding "threadIdx.x" {
      tir.for "k" %k = %c0 to %c4 {
        %0 = tir.cmp eq %n, %c0 : i32
        tir.if %0 {
          tir.store %c0, %A[%i, %j, %k] : i32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @above_all
// CHECK:       tir.launch_thread %[[I:.*]] = "blockIdx.x" to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp eq %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:    tir.if %[[V0]] {
// CHECK-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} thread_binding "threadIdx.x" {
// CHECK-NEXT:        tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:          tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]], %[[K]]] : i32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}
// ALL-LABEL: tir.func @above_all
// ALL:       %[[V0:.*]] = tir.cmp eq %{{.*}}, %{{.*}} : i32
// ALL-NEXT:  tir.if %[[V0]] {
// ALL-NEXT:    tir.launch_thread %[[I:.*]] = "blockIdx.x" to %{{.*}} {
// ALL-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} thread_binding "threadIdx.x" {
// ALL-NEXT:        tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// ALL-NEXT:          tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]], %[[K]]] : i32
// ALL-NEXT:        }
// ALL-NEXT:      }
// ALL-NEXT:    }
// ALL-NEXT:  }
// ALL-NEXT:}

// -----

// CASE: HoistExpression.6
tir.func @outer_variable(%A_handle: !tir.handle) attributes {global_symbol = "outer_variable", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c3 = tir.const 3 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x4xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      %0 = tir.cmp lt %i, %c3 : i32
      tir.if %0 {
        tir.store %c0, %A[%i, %j] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @outer_variable
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:    tir.if %[[V0]] {
// CHECK-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: HoistExpression.7
tir.func @binding(%A_handle: !tir.handle) attributes {global_symbol = "binding", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c3 = tir.const 3 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x4xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      %0 = tir.cmp lt %i, %c3 : i32
      %c = tir.let "c" %0 : i1
      tir.if %c {
        tir.store %c0, %A[%i, %j] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @binding
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:    %[[C:.*]] = tir.let "c" %[[V0]] : i1
// CHECK-NEXT:    tir.if %[[C]] {
// CHECK-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}
// REQUIRED-LABEL: tir.func @binding
// REQUIRED:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// REQUIRED-NEXT:    %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// REQUIRED-NEXT:    %[[C:.*]] = tir.let "c" %[[V0]] : i1
// REQUIRED-NEXT:    tir.if %[[C]] {
// REQUIRED-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// REQUIRED-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]] : i32
// REQUIRED-NEXT:      }
// REQUIRED-NEXT:    }
// REQUIRED-NEXT:  }
// REQUIRED-NEXT:}
// LET0-LABEL: tir.func @binding
// LET0:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// LET0-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// LET0-NEXT:      %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// LET0-NEXT:      %[[C:.*]] = tir.let "c" %[[V0]] : i1
// LET0-NEXT:      tir.if %[[C]] {
// LET0-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]] : i32
// LET0-NEXT:      }
// LET0-NEXT:    }
// LET0-NEXT:  }
// LET0-NEXT:}

// -----

// CASE: HoistExpression.8
tir.func @both_branches(%A_handle: !tir.handle) attributes {global_symbol = "both_branches", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c3 = tir.const 3 : i32
  %c1 = tir.const 1 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x4xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      %0 = tir.cmp lt %i, %c3 : i32
      tir.if %0 {
        tir.store %c0, %A[%i, %j] : i32
      } else {
        tir.store %c1, %A[%i, %j] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @both_branches
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:    tir.if %[[V0]] {
// CHECK-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tir.for "j" %[[J_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J_1]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: HoistExpression.9
tir.func @sequences(%A_handle: !tir.handle, %B_handle: !tir.handle) attributes {global_symbol = "sequences", param_names = ["A_handle", "B_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c3 = tir.const 3 : i32
  %c1 = tir.const 1 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x4xi32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<4x4xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      %0 = tir.cmp lt %i, %c3 : i32
      tir.if %0 {
        tir.store %c0, %A[%i, %j] : i32
        tir.store %c0, %B[%i, %j] : i32
      } else {
        tir.store %c1, %A[%i, %j] : i32
        tir.store %c1, %B[%i, %j] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @sequences
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:    tir.if %[[V0]] {
// CHECK-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tir.for "j" %[[J_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J_1]]] : i32
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J_1]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: HoistExpression.10
tir.func @two_levels(%A_handle: !tir.handle) attributes {global_symbol = "two_levels", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c3 = tir.const 3 : i32
  %c2 = tir.const 2 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x4x4xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      tir.for "k" %k = %c0 to %c4 {
        %0 = tir.cmp lt %j, %c3 : i32
        tir.if %0 {
          %1 = tir.cmp lt %i, %c2 : i32
          tir.if %1 {
            tir.store %c0, %A[%i, %j, %k] : i32
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @two_levels
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:    tir.if %[[V0]] {
// CHECK-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[V1:.*]] = tir.cmp lt %[[J]], %{{.*}} : i32
// CHECK-NEXT:        tir.if %[[V1]] {
// CHECK-NEXT:          tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:            tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]], %[[K]]] : i32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: HoistExpression.11
tir.func @conjunction(%A_handle: !tir.handle) attributes {global_symbol = "conjunction", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c3 = tir.const 3 : i32
  %c2 = tir.const 2 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x4x4xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      tir.for "k" %k = %c0 to %c4 {
        %0 = tir.cmp lt %j, %c3 : i32
        %1 = tir.cmp lt %i, %c2 : i32
        %2 = tir.and %0, %1 : i1
        tir.if %2 {
          tir.store %c0, %A[%i, %j, %k] : i32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @conjunction
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:    tir.if %[[V0]] {
// CHECK-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[V1:.*]] = tir.cmp lt %[[J]], %{{.*}} : i32
// CHECK-NEXT:        tir.if %[[V1]] {
// CHECK-NEXT:          tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:            tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]], %[[K]]] : i32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}
// STMT-LABEL: tir.func @conjunction
// STMT:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// STMT-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// STMT-NEXT:      %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// STMT-NEXT:      %[[V1:.*]] = tir.cmp lt %[[J]], %{{.*}} : i32
// STMT-NEXT:      %[[V2:.*]] = tir.and %[[V1]], %[[V0]] : i1
// STMT-NEXT:      tir.if %[[V2]] {
// STMT-NEXT:        tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// STMT-NEXT:          tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]], %[[K]]] : i32
// STMT-NEXT:        }
// STMT-NEXT:      }
// STMT-NEXT:    }
// STMT-NEXT:  }
// STMT-NEXT:}

// -----

// CASE: HoistExpression.12
tir.func @same_in_both(%A_handle: !tir.handle) attributes {global_symbol = "same_in_both", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c3 = tir.const 3 : i32
  %c2 = tir.const 2 : i32
  %c1 = tir.const 1 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x4x4xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      tir.for "k" %k = %c0 to %c4 {
        %0 = tir.cmp lt %j, %c3 : i32
        tir.if %0 {
          %1 = tir.cmp lt %i, %c2 : i32
          tir.if %1 {
            tir.store %c0, %A[%i, %j, %k] : i32
          } else {
            tir.store %c1, %A[%i, %j, %k] : i32
          }
        } else {
          %2 = tir.cmp lt %i, %c2 : i32
          tir.if %2 {
            tir.store %c2, %A[%i, %j, %k] : i32
          } else {
            tir.store %c3, %A[%i, %j, %k] : i32
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @same_in_both
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:    tir.if %[[V0]] {
// CHECK-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[V1:.*]] = tir.cmp lt %[[J]], %{{.*}} : i32
// CHECK-NEXT:        tir.if %[[V1]] {
// CHECK-NEXT:          tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:            tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]], %[[K]]] : i32
// CHECK-NEXT:          }
// CHECK-NEXT:        } else {
// CHECK-NEXT:          tir.for "k" %[[K_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:            tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]], %[[K_1]]] : i32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tir.for "j" %[[J_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[V2:.*]] = tir.cmp lt %[[J_1]], %{{.*}} : i32
// CHECK-NEXT:        tir.if %[[V2]] {
// CHECK-NEXT:          tir.for "k" %[[K_2:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:            tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J_1]], %[[K_2]]] : i32
// CHECK-NEXT:          }
// CHECK-NEXT:        } else {
// CHECK-NEXT:          tir.for "k" %[[K_3:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:            tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J_1]], %[[K_3]]] : i32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: HoistExpression.13
tir.func @different_in_both(%A_handle: !tir.handle) attributes {global_symbol = "different_in_both", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c3 = tir.const 3 : i32
  %c2 = tir.const 2 : i32
  %c1 = tir.const 1 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x4x4xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      tir.for "k" %k = %c0 to %c4 {
        %0 = tir.cmp lt %j, %c3 : i32
        tir.if %0 {
          %1 = tir.cmp lt %i, %c2 : i32
          tir.if %1 {
            tir.store %c0, %A[%i, %j, %k] : i32
          } else {
            tir.store %c1, %A[%i, %j, %k] : i32
          }
        } else {
          %2 = tir.cmp lt %i, %c1 : i32
          tir.if %2 {
            tir.store %c2, %A[%i, %j, %k] : i32
          } else {
            tir.store %c3, %A[%i, %j, %k] : i32
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @different_in_both
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:    tir.if %[[V0]] {
// CHECK-NEXT:      %[[V1:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V1]] {
// CHECK-NEXT:        tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:          %[[V2:.*]] = tir.cmp lt %[[J]], %{{.*}} : i32
// CHECK-NEXT:          tir.if %[[V2]] {
// CHECK-NEXT:            tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:              tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]], %[[K]]] : i32
// CHECK-NEXT:            }
// CHECK-NEXT:          } else {
// CHECK-NEXT:            tir.for "k" %[[K_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:              tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]], %[[K_1]]] : i32
// CHECK-NEXT:            }
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      } else {
// CHECK-NEXT:        tir.for "j" %[[J_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:          %[[V3:.*]] = tir.cmp lt %[[J_1]], %{{.*}} : i32
// CHECK-NEXT:          tir.if %[[V3]] {
// CHECK-NEXT:            tir.for "k" %[[K_2:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:              tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J_1]], %[[K_2]]] : i32
// CHECK-NEXT:            }
// CHECK-NEXT:          } else {
// CHECK-NEXT:            tir.for "k" %[[K_3:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:              tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J_1]], %[[K_3]]] : i32
// CHECK-NEXT:            }
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tir.for "j" %[[J_2:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[V4:.*]] = tir.cmp lt %[[J_2]], %{{.*}} : i32
// CHECK-NEXT:        tir.if %[[V4]] {
// CHECK-NEXT:          tir.for "k" %[[K_4:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:            tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J_2]], %[[K_4]]] : i32
// CHECK-NEXT:          }
// CHECK-NEXT:        } else {
// CHECK-NEXT:          tir.for "k" %[[K_5:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:            tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J_2]], %[[K_5]]] : i32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: HoistExpression.14
tir.func @choice(%A_handle: !tir.handle) attributes {global_symbol = "choice", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c2 = tir.const 2 : i32
  %c1 = tir.const 1 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x4xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      %0 = tir.cmp lt %i, %c2 : i32
      %1 = tir.if_then_else %0 -> i32 {
        tir.yield %c1 : i32
      } else {
        tir.yield %c2 : i32
      }
      tir.store %1, %A[%i, %j] : i32
    }
  }
}
// CHECK-LABEL: tir.func @choice
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:    tir.if %[[V0]] {
// CHECK-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tir.for "j" %[[J_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J_1]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}
// STMT-LABEL: tir.func @choice
// STMT:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// STMT-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// STMT-NEXT:      %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// STMT-NEXT:      %[[V1:.*]] = tir.if_then_else %[[V0]] -> i32 {
// STMT-NEXT:        tir.yield %{{.*}} : i32
// STMT-NEXT:      } else {
// STMT-NEXT:        tir.yield %{{.*}} : i32
// STMT-NEXT:      }
// STMT-NEXT:      tir.store %[[V1]], %{{.*}}[%[[I]], %[[J]]] : i32
// STMT-NEXT:    }
// STMT-NEXT:  }
// STMT-NEXT:}

// -----

// CASE: HoistExpression.15
tir.func @let_expression(%A_handle: !tir.handle) attributes {global_symbol = "let_expression", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c1 = tir.const 1 : i32
  %cst = tir.const 5.000000e+00 : f32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x4xf32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      %0 = tir.add %i, %c1 : i32
      %1 = tir.cast %0 : i32 to f32
      %x = tir.let expr "x" %1 : f32
      %2 = tir.mul %cst, %x : f32
      %3 = tir.cast %j : i32 to f32
      %4 = tir.add %2, %3 : f32
      tir.store %4, %A[%i, %j] : f32
    }
  }
}
// CHECK-LABEL: tir.func @let_expression
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.add %[[I]], %{{.*}} : i32
// CHECK-NEXT:    %[[V1:.*]] = tir.cast %[[V0]] : i32 to f32
// CHECK-NEXT:    %[[X:.*]] = tir.let "x" %[[V1]] : f32
// CHECK-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V2:.*]] = tir.mul %{{.*}}, %[[X]] : f32
// CHECK-NEXT:      %[[V3:.*]] = tir.cast %[[J]] : i32 to f32
// CHECK-NEXT:      %[[V4:.*]] = tir.add %[[V2]], %[[V3]] : f32
// CHECK-NEXT:      tir.store %[[V4]], %{{.*}}[%[[I]], %[[J]]] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}
// LETS-LABEL: tir.func @let_expression
// LETS:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// LETS-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// LETS-NEXT:      %[[V0:.*]] = tir.add %[[I]], %{{.*}} : i32
// LETS-NEXT:      %[[V1:.*]] = tir.cast %[[V0]] : i32 to f32
// LETS-NEXT:      %[[X:.*]] = tir.let expr "x" %[[V1]] : f32
// LETS-NEXT:      %[[V2:.*]] = tir.mul %{{.*}}, %[[X]] : f32
// LETS-NEXT:      %[[V3:.*]] = tir.cast %[[J]] : i32 to f32
// LETS-NEXT:      %[[V4:.*]] = tir.add %[[V2]], %[[V3]] : f32
// LETS-NEXT:      tir.store %[[V4]], %{{.*}}[%[[I]], %[[J]]] : f32
// LETS-NEXT:    }
// LETS-NEXT:  }
// LETS-NEXT:}

// -----

// A binding that loads stays, as stores of the loop may change what it loads.
tir.func @loads(%A_handle: !tir.handle, %B_handle: !tir.handle) attributes {global_symbol = "loads", param_names = ["A_handle", "B_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4xi32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<4xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      %0 = tir.load %B[%i] : i32
      %c = tir.let "c" %0 : i32
      %1 = tir.add %c, %j : i32
      tir.store %1, %B[%i] : i32
    }
  }
}
// CHECK-LABEL: tir.func @loads
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V0:.*]] = tir.load %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:      %[[C:.*]] = tir.let "c" %[[V0]] : i32
// CHECK-NEXT:      %[[V1:.*]] = tir.add %[[C]], %[[J]] : i32
// CHECK-NEXT:      tir.store %[[V1]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// A binding in a sequence is kept where its condition cannot move.
tir.func @stays_bound(%A_handle: !tir.handle, %B_handle: !tir.handle, %n: i32) attributes {global_symbol = "stays_bound", param_names = ["A_handle", "B_handle", "n"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x4xi32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<4xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.store %c0, %B[%i] : i32
    %0 = tir.cmp lt %n, %i : i32
    %c = tir.let "c" %0 : i1
    tir.for "j" %j = %c0 to %c4 {
      tir.if %c {
        tir.store %j, %A[%i, %j] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @stays_bound
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    tir.store %{{.*}}, %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp lt %{{.*}}, %[[I]] : i32
// CHECK-NEXT:    %[[C:.*]] = tir.let "c" %[[V0]] : i1
// CHECK-NEXT:    tir.if %[[C]] {
// CHECK-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.store %[[J]], %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// The other branch of a choice around the condition is kept.
tir.func @other_branch(%A_handle: !tir.handle, %n: i32) attributes {global_symbol = "other_branch", param_names = ["A_handle", "n"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4xi32>
  tir.for "i" %i = %c0 to %c4 {
    %0 = tir.cmp lt %i, %c2 : i32
    tir.if %0 {
      tir.store %n, %A[%i] : i32
    } else {
      %1 = tir.cmp lt %n, %c3 : i32
      tir.if %1 {
        tir.store %i, %A[%i] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @other_branch
// CHECK:       %[[V0:.*]] = tir.cmp lt %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:  tir.if %[[V0]] {
// CHECK-NEXT:    tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V1:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V1]] {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        tir.store %[[I]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  } else {
// CHECK-NEXT:    tir.for "i" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V2:.*]] = tir.cmp lt %[[I_1]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V2]] {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I_1]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// Both operands leave their loops, also where the first one is resolved before.
tir.func @disjunction(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x4xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      %p = tir.cmp lt %n, %c1 : i32
      %q = tir.cmp le %c2, %i : i32
      %r = tir.or %p, %q : i1
      tir.if %r {
        tir.store %n, %A[%i, %j] : i32
      }
    }
  }
}
// BOOL-LABEL: tir.func @disjunction
// BOOL:       %[[P:.*]] = tir.cmp lt %{{.*}}, %{{.*}} : i32
// BOOL-NEXT:  tir.if %[[P]] {
// BOOL-NEXT:    tir.for "i"
// BOOL-NEXT:      tir.for "j"
// BOOL-NEXT:        tir.store
// BOOL-NEXT:      }
// BOOL-NEXT:    }
// BOOL-NEXT:  } else {
// BOOL-NEXT:    tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// BOOL-NEXT:      %[[Q:.*]] = tir.cmp le %{{.*}}, %[[I]] : i32
// BOOL-NEXT:      tir.if %[[Q]] {
// BOOL-NEXT:        tir.for "j"

// -----

// What is left of the operands is used by another op, a negation and a stored value.
tir.func @nested(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x4xi1>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      %p = tir.cmp lt %n, %c1 : i32
      %q = tir.cmp le %c2, %i : i32
      %r = tir.and %p, %q : i1
      %s = tir.cmp lt %j, %c2 : i32
      %t = tir.or %r, %s : i1
      %u = tir.not %r : i1
      %v = tir.and %u, %t : i1
      tir.if %v {
        tir.store %r, %A[%i, %j] : i1
      }
    }
  }
}
// BOOL-LABEL: tir.func @nested
// BOOL:       tir.cmp lt
// BOOL-NEXT:  tir.if
// BOOL-NEXT:    tir.for "i"
// BOOL-NEXT:      %[[P:.*]] = tir.cmp le %{{.*}}, %{{.*}} : i32
// BOOL-NEXT:      %[[Q:.*]] = tir.not %[[P]] : i1
// BOOL-NEXT:      tir.if %[[Q]] {
// BOOL-NEXT:        tir.for "j"
